/*
 * The state file's database: the only includer of sqlite3.h. Parameters are always bound, by a
 * string of types: s text (NULL is null), i int64_t, b blob (const void *, size_t). Busy for more
 * than 10 s is ERR_BUSY, damage ERR_STATE.
 */
#ifndef EVCTL_STATE_DB_H
#define EVCTL_STATE_DB_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DB_SCHEMA_VERSION 4

struct db;
struct query;

/* Opens an existing file, checking its version before anything else. */
int db_open(struct db **db, const char *path, bool read_only, struct err *e);
/* Opens it to read what is there at once: waits for no lock, mends nothing (completion). */
int db_peek(struct db **db, const char *path, struct err *e);
/* Makes the views (views.sql), which are of the present schema. */
int db_views(struct db *db, struct err *e);
/* Makes a new one with the whole schema, mode 0600; ERR_CONFLICT if it exists. */
int db_create(struct db **db, const char *path, struct err *e);
void db_close(struct db **db);

int db_begin(struct db *db, struct err *e); /* immediate: takes the write lock */
int db_commit(struct db *db, struct err *e);
void db_rollback(struct db *db); /* harmless outside a transaction */
/* Whether a commit waits for the disk (default) or only survives the process. */
void db_durable(struct db *db, bool durable);

/* Runs one statement to its end. */
int db_exec(struct db *db, struct err *e, const char *sql, const char *types, ...);
int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);
/* A statement whose rows are read with query_step(); NULL on error. */
struct query *db_query(struct db *db, struct err *e, const char *sql, const char *types, ...);
/* 1 a row, 0 no more, -1 error; of what could not be made (NULL), -1. */
int query_step(struct query *q, struct err *e);
json_t *query_row(struct query *q); /* the present row, as db_rows() has it */
void query_free(struct query **q);
#define QUERY_AUTO __attribute__((cleanup(query_free))) struct query *

/* Columns of the present row; text and blobs are valid until the next step. */
int64_t col_int(struct query *q, int i);
const char *col_text(struct query *q, int i); /* NULL for null */
const void *col_blob(struct query *q, int i, size_t *n);
bool col_null(struct query *q, int i);
json_t *col_json(struct query *q, int i); /* of a text of JSON; null for null and what is none */

/* Appends the first column of every row; a list that memory cut short is an error, not a shorter
 * list. */
int db_texts(
	struct db *db, struct err *e, struct strv *out, const char *sql, const char *types, ...);
/*
 * Every row as an object: the columns' names are its keys, null is null; no blobs. A column named
 * "KEY:bool", "KEY:time" (ms, as clock_text()) or "KEY:json" (a text of it) is that of KEY. NULL on
 * error, or else an array that is the caller's.
 */
json_t *db_rows(struct db *db, struct err *e, const char *sql, const char *types, ...);
/* One number of the first row; found is false when there is no row. */
int db_number(struct db *db, struct err *e, int64_t *out, bool *found, const char *sql,
	const char *types, ...);
/* Consistent copy of the whole database to a new file. */
int db_backup(struct db *db, const char *to, struct err *e);
/* The schema's version; what another program has migrated meanwhile is seen. */
int db_version(struct db *db, int64_t *version, struct err *e);
/* Many statements without parameters, as a migration has them. */
int db_script(struct db *db, const char *sql, struct err *e);
/*
 * Opens a file of any version with every other program shut out until db_close(), its log folded
 * in. ERR_BUSY while others have it open, ERR_STATE where it is damaged.
 */
int db_shut_out(struct db **db, const char *path, struct err *e);
/* Folds the write-ahead log into the file and empties it; best effort while others read. */
void db_checkpoint(struct db *db);
/* PRAGMA integrity_check and foreign_key_check; ERR_STATE names the first fault. */
int db_check(struct db *db, struct err *e);

#endif

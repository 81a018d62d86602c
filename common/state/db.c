#include "state/db.h"

#include "base/file.h"
#include "state/bound_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#define APPLICATION_ID 0x65766374 /* "evct" */

#define KEPT 64 /* statements */

/* A statement that was prepared is kept for the next time that it is asked. */
struct db {
	sqlite3 *h;
	sqlite3_stmt *kept[KEPT]; /* the latest first; NULL: the rest is free */
	size_t users;		  /* queries that are not freed, and whoever has it open */
};

struct query {
	sqlite3_stmt *st;
	struct db *db;
};

static const char schema[] = {
#include "base/limits.h"
#include "schema.inc"
	0};
static const char views[] = {
#include "views.inc"
	0};

static int fail(sqlite3 *h, struct err *e)
{
	int rc = sqlite3_errcode(h) & 0xff;
	const char *msg = sqlite3_errmsg(h);
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED) {
		err_set(e, ERR_BUSY, "the state file is locked by another program");
		return err_hint(e, "try again; `fuser` on state.db names who holds it");
	}
	if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB) {
		err_set(e, ERR_STATE, "the state file is damaged: %s", msg);
		return err_hint(e, "evctl-state restore BACKUP, or evctl doctor");
	}
	if (rc == SQLITE_READONLY || rc == SQLITE_CANTOPEN || rc == SQLITE_PERM) {
		err_set(e, ERR_STATE, "the state file cannot be written: %s", msg);
		return err_hint(e, "evctl doctor");
	}
	if (rc == SQLITE_FULL || rc == SQLITE_IOERR) {
		err_set(e, ERR_FAIL, "the state file cannot be written: %s", msg);
		return err_hint(
			e, "make room on the disk that holds the state; nothing was changed");
	}
	return err_set(e, ERR_FAIL, "state file: %s", msg);
}

static int pragmas(struct db *db, bool read_only, struct err *e)
{
	static const char *const all[] = {"PRAGMA foreign_keys = ON", "PRAGMA trusted_schema = OFF",
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
		"PRAGMA secure_delete = FAST", "PRAGMA temp_store = MEMORY"};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (read_only && i >= 2)
			break;
		if (sqlite3_exec(db->h, all[i], NULL, NULL, NULL) != SQLITE_OK)
			return fail(db->h, e);
	}
	return 0;
}

/* host_text(name, port) */
static void render_host(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	char text[HOST_TEXT_MAX];
	const char *name = (const char *)sqlite3_value_text(v[0]);
	const struct host h = {.name = name, .port = (uint16_t)sqlite3_value_int(v[1])};
	if (!name)
		return;
	host_text(&h, text);
	sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
}

/* host_flags(name, plain, allow_private, connect_to, ca, bound) */
static void render_flags(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	BUF_AUTO text = {0};
	const struct host h = {.name = (const char *)sqlite3_value_text(v[0]),
		.plain = sqlite3_value_int(v[1]),
		.route = {.allow_private = sqlite3_value_int(v[2]),
			.connect_to = (const char *)sqlite3_value_text(v[3]),
			.ca = (const char *)sqlite3_value_blob(v[4])}};
	JSON_AUTO flags = host_flags(&h, sqlite3_value_int(v[5]));
	json_to_buf(flags, &text);
	sqlite3_result_text(c, buf_str(&text), (int)text.len, SQLITE_TRANSIENT);
}

static bool add_function(struct db *db, const char *name, int nargs,
	void (*f)(sqlite3_context *, int, sqlite3_value **))
{
	return sqlite3_create_function(db->h, name, nargs,
		       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, f, NULL,
		       NULL) == SQLITE_OK;
}

static int open_handle(struct db **out, const char *path, int flags, struct err *e)
{
	struct db *db = calloc(1, sizeof *db);
	if (!db)
		return err_set(e, ERR_FAIL, "out of memory");
	db->users = 1;
	if (sqlite3_open_v2(path, &db->h, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
		    NULL) != SQLITE_OK ||
		!add_function(db, "host_text", 2, render_host) ||
		!add_function(db, "host_flags", 6, render_flags)) {
		fail(db->h, e);
		db_close(&db);
		return -1;
	}
	sqlite3_busy_timeout(db->h, MS(LIMIT_QUEUE_S));
	*out = db;
	return 0;
}

static int check_version(struct db *db, struct err *e)
{
	int64_t version = 0, app = 0;
	bool found;
	if (db_number(db, e, &version, &found, "PRAGMA user_version", "") < 0 ||
		db_number(db, e, &app, &found, "PRAGMA application_id", "") < 0)
		return -1;
	if (app != APPLICATION_ID) {
		err_set(e, ERR_STATE, "the state file is not evctl's, or is damaged");
		return err_hint(e, "evctl-state restore BACKUP, or name another --state DIR");
	}
	if (version > DB_SCHEMA_VERSION) {
		err_set(e, ERR_STATE,
			"the state file is of version %lld, this evctl knows up to %d",
			(long long)version, DB_SCHEMA_VERSION);
		return err_hint(e, "install the newer evctl");
	}
	if (version < 1) {
		err_set(e, ERR_STATE, "the state file is incomplete");
		return err_hint(e, "move it away, then evctl init");
	}
	return 0;
}

/* A reader cannot take back what a crash left half done outside the log; a writer does by reading.
 */
static void take_back(const char *path)
{
	struct db *db = NULL;
	struct err quiet = {0};
	int64_t version;
	if (open_handle(&db, path, SQLITE_OPEN_READWRITE, &quiet) == 0)
		db_version(db, &version, &quiet);
	db_close(&db);
}

static bool has_journal(const char *path)
{
	char journal[PATH_MAX];
	return snprintf(journal, sizeof journal, "%s-journal", path) < (int)sizeof journal &&
	       access(journal, F_OK) == 0;
}

int db_open(struct db **out, const char *path, bool read_only, struct err *e)
{
	*out = NULL;
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0) {
		err_errno(e, ERR_STATE, "cannot read the state file '%s'", path);
		return err_hint(e, "be its owner, or name another --state DIR");
	}
	if (read_only && has_journal(path))
		take_back(path);
	struct db *db = NULL;
	int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	if (open_handle(&db, path, flags, e) < 0)
		return -1;
	if (check_version(db, e) < 0 || pragmas(db, read_only, e) < 0) {
		db_close(&db);
		return -1;
	}
	*out = db;
	return 0;
}

int db_peek(struct db **out, const char *path, struct err *e)
{
	struct db *db = NULL;
	*out = NULL;
	if (open_handle(&db, path, SQLITE_OPEN_READONLY, e) < 0)
		return -1;
	sqlite3_busy_timeout(db->h, 0);
	if (check_version(db, e) < 0) {
		db_close(&db);
		return -1;
	}
	*out = db;
	return 0;
}

int db_create(struct db **out, const char *path, struct err *e)
{
	*out = NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return err_set(e, ERR_CONFLICT, "there is a state file already: '%s'", path);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot create '%s'", path);
	close(fd);
	struct db *db = NULL;
	if (open_handle(&db, path, SQLITE_OPEN_READWRITE, e) < 0) {
		unlink(path);
		return -1;
	}
	char *sql = sqlite3_mprintf("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = "
				    "%d; COMMIT",
		schema, APPLICATION_ID, DB_SCHEMA_VERSION);
	if (!sql || pragmas(db, false, e) < 0 ||
		(sqlite3_exec(db->h, sql, NULL, NULL, NULL) != SQLITE_OK && fail(db->h, e) < 0)) {
		sqlite3_free(sql);
		db_close(&db);
		unlink(path);
		return -1;
	}
	sqlite3_free(sql);
	*out = db;
	return 0;
}

int db_views(struct db *db, struct err *e)
{
	return db_script(db, views, e);
}

static void let_go(struct db *db)
{
	if (--db->users == 0)
		free(db);
}

void db_close(struct db **at)
{
	struct db *db = *at;
	*at = NULL;
	if (!db)
		return;
	for (size_t i = 0; i < KEPT && db->kept[i]; i++)
		sqlite3_finalize(db->kept[i]);
	sqlite3_close_v2(db->h);
	db->h = NULL;
	let_go(db);
}

/* ---- statements that are kept ---- */

/* What others do when it is prepared, or once. */
static bool is_plain(const char *sql)
{
	static const char *const words[] = {
		"SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "BEGIN ", "COMMIT"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(sql, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* One that was kept, which it then is no more; NULL. */
static sqlite3_stmt *take_kept(struct db *db, const char *sql)
{
	for (size_t i = 0; i < KEPT && db->kept[i]; i++) {
		sqlite3_stmt *st = db->kept[i];
		if (strcmp(sqlite3_sql(st), sql) != 0)
			continue;
		memmove(&db->kept[i], &db->kept[i + 1], (KEPT - 1 - i) * sizeof *db->kept);
		db->kept[KEPT - 1] = NULL;
		return st;
	}
	return NULL;
}

static void keep(struct db *db, sqlite3_stmt *st)
{
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	sqlite3_finalize(db->kept[KEPT - 1]);
	memmove(&db->kept[1], &db->kept[0], (KEPT - 1) * sizeof *db->kept);
	db->kept[0] = st;
}

int db_begin(struct db *db, struct err *e)
{
	return db_exec(db, e, "BEGIN IMMEDIATE", "");
}

int db_commit(struct db *db, struct err *e)
{
	return db_exec(db, e, "COMMIT", "");
}

void db_rollback(struct db *db)
{
	if (!sqlite3_get_autocommit(db->h))
		sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
}

void db_durable(struct db *db, bool durable)
{
	sqlite3_exec(db->h, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
		NULL, NULL, NULL);
}

static int bind_all(struct query *q, const char *types, va_list ap)
{
	int rc = SQLITE_OK;
	for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
		if (*types == 's') {
			const char *s = va_arg(ap, const char *);
			rc = s ? sqlite3_bind_text(q->st, i, s, -1, SQLITE_TRANSIENT)
			       : sqlite3_bind_null(q->st, i);
		} else if (*types == 'i') {
			rc = sqlite3_bind_int64(q->st, i, va_arg(ap, int64_t));
		} else {
			const void *p = va_arg(ap, const void *);
			size_t n = va_arg(ap, size_t);
			rc = p ? sqlite3_bind_blob64(q->st, i, p, n, SQLITE_TRANSIENT)
			       : sqlite3_bind_null(q->st, i);
		}
	}
	return rc == SQLITE_OK ? 0 : -1;
}

static struct query *prepare(
	struct db *db, struct err *e, const char *sql, const char *types, va_list ap)
{
	struct query *q = calloc(1, sizeof *q);
	if (!q) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	q->db = db;
	db->users++;
	q->st = take_kept(db, sql);
	if ((!q->st && sqlite3_prepare_v3(db->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &q->st,
			       NULL) != SQLITE_OK) ||
		bind_all(q, types, ap) < 0) {
		fail(db->h, e);
		query_free(&q);
	}
	return q;
}

struct query *db_query(struct db *db, struct err *e, const char *sql, const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	struct query *q = prepare(db, e, sql, types, ap);
	va_end(ap);
	return q;
}

int db_exec(struct db *db, struct err *e, const char *sql, const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	QUERY_AUTO q = prepare(db, e, sql, types, ap);
	va_end(ap);
	int r;
	while ((r = query_step(q, e)) > 0)
		;
	return r;
}

int query_step(struct query *q, struct err *e)
{
	if (!q)
		return -1;
	int rc = sqlite3_step(q->st);
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail(q->db->h, e);
}

void query_free(struct query **at)
{
	struct query *q = *at;
	*at = NULL;
	if (!q)
		return;
	if (q->st && q->db->h && is_plain(sqlite3_sql(q->st)))
		keep(q->db, q->st);
	else
		sqlite3_finalize(q->st);
	let_go(q->db);
	free(q);
}

int64_t db_last_id(struct db *db)
{
	return sqlite3_last_insert_rowid(db->h);
}

int64_t db_changes(struct db *db)
{
	return sqlite3_changes64(db->h);
}

int64_t col_int(struct query *q, int i)
{
	return sqlite3_column_int64(q->st, i);
}

const char *col_text(struct query *q, int i)
{
	return (const char *)sqlite3_column_text(q->st, i);
}

const void *col_blob(struct query *q, int i, size_t *n)
{
	const void *p = sqlite3_column_blob(q->st, i);
	*n = (size_t)sqlite3_column_bytes(q->st, i);
	return p;
}

bool col_null(struct query *q, int i)
{
	return sqlite3_column_type(q->st, i) == SQLITE_NULL;
}

json_t *col_json(struct query *q, int i)
{
	json_t *tree = col_null(q, i) ? NULL : json_loads(col_text(q, i), JSON_DECODE_ANY, NULL);
	return tree ? tree : json_null();
}

static json_t *col_bool(struct query *q, int i)
{
	return json_boolean(col_int(q, i));
}

static json_t *col_time(struct query *q, int i)
{
	char text[24];
	return json_string(clock_text(col_int(q, i), text, sizeof text));
}

static json_t *column_json(struct query *q, int i, const char *kind)
{
	static const struct {
		const char *kind;
		json_t *(*make)(struct query *, int);
	} kinds[] = {{":json", col_json}, {":bool", col_bool}, {":time", col_time}};
	if (col_null(q, i))
		return json_null();
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		if (strcmp(kind, kinds[k].kind) == 0)
			return kinds[k].make(q, i);
	if (sqlite3_column_type(q->st, i) == SQLITE_INTEGER)
		return json_integer(col_int(q, i));
	return json_text(col_text(q, i), (size_t)sqlite3_column_bytes(q->st, i));
}

json_t *query_row(struct query *q)
{
	json_t *row = json_object();
	for (int i = 0; i < sqlite3_column_count(q->st); i++) {
		const char *name = sqlite3_column_name(q->st, i);
		size_t n = strcspn(name, ":");
		if (json_object_setn_new(row, name, n, column_json(q, i, name + n)) == 0)
			continue;
		json_decref(row);
		return NULL;
	}
	return row;
}

json_t *db_rows(struct db *db, struct err *e, const char *sql, const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	QUERY_AUTO q = prepare(db, e, sql, types, ap);
	va_end(ap);
	json_t *rows = json_array();
	int r;
	while ((r = query_step(q, e)) > 0)
		if (json_array_append_new(rows, query_row(q)) < 0) {
			r = err_set(e, ERR_FAIL, "out of memory");
			break;
		}
	if (r == 0 && rows)
		return rows;
	json_decref(rows);
	return NULL;
}

int db_texts(
	struct db *db, struct err *e, struct strv *out, const char *sql, const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	QUERY_AUTO q = prepare(db, e, sql, types, ap);
	va_end(ap);
	int r;
	while ((r = query_step(q, e)) > 0)
		strv_add(out, col_text(q, 0));
	if (r == 0 && out->failed)
		r = err_set(e, ERR_FAIL, "out of memory");
	return r;
}

int db_number(struct db *db, struct err *e, int64_t *out, bool *found, const char *sql,
	const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	QUERY_AUTO q = prepare(db, e, sql, types, ap);
	va_end(ap);
	int r = query_step(q, e);
	*found = r > 0 && !col_null(q, 0);
	*out = *found ? col_int(q, 0) : 0;
	return r < 0 ? -1 : 0;
}

int db_backup(struct db *db, const char *to, struct err *e)
{
	int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(
			e, errno == EEXIST ? ERR_CONFLICT : ERR_FAIL, "cannot create '%s'", to);
	close(fd);
	return db_exec(db, e, "VACUUM INTO ?", "s", to);
}

int db_version(struct db *db, int64_t *version, struct err *e)
{
	bool found;
	return db_number(db, e, version, &found, "PRAGMA user_version", "");
}

int db_script(struct db *db, const char *sql, struct err *e)
{
	return sqlite3_exec(db->h, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db->h, e);
}

/* Some of the locks on this way do not wait by themselves: they are asked for again and again. */
static int leave_wal(struct db *db, struct err *e)
{
	int rc = SQLITE_BUSY;
	sqlite3_busy_timeout(db->h, 0);
	for (int waited = 0; rc == SQLITE_BUSY && waited < MS(LIMIT_QUEUE_S); waited += 20) {
		if (waited)
			sqlite3_sleep(20);
		rc = sqlite3_exec(db->h, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) & 0xff;
	}
	sqlite3_busy_timeout(db->h, MS(LIMIT_QUEUE_S));
	return rc == SQLITE_OK ? 0 : fail(db->h, e);
}

/* Only who is alone can leave WAL, which tells of idle programs too; the lock then stays. */
int db_shut_out(struct db **out, const char *path, struct err *e)
{
	struct db *db = NULL;
	*out = NULL;
	if (open_handle(&db, path, SQLITE_OPEN_READWRITE, e) < 0)
		return -1;
	if (db_script(db, "PRAGMA trusted_schema = OFF; PRAGMA locking_mode = EXCLUSIVE", e) < 0 ||
		leave_wal(db, e) < 0 || db_script(db, "BEGIN EXCLUSIVE", e) < 0) {
		db_close(&db);
		return -1;
	}
	*out = db;
	return 0;
}

void db_checkpoint(struct db *db)
{
	sqlite3_wal_checkpoint_v2(db->h, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

int db_check(struct db *db, struct err *e)
{
	QUERY_AUTO q = db_query(db, e, "PRAGMA integrity_check(1)", "");
	if (query_step(q, e) < 0)
		return -1;
	const char *word = col_text(q, 0);
	if (!word || strcmp(word, "ok") != 0) {
		err_set(e, ERR_STATE, "the state file is damaged: %s", word ? word : "no answer");
		return err_hint(e, "evctl-state restore BACKUP");
	}
	QUERY_AUTO fk = db_query(db, e, "PRAGMA foreign_key_check", "");
	int r = query_step(fk, e);
	if (r > 0)
		err_set(e, ERR_STATE, "the state file refers to a missing row in '%s'",
			col_text(fk, 2));
	return r == 0 ? 0 : -1;
}

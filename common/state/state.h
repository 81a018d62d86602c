/*
 * The open state: its directory, database, public key and, when a verb needs it, the private key.
 * Every change runs in state_begin() .. state_commit(), with one audit row in the same transaction.
 */
#ifndef EVCTL_STATE_STATE_H
#define EVCTL_STATE_STATE_H

#include "base/json.h"
#include "base/strv.h"
#include "state/seal.h"
#include "state/state_place.h"

struct db;

struct state {
	struct state_place place;
	struct db *db;
	unsigned char public_key[SEAL_KEY_BYTES];
	struct secret private_key; /* empty until state_unlock() */
	char *key_from;		   /* where the private key was found; for messages */
	const char *key_by;	   /* and what named that place; static */
	int depth;		   /* of transactions */
	bool doomed;		   /* one within the outermost failed */
};
#define STATE_AUTO __attribute__((cleanup(state_close))) struct state

enum state_mode { STATE_READ, STATE_WRITE };

/* Opens what is at a place, which is copied. ERR_STATE with the hint `evctl init` if nothing is. */
int state_open(
	struct state *st, const struct state_place *place, enum state_mode mode, struct err *e);
void state_close(struct state *st);
/* Reads the public key of an open database; state_open() has. */
int state_public_key(struct state *st, struct err *e);
/* Opens, and if asked makes, a directory of the state's; a descriptor or -1. */
int state_subdir(const struct state *st, const char *name, bool make, struct err *e);
/* Makes directory, state file and (unless one is there) private key. ERR_CONFLICT if it exists. */
int state_init(struct state *st, const struct state_place *place, bool passphrase, struct err *e);
/* {schema, and how many there are of each noun}, the caller's. */
json_t *state_totals(struct state *st, struct err *e);
/* Whether the database is sound; ERR_STATE names the first fault. */
int state_check(struct state *st, struct err *e);
/* Finds, checks and loads the private key; ERR_KEY if missing, wrong or readable by others. */
int state_unlock(struct state *st, struct err *e);

/*
 * Transactions nest: one begun within another joins it, and what fails within fails the whole, so
 * that many changes can be made as one (apply/apply.c).
 */
int state_begin(struct state *st, struct err *e);
int state_commit(struct state *st, struct err *e);
/* Ends one in which there was nothing to write; one that it is within goes on. */
void state_leave(struct state *st);
/* Undoes an open transaction; harmless without one. Called by state_close() too. */
void state_rollback(struct state *st);

/* One row, hash-chained to the one before. detail (may be NULL) holds names only; taken over. */
int audit_add(
	struct state *st, const char *action, const char *object, json_t *detail, struct err *e);
/*
 * Ends a change whose outcome so far is r: its audit row and the commit when r is 0, else the way
 * back. detail is taken over either way. Returns 0, or -1 with nothing changed.
 */
int state_finish(struct state *st, int r, const char *action, const char *object, json_t *detail,
	struct err *e);
/* Walks the chain; ERR_FINDINGS names the first row that does not fit. *rows counts them. */
int audit_verify(struct state *st, int64_t *rows, struct err *e);
json_t *audit_list(struct state *st, struct err *e);
/* When the last row was made, ms; 0 where there is none or it cannot be read. */
int64_t audit_last(struct state *st);

/* Names by the grammar in evctl-contract(7); ERR_USAGE that shows the rule. */
int name_check_credential(const char *name, struct err *e);
int name_check(const char *what, const char *name, struct err *e); /* expert, tool, buyer, ... */

/*
 * ERR_NOTFOUND "no WHAT 'NAME'", with the near one of the names that sql (one column, no
 * parameters) lists, or else the hint that fmt makes. Returns -1.
 */
int name_not_found(struct state *st, const char *what, const char *name, const char *sql,
	struct err *e, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* What a masked hint may show of a value: its last four characters, or "". out holds 5. */
void secret_tail(char out[5], const struct secret *s);
/* What stands in a masked hint for the rest. */
#define SECRET_MASK "••••••••"

#endif

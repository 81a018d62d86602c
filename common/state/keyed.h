/*
 * What holds a sealed value of the builder's and, for each expert and buyer, one of the buyer's:
 * credentials and connections. The same for both but for the tables' names, which are also part of
 * each record's associated data: a kind's words never change, or old records would not open.
 */
#ifndef EVCTL_STATE_KEYED_H
#define EVCTL_STATE_KEYED_H

#include "state/state.h"

struct expert;

struct keyed_kind {
	const char *table, *buyers; /* of the builder's values, and of the buyers' */
	/* audit actions and hints */
	const char *rotate, *supply, *withdraw, *show;
	/* statements over the two tables */
	const char *exists, *next, *put, *get, *next_buyer, *find_buyer, *put_buyer, *get_buyer,
		*drop_buyer;
};
extern const struct keyed_kind keyed_credential, keyed_connection;

/* One of them. */
struct keyed {
	const struct keyed_kind *kind;
	int64_t id;
	const char *name;
};

bool keyed_exists(struct state *st, const struct keyed_kind *kind, const char *name);
/* Seals a value as the next version of the builder's; within a transaction. */
int keyed_put(struct state *st, const struct keyed *k, const struct secret *value, struct err *e);
/* The same in a transaction of its own. */
int keyed_rotate(
	struct state *st, const struct keyed *k, const struct secret *value, struct err *e);
/*
 * One buyer's value for one expert, with the scope that the buyer agrees to by it (an array of
 * texts); within a transaction that keyed_supplied() ends.
 */
int keyed_supply(struct state *st, const struct keyed *k, int64_t expert, const char *buyer,
	const json_t *scope, const struct secret *value, struct err *e);
/* Ends it: r is its outcome so far (state_finish()). */
int keyed_supplied(struct state *st, int r, const struct keyed *k, const char *expert,
	const char *buyer, struct err *e);
int keyed_withdraw(struct state *st, const struct keyed *k, const struct expert *x,
	const char *buyer, struct err *e);

/* Opening needs state_unlock(). 1 opened, 0 there is no value. */
int keyed_open(struct state *st, const struct keyed *k, struct secret *out, struct err *e);
/* agreed (may be NULL) gets the scope that came with the value; the caller's to release. */
int keyed_open_buyer(struct state *st, const struct keyed *k, int64_t expert, const char *buyer,
	json_t **agreed, struct secret *out, struct err *e);

#endif

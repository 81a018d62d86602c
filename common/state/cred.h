/*
 * Credentials: a name that code passes to EV_KEYS, and a sealed value. Changes run in a transaction
 * of their own, with their audit row. Lists are JSON arrays, owned by the caller.
 */
#ifndef EVCTL_STATE_CRED_H
#define EVCTL_STATE_CRED_H

#include "state/state.h"

#define CRED_SHORT 12 /* bytes: anything under this cannot be sealed or guarded */

struct cred {
	int64_t id, version;
	char name[65];
	bool buyer_pays, sealed, has_value;
	char tail[5];
	int64_t length;
	bool expires;
};

/* ERR_NOTFOUND with a near name, or the command that adds it. */
int cred_find(struct state *st, const char *name, struct cred *c, struct err *e);
bool cred_exists(struct state *st, const char *name);
/* ERR_CONFLICT where there is one of that name; ERR_USAGE where it is none. */
int cred_check_new(struct state *st, const char *name, struct err *e);
/* Names of all, sorted. */
int cred_names(struct state *st, struct strv *out, struct err *e);
/*
 * What there is behind a name that code reads: a credential, a value (stored, or one that buyers
 * supply), and the first host that it is bound to, NULL or the caller's.
 */
int cred_behind(struct state *st, const char *name, bool *exists, bool *has_value, char **host,
	struct err *e);
/* value may be NULL for payer buyer. ERR_CONFLICT if the name is taken and replace is false. */
int cred_add(struct state *st, const char *name, bool buyer_pays, bool sealed, bool replace,
	const struct secret *value, struct err *e);
int cred_rotate(struct state *st, const struct cred *c, const struct secret *value, struct err *e);
int cred_set_payer(struct state *st, const struct cred *c, bool buyer_pays, struct err *e);
int cred_set_sealed(struct state *st, const struct cred *c, bool sealed, struct err *e);
/* ERR_CONFLICT lists what uses it: hosts and published versions. */
int cred_remove(struct state *st, const struct cred *c, struct err *e);
/*
 * Another name, bindings and values as they were. Needs state_unlock(): a value is sealed to its
 * name.
 */
int cred_rename(struct state *st, const struct cred *c, const char *to, struct err *e);
/* "version 2 of e": those whose code reads the name. */
int cred_readers(struct state *st, const struct cred *c, struct strv *out, struct err *e);
/* One buyer's own value, for one expert; records the published hosts that it unlocks now. */
int cred_supply(struct state *st, const struct cred *c, const char *expert, const char *buyer,
	const struct secret *value, struct err *e);
int cred_withdraw(struct state *st, const struct cred *c, const char *expert, const char *buyer,
	struct err *e);
/*
 * Opens the value of the credential's payer: the builder's, or what the buyer supplied for the
 * expert. 1 opened, 0 there is none or the payer has changed. Needs state_unlock().
 */
int cred_open(struct state *st, const struct cred *c, int64_t expert, const char *buyer,
	struct secret *out, struct err *e);
/*
 * What a stored buyer value's `hosts` column holds for the hosts that `c` unlocks in the expert's
 * published version: a JSON array of host_scope() texts, by name and port. "[]" when nothing is
 * published.
 */
json_t *cred_scope(
	struct state *st, int64_t cred_id, int64_t expert_id, int64_t version, struct err *e);

/*
 * What a buyer agreed to with a value for an expert, as cred_scope() has it: the caller's, NULL
 * where it cannot be read. 1 there is a value, 0 there is none.
 */
int cred_agreed(struct state *st, int64_t cred_id, int64_t expert_id, const char *buyer,
	json_t **scope, struct err *e);
/* All values of buyers for an expert: [{credential (its id), key, buyer, scope}], by buyer and key.
 */
json_t *cred_supplied(struct state *st, int64_t expert_id, struct err *e);

/* name NULL: all of them. */
json_t *cred_list(struct state *st, const char *name, struct err *e);

#endif

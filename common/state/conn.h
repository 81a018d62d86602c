/*
 * Connections: outside APIs that an expert calls through the broker. A connection is its exact
 * hosts, the env var name that buyers see, an auth style and a key; a grant gives it to an expert
 * and says whose key pays. Changes run in a transaction of their own, as in state/cred.h.
 *
 * Hosts are kept in their canonical text ("x", "x:8443", net/hostname.h), sorted; never a wildcard.
 */
#ifndef EVCTL_STATE_CONN_H
#define EVCTL_STATE_CONN_H

#include "base/strv.h"
#include "state/expert.h"
#include "state/bound_host.h"
#include "state/state.h"

#define CONN_HOSTS_MAX 64
#define CONN_BUILDER "builder" /* the reserved buyer: the builder's own value of a buyer's key */

/* One that is found owns its texts; one made to be added or set from borrows them. */
struct conn {
	int64_t id, version;
	const char *name, *env;
	const char *auth;  /* "bearer" or "header:NAME" */
	struct strv hosts; /* at least one; to add or set: as people write them */
	struct route route;
	bool has_value;
	int64_t length; /* of the builder's value, bytes */
};
#define CONN_AUTO __attribute__((cleanup(conn_free))) struct conn
void conn_free(struct conn *c);

/* Fills a zeroed conn; ERR_NOTFOUND with a near name, or the command that adds it. */
int conn_find(struct state *st, const char *name, struct conn *c, struct err *e);
bool conn_exists(struct state *st, const char *name);
/* Names of all, sorted. */
int conn_names(struct state *st, struct strv *out, struct err *e);
/* ERR_USAGE for what no connection may have: wildcards, names, auth styles, addresses. */
int conn_check(const struct conn *c, struct err *e);
/* value NULL: no key of the builder's; every grant is then the buyer's to pay. */
int conn_add(struct state *st, const struct conn *c, const struct secret *value, struct err *e);
/* Sets all but name and value of the connection c->id. */
int conn_set(struct state *st, const struct conn *c, struct err *e);
int conn_rotate(struct state *st, const struct conn *c, const struct secret *value, struct err *e);
/* ERR_CONFLICT lists the experts that it is granted to. */
int conn_remove(struct state *st, const struct conn *c, struct err *e);

/* *changed is false where it was so already. */
int conn_grant(struct state *st, const struct conn *c, const struct expert *x, bool buyer_pays,
	bool *changed, struct err *e);
int conn_revoke(struct state *st, const struct conn *c, const struct expert *x, bool *changed,
	struct err *e);
/* One buyer's own key, for one expert; records the hosts that the buyer agrees to by it. */
int conn_supply(struct state *st, const struct conn *c, const struct expert *x, const char *buyer,
	const struct secret *value, struct err *e);
int conn_withdraw(struct state *st, const struct conn *c, const struct expert *x, const char *buyer,
	struct err *e);

/* What a key of this connection reaches now, in the words of cred_scope(); the caller's. */
json_t *conn_scope(const struct conn *c);

/* Whether it is granted to the expert now, and who pays. */
int conn_granted(struct state *st, const struct conn *c, const struct expert *x, bool *granted,
	bool *buyer_pays, struct err *e);
/*
 * The key of the grant's payer; buyer NULL is the builder. Needs state_unlock(). Where the buyer
 * pays: ERR_MISSING_KEY, naming the env var, when that buyer gave none, or gave it for fewer hosts.
 */
int conn_key(struct state *st, const struct conn *c, const struct expert *x, bool buyer_pays,
	const char *buyer, struct secret *out, struct err *e);

/* Who it is granted to: [{expert, payer}], by name. */
json_t *conn_grants(struct state *st, int64_t conn_id, struct err *e);
/* name NULL: all. Values masked. */
json_t *conn_list(struct state *st, const char *name, struct err *e);
/* What an expert has been granted: [{name, env, hosts, payer, flags}], by name. */
json_t *conn_list_of(struct state *st, int64_t expert_id, struct err *e);

#endif

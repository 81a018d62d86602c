/*
 * Buyers whom the door lets in, and which experts each may use. At the shell any name is a buyer's:
 * there the owner's word is enough.
 */
#ifndef EVCTL_STATE_BUYER_H
#define EVCTL_STATE_BUYER_H

#include "state/expert.h"

#define BUYER_RESERVED "builder" /* nobody is called that */

/* ERR_USAGE for a name that is none; ERR_CONFLICT where it is, or was, somebody's. */
int buyer_add(struct state *st, const char *name, const char *note, struct err *e);
/* Registered, and not removed? ERR_NOTFOUND. */
int buyer_check(struct state *st, const char *name, struct err *e);
/* The same without an error: 1 yes, 0 no. */
int buyer_known(struct state *st, const char *name, struct err *e);

/* Of the experts all or none, which must exist; [{buyer, expert, changed}]. */
json_t *buyer_grant(struct state *st, const char *name, char *const *experts, size_t n, bool grant,
	struct err *e);
/* A buyer asks for an expert that is listed; asking again changes nothing. */
int buyer_ask(struct state *st, const char *name, const char *expert, struct err *e);
/* [{buyer, expert, asked}] that were neither granted nor refused. */
json_t *buyer_requests(struct state *st, struct err *e);

/* What goes when a buyer does: {tokens, grants, values, runs, artifacts}. */
json_t *buyer_weigh(struct state *st, const char *name, struct err *e);
/*
 * Tokens, grants, values and quotas go; the name stays taken, and runs stay. ERR_CONFLICT while
 * sessions live. purge: also of one removed before; artifacts go too, runs are nobody's then, and
 * the name is free.
 */
int buyer_remove(struct state *st, const char *name, bool purge, struct err *e);

/* [{buyer, note, added, experts, tokens, last_used}] */
json_t *buyer_list(struct state *st, struct err *e);
/* The same of one, with subjects and quotas. */
json_t *buyer_show(struct state *st, const char *name, struct err *e);

/* Ties what an authorization server calls somebody to a buyer. ERR_CONFLICT: it is another's. */
int buyer_subject(
	struct state *st, const char *name, const char *issuer, const char *subject, struct err *e);
/* The buyer so called, the caller's; NULL with ERR_NOTFOUND. */
char *buyer_of_subject(struct state *st, const char *issuer, const char *subject, struct err *e);

/* ---- what the door asks ---- */

/* [{expert, description, version, granted, asked}]: published ones, granted or listed. buyer NULL:
 * the listed alone. */
json_t *buyer_experts(struct state *st, const char *buyer, struct err *e);
/*
 * Whether this buyer may use this expert now: *version is the published one. 1 yes, 0 no: an expert
 * that isn't there looks the same as one that is not granted.
 */
int buyer_may(struct state *st, const char *buyer, const char *expert, int *version, struct err *e);
/* Published and listed: *contact is the caller's. 1 yes, 0 no. */
int expert_listed(struct state *st, const char *expert, char **contact, struct err *e);
/* contact NULL: as it was. */
int expert_list_openly(
	struct state *st, const struct expert *x, bool listed, const char *contact, struct err *e);

#endif

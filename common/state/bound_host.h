/*
 * Hosts, and what is bound to them: those that are declared, and those frozen with a published
 * version. Changes are as in state/cred.h.
 */
#ifndef EVCTL_STATE_BOUND_HOST_H
#define EVCTL_STATE_BOUND_HOST_H

#include "net/host.h"
#include "state/cred.h"

struct query;

struct bound_host {
	struct host host;
	int64_t id;		     /* of the declared one; 0 where it is a version's */
	int64_t credential;	     /* credentials.id, 0: egress only */
	const char *credential_name; /* NULL: egress only */
	bool buyer_pays;	     /* the credential's payer is 'buyer' */
	bool sealed;		     /* the credential's */
	bool has_value;		     /* a stored value is there (never so where the buyer pays) */
	int length;		     /* of the stored value, bytes */
};
#define BOUND_HOST_AUTO __attribute__((cleanup(bound_host_free))) struct bound_host
void bound_host_free(struct bound_host *h);

/* The columns of a query over host_view or frozen_host_view, and its row. */
#define BOUND_HOST_COLUMNS                                                                \
	"name, port, plain, allow_private, connect_to, ca, credential, credential_name, " \
	"buyer_pays, sealed, has_value, length"
int bound_host_read(struct query *q, struct bound_host *h, struct err *e);
/* allow_private, connect_to and ca from column i on. */
int route_read(struct query *q, int i, struct route *r, struct err *e);

/* By its text in any spelling; ERR_NOTFOUND with a near one or the command that adds it. */
int host_find(struct state *st, const char *text, struct bound_host *h, struct err *e);
/* Texts of all, by name and port. */
int host_texts(struct state *st, struct strv *out, struct err *e);
int host_add(struct state *st, const struct host *h, const struct cred *bind, struct err *e);
/* Sets flags and route of `to` as a whole. */
int host_set(struct state *st, const struct bound_host *h, const struct host *to, struct err *e);
/* Another name and port, as `to` has them; attached and bound as it was. */
int host_rename(struct state *st, const struct bound_host *h, const struct host *to, struct err *e);
int host_remove(struct state *st, const struct bound_host *h, struct err *e);
/* c NULL clears. */
int host_bind(struct state *st, const struct bound_host *h, const struct cred *c, struct err *e);
/* "! wildcard", "! allow-private", "! plain", "! connect-to ADDR:PORT" and "own CA". */
/* Its text. */
json_t *host_json(const struct host *h);
json_t *host_flags(const struct host *h, bool bound);
/*
 * Appends what a buyer is asked to agree to for a host of this text: "TEXT FLAG...". What is stored
 * is held against it, so it says the same in every version of the program.
 */
void host_scope(struct buf *b, const char *text, const struct host *h);
/* NULL: all. */
json_t *host_list(struct state *st, const struct bound_host *only, struct err *e);
json_t *host_named(struct state *st, const char *text, struct err *e); /* of that one */

#endif

/*
 * Hosts, and what is bound to them. A host is a row (name, port); changes are as in state/cred.h.
 */
#ifndef EVCTL_STATE_HOST_H
#define EVCTL_STATE_HOST_H

#include "net/hostname.h"
#include "state/cred.h"

struct host_options {
	bool allow_private, plain;
	const char *connect_to; /* "ADDR:PORT" or NULL */
	const char *ca;		/* PEM text or NULL */
	size_t ca_len;
};

struct host {
	int64_t id, credential; /* credential 0: egress only */
	char text[HOST_TEXT_MAX];
	char bound[65]; /* the credential's name or "" */
	bool wildcard;
};

/* By its text in any spelling; ERR_NOTFOUND with a near one or the command that adds it. */
int host_find(struct state *st, const char *text, struct host *h, struct err *e);
int host_add(struct state *st, const struct host_row *row, const struct host_options *o,
	const struct cred *bind, struct err *e);
/* Sets what is in `o` as a whole. */
int host_set(struct state *st, const struct host *h, const struct host_options *o, struct err *e);
int host_options_of(struct state *st, const struct host *h, struct host_options *o,
	struct buf *keep, struct err *e);
int host_remove(struct state *st, const struct host *h, struct err *e);
/* c NULL clears. */
int host_bind(struct state *st, const struct host *h, const struct cred *c, struct err *e);
/* "! wildcard", "! allow-private", "! plain", "! connect-to ADDR:PORT" and "ca" of a host. */
json_t *host_flags(const char *name, bool allow_private, bool plain, const char *connect_to,
	bool ca, bool bound);
/* text NULL: all. */
json_t *host_list(struct state *st, const struct host *only, struct err *e);

#endif

/*
 * The verdict on one request: may this head, come over this connection, go out, and by which row?
 * Pure: no look-ups, no clock, no memory; the golden and fuzz tests call it directly.
 *
 * Name, SNI and Host must agree with one row. An exact row goes before a wildcard, a longer
 * wildcard before a shorter one.
 */
#ifndef EVCTL_GATE_POLICY_H
#define EVCTL_GATE_POLICY_H

#include "net/hostname.h"
#include "net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy_row {
	struct host host; /* borrowed */
	int key;	  /* index of the credential bound here, -1 for none */
};

/* How the request came. */
struct policy_where {
	uint16_t port;	 /* of the listener */
	bool tls;	 /* else plain HTTP */
	const char *sni; /* canonical; NULL without TLS */
};

struct policy_verdict {
	const struct policy_row *row;	   /* NULL: refused */
	char host[HOST_MAX];		   /* canonical; "" when it was none */
	int status;			   /* to refuse with */
	const char *reason, *why;	   /* X-Evctl-Gate's word, and the sentence */
	char hint[2 * HOST_TEXT_MAX + 80]; /* the command that would allow it, or "" */
};

void policy_judge(const struct policy_row *rows, size_t n, const struct http_head *head,
	const struct policy_where *where, struct policy_verdict *v);

/* Some row speaks TLS (or plain HTTP) on this port. */
bool policy_speaks(const struct policy_row *rows, size_t n, uint16_t port, bool tls);

#endif

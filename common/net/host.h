/*
 * A host, from where it is declared to the gate that lets requests out to it: read from options and
 * files, kept in the state, frozen with a published version, and told to the gate for each call.
 *
 * Its texts are owned where it is made, and freed there by host_free(); a copy of the struct
 * borrows them. Names are canonical (net/hostname.h).
 */
#ifndef EVCTL_NET_HOST_H
#define EVCTL_NET_HOST_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define HOST_MAX 254		     /* a canonical name and its NUL */
#define HOST_TEXT_MAX (HOST_MAX + 9) /* "*.", the name, ":65535" and its NUL */

/* How to get there; connections have it too. */
struct route {
	bool allow_private;	/* private addresses are fine (metadata never is) */
	const char *connect_to; /* "ADDR:PORT" instead of looking the name up, or NULL */
	const char *ca;		/* PEM that replaces the system's roots, or NULL */
};

struct host {
	const char *name; /* "x", or "*.x": any depth below x, never x itself */
	uint16_t port;	  /* 443: TLS, and 80 plain; another: TLS, or plain where `plain` is set */
	bool plain;	  /* keys may go over plain HTTP */
	struct route route;
};
#define HOST_AUTO __attribute__((cleanup(host_free))) struct host

void host_free(struct host *h);
void route_free(struct route *r);
int route_copy(struct route *to, const struct route *from, struct err *e);
bool route_same(const struct route *a, const struct route *b);
/* The same name and port, whatever the flags. */
bool host_is(const struct host *a, const struct host *b);
bool host_same(const struct host *a, const struct host *b);

static inline bool host_is_wildcard(const struct host *h)
{
	return h->name[0] == '*';
}
/* As people write it: "x", "x:8443", "*.x:8443". */
void host_text(const struct host *h, char out[HOST_TEXT_MAX]);

#endif

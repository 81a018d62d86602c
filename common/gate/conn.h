/*
 * One connection from the code to the gate: plain or TLS, told apart by its first byte. Reads come
 * into a window that the caller eats from; writes are gathered into whole TLS records. Nothing here
 * waits past the deadline, and shutdown(2) on fd, by another thread, ends every wait.
 *
 * Our own server rather than libmicrohttpd: that one forgives bare LF, folded lines and repeated
 * fields before a handler sees them, and hides the bytes that the leak guard must read.
 */
#ifndef EVCTL_GATE_CONN_H
#define EVCTL_GATE_CONN_H

#include "base/buf.h"
#include "gate/ca.h"
#include "gate/host.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all connections share: credentials that make a leaf for the name asked for. */
struct conn_tls {
	gnutls_certificate_credentials_t cred;
	gnutls_priority_t priority;
	struct ca *ca;
};

int conn_tls_init(struct conn_tls *t, struct ca *ca, struct err *e);
void conn_tls_free(struct conn_tls *t);

struct conn {
	int fd; /* owned */
	const struct conn_tls *shared;
	gnutls_session_t tls; /* NULL: plain */
	char sni[HOST_MAX];   /* canonical; "" when plain */
	uint16_t port;	      /* of the listener */
	int64_t deadline;     /* CLOCK_MONOTONIC ms */
	char *in;	      /* the window in[at..len), NUL-terminated */
	size_t at, len;
	struct buf out;
	bool dead; /* nothing more can be written */
};

enum conn_got { CONN_GOT = 1, CONN_END = 0, CONN_FAILED = -1, CONN_AGAIN = -2 };

/* Reads the first byte: 1 TLS, 0 plain, -1 neither came. Then conn_handshake() for TLS. */
int conn_sniff(struct conn *c);
int conn_handshake(struct conn *c); /* 0, -1: no SNI, no TLS, or no time */
/* More bytes into the window. AGAIN only when !wait. FAILED also when the window is full. */
enum conn_got conn_fill(struct conn *c, bool wait);
/* Makes room: moves the window to the front. */
void conn_compact(struct conn *c);
int conn_put(struct conn *c, const void *p, size_t n);
int conn_puts(struct conn *c, const char *s);
int conn_flush(struct conn *c);
/* Lets the other side finish what it is sending, so that it reads our answer and not a reset. */
void conn_drain(struct conn *c);
/* Ends it: clean, or with a reset, so that a cut-off answer can't pass for a whole one. */
void conn_close(struct conn *c, bool clean);

#endif

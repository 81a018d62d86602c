/*
 * One connection to a server of ours: plain or TLS, told apart by its first byte. Reads come
 * into a window that the caller eats from; writes are gathered into whole TLS records. Nothing here
 * waits past the deadline, and shutdown(2) on fd, by another thread, ends every wait.
 *
 * Our own server rather than a library's: those forgive bare LF, folded lines and repeated fields
 * before a handler sees them, and hide the bytes that the gate's leak guard must read.
 */
#ifndef EVCTL_NET_HTTP_CONN_H
#define EVCTL_NET_HTTP_CONN_H

#include "base/buf.h"
#include "base/err.h"
#include "net/hostname.h"

#include <gnutls/abstract.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A server's certificate, with what leads up from it, and its key. */
struct http_leaf {
	gnutls_pcert_st *certs;
	unsigned ncerts;
	gnutls_privkey_t key;
};

/*
 * The leaf for a canonical name, "" where the client said none; valid while connections live. NULL
 * ends the handshake.
 */
typedef struct http_leaf *http_leaf_fn(void *arg, const char *name);

/* What all connections share: which leaf answers to the name asked for. */
struct http_tls {
	gnutls_certificate_credentials_t cred;
	gnutls_priority_t priority;
	http_leaf_fn *leaf;
	void *arg;
};

int http_tls_init(struct http_tls *t, http_leaf_fn *leaf, void *arg, struct err *e);

struct http_conn {
	int fd; /* owned */
	const struct http_tls *shared;
	gnutls_session_t tls; /* NULL: plain */
	char sni[HOST_MAX];   /* canonical; "" when plain, or none was said */
	uint16_t port;	      /* of the listener */
	int64_t deadline;     /* CLOCK_MONOTONIC ms */
	int patience;	      /* ms, of one wait for the other side; 0: until the deadline */
	char *in;	      /* the window in[at..len), NUL-terminated */
	size_t at, len;
	size_t high; /* the most that was ever in there: to be wiped */
	struct buf out;
	bool dead;		   /* nothing more can be written */
	atomic_bool idle;	   /* in http_conn_await() */
	const atomic_bool *ending; /* the server wants no further request; may be NULL */
};

enum http_got { HTTP_GOT = 1, HTTP_END = 0, HTTP_FAILED = -1, HTTP_AGAIN = -2 };

/* What the other side of a socket or pipe does, as far as can be seen without reading. */
enum http_peer {
	HTTP_QUIET,
	HTTP_TALKS,  /* there is something to read */
	HTTP_CEASED, /* it sends nothing more: it may have gone, or still want its answer */
	HTTP_AWAY,
};
enum http_peer http_peer(int fd); /* -1: QUIET */

/* Reads the first byte: 1 TLS, 0 plain, -1 neither came. Then http_conn_handshake() for TLS. */
int http_conn_sniff(struct http_conn *c);
int http_conn_handshake(struct http_conn *c); /* 0, -1: no leaf, no TLS, or no time */
/* Waits for the first byte of a request. False: none comes, or the server is ending. */
bool http_conn_await(struct http_conn *c);
/* More bytes into the window. AGAIN only when !wait. FAILED also when the window is full. */
enum http_got http_conn_fill(struct http_conn *c, bool wait);
/* Makes room: moves the window to the front. */
void http_conn_compact(struct http_conn *c);
int http_conn_put(struct http_conn *c, const void *p, size_t n);
int http_conn_puts(struct http_conn *c, const char *s);
int http_conn_flush(struct http_conn *c);
/* Sets the deadline for writing n bytes: 20 s, and no less than 1 KB/s. */
void http_conn_allow(struct http_conn *c, size_t n);
/* Lets the other side finish what it is sending, so that it reads our answer and not a reset. */
void http_conn_drain(struct http_conn *c);
/* Ends it: clean, or with a reset, so that a cut-off answer can't pass for a whole one. */
void http_conn_close(struct http_conn *c, bool clean);

#endif

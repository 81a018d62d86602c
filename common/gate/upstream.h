/*
 * The way out: one request over libcurl, whose only includer this is. No proxies, no .netrc, no
 * cookies, no redirects, http and https only, certificates always checked against the host's name.
 * Every address is judged (net/addr.h) in the moment it is connected to.
 *
 * A `struct upstream` is the way to one attached host (or wildcard): its rules, and the connections
 * kept alive under these rules; never shared between rows, since a kept connection is not judged
 * again. Many threads may use one at once.
 *
 * A request arrives once: what is not idempotent, or has a body that streams, goes over a kept
 * connection only if there is no sign of that having ended, and is not sent again.
 */
#ifndef EVCTL_GATE_UPSTREAM_H
#define EVCTL_GATE_UPSTREAM_H

#include "base/err.h"
#include "net/host.h"
#include "net/http.h"
#include "net/http_conn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct upstream;

/* Once a process, before any thread. 0/-1. */
int upstream_init(void);

/* The route is copied. */
struct upstream *upstream_new(const struct route *r, struct err *e);
/* Closes what it kept open; nobody may be using it. */
void upstream_free(struct upstream **u);

struct upstream_head {
	int status; /* final: never 1xx */
	struct http_text phrase;
	const struct http_field *field;
	size_t nfields;
};

#define UPSTREAM_NO_BODY ((int64_t)-2)
#define UPSTREAM_CHUNKED ((int64_t)-1)
#define UPSTREAM_WAIT ((ssize_t)-1) /* nothing now: ask again when wait_fd is readable */
#define UPSTREAM_STOP ((ssize_t)-2)

struct upstream_request {
	const char *host; /* canonical */
	uint16_t port;
	bool tls;
	const char *method, *target; /* sent as they are; the caller has checked them */
	const char *const *fields;   /* "Name: value" and a NULL; Host and framing are made here */
	int64_t length;		     /* of the body, or one of the words above */
	bool streams;		     /* the body may come slowly: HTTP/1.1 only, see upstream.c */
	int64_t deadline;	     /* CLOCK_MONOTONIC ms */
	int wait_fd;		     /* the client's, to be woken by; -1 for none */
	void *arg;
	/* The body: how many bytes were put at p, 0 at its end, or WAIT or STOP. NULL with NO_BODY.
	 */
	ssize_t (*read)(void *arg, void *p, size_t n);
	/* Starts the body over, for a kept connection that had died; false if that can't be. */
	bool (*rewind)(void *arg);
	/* The answer, as it comes; -1 stops. Bodies are not decoded. idle: about to wait. */
	int (*head)(void *arg, const struct upstream_head *h);
	int (*body)(void *arg, const void *p, size_t n);
	int (*idle)(void *arg);
	/* What the client does: AWAY ends the request, CEASED does not. */
	enum http_peer (*client)(void *arg);
};

enum upstream_end {
	UPSTREAM_OK,
	UPSTREAM_STOPPED,     /* by a callback, or by the client's going away */
	UPSTREAM_ADDRESS,     /* every address was refused */
	UPSTREAM_UNREACHABLE, /* no such name, no connection */
	UPSTREAM_CERTIFICATE,
	UPSTREAM_TLS, /* no TLS connection for another reason */
	UPSTREAM_TIMEOUT,
	UPSTREAM_BROKEN, /* malformed or cut short */
};

/* Runs to the end. *why becomes a static phrase, "" when all went well. */
enum upstream_end upstream_run(
	struct upstream *u, const struct upstream_request *q, const char **why);

#endif

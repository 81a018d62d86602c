/*
 * Connections that listeners accept, each served by a thread of its own, up to a number. At the
 * number, the oldest that waits between two requests makes room.
 */
#ifndef EVCTL_NET_HTTP_POOL_H
#define EVCTL_NET_HTTP_POOL_H

#include "base/err.h"
#include "net/http_request.h"

struct http_pool;

/* In the connection's thread. True: the connection ends cleanly; else with a reset. */
typedef bool http_serve_fn(struct http_conn *c, void *arg);

struct http_pool *http_pool_new(size_t max, struct err *e);
/* Only after http_pool_end() said 0. */
void http_pool_free(struct http_pool **p);
/* There is room for one more; else one is asked to go. */
bool http_pool_room(struct http_pool *p);
/*
 * Takes what waits at a listener that does not block. like is what each connection begins as, but
 * for its descriptor. False when the system has no room: ask again a little later.
 */
bool http_pool_accept(struct http_pool *p, int listener, const struct http_conn *like,
	http_serve_fn *serve, void *arg);
/* Accepts and serves until stop is readable. 0/-1. */
int http_pool_run(struct http_pool *p, int listener, int stop, http_serve_fn *serve, void *arg,
	struct err *e);
/*
 * Ends all connections: those that are idle at once, the others when they have answered, or after
 * grace ms. 0 none is left; -1 a thread does not end, and may still use what it was given.
 */
int http_pool_end(struct http_pool *p, int grace);

/* Who answers requests on plain connections, and how long it waits for them. */
struct http_service {
	int idle_ms; /* for a request; also the longest wait for any part of one to move on */
	int head_ms; /* for a head to be whole, once it has begun */
	/* Answers r. bad: the status to refuse it with, and why; else 0. Many threads call it. */
	void (*answer)(void *arg, struct http_request *r, int bad, const char *why);
	void *arg;
};

/* An http_serve_fn of a struct http_service. */
bool http_serve(struct http_conn *c, void *service);

#endif

/*
 * One request on a connection: its head, whole and parsed, then its body as it comes. Valid when
 * zeroed; http_request_end() frees.
 */
#ifndef EVCTL_NET_HTTP_REQUEST_H
#define EVCTL_NET_HTTP_REQUEST_H

#include "net/http.h"
#include "net/http_conn.h"

struct http_request {
	struct http_conn *c;
	char *raw; /* the head's own copy: the window moves on under the body */
	size_t raw_len;
	struct http_head head;
	struct http_chunks chunks;
	int64_t left; /* of a body with a length */
	uint64_t got; /* bytes of body taken */
	bool body_done;
	bool asked; /* the client has been told to send the body, where it waits for that */
	bool close; /* no further request on this connection */
};

/*
 * Waits for the next head. 0 there it is, -1 the connection is over; else the status to refuse with
 * (400, 417, 431, 505) and *why, a static sentence: nothing more can be read then.
 */
int http_request_read(struct http_request *r, struct http_conn *c, const char **why);
void http_request_end(struct http_request *r); /* wipes */

#define HTTP_BODY_WAIT ((ssize_t)-1)	  /* nothing now; only when !wait */
#define HTTP_BODY_GONE ((ssize_t)-2)	  /* the client went away, or its time is over */
#define HTTP_BODY_MALFORMED ((ssize_t)-3) /* 400 */
#define HTTP_BODY_LARGE ((ssize_t)-4)	  /* 413 */

/* The next piece of body, at *data within the window: its length, 0 at the end, or one of these. */
ssize_t http_request_body(struct http_request *r, uint64_t max, bool wait, const char **data);
struct http_header {
	const char *name, *value; /* value NULL: left out */
};

/*
 * Answers with a whole body (not sent to a HEAD), framing and Date made here. 0 all was given to
 * the system, -1 not: the connection is dead, which it also is if a value can't be a header's.
 */
int http_request_answer(struct http_request *r, int status, const struct http_header *h, size_t n,
	const void *body, size_t len);
/*
 * The same in pieces, for an answer whose length isn't known: the head, pieces as they come, each
 * sent at once, and the end, without which it can't pass for whole (but for HTTP/1.0's clients).
 */
int http_request_begin(struct http_request *r, int status, const struct http_header *h, size_t n);
int http_request_piece(struct http_request *r, const void *p, size_t n);
int http_request_finish(struct http_request *r);
/* Method names have a case: "head" is another one, with a body in its answer. */
bool http_request_is(const struct http_request *r, const char *method);

#endif

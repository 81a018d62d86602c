/*
 * One request to a connection's host, with its key: what is sent is made here from what the caller
 * may say, and what comes back has the key taken out. Only https; no redirect is followed; the
 * answer's compression is undone.
 */
#ifndef EVCTL_BROKER_TRANSFER_H
#define EVCTL_BROKER_TRANSFER_H

#include "broker/url.h"
#include "gate/upstream.h"
#include "state/conn.h"

/* All borrowed. */
struct transfer_request {
	const struct broker_url *url;
	const char *method;
	const struct strv *headers; /* "Name: value"; NULL: none */
	const void *body;
	size_t nbody;
	bool has_body;
	const char *auth;	  /* the connection's style */
	const struct secret *key; /* empty: nothing is sent, as in a test without a key */
	size_t answer_max;
	int64_t deadline; /* CLOCK_MONOTONIC ms */
	int cancel_fd;	  /* hung up: stop; -1: none */
};

struct transfer_answer {
	int status;
	json_t *headers;     /* lower-case names; several of one name are joined with ", " */
	struct buf body;     /* decoded, the key taken out */
	const char *verdict; /* "allowed", or the gate's word for what went wrong; static */
	uint64_t up, down;
	int64_t ms;
};
void transfer_answer_free(struct transfer_answer *a);

/* ERR_USAGE for what no request may hold: a bad method or header, a body over the cap. */
int transfer_check(const struct transfer_request *q, struct err *e);
/*
 * 0 with an answer, whatever its status. -1: ERR_DENIED (the address), ERR_TIMEOUT, ERR_LIMIT (too
 * large), ERR_CANCELLED, ERR_FAIL; the answer's numbers and verdict are set then too.
 */
int transfer_run(struct upstream *up, const struct transfer_request *q, struct transfer_answer *a,
	struct err *e);

#endif

/*
 * The body of a request on its way up: searched for keys, as far as can be before anything goes
 * out, and with stand-ins swapped.
 */
#ifndef EVCTL_GATE_REQUEST_BODY_H
#define EVCTL_GATE_REQUEST_BODY_H

#include "gate/request_head.h"

struct request_body {
	struct request_head *head;
	struct refusal *no;
	struct leak_stream guard, swap;
	struct buf ready; /* searched and swapped, not yet sent: from ready_at */
	size_t ready_at;
};

/* Searches what can be searched before the request goes out. 0/-1. */
int request_body_guard(struct request_body *b, struct request_head *head, struct refusal *no);
/* As upstream_request has them. */
ssize_t request_body_read(struct request_body *b, void *p, size_t n);
bool request_body_rewind(struct request_body *b);
void request_body_free(struct request_body *b); /* wipes */

#endif

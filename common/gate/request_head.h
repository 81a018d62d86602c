/*
 * The head of a request through the gate: read, judged, searched for keys, and written anew for the
 * way out with what it may carry swapped in. Valid when zeroed.
 */
#ifndef EVCTL_GATE_REQUEST_HEAD_H
#define EVCTL_GATE_REQUEST_HEAD_H

#include "gate/call.h"
#include "gate/refusal.h"
#include "net/http_request.h"

struct request_head {
	struct http_request in;
	struct policy_verdict v;
	struct call_row *row;	  /* set once the verdict is yes */
	const struct leak *guard; /* what may not go there; set with row */
	bool swaps;		  /* the row's stand-in becomes its value */
	struct buf lines;	  /* what goes up: method, target, fields, each ended by a NUL */
	const char *fields[HTTP_FIELDS_MAX + 4];
};

/* Waits for one. 1 it may go out so far, 0 the connection is over, -1 refused. */
int request_head_read(
	struct request_head *h, struct call *call, struct http_conn *c, struct refusal *no);
/* Fills lines and fields. 0/-1. */
int request_head_write(struct request_head *h, struct refusal *no);
void request_head_free(struct request_head *h); /* wipes */

#endif

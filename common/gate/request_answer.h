/*
 * What comes down for a request: the host's answer, or the gate's refusal. An answer is counted as
 * what it unpacks to. Where values are put back to their stand-ins it is passed on unpacked, else
 * as it came, and only a copy is unpacked.
 */
#ifndef EVCTL_GATE_REQUEST_ANSWER_H
#define EVCTL_GATE_REQUEST_ANSWER_H

#include "gate/coding.h"
#include "gate/request_head.h"

struct request_answer {
	struct http_request *in;
	struct refusal *no;
	int status;
	bool head_sent, bodyless, chunked;
	bool as_it_came;
	int64_t left; /* of an answer with a length, else -1 */
	uint64_t got; /* bytes, decoded */
	bool held;    /* the last byte of such an answer waits for request_answer_end() */
	char last;
	struct decoding *decode;
	struct packing *pack; /* what was decoded to put stand-ins in */
	struct buf head;      /* until the body's first bytes go on: then a refusal is too late */
	struct leak_stream unswap;
};

/* As upstream_request has them. */
int request_answer_head(struct request_answer *a, const struct upstream_head *h);
int request_answer_body(struct request_answer *a, const void *p, size_t n);
/* Has the client's system tell, by a reset, if the client has gone: something is sent to it that
 * one which still reads passes over. Not to a 1.0 client, nor within a body with a length. */
void request_answer_probe(struct request_answer *a);
/* The upstream's part is done: the last bytes, and the end of the framing, which wait in the
 * connection for its http_conn_flush(). 0/-1. */
int request_answer_end(struct request_answer *a);
/* Says why not; only while !head_sent. */
void request_answer_refuse(struct request_answer *a);
void request_answer_free(struct request_answer *a);

#endif

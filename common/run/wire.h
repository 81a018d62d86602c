/*
 * What a session's keeper and its callers say to each other, as bytes. Both are evctl's own
 * programs of one build and one uid; lengths are checked all the same. Decoded structs point into
 * the message, which must outlive them. Messages hold keys: whoever makes or gets one wipes it.
 */
#ifndef EVCTL_RUN_WIRE_H
#define EVCTL_RUN_WIRE_H

#include "run/keys.h"
#include "run/room.h"

#include <stdint.h>

/* The first byte of a message. */
enum wire_kind {
	WIRE_TURN = 'T',  /* keeper: your turn; earlier keys; the code's descriptor comes along */
	WIRE_CALL = 'C',  /* caller; a pipe for the log may come along */
	WIRE_REPLY = 'R', /* keeper: outputs' descriptor comes along */
	WIRE_ERROR = 'E', /* keeper: nothing was run */
	WIRE_READY = 'Y', /* keeper to who starts it: the sandbox is being made */
	WIRE_GO = 'G',	  /* and back: it is recorded, begin */
};

struct wire_out {
	char *p; /* NULL: only count */
	size_t n;
};
void wire_put_u(struct wire_out *w, uint64_t v);
void wire_put_b(struct wire_out *w, const void *p, size_t n);
void wire_put_s(struct wire_out *w, const char *s); /* NULL stays NULL */

struct wire_in {
	const char *p;
	size_t left;
	bool bad; /* something did not fit: what was read since is nothing */
};
uint64_t wire_get_u(struct wire_in *w);
const char *wire_get_b(struct wire_in *w, size_t *n);
const char *wire_get_s(struct wire_in *w);

void wire_put_call(struct wire_out *w, const struct room_call *c);
struct wire_call {
	struct room_call call;
	struct gate_row *rows;
	struct gate_key *gate_keys;
	struct sandbox_key *keys;
};
int wire_get_call(struct wire_in *w, struct wire_call *c, struct err *e);
void wire_call_free(struct wire_call *c);

void wire_put_reply(struct wire_out *w, const struct room_reply *r);
/* Buffers and events are copied; the result's static strings point into the message. */
int wire_get_reply(struct wire_in *w, struct room_reply *r, struct err *e);

void wire_put_err(struct wire_out *w, const struct err *e);
/* Sets *e from the message; -1 always. */
int wire_get_err(struct wire_in *w, struct err *e);

void wire_put_keys(struct wire_out *w, const struct call_keys *k);
int wire_get_keys(struct wire_in *w, struct call_keys *k, struct err *e);

/* Sends what put writes; kind first. The bytes are made in locked memory and wiped. */
int wire_send(int sock, enum wire_kind kind, void (*put)(struct wire_out *, const void *),
	const void *what, int fd, struct err *e);

#endif

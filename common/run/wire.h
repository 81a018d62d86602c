/*
 * What a session's keeper, its callers and who starts it say to each other: frames (base/file.h)
 * that hold one message each (base/field.h). All are evctl's own programs of one build and one uid.
 * Messages hold keys, so they are in memory for secrets; what was read points into them.
 */
#ifndef EVCTL_RUN_WIRE_H
#define EVCTL_RUN_WIRE_H

#include "run/room.h"

#define WIRE_MAX ((size_t)64 << 20) /* bytes of a message */

extern const struct fields wire_turn;  /* keeper: your turn; struct call_keys: earlier ones. The
					  code's descriptor comes along */
extern const struct fields wire_call;  /* caller: struct room_call; a pipe for the log may come */
extern const struct fields wire_reply; /* keeper: struct room_reply; outputs' descriptor comes */
extern const struct fields wire_error; /* keeper: nothing was run; struct err */
extern const struct fields wire_order; /* who starts a keeper: struct keeper_spec (keeper_in.h) */
extern const struct fields wire_ready; /* the keeper then: the sandbox is being made */
extern const struct fields wire_go;    /* and back: it is recorded, begin */

int wire_send(int sock, const struct fields *f, const void *what, const int *fds, size_t nfds,
	struct err *e);
/* As field_read(). */
int wire_read(const struct buf *b, const struct fields *f, void *to, struct err *e);
/* Sets *e from a wire_error; -1 always. */
int wire_error_read(const struct buf *b, struct err *e);

#endif

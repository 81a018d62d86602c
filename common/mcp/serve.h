/*
 * The server: two threads on one connection. The reader answers what needs no sandbox at once, also
 * while a call runs, takes cancellations and tells of progress; the thread that called serve() runs
 * the calls, one after the other, since the sandbox dies with the thread that made it.
 *
 * At end of file what was asked for may still finish for a moment; when nobody listens any more, or
 * on SIGTERM, the call that runs is ended.
 */
#ifndef EVCTL_MCP_SERVE_H
#define EVCTL_MCP_SERVE_H

#include "base/program.h"
#include "state/expert.h"

struct serve_spec {
	const struct invocation *in;
	const struct state_place *place;
	const struct expert_view *view; /* without code */
	const char *buyer;		/* NULL: the builder */
	int fd_in, fd_out;
};

/* Until the client is gone. -1 only when the server cannot be set up. */
int serve(const struct serve_spec *spec, struct err *e);

#endif

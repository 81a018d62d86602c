/*
 * One call by a process of its own (evctl-run -o json): its input to it, its two outputs from it.
 */
#ifndef EVCTL_FRONT_RUN_CALL_H
#define EVCTL_FRONT_RUN_CALL_H

#include "front/visit.h"

struct run_call {
	struct buf out; /* the run's envelope; empty where there was no run */
	struct buf why; /* then: the error, as JSON */
};
void run_call_free(struct run_call *c);
#define RUN_CALL_AUTO __attribute__((cleanup(run_call_free))) struct run_call

/*
 * Over the three descriptors of a process (input, output, errors), which it closes. -1: the process
 * made no sense, or was not over in time.
 */
int run_call(int fds[3], const char *input, size_t n, struct run_call *c);
/* The envelope, or {"error": ...}, the caller's, with the status that it is answered with. */
json_t *run_call_answer(const struct run_call *c, int *status);

/* POST /call/E/TOOL. */
void call_http(struct visit *v, const char *expert, const char *tool);

#endif

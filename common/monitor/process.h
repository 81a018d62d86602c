/*
 * What the monitor starts for visitors: evctl-mcp for a session, evctl-run for a call. Each gets
 * the private key by a pipe of its own; its input and output go to the front.
 */
#ifndef EVCTL_MONITOR_PROCESS_H
#define EVCTL_MONITOR_PROCESS_H

#include "base/child.h"
#include "door/door_message.h"
#include "state/state.h"

#define PROCESS_FDS 3

struct process {
	uint64_t number;
	struct child child;
	char tool[DOOR_NAME_MAX + 1]; /* of one call; "": a session */
	char token[DOOR_NAME_MAX + 1], buyer[DOOR_NAME_MAX + 1], expert[DOOR_NAME_MAX + 1];
	int version;
	bool told;	 /* the front knows that it is to be used no more */
	int64_t kill_at; /* CLOCK_MONOTONIC ms; 0: let it be */
	struct process *next;
};

/* Whom it is for, and what; token is the token's id. */
struct process_spec {
	const char *token, *buyer, *expert, *tool; /* tool NULL: a session */
	int version;
};

/*
 * Starts one. fds are the front's ends, the caller's to close: input and output, and of a call its
 * errors too; *nfds says how many. st has its private key.
 */
struct process *process_start(struct state *st, const struct process_spec *spec,
	int fds[PROCESS_FDS], size_t *nfds, struct err *e);
/*
 * Starts a program that only others start, "evctl-front" say, with one end of a socket as
 * descriptor 3 and these behind it; *sock, the other end, is the caller's. It dies with this
 * program.
 */
int process_helper(
	const char *name, const int *more, size_t nmore, struct child *c, int *sock, struct err *e);
/* Ends it, if it hasn't ended, and frees it. */
void process_free(struct process **p);
/* Has what it runs end now, and it soon after. */
void process_end(struct process *p, int grace_ms);

#endif

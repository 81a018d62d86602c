/*
 * A session's keeper: the process that holds its sandbox and gate, apart from whoever started it.
 * It has no private key and no open state: each call brings its keys and policy, and the caller
 * records what came of it. It serves one caller at a time; the others wait in the socket's queue.
 *
 * It ends when nobody called for the idle time, at the end of a session's life, when its sandbox is
 * dead, or by SIGKILL; the next command notices (state/session.h).
 */
#ifndef EVCTL_RUN_KEEPER_H
#define EVCTL_RUN_KEEPER_H

#include "state/expert.h"
#include "state/session.h"

#define KEEPER_WORD "--keep" /* the only argument of a keeper */

struct keeper_order {
	const char *expert, *buyer; /* buyer NULL: the builder */
	int version;		    /* as in struct run_who */
	long idle_s;
};

/*
 * Starts a keeper, records the session, and fills s (zeroed; the caller's to free). The private
 * key, if it was needed for the code, is forgotten first.
 */
int keeper_start(struct state *st, const struct keeper_order *o, struct session *s, struct err *e);

/* The keeper's own main, by a program that was started with KEEPER_WORD; its exit code. */
int keeper_main(void);

#endif

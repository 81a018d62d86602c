/*
 * The device nodes inside are the host's own, as a user namespace can have none, so their inodes
 * are shared by all sandboxes. Locks would carry messages from one to another; so whoever runs a
 * sandbox holds a shared lock of each kind, over the whole of each node, for as long as anything
 * runs in it. Then no exclusive lock is ever had inside, every shared one is, and what a query for
 * a conflict meets first is a supervisor's. Their times cannot be set, as they are mounted
 * read-only (launch.c).
 */
#ifndef EVCTL_SANDBOX_DEVICES_H
#define EVCTL_SANDBOX_DEVICES_H

#include "base/err.h"
#include "sandbox/plan.h"

struct devices {
	int fds[PLAN_DEVICES];
};

#define DEVICES_NONE ((struct devices){.fds = {-1, -1, -1, -1, -1}})

/* Before anything runs inside. 0/-1 with ERR_SANDBOX where another program has one locked. */
int devices_hold(struct devices *d, struct err *e);
/* After all of it is dead; harmless on DEVICES_NONE. */
void devices_release(struct devices *d);

#endif

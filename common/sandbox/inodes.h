/*
 * Inodes that every process of the machine has in common, a sandbox's too: the device nodes, as a
 * user namespace can have none of its own; the one behind all eventfds, timerfds and epoll
 * instances; the namespaces that are not the sandbox's own. Locks on them would carry messages from
 * one sandbox to another. So whoever runs one holds a shared lock of each kind, over the whole of
 * each, for as long as anything runs inside. Then no exclusive lock is ever had there, every shared
 * one is, and what a query for a conflict meets first is a supervisor's. The times of the nodes
 * cannot be set, as they are mounted read-only (launch.c).
 */
#ifndef EVCTL_SANDBOX_INODES_H
#define EVCTL_SANDBOX_INODES_H

#include "base/err.h"
#include "sandbox/plan.h"

#define INODES_N (PLAN_DEVICES + 3)

struct inodes {
	int fds[INODES_N];
	int n;
};

#define INODES_NONE ((struct inodes){.n = 0})

/* Before anything runs inside. 0/-1 with ERR_SANDBOX where another program has one locked. */
int inodes_hold(struct inodes *in, struct err *e);
/* After all of it is dead; harmless on INODES_NONE. */
void inodes_release(struct inodes *in);

#endif

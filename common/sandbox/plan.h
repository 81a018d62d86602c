/*
 * What to launch, as data: the argument list of bubblewrap. Pure; the golden tests are the review
 * of everything that a sandbox can see.
 */
#ifndef EVCTL_SANDBOX_PLAN_H
#define EVCTL_SANDBOX_PLAN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "sandbox/mounts.h"

#include <stdbool.h>

#define PLAN_BWRAP "/usr/bin/bwrap"

/*
 * What launch.c puts into the root that bwrap sees: /usr (the overlay), /tool, /cell, /etc, /work
 * (scratch with outputs/ in it, tmp, shm), /dev (as below, and shm; read-only), /proc, and /empty
 * and /nothing as masks.
 */
#define PLAN_DEVICES 5
extern const char *const plan_devices[PLAN_DEVICES]; /* names in /dev */
extern const char *const plan_device_links[][2];     /* name in /dev, target; NULL at the end */

/* The descriptors that bwrap is started with; the cell has the first six. */
enum plan_fd {
	PLAN_FD_NULL,
	PLAN_FD_OUT,	/* stdout of the tool: the result of a script */
	PLAN_FD_LOG,	/* stderr, and stdout of a function */
	PLAN_FD_CALL,	/* stream socket: the call's message */
	PLAN_FD_RESULT, /* pipe, write only: one framed result a call */
	PLAN_FD_INIT,	/* stream socket: the cell's own, never the tool's */
	PLAN_FD_ARGS,
	PLAN_FD_SECCOMP,
	PLAN_FDS,
};

struct plan {
	const struct mounts *mounts;
	bool session; /* the cell is pid 1 and forks; else bwrap's own init is */
};

/* argv: what bwrap is exec'd with; args: the rest, NUL-separated, for PLAN_FD_ARGS. */
int plan_bwrap(const struct plan *p, struct strv *argv, struct buf *args, struct err *e);

#endif

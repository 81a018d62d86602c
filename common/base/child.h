/*
 * Starting other programs: the only fork/exec for ordinary children (the sandbox's own clone3 lives
 * in sandbox/launch.c). A child gets exactly the descriptors named here and nothing else.
 */
#ifndef EVCTL_BASE_CHILD_H
#define EVCTL_BASE_CHILD_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_spec {
	const char *const *argv; /* argv[0] is an absolute path */
	const char *const *envp; /* NULL means an empty environment */
	const int *fds;		 /* fds[i] becomes descriptor i; -1 is /dev/null */
	size_t nfds;		 /* the rest is closed; 0..2 not named are /dev/null */
	const char *cwd;	 /* NULL: unchanged */
	bool new_session;	 /* setsid() */
	bool die_with_parent;	 /* PR_SET_PDEATHSIG SIGKILL */
};

struct child {
	pid_t pid;
	int pidfd; /* close-on-exec; owned */
};

#define CHILD_NONE ((struct child){.pid = -1, .pidfd = -1})

int child_start(struct child *c, const struct child_spec *spec, struct err *e);
/*
 * Waits until deadline (CLOCK_MONOTONIC ms, -1 for ever). 1 ended (*status as waitpid(2), may be
 * NULL; c is then CHILD_NONE), 0 still running.
 */
int child_wait(struct child *c, int *status, int64_t deadline);
/* SIGKILL and reap; harmless on CHILD_NONE. */
void child_kill(struct child *c);

#endif

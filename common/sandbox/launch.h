/*
 * The dumb executor of the plan: makes the outer namespaces, the listeners and the mounts, hands
 * their descriptors out, and becomes bubblewrap.
 *
 * The helper is process 1 of a pid namespace of its own, so that SIGKILL through its pidfd ends all
 * of the sandbox at any stage, and the pidfd's readability proves it. It takes an unprivileged uid
 * before anything else, and dies with the thread that started it.
 */
#ifndef EVCTL_SANDBOX_LAUNCH_H
#define EVCTL_SANDBOX_LAUNCH_H

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/plan.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_MAX_LISTENERS 256

struct launch_spec {
	const struct mounts *mounts;
	const char *const *argv;
	int fds[PLAN_FDS]; /* fds[i] becomes descriptor i */
	const int *ports;
	size_t nports;
	size_t stage_bytes, work_bytes, outputs_bytes;
	unsigned stage_inodes, work_inodes, outputs_inodes;
	size_t memory; /* of a process */
	size_t file;   /* bytes of one file, where a disk quota would not see it coming */
	unsigned processes;
};

struct launch {
	pid_t pid;
	int pidfd;
	int go;	   /* the helper waits at the other end; closing it ends the helper */
	uid_t uid; /* the host's uid of everything inside */
	int stage; /* a directory, bwrap's root; and in it: */
	int outputs, tmp, shm, scratch;
	int sockets[2]; /* the counters of its network; -1: not had */
	int listeners[LAUNCH_MAX_LISTENERS];
	uint16_t ports[LAUNCH_MAX_LISTENERS]; /* of each listener */
	size_t nlisteners;
	const struct cgroup *cgroup; /* not owned */
	pthread_t joiner;
	bool joining;
	int join_error;
};

#define LAUNCH_NONE                 \
	((struct launch){.pid = -1, \
		.pidfd = -1,        \
		.go = -1,           \
		.stage = -1,        \
		.outputs = -1,      \
		.tmp = -1,          \
		.shm = -1,          \
		.scratch = -1,      \
		.sockets = {-1, -1}})

/*
 * Up to the point where the stage can be filled; the rest is made meanwhile. After a failure too,
 * launch_close() is due. The descriptors of ARGS and SECCOMP may be filled until launch_go().
 */
int launch_start(
	struct launch *l, const struct launch_spec *spec, const struct cgroup *cg, struct err *e);
/* Takes the listeners, and has the helper become bwrap. */
int launch_go(struct launch *l, struct err *e);
/*
 * From launch_go() on: all of it is to be dead within so many milliseconds, even if this process is
 * stopped; -1: no longer.
 */
void launch_watch(const struct launch *l, int ms);
/* TCP sockets in its network, whoever has them, from launch_go() on; 0 where that is not told. */
unsigned launch_sockets(const struct launch *l);
/* Whether it has ended by itself. */
bool launch_ended(const struct launch *l);
/* After an early end: what the helper said of it, if anything. */
void launch_why(struct launch *l, struct err *e);
/* Kills and waits until all is dead; the directories can still be read. Harmless when repeated. */
void launch_kill(struct launch *l);
/* launch_kill(), and closes everything; harmless on LAUNCH_NONE. */
void launch_close(struct launch *l);
void launch_drop_listeners(struct launch *l);

/* Makes a user namespace, mounts and names in it, and lets it go. 0 or the errno. */
int launch_try(void);

#endif

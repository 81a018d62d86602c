/*
 * A control group for one sandbox, where this process may make one: version 2 where the controllers
 * are delegated to it, version 1 where it may write, none otherwise (resource limits then hold each
 * process by itself).
 *
 * In version 2 only leaves have processes: whoever is in the group that was delegated moves into
 * evctl.supervisor in it, beside the sandboxes' groups. Root moves nobody, its are in /evctl.
 */
#ifndef EVCTL_SANDBOX_CGROUP_H
#define EVCTL_SANDBOX_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_mode { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

struct cgroup {
	enum cgroup_mode mode;
	int memory, pids; /* directories; the same one in version 2; -1 when not had */
	int outer; /* without one of its own: the group's directory that it is in; -1 if unknown */
	char *memory_path, *pids_path;
};

#define CGROUP_INIT ((struct cgroup){.memory = -1, .pids = -1, .outer = -1})

/* What went wrong for good between two looks. */
struct cgroup_events {
	uint64_t oom_kills, pids_denied;
	uint64_t outer_kills; /* in a group that has others in it: no more than a hint */
};

/* Never fails: mode says what was had. Groups left behind by supervisors that were killed go too.
 */
void cgroup_open(struct cgroup *cg, size_t memory, unsigned processes);
/*
 * Moves a process that has not run yet into one of version 1; into one of version 2 it is cloned,
 * by the directory `memory`. 0/-1 with errno.
 */
int cgroup_join(const struct cgroup *cg, pid_t pid);
int cgroup_set_memory(const struct cgroup *cg, size_t memory);
struct cgroup_events cgroup_events(const struct cgroup *cg);
/* After all of it is dead. */
void cgroup_close(struct cgroup *cg);

#endif

/*
 * Telling a process from another with the same number: from a later one by its start time, from one
 * of another machine or container by the space of numbers that it has its number in.
 */
#ifndef EVCTL_BASE_PROC_H
#define EVCTL_BASE_PROC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * RLIMIT_CORE for no core at all: 0 has no say where they go to a program's standard input, there
 * the kernel takes 1 for none; and no file can be as small. core(5)
 */
#define NO_CORE 1

/* Field 22 of /proc/PID/stat, in clock ticks since boot; -1 if there is no such live process. */
int64_t proc_start(pid_t pid);
/*
 * Where the numbers of processes are what this program sees: the boot of the kernel and the pid
 * namespace in it, "BOOT-ID NUMBER". Two programs with different ones cannot tell by its number
 * whether a process of the other's lives. Empty where /proc tells nothing.
 */
#define PROC_SPACE_MAX 64
void proc_space(char out[PROC_SPACE_MAX]);
/*
 * A descriptor that SIGINT, SIGTERM and SIGHUP are read from, without waiting: they are blocked
 * from here on; old (may be NULL) is what was before. -1 with errno, and nothing is blocked.
 */
int proc_end_signals(sigset_t *old);
/* Is that very process still there (a zombie is not)? */
bool proc_alive(pid_t pid, int64_t start);

#endif

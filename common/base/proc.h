/*
 * Telling a process from a later one with the same number: pid and start time together.
 */
#ifndef EVCTL_BASE_PROC_H
#define EVCTL_BASE_PROC_H

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
/* Is that very process still there (a zombie is not)? */
bool proc_alive(pid_t pid, int64_t start);

#endif

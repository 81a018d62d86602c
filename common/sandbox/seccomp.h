/*
 * The system call filter: allowed unless listed, for the list is of what Python has no use for and
 * an attacker does. Listed calls fail with EPERM, or with ENOSYS where libraries then do without;
 * calls newer than this list fail with ENOSYS; foreign architectures are killed.
 */
#ifndef EVCTL_SANDBOX_SECCOMP_H
#define EVCTL_SANDBOX_SECCOMP_H

#include "base/err.h"

/* Writes the BPF program, for bwrap --seccomp, and goes back to the start. 0/-1. */
int seccomp_write(int fd, struct err *e);

#endif

/*
 * The gate's own cage: whoever takes over the process that parses hostile bytes finds no
 * privileges, no files but name-service and certificate ones, no programs to run, no sockets but
 * TCP and UDP.
 */
#ifndef EVCTL_GATE_CAGE_H
#define EVCTL_GATE_CAGE_H

#include "base/err.h"

/* Before any thread. What the kernel lacks (Landlock, say) is left out; what fails is an error. */
int cage_enter(struct err *e);

#endif

/*
 * The door's front: HTTP and TLS to whoever comes. It has no state, no key, no files and no new
 * sockets; what it knows it is told by the monitor, message by message (door/door_message.h).
 */
#ifndef EVCTL_FRONT_FRONT_H
#define EVCTL_FRONT_FRONT_H

#include "base/err.h"
#include "net/cage.h"

#include <stdint.h>

/*
 * Reads its rules from control and shuts itself in; then serves what comes to the listener, and
 * figures to who asks at metrics (-1: nobody), until the monitor says that it is to end (0) or is
 * gone (-1). Before any thread.
 */
int front_run(int control, int listener, int metrics, struct err *e);

/* What it is shut in, with so many connections. */
void front_cage(struct cage *c, int64_t connections);

#endif

/*
 * The gate's main thread: takes the supervisor's messages on the control socket, accepts, gives
 * each connection a thread, and between calls sees that none is left.
 */
#ifndef EVCTL_GATE_SERVER_H
#define EVCTL_GATE_SERVER_H

#include "base/err.h"
#include "net/cage.h"

/* What is to be entered before server_run(). */
extern const struct cage gate_cage;

/* Serves until the control socket ends (0) or something that must not happen does (-1). */
int server_run(int control, int journal, struct err *e);

#endif

/*
 * One request through the gate: head, verdict, guard, swap, way out, answer, event.
 */
#ifndef EVCTL_GATE_REQUEST_H
#define EVCTL_GATE_REQUEST_H

#include "gate/call.h"
#include "gate/events.h"
#include "net/http_conn.h"

#include <stdbool.h>

/* Waits for a request and serves it. *clean: how to close; true: another may follow. */
bool request_serve(struct call *call, struct events *events, struct http_conn *c, bool *clean);

#endif

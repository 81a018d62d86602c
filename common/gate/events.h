/*
 * What happened in a call: one event a request, up to a limit, from there on one a shape of
 * request with their count, and sums over all of them. Any thread may add; the main thread takes
 * them out when all are done.
 */
#ifndef EVCTL_GATE_EVENTS_H
#define EVCTL_GATE_EVENTS_H

#include "gate/client.h"

#define EVENT_PATH_MAX 1024

struct events;

/* journal: of gate/message.h, or -1. */
struct events *events_new(int journal);
/* Copies it; its strings have been scrubbed of keys. failed: upstream trouble, or broken off. */
void events_add(struct events *ev, const struct net_event *e, bool failed);
/* Appends the report's message (gate/message.h), and forgets them. */
int events_take(struct events *ev, struct buf *out, struct err *e);

#endif

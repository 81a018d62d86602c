/*
 * What happened in a call: one event a request, up to a limit, and sums over all of them. Any
 * thread may add; the main thread takes them out when all are done.
 */
#ifndef EVCTL_GATE_EVENTS_H
#define EVCTL_GATE_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENTS_MAX 10000
#define EVENT_PATH_MAX 1024

/* Borrowed strings; what is in them has been scrubbed of keys. */
struct event {
	int64_t at; /* ms since the epoch */
	const char *method, *host, *path;
	uint16_t port;
	int status;
	uint64_t up, down;
	int64_t ms;
	const char *verdict;
	bool failed; /* upstream trouble, or broken off */
};

struct events;

struct events *events_new(void);
void events_free(struct events **ev);
void events_add(struct events *ev, const struct event *e);
/* {"op":"events","events":[...],"summary":{...},"truncated":n}, and forgets them; NULL: no memory.
 */
json_t *events_take(struct events *ev);

#endif

#include "gate/events.h"

#include "base/grow.h"
#include "base/limits.h"
#include "gate/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct events {
	pthread_mutex_t lock;
	struct gate_report
		report; /* an event's strings are one block, which begins at its method */
	size_t room;
};

struct events *events_new(void)
{
	struct events *ev = calloc(1, sizeof *ev);
	if (ev)
		pthread_mutex_init(&ev->lock, NULL);
	return ev;
}

static void forget(struct events *ev)
{
	for (size_t i = 0; i < ev->report.n; i++)
		free((char *)ev->report.events[i].method);
	free(ev->report.events);
	ev->report = (struct gate_report){0};
	ev->room = 0;
}

static int make_room(struct events *ev)
{
	struct net_event *grown = grow(ev->report.events, ev->report.n, &ev->room, sizeof *grown);
	if (!grown)
		return -1;
	ev->report.events = grown;
	return 0;
}

static const char *copy(char **to, const char *s)
{
	const char *begin = *to;
	*to = stpcpy(*to, s) + 1;
	return begin;
}

static int keep(struct events *ev, const struct net_event *e)
{
	if (ev->report.n >= LIMIT_EVENTS || make_room(ev) < 0)
		return -1;
	char *block = malloc(
		strlen(e->method) + strlen(e->host) + strlen(e->path) + strlen(e->verdict) + 4);
	if (!block)
		return -1;
	struct net_event *to = &ev->report.events[ev->report.n++];
	*to = *e;
	to->method = copy(&block, e->method);
	to->host = copy(&block, e->host);
	to->path = copy(&block, e->path);
	to->verdict = copy(&block, e->verdict);
	return 0;
}

void events_add(struct events *ev, const struct net_event *e, bool failed)
{
	struct gate_summary *sum = &ev->report.summary;
	pthread_mutex_lock(&ev->lock);
	sum->requests++;
	sum->up += e->up;
	sum->down += e->down;
	if (failed)
		sum->failed++;
	else if (strcmp(e->verdict, "allowed") != 0)
		sum->refused++;
	sum->truncated += keep(ev, e) < 0;
	pthread_mutex_unlock(&ev->lock);
}

int events_take(struct events *ev, struct buf *out, struct err *e)
{
	pthread_mutex_lock(&ev->lock);
	int r = field_write(out, &gate_report_fields, &ev->report, e);
	if (r == 0)
		forget(ev);
	pthread_mutex_unlock(&ev->lock);
	return r;
}

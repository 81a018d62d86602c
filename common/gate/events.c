#include "gate/events.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct events {
	pthread_mutex_t lock;
	json_t *list;
	uint64_t requests, refused, failed, up, down, truncated;
};

struct events *events_new(void)
{
	struct events *ev = calloc(1, sizeof *ev);
	if (!ev)
		return NULL;
	pthread_mutex_init(&ev->lock, NULL);
	ev->list = json_array();
	if (!ev->list)
		events_free(&ev);
	return ev;
}

void events_free(struct events **ev)
{
	if (!*ev)
		return;
	json_decref((*ev)->list);
	pthread_mutex_destroy(&(*ev)->lock);
	free(*ev);
	*ev = NULL;
}

static json_t *pack(const struct event *e)
{
	return json_pack("{s:I, s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:I, s:s}", "at",
		(json_int_t)e->at, "method", e->method, "host", e->host, "port", (int)e->port,
		"path", e->path, "status", e->status, "up", (json_int_t)e->up, "down",
		(json_int_t)e->down, "ms", (json_int_t)e->ms, "verdict", e->verdict);
}

void events_add(struct events *ev, const struct event *e)
{
	pthread_mutex_lock(&ev->lock);
	ev->requests++;
	ev->up += e->up;
	ev->down += e->down;
	if (e->failed)
		ev->failed++;
	else if (strcmp(e->verdict, "allowed") != 0)
		ev->refused++;
	if (json_array_size(ev->list) >= EVENTS_MAX || json_array_append_new(ev->list, pack(e)) < 0)
		ev->truncated++;
	pthread_mutex_unlock(&ev->lock);
}

json_t *events_take(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	json_t *msg = json_pack("{s:s, s:O, s:{s:I, s:I, s:I, s:I, s:I}, s:I}", "op", "events",
		"events", ev->list, "summary", "requests", (json_int_t)ev->requests, "refused",
		(json_int_t)ev->refused, "failed", (json_int_t)ev->failed, "up", (json_int_t)ev->up,
		"down", (json_int_t)ev->down, "truncated", (json_int_t)ev->truncated);
	if (msg) {
		json_decref(ev->list);
		ev->list = json_array();
		ev->requests = ev->refused = ev->failed = ev->up = ev->down = ev->truncated = 0;
	}
	pthread_mutex_unlock(&ev->lock);
	return msg;
}

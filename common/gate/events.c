#include "gate/events.h"

#include "base/grow.h"
#include "base/limits.h"
#include "gate/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SHAPE_MAX 200 /* bytes of a path's shape */
#define SHAPE_PART 32 /* a longer part of a path is no word */

struct events {
	pthread_mutex_t lock;
	struct gate_report
		report; /* an event's strings are one block, which begins at its method */
	size_t room;
	struct gate_journal *journal; /* NULL: none is kept */
};

static struct gate_journal *map_journal(int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size != GATE_JOURNAL_MAX)
		return NULL;
	void *p = mmap(NULL, GATE_JOURNAL_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct events *events_new(int journal)
{
	struct events *ev = calloc(1, sizeof *ev);
	if (!ev)
		return NULL;
	pthread_mutex_init(&ev->lock, NULL);
	ev->journal = map_journal(journal);
	return ev;
}

static void note_down(struct events *ev, const struct net_event *e)
{
	struct gate_journal *j = ev->journal;
	const struct gate_event item = {*e};
	uint64_t state = j->state, used = state >> 32;
	BUF_AUTO b = {0};
	struct err quiet = {0};
	if (field_write(&b, &gate_event_fields, &item, &quiet) < 0)
		return;
	size_t n = b.len - GATE_EVENT_SKIP;
	if (n > GATE_JOURNAL_MAX - sizeof *j - used)
		return;
	memcpy(j->items + used, b.data + GATE_EVENT_SKIP, n);
	j->state = state + ((uint64_t)n << 32) + 1;
}

static void forget(struct events *ev)
{
	for (size_t i = 0; i < ev->report.n; i++)
		free((char *)ev->report.events[i].method);
	free(ev->report.events);
	ev->report = (struct gate_report){0};
	ev->room = 0;
	if (ev->journal) {
		ev->journal->state = 0;
		ev->journal->summary = ev->report.summary;
	}
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
	if (make_room(ev) < 0)
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
	if (ev->journal)
		note_down(ev, e);
	return 0;
}

/* ---- beyond the limit ---- */

/* "12", "a1b2c3", what is long; but not "v2". */
static bool looks_like_id(const char *p, size_t n)
{
	size_t digits = 0;
	for (size_t i = 0; i < n; i++)
		digits += p[i] >= '0' && p[i] <= '9';
	return n > SHAPE_PART || (digits && !(n <= 3 && p[0] == 'v'));
}

static void shape_of(const char *path, char shape[SHAPE_MAX])
{
	size_t len = 0;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p + 1, "/") + 1;
		bool id = looks_like_id(p + 1, n - 1);
		const char *part = id ? "/*" : p;
		size_t put = id ? 2 : n;
		if (len + put >= SHAPE_MAX)
			break;
		memcpy(shape + len, part, put);
		len += put;
		p += n;
	}
	shape[len] = '\0';
}

static bool is_like(const struct net_event *a, const struct net_event *b)
{
	return a->port == b->port && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->host, b->host) == 0 && strcmp(a->method, b->method) == 0 &&
	       strcmp(a->verdict, b->verdict) == 0;
}

static struct net_event *find_like(struct events *ev, const struct net_event *e)
{
	for (size_t i = LIMIT_EVENTS; i < ev->report.n; i++)
		if (is_like(&ev->report.events[i], e))
			return &ev->report.events[i];
	return NULL;
}

static void count(struct events *ev, const struct net_event *e)
{
	static const struct net_event others = {
		.method = "-", .host = "", .path = "", .verdict = "others"};
	char shape[SHAPE_MAX];
	struct net_event like = *e;
	shape_of(e->path, shape);
	like.path = shape;
	struct net_event *to = find_like(ev, &like);
	if (!to && ev->report.n >= LIMIT_EVENTS + LIMIT_SHAPES) {
		like = others;
		like.at = e->at;
		to = find_like(ev, &like);
	}
	if (!to) {
		like = (struct net_event){.at = like.at,
			.method = like.method,
			.host = like.host,
			.path = like.path,
			.port = like.port,
			.verdict = like.verdict};
		if (keep(ev, &like) < 0)
			return;
		to = &ev->report.events[ev->report.n - 1];
	}
	to->counted++;
	to->up += e->up;
	to->down += e->down;
	to->ms += e->ms;
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
	if (ev->report.n >= LIMIT_EVENTS) {
		sum->truncated++;
		count(ev, e);
	} else if (keep(ev, e) < 0) {
		sum->truncated++;
	}
	if (ev->journal)
		ev->journal->summary = *sum;
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

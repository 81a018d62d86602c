#include "gate/call.h"

#include "base/file.h"
#include "base/limits.h"
#include "gate/message.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PART_OF 192 /* a value this long is guarded by a part of it too */
#define PART 48
#define DEADLINE_MAX_MS 86400000

static int bad(struct err *e, const char *what)
{
	return err_set(e, ERR_USAGE, "the gate was given a malformed policy: %s", what);
}

static int check_key(const struct call_key *k, struct err *e)
{
	if (!k->len)
		return bad(e, "a key has no value");
	if (k->standin && strlen(k->standin) != k->len)
		return bad(e, "a stand-in is not as long as its value");
	return 0;
}

static int find_key(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->policy.keys.n; i++)
		if (strcmp(c->policy.keys.v[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Only the canonical form would ever match; anything else is a fault of the supervisor. */
static bool is_canonical(const struct host *h)
{
	const char *why, *base = h->name + (strncmp(h->name, "*.", 2) == 0 ? 2 : 0);
	char name[HOST_MAX];
	return host_normalise(base, strlen(base), name, &why) == 0 && strcmp(name, base) == 0;
}

static int take_row(
	struct call *c, struct policy_row *r, const struct gate_row *from, struct err *e)
{
	const char *to = from->host.route.connect_to;
	*r = (struct policy_row){
		.host = from->host, .key = from->key ? find_key(c, from->key) : -1};
	if (!is_canonical(&r->host))
		return bad(e, "a row's host is not canonical");
	if (!r->host.port)
		return bad(e, "a row has no port");
	if (to && host_check_connect_to(to, e) < 0)
		return -1;
	return from->key && r->key < 0 ? bad(e, "a row names a key that is not there") : 0;
}

/* A key that is part of what may go to the row anyhow (the same value twice, say) is no leak. */
static bool part_of(const struct call_key *k, const struct call_key *own)
{
	return own && (k == own || memmem(own->value, own->len, k->value, k->len));
}

/*
 * Of a long value (a private key, a service account's JSON) a part is enough to be stopped: one
 * from its middle, within a line where it has lines, since what surrounds it is the same in many.
 */
static int guard_part(
	struct leak *l, unsigned id, const struct call_key *k, const struct call_key *own)
{
	const char *v = k->value, *end = v + k->len, *from = v + k->len / 2;
	if (k->len < PART_OF)
		return 0;
	const char *line = memchr(from, '\n', (size_t)(end - from));
	if (line && line - from < PART)
		from = line + 1;
	size_t n = strcspn(from, "\r\n");
	n = n > PART ? PART : n;
	if (n < PART / 2 || (own && memmem(own->value, own->len, from, n)))
		return 0;
	return leak_add(l, id, from, n, NULL, LEAK_ALL);
}

static int guard_key(
	struct leak *l, unsigned id, const struct call_key *k, const struct call_key *own)
{
	if (!k->guard)
		return 0;
	if (!part_of(k, own) && (leak_add(l, id, k->value, k->len, NULL, LEAK_ALL) < 0 ||
					guard_part(l, id, k, own) < 0))
		return -1;
	return k->standin ? leak_add(l, id, k->standin, k->len, NULL, LEAK_ALL) : 0;
}

/* What may not go to the row of the key `own`, which itself goes only if own_goes. */
static struct leak *make_guard(const struct call *c, const struct call_key *own, bool own_goes)
{
	struct leak *l = leak_new();
	int rc = l ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < c->policy.keys.n; i++) {
		const struct call_key *k = &c->policy.keys.v[i];
		if (own_goes && k == own)
			continue;
		rc = guard_key(l, (unsigned)i, k, own_goes ? own : NULL);
	}
	if (rc == 0 && leak_seal(l) == 0)
		return l;
	leak_free(&l);
	return NULL;
}

static struct leak *make_one(const void *from, const void *to, size_t n, unsigned forms)
{
	struct leak *l = leak_new();
	if (l && leak_add(l, 0, from, n, to, forms) == 0 && leak_seal(l) == 0)
		return l;
	leak_free(&l);
	return NULL;
}

static int make_row(struct call *c, size_t i)
{
	struct policy_row *r = &c->rows[i];
	struct call_row *to = &c->ready[i];
	struct err e = {0};
	const struct call_key *own = r->key >= 0 ? &c->policy.keys.v[r->key] : NULL;
	to->up = upstream_new(&r->host.route, &e);
	to->guard = make_guard(c, own, true);
	to->guard_plain = make_guard(c, own, r->host.plain);
	if (!to->up || !to->guard || !to->guard_plain)
		return -1;
	if (!own || !own->standin)
		return 0;
	to->swap = make_one(own->standin, own->value, own->len, LEAK_PLAIN);
	to->unswap = make_one(own->value, own->standin, own->len, LEAK_ALL);
	return to->swap && to->unswap ? 0 : -1;
}

static void free_ready(struct call_row *r)
{
	upstream_free(&r->up);
	leak_free(&r->guard);
	leak_free(&r->guard_plain);
	leak_free(&r->swap);
	leak_free(&r->unswap);
	r->made = false;
}

struct call_row *call_row(struct call *c, size_t i)
{
	struct call_row *r = &c->ready[i];
	pthread_mutex_lock(&c->lock);
	if (!r->made && !(r->made = make_row(c, i) == 0))
		free_ready(r);
	bool made = r->made;
	pthread_mutex_unlock(&c->lock);
	return made ? r : NULL;
}

static struct leak *make_all(const struct call *c, bool guarded, unsigned forms)
{
	struct leak *l = leak_new();
	int rc = l ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < c->policy.keys.n; i++) {
		const struct call_key *k = &c->policy.keys.v[i];
		if (k->guard || !guarded)
			rc = leak_add(l, (unsigned)i, k->value, k->len, NULL, forms);
	}
	if (rc == 0 && leak_seal(l) == 0)
		return l;
	leak_free(&l);
	return NULL;
}

const struct leak *call_scrub(struct call *c)
{
	pthread_mutex_lock(&c->lock);
	if (!c->scrub)
		c->scrub = make_all(c, false, LEAK_ALL | LEAK_LOWER);
	pthread_mutex_unlock(&c->lock);
	return c->scrub;
}

const struct leak *call_names(struct call *c)
{
	pthread_mutex_lock(&c->lock);
	if (!c->names)
		c->names = make_all(c, true, LEAK_RAW | LEAK_HEX | LEAK_LOWER);
	pthread_mutex_unlock(&c->lock);
	return c->names;
}

static int take(struct call *c, struct err *e)
{
	const struct gate_policy *p = &c->policy;
	if (field_read(&c->text, &gate_policy_fields, &c->policy) < 0)
		return bad(e, "it cannot be read");
	if (p->deadline_ms < 1 || p->deadline_ms > DEADLINE_MAX_MS)
		return bad(e, "no deadline");
	c->deadline = clock_mono_ms() + p->deadline_ms;
	for (size_t i = 0; i < p->keys.n; i++)
		if (check_key(&p->keys.v[i], e) < 0)
			return -1;
	c->rows = calloc(p->nrows + 1, sizeof *c->rows);
	c->ready = calloc(p->nrows + 1, sizeof *c->ready);
	if (!c->rows || !c->ready)
		return err_set(e, ERR_FAIL, "out of memory");
	for (; c->nrows < p->nrows; c->nrows++)
		if (take_row(c, &c->rows[c->nrows], &p->rows[c->nrows], e) < 0)
			return -1;
	return 0;
}

struct call *call_new(struct buf *message, struct err *e)
{
	struct call *c = calloc(1, sizeof *c);
	if (!c) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&c->left, &mono);
	pthread_mutex_init(&c->lock, NULL);
	c->text = *message;
	*message = (struct buf){.secret = true};
	if (take(c, e) < 0)
		call_free(&c);
	return c;
}

bool call_enter(struct call *c)
{
	struct timespec until = {
		.tv_sec = c->deadline / 1000, .tv_nsec = c->deadline % 1000 * 1000000};
	bool ok = true;
	pthread_mutex_lock(&c->lock);
	while (ok && c->running >= LIMIT_REQUESTS && !c->over)
		ok = pthread_cond_timedwait(&c->left, &c->lock, &until) == 0;
	ok = ok && !c->over;
	c->running += ok;
	pthread_mutex_unlock(&c->lock);
	return ok;
}

void call_leave(struct call *c)
{
	pthread_mutex_lock(&c->lock);
	c->running--;
	pthread_cond_signal(&c->left);
	pthread_mutex_unlock(&c->lock);
}

void call_end(struct call *c)
{
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->left);
	pthread_mutex_unlock(&c->lock);
}

void call_free(struct call **cp)
{
	struct call *c = *cp;
	if (!c)
		return;
	for (size_t i = 0; i < c->nrows; i++)
		free_ready(&c->ready[i]);
	leak_free(&c->scrub);
	leak_free(&c->names);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->left);
	free(c->rows);
	free(c->ready);
	field_free(&gate_policy_fields, &c->policy);
	buf_free(&c->text);
	free(c);
	*cp = NULL;
}

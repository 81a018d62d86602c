#include "gate/call.h"

#include "base/file.h"
#include "base/limits.h"
#include "gate/message.h"
#include "guard/parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* What may not go to a row. */
struct guarding {
	const struct call *c;
	const struct call_key *own;
	bool own_goes;
};

/* A key that is part of what may go to the row anyhow (the same value twice, say) is no leak. */
static bool is_guarded(void *arg, unsigned id, const void *value, size_t n)
{
	const struct guarding *g = arg;
	const struct call_key *own = g->own_goes ? g->own : NULL;
	return !own || (&g->c->policy.keys.v[id] != own && !memmem(own->value, own->len, value, n));
}

static struct leak *make_guard(const struct call *c, const struct call_key *own, bool own_goes)
{
	return leak_share(c->guarded, is_guarded, &(struct guarding){c, own, own_goes});
}

static struct leak *make_one(const void *from, const void *to, size_t n)
{
	struct leak *l = leak_new();
	if (l && leak_add(l, 0, from, n, to) == 0 && leak_seal(l) == 0)
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
	to->swap = make_one(own->standin, own->value, own->len);
	to->unswap = make_one(own->value, own->standin, own->len);
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
	if (!call_guarded(c))
		return NULL;
	pthread_mutex_lock(&c->lock);
	if (!r->made && !(r->made = make_row(c, i) == 0))
		free_ready(r);
	bool made = r->made;
	pthread_mutex_unlock(&c->lock);
	return made ? r : NULL;
}

static int add_key(struct leak *l, unsigned id, const struct call_key *k, bool guarded)
{
	if (guarded && !k->guard)
		return 0;
	if (parts_add(l, id, k->value, k->len) < 0)
		return -1;
	return guarded && k->standin ? leak_add(l, id, k->standin, k->len, NULL) : 0;
}

static struct leak *make_all(const struct call *c, bool guarded)
{
	struct leak *l = leak_new();
	int rc = l ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < c->policy.keys.n; i++)
		rc = add_key(l, (unsigned)i, &c->policy.keys.v[i], guarded);
	if (rc == 0 && leak_seal(l) == 0)
		return l;
	leak_free(&l);
	return NULL;
}

static const struct leak *once(struct call *c, struct leak **l, bool guarded)
{
	pthread_mutex_lock(&c->lock);
	if (!*l)
		*l = make_all(c, guarded);
	pthread_mutex_unlock(&c->lock);
	return *l;
}

const struct leak *call_scrub(struct call *c)
{
	return once(c, &c->scrub, false);
}

const struct leak *call_guarded(struct call *c)
{
	return once(c, &c->guarded, true);
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
	leak_free(&c->guarded);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->left);
	free(c->rows);
	free(c->ready);
	field_free(&gate_policy_fields, &c->policy);
	buf_free(&c->text);
	free(c);
	*cp = NULL;
}

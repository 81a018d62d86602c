#include "gate/call.h"

#include "base/file.h"
#include "gate/b64.h"
#include "gate/vault.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_MAX 1000
#define KEYS_MAX 1000
#define PART_OF 192 /* a value this long is guarded by a part of it too */
#define PART 48

static int bad(struct err *e, const char *what)
{
	return err_set(e, ERR_USAGE, "the gate was given a malformed policy: %s", what);
}

static char *copy_text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));
	return s ? strdup(s) : NULL;
}

static bool flag(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static int take_value(struct call_key *k, const json_t *v, struct err *e)
{
	const char *s = json_string_value(v);
	size_t n = s ? json_string_length(v) : 0;
	if (!s || n > (size_t)1 << 20)
		return bad(e, "a key has no value");
	k->value = vault_new(n + 1);
	if (!k->value)
		return err_set(e, ERR_FAIL, "out of memory");
	ssize_t len = b64_decode(s, n, k->value);
	if (len <= 0)
		return bad(e, "a key's value is not base64");
	k->len = (size_t)len;
	return 0;
}

static int take_key(struct call_key *k, const json_t *o, struct err *e)
{
	k->name = copy_text(o, "name");
	k->sealed = flag(o, "sealed");
	k->guard = flag(o, "guard");
	if (!k->name)
		return bad(e, "a key has no name");
	if (take_value(k, json_object_get(o, "value"), e) < 0)
		return -1;
	if (!k->sealed)
		return 0;
	k->standin = copy_text(o, "standin");
	if (!k->standin || strlen(k->standin) != k->len)
		return bad(e, "a stand-in is not as long as its value");
	return 0;
}

static int take_keys(struct call *c, const json_t *list, struct err *e)
{
	size_t n = json_array_size(list);
	if (n > KEYS_MAX)
		return bad(e, "too many keys");
	c->keys = calloc(n ? n : 1, sizeof *c->keys);
	if (!c->keys)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		c->nkeys = i + 1;
		if (take_key(&c->keys[i], json_array_get(list, i), e) < 0)
			return -1;
	}
	return 0;
}

static int find_key(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->nkeys; i++)
		if (strcmp(c->keys[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int take_host(struct policy_row *r, const char *host, struct err *e)
{
	const char *why;
	if (!host)
		return bad(e, "a row has no host");
	r->wildcard = strncmp(host, "*.", 2) == 0;
	host += r->wildcard ? 2 : 0;
	char name[HOST_MAX];
	/* Only the canonical form would ever match; anything else is a fault of the supervisor. */
	if (host_normalise(host, strlen(host), name, &why) < 0 || strcmp(name, host) != 0)
		return bad(e, "a row's host is not canonical");
	memcpy(r->name, name, sizeof r->name);
	return 0;
}

static int take_row(struct call *c, struct policy_row *r, const json_t *o, struct err *e)
{
	json_int_t port = json_integer_value(json_object_get(o, "port"));
	const char *key = json_string_value(json_object_get(o, "key"));
	r->key = -1;
	if (take_host(r, json_string_value(json_object_get(o, "host")), e) < 0)
		return -1;
	if (port < 1 || port > 65535)
		return bad(e, "a row has no port");
	r->port = (uint16_t)port;
	r->is_default = flag(o, "default");
	r->plain = flag(o, "plain");
	r->allow_private = flag(o, "allow_private");
	r->connect_to = copy_text(o, "connect_to");
	r->ca = copy_text(o, "ca");
	if (r->connect_to && host_check_connect_to(r->connect_to, e) < 0)
		return -1;
	if (!key)
		return 0;
	r->key = find_key(c, key);
	return r->key >= 0 ? 0 : bad(e, "a row names a key that is not there");
}

static int take_rows(struct call *c, const json_t *list, struct err *e)
{
	size_t n = json_array_size(list);
	if (n > ROWS_MAX)
		return bad(e, "too many rows");
	c->rows = calloc(n ? n : 1, sizeof *c->rows);
	c->ready = calloc(n ? n : 1, sizeof *c->ready);
	if (!c->rows || !c->ready)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		c->nrows = i + 1;
		if (take_row(c, &c->rows[i], json_array_get(list, i), e) < 0)
			return -1;
	}
	return 0;
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
	for (size_t i = 0; rc == 0 && i < c->nkeys; i++) {
		const struct call_key *k = &c->keys[i];
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
	const struct call_key *own = r->key >= 0 ? &c->keys[r->key] : NULL;
	to->up = upstream_new(r->allow_private, r->connect_to, r->ca, &e);
	to->guard = make_guard(c, own, true);
	to->guard_plain = make_guard(c, own, r->plain);
	if (!to->up || !to->guard || !to->guard_plain)
		return -1;
	if (!own || !own->sealed)
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
	for (size_t i = 0; rc == 0 && i < c->nkeys; i++)
		if (c->keys[i].guard || !guarded)
			rc = leak_add(
				l, (unsigned)i, c->keys[i].value, c->keys[i].len, NULL, forms);
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

static int take(struct call *c, const json_t *msg, struct err *e)
{
	json_int_t ms = json_integer_value(json_object_get(msg, "deadline_ms"));
	c->id = copy_text(msg, "id");
	c->deadline = clock_mono_ms() + ms;
	if (!c->id || ms < 1 || ms > 86400000)
		return bad(e, "no id or no deadline");
	if (take_keys(c, json_object_get(msg, "keys"), e) < 0 ||
		take_rows(c, json_object_get(msg, "rows"), e) < 0)
		return -1;
	return 0;
}

struct call *call_new(const json_t *msg, struct err *e)
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
	if (take(c, msg, e) < 0)
		call_free(&c);
	return c;
}

bool call_enter(struct call *c)
{
	struct timespec until = {
		.tv_sec = c->deadline / 1000, .tv_nsec = c->deadline % 1000 * 1000000};
	bool ok = true;
	pthread_mutex_lock(&c->lock);
	while (ok && c->running >= CALL_AT_ONCE && !c->over)
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

static void free_row(struct policy_row *r, struct call_row *ready)
{
	free_ready(ready);
	free((char *)r->connect_to);
	free((char *)r->ca);
}

void call_free(struct call **cp)
{
	struct call *c = *cp;
	if (!c)
		return;
	for (size_t i = 0; i < c->nrows; i++)
		free_row(&c->rows[i], &c->ready[i]);
	for (size_t i = 0; i < c->nkeys; i++) {
		free(c->keys[i].name);
		vault_free(c->keys[i].value);
		wipe_free(c->keys[i].standin);
	}
	leak_free(&c->scrub);
	leak_free(&c->names);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->left);
	free(c->rows);
	free(c->ready);
	free(c->keys);
	free(c->id);
	free(c);
	*cp = NULL;
}

void call_wipe(json_t *msg)
{
	size_t i;
	json_t *k;
	json_array_foreach(json_object_get(msg, "keys"), i, k)
	{
		json_t *v = json_object_get(k, "value");
		if (json_is_string(v))
			explicit_bzero((char *)json_string_value(v), json_string_length(v));
	}
}

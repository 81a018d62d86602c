#include "run/key_guard.h"
#include "guard/parts.h"
#include "guard/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SHORTEST 4 /* bytes: a shorter value would be found in any log */

void guard_free(struct guard *g)
{
	leak_free(&g->found);
	leak_free(&g->logs);
	free(g->names);
	free(g->guarded);
	*g = (struct guard){0};
}

static int add_value(struct guard *g, unsigned id, const char *v, size_t n)
{
	return !v || n < LOG_SHORTEST ? 0 : parts_add(g->logs, id, v, n);
}

static int add_keys(struct guard *g, const struct call_keys *k)
{
	for (size_t i = 0; k && i < k->n; i++) {
		unsigned id = (unsigned)g->n++;
		const struct call_key *key = &k->v[i];
		snprintf(g->names[id], sizeof g->names[id], "%s", key->name);
		g->guarded[id] = key->guard;
		if (add_value(g, id, key->value, key->len) < 0 ||
			add_value(g, id, key->standin, key->len) < 0)
			return -1;
	}
	return 0;
}

static bool is_guarded(void *arg, unsigned id, const void *value, size_t n)
{
	(void)value;
	(void)n;
	return ((const struct guard *)arg)->guarded[id];
}

int guard_make(struct guard *g, const struct call_keys *now, const struct call_keys *earlier,
	struct err *e)
{
	size_t n = now->n + (earlier ? earlier->n : 0);
	*g = (struct guard){.logs = leak_new()};
	g->names = calloc(n + 1, sizeof *g->names);
	g->guarded = calloc(n + 1, sizeof *g->guarded);
	if (g->logs && g->names && g->guarded && add_keys(g, now) == 0 &&
		add_keys(g, earlier) == 0 && leak_seal(g->logs) == 0 &&
		(g->found = leak_share(g->logs, is_guarded, g)))
		return 0;
	guard_free(g);
	return err_set(e, ERR_FAIL, "out of locked memory");
}

const char *guard_find(const struct guard *g, const void *p, size_t n)
{
	unsigned id = 0;
	return leak_find(g->found, p, n, &id) ? g->names[id] : NULL;
}

struct inside {
	const struct guard *g;
	const char *name;
};

static bool look_inside(void *arg, const void *p, size_t n)
{
	struct inside *in = arg;
	in->name = guard_find(in->g, p, n);
	return in->name != NULL;
}

const char *guard_find_file(const struct guard *g, const void *p, size_t n)
{
	struct inside in = {g, guard_find(g, p, n)};
	if (in.name || leak_empty(g->found) || !unpack_any(p, n, look_inside, &in))
		return in.name;
	/* Without memory to look, it is held back. */
	return in.name ? in.name : g->names[0];
}

static void put_blank(const struct guard *g, bool buyer, unsigned id, struct buf *out)
{
	if (buyer)
		buf_adds(out, "[withheld]");
	else
		buf_addf(out, "[EV_KEYS:%s]", g->names[id]);
}

int guard_blank(const struct guard *g, bool buyer, struct buf *b, struct strv *names)
{
	struct buf out = {.limit = b->limit ? b->limit * 4 : 0};
	size_t done = 0, at, len;
	unsigned id;
	while ((at = leak_next(g->found, b->data, b->len, done, &len, &id)) < b->len) {
		buf_add(&out, b->data + done, at - done);
		put_blank(g, buyer, id, &out);
		if (!strv_has(names, g->names[id]))
			strv_add(names, g->names[id]);
		done = at + len;
	}
	if (!done)
		return names->failed ? -1 : 0;
	buf_add(&out, b->data + done, b->len - done);
	explicit_bzero(b->data, b->len);
	bool failed = out.failed || names->failed;
	buf_free(b);
	if (failed)
		buf_free(&out);
	else
		*b = out;
	return failed ? -1 : 0;
}

void guard_scrub(const struct guard *g, void *p, size_t n)
{
	leak_replace(g->logs, p, n);
}

#include "run/key_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SHORTEST 4 /* bytes: a shorter value would be found in any log */

void guard_free(struct guard *g)
{
	leak_free(&g->found);
	leak_free(&g->lines);
	leak_free(&g->logs);
	free(g->names);
	*g = (struct guard){0};
}

static int add_value(struct guard *g, unsigned id, const char *v, size_t n, bool long_enough)
{
	if (!v || !n)
		return 0;
	if (long_enough && (leak_add(g->found, id, v, n, NULL, LEAK_ALL) < 0 ||
				   leak_add(g->lines, id, v, n, NULL, LEAK_BASE64) < 0))
		return -1;
	return n < LOG_SHORTEST ? 0 : leak_add(g->logs, id, v, n, NULL, LEAK_ALL);
}

static int add_keys(struct guard *g, const struct call_keys *k)
{
	for (size_t i = 0; k && i < k->n; i++) {
		unsigned id = (unsigned)g->n++;
		const struct call_key *key = &k->v[i];
		snprintf(g->names[id], sizeof g->names[id], "%s", key->name);
		if (add_value(g, id, key->value, key->len, key->guard) < 0 ||
			add_value(g, id, key->standin, key->len, key->guard) < 0)
			return -1;
	}
	return 0;
}

int guard_make(struct guard *g, const struct call_keys *now, const struct call_keys *earlier,
	struct err *e)
{
	size_t n = now->n + (earlier ? earlier->n : 0);
	*g = (struct guard){.found = leak_new(), .lines = leak_new(), .logs = leak_new()};
	g->names = calloc(n + 1, sizeof *g->names);
	if (g->found && g->lines && g->logs && g->names && add_keys(g, now) == 0 &&
		add_keys(g, earlier) == 0 && leak_seal(g->found) == 0 && leak_seal(g->lines) == 0 &&
		leak_seal(g->logs) == 0)
		return 0;
	guard_free(g);
	return err_set(e, ERR_FAIL, "out of locked memory");
}

/* Without its white space; 1 where a key is in there, 0 not, -1 out of memory. */
static int find_in_lines(const struct guard *g, const char *p, size_t n, unsigned *id)
{
	BUF_AUTO joined = {.limit = n + 1, .secret = true};
	if (leak_empty(g->lines) || (!memchr(p, '\n', n) && !memchr(p, '\r', n)))
		return 0;
	if (buf_reserve(&joined, n) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!p[i] || !strchr(" \t\r\n", p[i]))
			joined.data[joined.len++] = p[i];
	return leak_find(g->lines, joined.data, joined.len, id);
}

const char *guard_find(const struct guard *g, const void *p, size_t n)
{
	unsigned id = 0;
	/* Without memory to look, it is held back. */
	return leak_find(g->found, p, n, &id) || find_in_lines(g, p, n, &id) ? g->names[id] : NULL;
}

static void put_blank(const struct guard *g, bool buyer, unsigned id, struct buf *out)
{
	if (buyer)
		buf_adds(out, "[withheld]");
	else
		buf_addf(out, "[EV_KEYS:%s]", g->names[id]);
}

static int blank_lines(const struct guard *g, bool buyer, struct buf *b, struct strv *names)
{
	unsigned id;
	int found = b->len ? find_in_lines(g, b->data, b->len, &id) : 0;
	if (found <= 0)
		return found;
	explicit_bzero(b->data, b->len);
	buf_clear(b);
	put_blank(g, buyer, id, b);
	if (!strv_has(names, g->names[id]))
		strv_add(names, g->names[id]);
	return buf_failed(b) || names->failed ? -1 : 0;
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
		return blank_lines(g, buyer, b, names);
	buf_add(&out, b->data + done, b->len - done);
	explicit_bzero(b->data, b->len);
	bool failed = out.failed || names->failed;
	buf_free(b);
	if (failed)
		buf_free(&out);
	else
		*b = out;
	return failed ? -1 : blank_lines(g, buyer, b, names);
}

void guard_scrub(const struct guard *g, void *p, size_t n)
{
	leak_replace(g->logs, p, n);
}

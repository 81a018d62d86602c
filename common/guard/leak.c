#include "guard/leak.h"

#include "base/vault.h"
#include "guard/search.h"

#include <stdlib.h>
#include <string.h>

static unsigned id_of(const struct leak *l, const struct leak_hit *h)
{
	return l->values[h->exact ? h->what : l->forms[l->patterns[h->what].form].value].id;
}

/* ---- whole buffers ------------------------------------------------------------------------- */

size_t leak_next(
	const struct leak *l, const void *p, size_t n, size_t from, size_t *len, unsigned *id)
{
	struct leak_search s = {0};
	if (leak_empty(l) || from >= n)
		return n;
	search_start(&s, l, 0);
	bool found = search_run(&s, (const char *)p + from, n - from, 0, true, false);
	if (found) {
		*len = (size_t)(s.hit.end - s.hit.start);
		*id = id_of(l, &s.hit);
		n = from + (size_t)s.hit.start;
	}
	search_end(&s);
	return n;
}

bool leak_find(const struct leak *l, const void *p, size_t n, unsigned *id)
{
	struct leak_search s = {0};
	if (leak_empty(l) || !n)
		return false;
	search_start(&s, l, 0);
	bool found = search_run(&s, p, n, 0, true, true);
	if (found && id)
		*id = id_of(l, &s.hit);
	search_end(&s);
	return found;
}

ssize_t leak_replace(const struct leak *l, void *p, size_t n)
{
	struct leak_search s = {0};
	ssize_t hits = 0;
	if (leak_empty(l) || !n)
		return 0;
	search_start(&s, l, 0);
	while (hits >= 0 && search_run(&s, p, n, 0, true, false)) {
		struct leak_hit h = s.hit;
		bool done = confirm_replace(l, &h, (uint8_t *)p + h.start,
			(size_t)(h.end - h.start), h.start, n - h.end);
		hits = done ? hits + 1 : -1;
		search_start(&s, l, h.end);
	}
	search_end(&s);
	return hits;
}

/* ---- streams ------------------------------------------------------------------------------- */

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_free(b);
}

void leak_stream_end(struct leak_stream *s)
{
	wipe(&s->held);
	s->held = (struct buf){0};
	if (s->search)
		search_end(s->search);
	free(s->search);
	s->search = NULL;
}

/* Grows without leaving an old copy behind in freed memory. */
static int hold(struct leak_stream *s, const void *p, size_t n)
{
	size_t need = s->held.len + n + 1;
	if (need > s->held.cap) {
		struct buf grown = {.limit = (size_t)256 << 20};
		if (buf_reserve(&grown, need * 2) < 0)
			return -1;
		buf_add(&grown, buf_str(&s->held), s->held.len);
		wipe(&s->held);
		s->held = grown;
	}
	buf_add(&s->held, p, n);
	return buf_failed(&s->held) ? -1 : 0;
}

static void let_go(struct leak_stream *s, size_t n)
{
	size_t left = s->held.len - n;
	memmove(s->held.data, s->held.data + n, left);
	explicit_bzero(s->held.data + left, n);
	s->held.len = left;
	s->passed -= n < s->passed ? n : s->passed;
}

/* What is held up to `to` goes on, but for what already did. */
static void pass(struct leak_stream *s, size_t to, struct buf *out)
{
	if (to <= s->passed)
		return;
	buf_add(out, s->held.data + s->passed, to - s->passed);
	s->passed = to;
}

static int start(struct leak_stream *s)
{
	if (s->search)
		return 0;
	s->search = calloc(1, sizeof *s->search);
	if (s->search)
		search_start(s->search, s->l, 0);
	return s->search ? 0 : -1;
}

/* All that is held, which begins at base; *done is what need not be held any more. */
static int pass_on(struct leak_stream *s, uint64_t base, bool last, bool stop, struct buf *out,
	size_t *done, unsigned *id)
{
	struct leak_search *k = s->search;
	uint8_t *p = (uint8_t *)s->held.data;
	size_t n = s->held.len;
	uint64_t go;
	while (search_run(k, p + *done, n - *done, base + *done, last, stop)) {
		struct leak_hit h = k->hit;
		size_t from = (size_t)(h.start - base), len = (size_t)(h.end - h.start);
		s->hits++;
		if (stop) {
			pass(s, (size_t)(search_safe(k, &go) - base), out);
			if (id)
				*id = id_of(s->l, &h);
			return 1;
		}
		s->stuck =
			!confirm_replace(s->l, &h, p + from, len, from - s->passed, n - from - len);
		if (s->stuck)
			return -1;
		pass(s, from + len, out);
		*done = from + len;
		search_start(k, s->l, h.end);
	}
	*done = last ? n : (size_t)(search_safe(k, &go) - base);
	pass(s, last ? n : (size_t)(go - base), out);
	return buf_failed(out) ? -1 : 0;
}

static int feed(struct leak_stream *s, const void *p, size_t n, bool last, bool stop,
	struct buf *out, unsigned *id)
{
	if (leak_empty(s->l)) {
		buf_add(out, p, n);
		return buf_failed(out) ? -1 : 0;
	}
	if (s->stuck || start(s) < 0)
		return -1;
	uint64_t base = s->search->at - s->held.len;
	size_t done = 0;
	if (hold(s, p, n) < 0)
		return -1;
	int rc = pass_on(s, base, last, stop, out, &done, id);
	if (rc == 0)
		let_go(s, done);
	return rc;
}

int leak_push(struct leak_stream *s, const void *p, size_t n, struct buf *out)
{
	return feed(s, p, n, false, false, out, NULL);
}

int leak_flush(struct leak_stream *s, struct buf *out)
{
	return feed(s, "", 0, true, false, out, NULL);
}

int leak_guard(struct leak_stream *s, const void *p, size_t n, struct buf *out, unsigned *id)
{
	return feed(s, p, n, false, true, out, id);
}

int leak_guard_end(struct leak_stream *s, struct buf *out, unsigned *id)
{
	return feed(s, "", 0, true, true, out, id);
}

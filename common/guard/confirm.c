#include "guard/search.h"

#include "base/text.h"
#include "base/vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text with its escapes undone: each character, and where it comes from. */
struct plain {
	uint8_t *c;
	uint32_t *from, *to;
	size_t n;
};

static void plain_free(struct plain *t)
{
	wipe_free(t->c);
	free(t->from);
	free(t->to);
}

static int plain_make(struct plain *t, const uint8_t *raw, size_t n)
{
	*t = (struct plain){wipe_malloc(n + 1), calloc(n + 1, sizeof *t->from),
		calloc(n + 1, sizeof *t->to), 0};
	if (!t->c || !t->from || !t->to)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!raw[i])
			continue;
		t->c[t->n] = raw[i];
		t->from[t->n] = (uint32_t)i;
		t->to[t->n++] = (uint32_t)i + 1;
	}
	return 0;
}

/* Undoes each escape once, in place. */
static void plain_undo(struct plain *t, bool quoted)
{
	struct escape e = {0};
	size_t to = 0;
	for (size_t i = 0; i < t->n;) {
		ssize_t len = escape_read(t->c + i, t->n - i, true, quoted, &e);
		size_t took = len > 0 ? (size_t)len : 1, made = len > 0 ? e.n : 1;
		uint32_t from = t->from[i], end = t->to[i + took - 1];
		uint8_t c = t->c[i];
		for (size_t k = 0; k < made; k++) {
			t->c[to] = len > 0 ? e.out[k] : c;
			t->from[to] = from;
			t->to[to++] = end;
		}
		i += took;
	}
	t->n = to;
}

static int plain_read(struct plain *t, const struct leak_hit *h, const uint8_t *raw, size_t n)
{
	bool quoted = h->reading >= READ_QUOTED;
	int rounds = quoted ? h->reading - READ_QUOTED + 1 : h->reading;
	if (plain_make(t, raw, n) < 0)
		return -1;
	while (rounds--)
		plain_undo(t, quoted);
	return 0;
}

/* ---- what it must be ----------------------------------------------------------------------- */

/* What HTTP does to the case of a name; hex and base32 have two cases too. */
enum casing { CASE_SAME, CASE_LOWER, CASE_UPPER, CASE_FIRST, CASE_TITLE, CASINGS };

static uint8_t cased(const uint8_t *e, size_t i, enum casing k)
{
	uint8_t c = e[i];
	bool up = k == CASE_UPPER || (k == CASE_FIRST && i == 0) ||
		  (k == CASE_TITLE && (i == 0 || e[i - 1] == '-'));
	if (k == CASE_SAME)
		return c;
	if (up && c >= 'a' && c <= 'z')
		return c - 32;
	return !up && c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A '+' is a space to some. */
static bool same(uint8_t text, uint8_t want)
{
	return text == want || ((want == '+' || want == ' ') && (text == '+' || text == ' '));
}

/* What may stand between: folding, what is left of deeper escapes, a quote for a second time. */
static bool is_between(const struct plain *t, size_t i)
{
	uint8_t c = t->c[i];
	return is_space(c) || c == '\\' || ((c == '"' || c == '\'') && i && t->c[i - 1] == c);
}

/* Whether the text reads as e[0..m); at (may be NULL): which character of it each is, plus one. */
static bool reads_as(const struct plain *t, const uint8_t *e, size_t m, enum casing k, uint32_t *at)
{
	size_t i = 0, j = 0;
	while (j < m) {
		if (at)
			at[j] = 0;
		if (i < t->n && same(t->c[i], cased(e, j, k))) {
			if (at)
				at[j] = (uint32_t)i + 1;
			i++;
			j++;
		} else if (i < t->n && is_between(t, i)) {
			i++;
		} else if (is_space(e[j]) || !e[j]) {
			j++;
		} else {
			return false;
		}
	}
	while (i < t->n && is_between(t, i))
		i++;
	return i == t->n;
}

/* The characters of a pattern between the first and the last that are kept, those included. */
struct wanted_text {
	uint8_t *c;
	size_t n;
	bool cases; /* in other cases too */
};

static int wanted_make(struct wanted_text *w, const struct leak *l, uint32_t pattern, bool put)
{
	const struct leak_pattern *p = &l->patterns[pattern];
	struct coded find = keyring_coded(l, p, false), c = keyring_coded(l, p, put);
	size_t from = 0, n = coded_length(&find);
	while (from < n && !keyring_kept[coded_at(&find, from)])
		from++;
	while (n > from && !keyring_kept[coded_at(&find, n - 1)])
		n--;
	*w = (struct wanted_text){
		wipe_malloc(n - from + 1), n - from, p->outer.kind != CODE_BASE64};
	for (size_t i = from; w->c && i < n; i++)
		w->c[i - from] = coded_at(&c, i);
	return w->c ? 0 : -1;
}

/* How it is cased where it reads as that, else CASINGS. */
static enum casing find_casing(const struct plain *t, const struct wanted_text *w, uint32_t *at)
{
	enum casing k = CASE_SAME;
	while (k < (w->cases ? CASINGS : CASE_LOWER) && !reads_as(t, w->c, w->n, k, at))
		k++;
	return k < (w->cases ? CASINGS : CASE_LOWER) ? k : CASINGS;
}

static bool reads(
	const struct leak *l, const struct leak_hit *h, const uint8_t *raw, size_t n, bool put)
{
	struct plain t = {0};
	struct wanted_text w = {0};
	/* Without memory to look, it is one. */
	bool yes = plain_read(&t, h, raw, n) < 0 || wanted_make(&w, l, h->what, put) < 0 ||
		   find_casing(&t, &w, NULL) < CASINGS;
	plain_free(&t);
	wipe_free(w.c);
	return yes;
}

bool confirm(const struct leak *l, const struct leak_hit *h, const uint8_t *raw, size_t n)
{
	return h->exact || h->reading >= READ_DUMP || reads(l, h, raw, n, false);
}

/* ---- in its place -------------------------------------------------------------------------- */

/* The last hex digits of an escape, or the decimal ones of a reference, in their own case. */
static bool rewrite_escape(uint8_t *p, size_t n, uint8_t c)
{
	const char *digits = "0123456789abcdef";
	if (n > 3 && p[0] == '&' && p[1] == '#' && p[2] >= '0' && p[2] <= '9') {
		for (size_t i = n - (p[n - 1] == ';'); i-- > 2; c /= 10)
			p[i] = (uint8_t)('0' + c % 10);
		return c == 0;
	}
	while (n && text_hex((char)p[n - 1]) < 0)
		n--;
	if (n < 3 || text_hex((char)p[n - 2]) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (p[i] == '%' || (p[i] >= 'A' && p[i] <= 'F'))
			digits = "0123456789ABCDEF";
	p[n - 2] = (uint8_t)digits[c >> 4];
	p[n - 1] = (uint8_t)digits[c & 15];
	return true;
}

static void overlay(uint8_t *raw, const struct plain *t, const struct wanted_text *w, enum casing k,
	const uint32_t *at)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!at[i])
			continue;
		size_t from = t->from[at[i] - 1], to = t->to[at[i] - 1];
		uint8_t c = cased(w->c, i, k);
		if (t->c[at[i] - 1] == c || same(t->c[at[i] - 1], c))
			continue;
		if (to - from == 1)
			raw[from] = c;
		else
			rewrite_escape(raw + from, to - from, c);
	}
}

/* Some bits of a character become others: those from bit `at` on, counted from its lowest. */
static bool edge(struct code c, uint8_t *p, unsigned at, unsigned bits, uint8_t is, uint8_t put)
{
	unsigned mask = ((1u << bits) - 1) << at;
	int v = code_value(c, *p);
	if (v < 0 || ((unsigned)v & mask) != ((unsigned)is << at & mask))
		return false;
	*p = code_char(c, ((unsigned)v & ~mask) | ((unsigned)put << at & mask));
	return true;
}

static bool is_fold(uint8_t c)
{
	return c == '\r' || c == '\n' || c == ' ' || c == '\t';
}

/* The characters beside a hit in a coding, which have bits of the value. */
static bool edges(const struct leak *l, const struct leak_hit *h, uint8_t *raw, size_t n,
	size_t before, size_t after)
{
	const struct leak_pattern *p = &l->patterns[h->what];
	struct coded is = keyring_coded(l, p, false), put = keyring_coded(l, p, true);
	struct code_edges e = coded_edges(&is);
	size_t left = 1, right = 0;
	if (!e.left && !e.right && !e.inner)
		return true;
	if (e.inner || h->reading != READ_RAW)
		return false;
	while (left < before && is_fold(raw[-(ssize_t)left]))
		left++;
	while (right < after && is_fold(raw[n + right]))
		right++;
	if (e.left && (left > before || !edge(p->outer, raw - left, 0, e.left,
						coded_first(&is) >> (8 - e.left),
						coded_first(&put) >> (8 - e.left))))
		return false;
	return !e.right || (right < after && edge(p->outer, raw + n + right, e.bits - e.right,
						     e.right, coded_last(&is), coded_last(&put)));
}

static bool swap(const struct leak *l, const struct leak_hit *h, uint8_t *raw, size_t n,
	size_t before, size_t after)
{
	struct plain t = {0};
	struct wanted_text w = {0}, put = {0};
	uint32_t *at = NULL;
	bool done = false;
	if (h->exact) {
		const struct leak_value *v = &l->values[h->what];
		memcpy(raw, keyring_text(l, v->at + v->n), v->n);
		return true;
	}
	if (h->reading >= READ_DUMP || !l->forms[l->patterns[h->what].form].puts ||
		plain_read(&t, h, raw, n) < 0 || wanted_make(&w, l, h->what, false) < 0 ||
		wanted_make(&put, l, h->what, true) < 0 || !(at = calloc(w.n + 1, sizeof *at))) {
		done = false;
	} else {
		enum casing k = find_casing(&t, &w, at);
		if (k < CASINGS)
			overlay(raw, &t, &put, k, at);
		done = k < CASINGS && reads(l, h, raw, n, true) &&
		       edges(l, h, raw, n, before, after);
	}
	free(at);
	plain_free(&t);
	wipe_free(w.c);
	wipe_free(put.c);
	return done;
}

/* Asterisks; in a coding it stays one. */
static void mask(const struct leak *l, const struct leak_hit *h, uint8_t *raw, size_t n)
{
	const struct leak_pattern *p = h->exact || h->crowd ? NULL : &l->patterns[h->what];
	if (!p || p->outer.kind == CODE_NONE || p->outer.other > 1 || h->reading) {
		memset(raw, '*', n);
		return;
	}
	struct coded c = keyring_coded(l, p, false);
	uint8_t *stars = malloc(c.n + 1);
	size_t k = 0, len = coded_length(&c);
	if (stars)
		memset(stars, '*', c.n);
	c.p = stars;
	while (stars && k < len &&
		!keyring_kept[coded_at(&(struct coded){keyring_text(l, l->forms[p->form].find), c.n,
					       p->inner, p->outer},
			k)])
		k++;
	for (size_t i = 0; i < n; i++)
		if (!stars || k >= len)
			raw[i] = '*';
		else if (raw[i] && !is_space(raw[i]))
			raw[i] = coded_at(&c, k++);
	free(stars);
}

bool confirm_replace(const struct leak *l, const struct leak_hit *h, uint8_t *raw, size_t n,
	size_t before, size_t after)
{
	const struct leak_value *v =
		&l->values[h->exact ? h->what : l->forms[l->patterns[h->what].form].value];
	if (v->replaced)
		return !h->crowd && swap(l, h, raw, n, before, after);
	mask(l, h, raw, n);
	return true;
}

#include "run/source.h"
#include "base/b64.h"
#include "base/buf.h"
#include "base/grow.h"
#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST_BASE64 16 /* characters: less cannot hold three lines */

struct line {
	const char *p;
	size_t n;
};

/* Three lines of one file, found by the middle one: the outer two may be cut by what is around. */
struct triple {
	uint32_t first; /* index into lines */
	uint32_t next;	/* in its bucket, plus one; 0 ends */
};

struct source {
	struct line *lines;
	size_t nlines, room;
	struct triple *triples;
	size_t ntriples;
	uint32_t *buckets;
	size_t mask;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}

static bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

/* The next line of [*at, end) that isn't blank, trimmed; false at the end. */
static bool next_line(const char **at, const char *end, struct line *out)
{
	while (*at < end) {
		const char *p = *at;
		while (*at < end && !is_break(**at))
			++*at;
		const char *q = *at;
		if (*at < end)
			++*at;
		while (p < q && is_space(*p))
			p++;
		while (q > p && is_space(q[-1]))
			q--;
		if (p < q) {
			*out = (struct line){p, (size_t)(q - p)};
			return true;
		}
	}
	return false;
}

static bool has_word(const struct line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (isalnum((unsigned char)l->p[i]) || (l->p[i] & 0x80))
			return true;
	return false;
}

static uint64_t hash_line(const struct line *l)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < l->n; i++)
		h = (h ^ (unsigned char)l->p[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* ---- the index ----------------------------------------------------------------------------- */

static int add_line(struct source *s, const struct line *l)
{
	struct line *grown = grow(s->lines, s->nlines, &s->room, sizeof *grown);
	if (!grown)
		return -1;
	s->lines = grown;
	s->lines[s->nlines++] = *l;
	return 0;
}

static bool is_python(const struct tree_file *f)
{
	size_t n = strlen(f->path);
	return n > 3 && strcmp(f->path + n - 3, ".py") == 0;
}

/* A file's lines, then an empty one, so that no triple spans two files. */
static int add_file(struct source *s, const struct tree_file *f)
{
	const char *at = f->data, *end = at + f->n;
	struct line l;
	if (!is_python(f) || !f->n)
		return 0;
	while (next_line(&at, end, &l))
		if (add_line(s, &l) < 0)
			return -1;
	return add_line(s, &(struct line){"", 0});
}

static bool have(const struct source *s, const struct line *l, size_t bucket)
{
	for (uint32_t t = s->buckets[bucket]; t; t = s->triples[t - 1].next) {
		const struct line *k = &s->lines[s->triples[t - 1].first];
		if (same(&k[0], &l[0]) && same(&k[1], &l[1]) && same(&k[2], &l[2]))
			return true;
	}
	return false;
}

static void add_triple(struct source *s, size_t i)
{
	const struct line *l = &s->lines[i];
	if (!l[0].n || !l[1].n || !l[2].n)
		return;
	/* Brackets alone, as in any pretty-printed JSON, say nothing. */
	if (has_word(&l[0]) + has_word(&l[1]) + has_word(&l[2]) < 2)
		return;
	size_t bucket = hash_line(&l[1]) & s->mask;
	if (have(s, l, bucket))
		return;
	s->triples[s->ntriples] = (struct triple){(uint32_t)i, s->buckets[bucket]};
	s->buckets[bucket] = (uint32_t)++s->ntriples;
}

struct source *source_new(const struct tree *t)
{
	struct source *s = calloc(1, sizeof *s);
	bool ok = s != NULL;
	for (size_t i = 0; ok && i < t->n; i++)
		ok = add_file(s, &t->files[i]) == 0;
	if (ok) {
		for (s->mask = 1023; s->mask < s->nlines; s->mask = s->mask * 2 + 1)
			;
		s->buckets = calloc(s->mask + 1, sizeof *s->buckets);
		s->triples = calloc(s->nlines + 1, sizeof *s->triples);
		ok = s->buckets && s->triples;
	}
	for (size_t i = 0; ok && i + 2 < s->nlines; i++)
		add_triple(s, i);
	if (ok)
		return s;
	source_free(s);
	return NULL;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	free(s->lines);
	free(s->triples);
	free(s->buckets);
	free(s);
}

/* ---- plain text ---------------------------------------------------------------------------- */

static bool ends_with(const struct line *l, const struct line *tail)
{
	return l->n >= tail->n && memcmp(l->p + l->n - tail->n, tail->p, tail->n) == 0;
}

static bool starts_with(const struct line *l, const struct line *head)
{
	return l->n >= head->n && memcmp(l->p, head->p, head->n) == 0;
}

static bool is_ours(const struct source *s, const struct line l[3])
{
	for (uint32_t t = s->buckets[hash_line(&l[1]) & s->mask]; t; t = s->triples[t - 1].next) {
		const struct line *k = &s->lines[s->triples[t - 1].first];
		if (same(&l[1], &k[1]) && ends_with(&l[0], &k[0]) && starts_with(&l[2], &k[2]))
			return true;
	}
	return false;
}

static bool find_lines(const struct source *s, const char *p, size_t n)
{
	struct line l[3] = {0};
	const char *at = p, *end = p + n;
	for (size_t seen = 1; next_line(&at, end, &l[2]); seen++) {
		if (seen >= 3 && is_ours(s, l))
			return true;
		l[0] = l[1];
		l[1] = l[2];
	}
	return false;
}

/* ---- escaped text -------------------------------------------------------------------------- */

static void add_char(struct buf *out, uint32_t c)
{
	char utf8[4];
	buf_add(out, utf8, (size_t)(text_put(utf8, c) - utf8));
}

/* Four hex digits at p, or -1. */
static int32_t four_hex(const char *p, size_t n)
{
	int32_t v = 0;
	for (int i = 0; i < 4; i++) {
		int d = (size_t)i < n ? text_hex(p[i]) : -1;
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* The escape after a backslash at p[0..n); how many bytes it takes. */
static size_t add_escape(struct buf *out, const char *p, size_t n)
{
	static const char letter[] = "nrtbf", meant[] = "\n\r\t\b\f";
	const char *at = memchr(letter, p[0], sizeof letter - 1);
	int32_t u = p[0] == 'u' ? four_hex(p + 1, n - 1) : -1, low = -1;
	if (u < 0) {
		buf_addc(out, at ? meant[at - letter] : p[0]);
		return 1;
	}
	if (u >= 0xd800 && u < 0xdc00 && n >= 11 && p[5] == '\\' && p[6] == 'u')
		low = four_hex(p + 7, 4);
	if (low < 0xdc00 || low > 0xdfff) {
		add_char(out, (uint32_t)u);
		return 5;
	}
	add_char(out, 0x10000 + ((uint32_t)(u - 0xd800) << 10 | (uint32_t)(low - 0xdc00)));
	return 11;
}

static void unescape(const char *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\\' && i + 1 < n)
			i += add_escape(out, p + i + 1, n - i - 1);
		else
			buf_addc(out, p[i]);
	}
}

/* The end of the JSON string that begins behind p[from - 1]: where its closing quote is, or n. */
static size_t string_end(const char *p, size_t n, size_t from)
{
	while (from < n && p[from] != '"')
		from += p[from] == '\\' && from + 1 < n ? 2 : 1;
	return from < n ? from : n;
}

static bool is_key(const char *p, size_t n, size_t behind)
{
	while (behind < n && (is_space(p[behind]) || is_break(p[behind])))
		behind++;
	return behind < n && p[behind] == ':';
}

/* Each string that is no member's name, on a line of its own: a list of lines reads as the text. */
static void strings_of(const char *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '"')
			continue;
		size_t end = string_end(p, n, i + 1);
		if (!is_key(p, n, end + 1)) {
			unescape(p + i + 1, end - i - 1, out);
			buf_addc(out, '\n');
		}
		i = end;
	}
}

static bool find_text(const struct source *s, const char *p, size_t n)
{
	if (find_lines(s, p, n))
		return true;
	BUF_AUTO whole = {.limit = n + 1};
	BUF_AUTO strings = {.limit = n + 2};
	if (memchr(p, '\\', n))
		unescape(p, n, &whole);
	if (memchr(p, '"', n))
		strings_of(p, n, &strings);
	return whole.failed || strings.failed || find_lines(s, buf_str(&whole), whole.len) ||
	       find_lines(s, buf_str(&strings), strings.len);
}

/* ---- base64 -------------------------------------------------------------------------------- */

/* Of both alphabets. */
static int six_bits(char c)
{
	return b64_value(c == '-' ? '+' : c == '_' ? '/' : c);
}

/* A line break within base64, as it is or escaped: its length, or 0. */
static size_t break_at(const char *p, size_t n)
{
	if (n && is_break(p[0]))
		return 1;
	return n >= 2 && p[0] == '\\' && (p[1] == 'n' || p[1] == 'r') ? 2 : 0;
}

/* Six-bit values of the run at p into out; the bytes that it took. */
static size_t take_run(const char *p, size_t n, struct buf *out)
{
	size_t i = 0;
	while (i < n) {
		int v = six_bits(p[i]);
		size_t gap = v < 0 ? break_at(p + i, n - i) : 0;
		if (v < 0 && !gap)
			break;
		if (v >= 0)
			buf_addc(out, (char)v);
		i += v >= 0 ? 1 : gap;
	}
	return i;
}

static void pack_run(const char *six, size_t n, struct buf *out)
{
	unsigned acc = 0;
	int bits = 0;
	for (size_t i = 0; i < n; i++) {
		acc = (acc << 6 | (unsigned char)six[i]) & 0xfff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buf_addc(out, (char)(acc >> bits & 0xff));
		}
	}
}

/* What stands before the run may look like base64 too, so all four alignments are tried. */
static bool find_run(const struct source *s, const char *six, size_t n)
{
	for (size_t skip = 0; skip < 4 && skip + SHORTEST_BASE64 <= n; skip++) {
		BUF_AUTO plain = {.limit = n + 1};
		pack_run(six + skip, n - skip, &plain);
		if (plain.failed || find_text(s, buf_str(&plain), plain.len))
			return true;
	}
	return false;
}

static bool find_base64(const struct source *s, const char *p, size_t n)
{
	BUF_AUTO run = {.limit = n + 1};
	for (size_t i = 0; i < n;) {
		if (six_bits(p[i]) < 0) {
			i++;
			continue;
		}
		buf_clear(&run);
		i += take_run(p + i, n - i, &run);
		if (run.failed || (run.len >= SHORTEST_BASE64 && find_run(s, run.data, run.len)))
			return true;
	}
	return false;
}

bool source_find(const struct source *s, const void *p, size_t n)
{
	if (!s->ntriples || !n)
		return false;
	return find_text(s, p, n) || find_base64(s, p, n);
}

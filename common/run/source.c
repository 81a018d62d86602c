#include "run/source.h"
#include "base/b64.h"
#include "base/buf.h"
#include "guard/escape.h"
#include "manifest/ignore.h"
#include "scan/decode.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHORTEST_BASE64 16 /* characters: less cannot hold three lines */
#define OUTER 24	   /* characters of a triple's outer lines that are compared */
#define LINE_ROOM 4096	   /* of a line; what is longer is cut */
#define ROUNDS 3	   /* escapes are undone so often */
#define DECODED_MAX ((size_t)1 << 28)

/* Hashes, by open addressing; 0 is no member. */
struct hash_set {
	uint64_t *v;
	size_t n, mask;
};

/* A line without its white space, which is all that is compared of it. */
struct code_line {
	char p[LINE_ROOM];
	size_t n;
};

/*
 * Three lines of one file: found by the middle one, which must be whole; the outer two may be cut
 * by what is around, so of the first the end, of the third the beginning count.
 */
struct source {
	struct hash_set middle, first, third; /* of the middle; with the first's end; with both */
};

/* ---- hashes -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return (h ^ h >> 32) | 1;
}

static bool has(const struct hash_set *s, uint64_t h)
{
	for (size_t i = h * 0x9e3779b97f4a7c15u >> 20 & s->mask; s->v && s->v[i];
		i = (i + 1) & s->mask)
		if (s->v[i] == h)
			return true;
	return false;
}

static void put(struct hash_set *s, uint64_t h)
{
	size_t i = h * 0x9e3779b97f4a7c15u >> 20 & s->mask;
	while (s->v[i] && s->v[i] != h)
		i = (i + 1) & s->mask;
	s->n += !s->v[i];
	s->v[i] = h;
}

static int add(struct hash_set *s, uint64_t h)
{
	if (s->v && s->n * 2 <= s->mask) {
		put(s, h);
		return 0;
	}
	struct hash_set more = {.mask = s->v ? s->mask * 2 + 1 : 1023};
	more.v = calloc(more.mask + 1, sizeof *more.v);
	if (!more.v)
		return -1;
	for (size_t i = 0; s->v && i <= s->mask; i++)
		if (s->v[i])
			put(&more, s->v[i]);
	free(s->v);
	*s = more;
	put(s, h);
	return 0;
}

static uint64_t hash_bytes(uint64_t h, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
	return mix(h, n);
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\0';
}

static bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

/* White space at p, with what draws boxes around code and colours it: its length. */
static size_t blank_at(const char *p, size_t n)
{
	if (is_space(*p))
		return 1;
	if (n >= 2 && memcmp(p, "\xc2\xa0", 2) == 0)
		return 2;
	if (n >= 3 && (unsigned char)p[0] == 0xe2 && ((unsigned char)p[1] & 0xfe) == 0x94)
		return 3; /* box drawing */
	if (n >= 3 && (memcmp(p, "\xe2\x9d\xb1", 3) == 0 || memcmp(p, "\xe2\x86\x92", 3) == 0))
		return 3; /* the marks of a traceback's line */
	if (n < 3 || p[0] != '\x1b' || p[1] != '[')
		return 0;
	size_t i = 2;
	while (i < n && (isdigit((unsigned char)p[i]) || p[i] == ';'))
		i++;
	return i < n ? i + 1 : i;
}

/* The line [p, q) as it is compared. */
static void take_line(const char *p, const char *q, struct code_line *l)
{
	l->n = 0;
	while (p < q && l->n < LINE_ROOM) {
		size_t blank = blank_at(p, (size_t)(q - p));
		if (!blank)
			l->p[l->n++] = *p;
		p += blank ? blank : 1;
	}
}

/* Without its number and the marks that quotes, diffs and tracebacks set before (and boxes behind).
 */
static void strip(const char **p, const char **q)
{
	for (;;) {
		const char *at = *p;
		size_t blank;
		while (at < *q && (blank = blank_at(at, (size_t)(*q - at))))
			at += blank;
		while (at < *q && isdigit((unsigned char)*at))
			at++;
		while (at < *q && strchr(">+|:*=.)", *at))
			at++;
		if (at == *p)
			break;
		*p = at;
	}
	while (*q > *p && (is_space((*q)[-1]) || (*q)[-1] == '|'))
		--*q;
}

static bool has_word(const struct code_line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (isalnum((unsigned char)l->p[i]) || (l->p[i] & 0x80))
			return true;
	return false;
}

/* The last three lines that are not blank; used in turn. */
struct three {
	struct code_line l[3];
	size_t seen;
};

static struct code_line *nth(struct three *t, size_t i)
{
	return &t->l[(t->seen + i) % 3];
}

/* Calls found() with each three; stops at its first 1 or -1. */
static int each_three(const char *p, size_t n, bool stripped, struct three *t,
	int (*found)(void *arg, struct three *t), void *arg)
{
	const char *end = p + n;
	t->seen = 0;
	while (p < end) {
		const char *q = p;
		while (q < end && !is_break(*q))
			q++;
		const char *from = p, *to = q;
		if (stripped)
			strip(&from, &to);
		struct code_line *l = nth(t, 0);
		take_line(from, to, l);
		p = q + 1;
		if (!l->n)
			continue;
		t->seen++;
		int rc = t->seen >= 3 ? found(arg, t) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the index ----------------------------------------------------------------------------- */

static size_t outer(const struct code_line *l)
{
	return l->n < OUTER ? l->n : OUTER;
}

static int add_three(void *arg, struct three *t)
{
	struct source *s = arg;
	const struct code_line *a = nth(t, 0), *b = nth(t, 1), *c = nth(t, 2);
	/* Brackets alone, as in any pretty-printed JSON, say nothing. */
	if (has_word(a) + has_word(b) + has_word(c) < 2)
		return 0;
	size_t n = outer(a);
	uint64_t h = hash_bytes(1, b->p, b->n);
	uint64_t first = mix(h, hash_bytes(2, a->p + a->n - n, n));
	uint64_t third = mix(first, hash_bytes(3, c->p, outer(c)));
	return add(&s->middle, h) < 0 || add(&s->first, first) < 0 || add(&s->third, third) < 0 ? -1
												: 0;
}

static int is_ours(void *arg, struct three *t)
{
	const struct source *s = arg;
	const struct code_line *a = nth(t, 0), *b = nth(t, 1), *c = nth(t, 2);
	uint64_t h = hash_bytes(1, b->p, b->n);
	if (!has(&s->middle, h))
		return 0;
	for (size_t n = 1; n <= outer(a); n++) {
		uint64_t first = mix(h, hash_bytes(2, a->p + a->n - n, n));
		for (size_t m = 1; has(&s->first, first) && m <= outer(c); m++)
			if (has(&s->third, mix(first, hash_bytes(3, c->p, m))))
				return 1;
	}
	return 0;
}

static int add_text(struct source *s, const char *p, size_t n, struct three *t)
{
	return each_three(p, n, false, t, add_three, s) < 0 ||
			       each_three(p, n, true, t, add_three, s) < 0
		       ? -1
		       : 0;
}

/* Of a file in another coding: as Python reads it, which is what a program prints of it. */
static int add_decoded(struct source *s, const struct tree_file *f, struct three *t)
{
	struct fail why = {0};
	struct arena a = {.limit = DECODED_MAX, .fail = &why};
	if (setjmp(why.at)) {
		arena_free(&a);
		return 0;
	}
	const char *text = decode_source(&a, f->data, f->n);
	int rc = add_text(s, text, strlen(text), t);
	arena_free(&a);
	return rc;
}

static bool is_python(const struct tree_file *f)
{
	size_t n = strlen(f->path);
	return n > 3 && strcmp(f->path + n - 3, ".py") == 0;
}

static int add_file(
	struct source *s, const struct tree_file *f, const struct strv *private, struct three *t)
{
	bool python = is_python(f);
	if (!f->n || (!python && !ignore_matches(private, f->path, false)))
		return 0;
	if (add_text(s, f->data, f->n, t) < 0)
		return -1;
	return python ? add_decoded(s, f, t) : 0;
}

struct source *source_new(const struct tree *tree, const struct strv *private)
{
	struct source *s = calloc(1, sizeof *s);
	struct three *t = calloc(1, sizeof *t);
	bool ok = s && t;
	for (size_t i = 0; ok && i < tree->n; i++)
		ok = add_file(s, &tree->files[i], private, t) == 0;
	free(t);
	if (ok)
		return s;
	source_free(s);
	return NULL;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	free(s->middle.v);
	free(s->first.v);
	free(s->third.v);
	free(s);
}

/* ---- texts --------------------------------------------------------------------------------- */

static bool find_lines(const struct source *s, const char *p, size_t n)
{
	struct three *t = malloc(sizeof *t);
	bool found = !t || each_three(p, n, false, t, is_ours, (void *)s) ||
		     each_three(p, n, true, t, is_ours, (void *)s);
	free(t);
	return found;
}

/* The escapes that begin with c, once. */
static void undo(const char *p, size_t n, char c, struct buf *out)
{
	struct escape e = {0};
	for (size_t i = 0; i < n;) {
		ssize_t len =
			p[i] == c ? escape_read((const uint8_t *)p + i, n - i, true, false, &e) : 0;
		if (len > 0)
			buf_add(out, e.out, e.n);
		else
			buf_addc(out, p[i]);
		i += len > 0 ? (size_t)len : 1;
	}
}

static bool is_tag(const char *p, size_t n, size_t *len)
{
	const char *end = n > 2 && (isalpha((unsigned char)p[1]) || p[1] == '/')
				  ? memchr(p, '>', n < 300 ? n : 300)
				  : NULL;
	*len = end ? (size_t)(end - p) + 1 : 0;
	return end != NULL;
}

/* What a browser shows: without tags, references undone; a line ends where <br> says. */
static bool find_html(const struct source *s, const char *p, size_t n)
{
	BUF_AUTO bare = {.limit = n + 1};
	BUF_AUTO text = {.limit = n + 1};
	size_t len;
	if (!memchr(p, '<', n) && !memchr(p, '&', n))
		return false;
	for (size_t i = 0; i < n;) {
		bool tag = p[i] == '<' && is_tag(p + i, n - i, &len);
		if (!tag)
			buf_addc(&bare, p[i]);
		else if (len >= 4 && strncasecmp(p + i, "<br", 3) == 0)
			buf_addc(&bare, '\n');
		i += tag ? len : 1;
	}
	undo(buf_str(&bare), bare.len, '&', &text);
	return bare.failed || text.failed || find_lines(s, buf_str(&text), text.len);
}

/* The end of the string that begins behind p[from - 1]: where its closing quote is, or n. */
static size_t string_end(const char *p, size_t n, size_t from, char quote)
{
	while (from < n && p[from] != quote)
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
static void strings_of(const char *p, size_t n, char quote, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != quote)
			continue;
		size_t end = string_end(p, n, i + 1, quote);
		if (!is_key(p, n, end + 1)) {
			undo(p + i + 1, end - i - 1, '\\', out);
			buf_addc(out, '\n');
		}
		i = end;
	}
}

static bool find_strings(const struct source *s, const char *p, size_t n, char quote)
{
	BUF_AUTO strings = {.limit = 2 * n + 2};
	if (!memchr(p, quote, n))
		return false;
	strings_of(p, n, quote, &strings);
	return strings.failed || find_lines(s, buf_str(&strings), strings.len);
}

static bool find_reading(const struct source *s, const char *p, size_t n)
{
	return find_lines(s, p, n) || find_strings(s, p, n, '"') || find_strings(s, p, n, '\'') ||
	       find_html(s, p, n);
}

/* As it is, and with its backslashes undone as often as texts are put into texts. */
static bool find_text(const struct source *s, const char *p, size_t n)
{
	if (find_reading(s, p, n))
		return true;
	BUF_AUTO now = {.limit = n + 1};
	for (int i = 0; i < ROUNDS && memchr(p, '\\', n); i++) {
		BUF_AUTO next = {.limit = n + 1};
		undo(p, n, '\\', &next);
		if (next.failed || find_reading(s, buf_str(&next), next.len))
			return true;
		struct buf old = now;
		now = next;
		next = old;
		p = buf_str(&now);
		n = now.len;
	}
	return false;
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
static size_t take_six(const char *p, size_t n, struct buf *out)
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
		i += take_six(p + i, n - i, &run);
		if (run.failed || (run.len >= SHORTEST_BASE64 && find_run(s, run.data, run.len)))
			return true;
	}
	return false;
}

bool source_find(const struct source *s, const void *p, size_t n)
{
	if (!s->middle.n || !n)
		return false;
	return find_text(s, p, n) || find_base64(s, p, n);
}

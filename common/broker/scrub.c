#include "broker/scrub.h"
#include "base/text.h"
#include "gate/coding.h"
#include "base/vault.h"

#include <string.h>

#define INFLATED_MAX ((size_t)100 << 20)
#define SEARCH_MIN 8 /* bytes: a shorter key would be found by chance once text is squeezed */

int scrub_make(struct scrub *s, const struct secret *key)
{
	s->searches = key->n >= SEARCH_MIN;
	s->l = leak_new();
	if (s->l && leak_add(s->l, 0, key->data, key->n, NULL, LEAK_ALL | LEAK_LOWER) == 0 &&
		leak_seal(s->l) == 0)
		return 0;
	scrub_free(s);
	return -1;
}

void scrub_free(struct scrub *s)
{
	leak_free(&s->l);
}

void scrub_text(const struct scrub *s, char *p, size_t n)
{
	leak_replace(s->l, p, n);
}

/* ---- JSON: whatever escapes its strings are written in ------------------------------------- */

struct cleaning {
	const struct leak *l;
	size_t hits;
};

static int clean_text(void *ctx, struct buf *text)
{
	struct cleaning *c = ctx;
	c->hits += leak_replace(c->l, text->data, text->len);
	return 0;
}

/* Written anew only where a string held the key: else the bytes stay as they came. */
static int clean_json(const struct leak *l, struct buf *body)
{
	struct err quiet = {0};
	struct cleaning c = {.l = l};
	JSON_AUTO j = json_parse("body", buf_str(body), body->len, &quiet);
	if (!j)
		return 0;
	JSON_AUTO safe = json_map_texts(j, clean_text, &c);
	if (!safe)
		return -1;
	if (!c.hits)
		return 0;
	BUF_AUTO text = {.limit = body->limit};
	json_to_buf(safe, &text);
	if (buf_failed(&text))
		return -1;
	explicit_bzero(body->data, body->len);
	buf_clear(body);
	buf_add(body, buf_str(&text), text.len);
	return buf_failed(body) ? -1 : 0;
}

/* ---- forms that are found but not cut out -------------------------------------------------- */

/* Each writes at most as many bytes as it reads, and says how many. */

/* Folded base64, escaped slashes, UTF-16, "k e y": without what stands between. */
static size_t squeeze(const char *p, size_t n, char *out)
{
	char *o = out;
	for (size_t i = 0; i < n; i++)
		if (p[i] && !strchr(" \t\r\n\\", p[i]))
			*o++ = p[i];
	return (size_t)(o - out);
}

/* "\u0041" and "\x41" of one byte, also in what is not quite JSON. */
static size_t unescape(const char *p, size_t n, char *out)
{
	char *o = out;
	for (size_t i = 0; i < n;) {
		size_t len = 0;
		if (n - i >= 6 && memcmp(p + i, "\\u00", 4) == 0)
			len = 6;
		else if (n - i >= 4 && memcmp(p + i, "\\x", 2) == 0)
			len = 4;
		int high = len ? text_hex(p[i + len - 2]) : -1,
		    low = len ? text_hex(p[i + len - 1]) : -1;
		bool is = high >= 0 && low >= 0;
		*o++ = is ? (char)(high * 16 + low) : p[i];
		i += is ? len : 1;
	}
	return (size_t)(o - out);
}

/* "&#65;", "&#x41;" of one byte: its value and length; 0 when it is none. */
static size_t numeric_entity(const char *p, size_t n, char *c)
{
	bool is_hex = n > 3 && (p[2] == 'x' || p[2] == 'X');
	unsigned v = 0;
	size_t i = is_hex ? 3 : 2, from = i;
	for (; i < n && i < from + 7 && p[i] != ';'; i++) {
		int d = text_hex(p[i]);
		if (d < 0 || (!is_hex && d > 9))
			return 0;
		v = v * (is_hex ? 16 : 10) + (unsigned)d;
	}
	if (i >= n || p[i] != ';' || i == from || v > 0x7f)
		return 0;
	*c = (char)v;
	return i + 1;
}

static size_t entity(const char *p, size_t n, char *c)
{
	static const struct {
		const char *text;
		char c;
	} named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'},
		{"&apos;", '\''}, {"&sol;", '/'}, {"&plus;", '+'}, {"&equals;", '='}};
	if (n < 4 || *p != '&')
		return 0;
	if (p[1] == '#')
		return numeric_entity(p, n, c);
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
		size_t len = strlen(named[i].text);
		if (len <= n && memcmp(p, named[i].text, len) == 0) {
			*c = named[i].c;
			return len;
		}
	}
	return 0;
}

static size_t unentity(const char *p, size_t n, char *out)
{
	char *o = out;
	for (size_t i = 0; i < n;) {
		char c = p[i];
		size_t len = entity(p + i, n - i, &c);
		*o++ = c;
		i += len ? len : 1;
	}
	return (size_t)(o - out);
}

struct search {
	struct leak_stream s;
	struct buf out;
	size_t total;
};

static int search_piece(void *arg, const void *p, size_t n)
{
	struct search *w = arg;
	buf_clear(&w->out);
	w->total += n;
	if (w->total > INFLATED_MAX || leak_guard(&w->s, p, n, &w->out, NULL) != 0)
		return -1;
	return 0;
}

/* A gzip file as the body: searched, not rewritten. One that is over the limit counts as a hit. */
static bool inside_gzip(const struct leak *l, const struct buf *body)
{
	if (body->len < 18 || memcmp(body->data, "\x1f\x8b\x08", 3) != 0)
		return false;
	struct search w = {.s.l = l, .out.limit = (size_t)1 << 20};
	struct decoding *d = coding_new(CODING_GZIP);
	if (!d)
		return true;
	bool stopped = coding_push(d, body->data, body->len, search_piece, &w) < 0;
	bool hit = w.s.hits > 0 || (stopped && w.total > INFLATED_MAX);
	/* A value at the very end is held back until nothing more can follow. */
	hit = hit || leak_guard_end(&w.s, &w.out, NULL) != 0;
	coding_free(&d);
	leak_stream_end(&w.s);
	if (w.out.data)
		explicit_bzero(w.out.data, w.out.cap);
	buf_free(&w.out);
	return hit;
}

static bool hidden(const struct leak *l, const struct buf *body)
{
	static size_t (*const undo[])(const char *, size_t, char *) = {
		squeeze, text_unpercent, unescape, unentity};
	char *out = vault_new(body->len + 1);
	bool hit = !out;
	for (size_t i = 0; !hit && i < sizeof undo / sizeof undo[0]; i++)
		hit = leak_find(l, out, undo[i](body->data, body->len, out), NULL);
	vault_free(out);
	return hit || inside_gzip(l, body);
}

int scrub_body(const struct scrub *s, struct buf *body)
{
	if (!body->len)
		return 0;
	leak_replace(s->l, body->data, body->len);
	if (clean_json(s->l, body) < 0)
		return -1;
	return s->searches && hidden(s->l, body) ? -1 : 0;
}

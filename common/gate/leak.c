#include "gate/leak.h"

#include "base/text.h"
#include "base/vault.h"

#include <stdint.h>
#include <string.h>

#define KEY_LEN 8 /* bytes of a pattern that the table is keyed by */
#define BUCKETS 4096
#define SHORTEST_ENCODED 8 /* a shorter base64 or hex form would be found in anything */

struct pattern {
	uint8_t *find, *put; /* one block: find, then put, len bytes each */
	uint32_t len;
	unsigned id;
	int next; /* in its bucket, -1 ends */
};

struct leak_text {
	uint8_t *p;
	size_t n;
};

struct leak {
	struct pattern *pat; /* after the seal all of it is one vault */
	size_t n, cap;
	bool sealed;
	int bucket[BUCKETS];
	bool first[256]; /* some pattern begins with this byte */
	bool first_short[256];
	/* Until the seal: where forms are made. */
	uint8_t *scratch, *stars;
	size_t room; /* the longest value that fits */
	struct leak_text find, put;
};

struct leak *leak_new(void)
{
	return wipe_calloc(1, sizeof(struct leak));
}

static void free_patterns(struct leak *l)
{
	if (l->sealed) {
		vault_free(l->pat);
		return;
	}
	for (size_t i = 0; i < l->n; i++)
		wipe_free(l->pat[i].find);
	wipe_free(l->pat);
}

void leak_free(struct leak **l)
{
	if (!*l)
		return;
	free_patterns(*l);
	vault_free((*l)->scratch);
	wipe_free(*l);
	*l = NULL;
}

bool leak_empty(const struct leak *l)
{
	return !l || l->n == 0;
}

/* ---- forms ---- */

static void put(struct leak_text *t, uint8_t c)
{
	t->p[t->n++] = c;
}

static void put_hex(struct leak_text *t, uint8_t c, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	put(t, (uint8_t)digits[c >> 4]);
	put(t, (uint8_t)digits[c & 15]);
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* How a form is made: an encoder, and what varies in it. */
struct form {
	unsigned kind;
	void (*encode)(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out);
	const char *safe; /* percent: left alone beside letters and digits; NULL encodes all */
	bool upper;	  /* hex digits */
	bool plus;	  /* percent: a space becomes '+' */
	bool url;	  /* base64: '-' and '_' */
	int offset;	  /* base64: bytes before the value, modulo 3 */
	bool slash;	  /* JSON: '/' is escaped */
	bool ascii;	  /* JSON: what is not ASCII is escaped */
	bool html;	  /* JSON: '<', '>', '&' are escaped */
	char between;	  /* hex: between two bytes; 0 for nothing */
	bool big;	  /* UTF-16: the high byte first */
	const char *const *names; /* entities: of & < > " ' in turn */
};

static void encode_raw(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	(void)f;
	for (size_t i = 0; i < n; i++)
		put(out, v[i]);
}

static void encode_lower(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	(void)f;
	for (size_t i = 0; i < n; i++)
		put(out, v[i] >= 'A' && v[i] <= 'Z' ? v[i] + 32 : v[i]);
}

static void encode_percent(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	for (size_t i = 0; i < n; i++) {
		if (f->safe && (is_alnum(v[i]) || (v[i] && strchr(f->safe, v[i])))) {
			put(out, v[i]);
		} else if (f->plus && v[i] == ' ') {
			put(out, '+');
		} else {
			put(out, '%');
			put_hex(out, v[i], f->upper);
		}
	}
}

/* Only the characters that the value alone decides; its neighbours share the others. */
static void encode_base64(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	const char *abc =
		f->url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		       : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t skip = (size_t)f->offset * 8, bits = (n + (size_t)f->offset) * 8;
	for (size_t bit = (skip + 5) / 6 * 6; bit + 6 <= bits; bit += 6) {
		unsigned six = 0;
		for (size_t b = bit - skip; b < bit - skip + 6; b++)
			six = six << 1 | (v[b / 8] >> (7 - b % 8) & 1);
		put(out, (uint8_t)abc[six]);
	}
}

static void encode_hex(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i && f->between)
			put(out, (uint8_t)f->between);
		put_hex(out, v[i], f->upper);
	}
}

static void put_u(struct leak_text *out, unsigned unit, bool upper)
{
	put(out, '\\');
	put(out, 'u');
	put_hex(out, (uint8_t)(unit >> 8), upper);
	put_hex(out, (uint8_t)unit, upper);
}

/* The code point at v, which is n long, and its bytes; 0 bytes when it is no UTF-8. */
static size_t utf8_at(const uint8_t *v, size_t n, uint32_t *cp)
{
	const char *from = (const char *)v, *p = from;
	*cp = text_next(&p, from + n);
	return *cp < TEXT_BAD_BYTE ? (size_t)(p - from) : 0;
}

static size_t json_wide(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	uint32_t cp;
	size_t len = f->ascii ? utf8_at(v, n, &cp) : 0;
	if (!len) {
		put(out, v[0]);
		return 1;
	}
	if (cp < 0x10000) {
		put_u(out, cp, f->upper);
	} else {
		put_u(out, 0xd800 + ((cp - 0x10000) >> 10), f->upper);
		put_u(out, 0xdc00 + ((cp - 0x10000) & 0x3ff), f->upper);
	}
	return len;
}

static void encode_json(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	for (size_t i = 0; i < n;) {
		const char *at = v[i] ? strchr(plain, v[i]) : NULL;
		if (v[i] >= 0x80) {
			i += json_wide(f, v + i, n - i, out);
			continue;
		}
		if (at || (v[i] == '/' && f->slash)) {
			put(out, '\\');
			put(out, (uint8_t)(at ? letter[at - plain] : '/'));
		} else if (v[i] < 0x20 || (f->html && v[i] && strchr("<>&", v[i]))) {
			put_u(out, v[i], f->upper);
		} else {
			put(out, v[i]);
		}
		i++;
	}
}

static void put_unit(const struct form *f, unsigned unit, struct leak_text *out)
{
	put(out, (uint8_t)(f->big ? unit >> 8 : unit));
	put(out, (uint8_t)(f->big ? unit : unit >> 8));
}

static void encode_utf16(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_at(v + i, n - i, &cp);
		if (!len)
			cp = v[i];
		if (cp >= 0x10000) {
			put_unit(f, 0xd800 + ((cp - 0x10000) >> 10), out);
			cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
		}
		put_unit(f, cp, out);
		i += len ? len : 1;
	}
}

/* HTML's and XML's escapes; a name of NULL leaves the character as it is. */
static void encode_entities(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	static const char escaped[] = "&<>\"'";
	for (size_t i = 0; i < n; i++) {
		const char *at = v[i] ? strchr(escaped, v[i]) : NULL;
		const char *name = at ? f->names[at - escaped] : NULL;
		if (!name) {
			put(out, v[i]);
			continue;
		}
		put(out, '&');
		for (; *name; name++)
			put(out, (uint8_t)*name);
		put(out, ';');
	}
}

/* A quote is doubled, as in a field of CSV, or in a text of SQL. */
static void encode_doubled(const struct form *f, const uint8_t *v, size_t n, struct leak_text *out)
{
	for (size_t i = 0; i < n; i++) {
		put(out, v[i]);
		if (v[i] == (uint8_t)f->between)
			put(out, v[i]);
	}
}

static const char *const html_names[] = {"amp", "lt", "gt", "quot", "#x27"};
static const char *const html_decimal[] = {"amp", "lt", "gt", "quot", "#39"};
static const char *const text_names[] = {"amp", "lt", "gt", NULL, NULL};

#define PERCENT(s, p)                                                                              \
	{.kind = LEAK_PERCENT, .encode = encode_percent, .safe = (s), .plus = (p), .upper = true}, \
	{                                                                                          \
		.kind = LEAK_PERCENT, .encode = encode_percent, .safe = (s), .plus = (p)           \
	}
#define BASE64(o)                                                                        \
	{.kind = LEAK_BASE64, .encode = encode_base64, .offset = (o)},                   \
	{                                                                                \
		.kind = LEAK_BASE64, .encode = encode_base64, .offset = (o), .url = true \
	}
#define HEX(b)                                                                        \
	{.kind = LEAK_HEX, .encode = encode_hex, .between = (b)},                     \
	{                                                                             \
		.kind = LEAK_HEX, .encode = encode_hex, .between = (b), .upper = true \
	}
#define JSON(...)                                                     \
	{                                                             \
		.kind = LEAK_JSON, .encode = encode_json, __VA_ARGS__ \
	}

static const struct form forms[] = {
	{.kind = LEAK_RAW, .encode = encode_raw},
	{.kind = LEAK_LOWER, .encode = encode_lower},
	PERCENT("-._~", false),			  /* RFC 3986; urllib.parse.quote(safe='') */
	PERCENT("-._~/", false),		  /* urllib.parse.quote() */
	PERCENT("-._~", true),			  /* urlencode(), quote_plus() */
	PERCENT("-._~!*'()", false),		  /* encodeURIComponent() */
	PERCENT("*-._", true),			  /* forms in browsers */
	PERCENT("-._~:/?#[]@!$&'()*+,;=", false), /* URL quoting as requests does it */
	PERCENT(NULL, false),
	BASE64(0),
	BASE64(1),
	BASE64(2),
	HEX('\0'),
	HEX(':'),
	HEX(' '),
	JSON(.upper = false),
	JSON(.slash = true),
	JSON(.ascii = true),
	JSON(.ascii = true, .slash = true),
	JSON(.ascii = true, .upper = true),
	JSON(.html = true),
	{.kind = LEAK_UTF16, .encode = encode_utf16},
	{.kind = LEAK_UTF16, .encode = encode_utf16, .big = true},
	{.kind = LEAK_MARKUP, .encode = encode_entities, .names = html_names}, /* html.escape() */
	{.kind = LEAK_MARKUP,
		.encode = encode_entities,
		.names = html_decimal},					       /* Go, MarkupSafe */
	{.kind = LEAK_MARKUP, .encode = encode_entities, .names = text_names}, /* XML's text */
	{.kind = LEAK_MARKUP, .encode = encode_doubled, .between = '"'},
	{.kind = LEAK_MARKUP, .encode = encode_doubled, .between = '\''},
};

/* ---- building ---- */

/* One value's forms are often the same; those of different values hardly ever. */
static bool have(const struct leak *l, size_t from, const struct leak_text *t)
{
	for (size_t i = from; i < l->n; i++)
		if (l->pat[i].len == t->n && memcmp(l->pat[i].find, t->p, t->n) == 0)
			return true;
	return false;
}

/* What stands for the form when nothing is given: asterisks, in base64 and hex encoded ones. */
static void mask(
	const struct form *f, const uint8_t *stars, size_t n, struct leak_text *t, size_t want)
{
	t->n = 0;
	if (f->kind == LEAK_BASE64 || f->kind == LEAK_HEX)
		f->encode(f, stars, n, t);
	if (t->n == want)
		return;
	memset(t->p, '*', want);
	t->n = want;
}

static int add_pattern(
	struct leak *l, unsigned id, const struct leak_text *find, const struct leak_text *put_)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 32;
		struct pattern *grown = wipe_realloc(l->pat, cap * sizeof *grown);
		if (!grown)
			return -1;
		l->pat = grown;
		l->cap = cap;
	}
	uint8_t *block = wipe_malloc(find->n * 2);
	if (!block)
		return -1;
	memcpy(block, find->p, find->n);
	memcpy(block + find->n, put_->p, find->n);
	l->pat[l->n++] = (struct pattern){
		.find = block, .put = block + find->n, .len = (uint32_t)find->n, .id = id};
	return 0;
}

/* Room for one value's forms: no form is longer than six bytes a byte. */
static int make_scratch(struct leak *l, size_t n)
{
	if (n > l->room) {
		vault_free(l->scratch);
		l->room = n < 256 ? 256 : n;
		l->scratch = vault_new(l->room * 13);
	}
	if (!l->scratch) {
		l->room = 0;
		return -1;
	}
	l->find = (struct leak_text){l->scratch, 0};
	l->put = (struct leak_text){l->scratch + l->room * 6, 0};
	l->stars = l->scratch + l->room * 12;
	memset(l->stars, '*', n);
	return 0;
}

static int add_form(struct leak *l, size_t from, unsigned id, const struct form *f,
	const uint8_t *v, size_t n, const uint8_t *instead)
{
	l->find.n = l->put.n = 0;
	f->encode(f, v, n, &l->find);
	bool encoded = f->kind == LEAK_BASE64 || f->kind == LEAK_HEX;
	if (!l->find.n || (encoded && l->find.n < SHORTEST_ENCODED) || have(l, from, &l->find))
		return 0;
	if (instead)
		f->encode(f, instead, n, &l->put);
	if (l->put.n != l->find.n)
		mask(f, l->stars, n, &l->put, l->find.n);
	return add_pattern(l, id, &l->find, &l->put);
}

int leak_add(struct leak *l, unsigned id, const void *value, size_t n, const void *instead,
	unsigned which)
{
	size_t from = l->n;
	int rc = 0;
	if (l->sealed || n > (size_t)1 << 20)
		return -1;
	if (n == 0)
		return 0;
	if (n < 4)
		which &= LEAK_RAW;
	if (make_scratch(l, n) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < sizeof forms / sizeof forms[0]; i++)
		if (forms[i].kind & which)
			rc = add_form(l, from, id, &forms[i], value, n, instead);
	return rc;
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static unsigned bucket_of(const uint8_t *p)
{
	return (unsigned)(load64(p) * 0x9e3779b97f4a7c15u >> 52);
}

/* Moves everything into one vault, the patterns first and their bytes behind. */
static int into_vault(struct leak *l)
{
	size_t total = l->n * sizeof *l->pat;
	for (size_t i = 0; i < l->n; i++)
		total += (size_t)l->pat[i].len * 2;
	struct pattern *v = vault_new(total);
	if (!v)
		return -1;
	uint8_t *at = (uint8_t *)(v + l->n);
	for (size_t i = 0; i < l->n; i++) {
		size_t len = l->pat[i].len;
		v[i] = l->pat[i];
		memcpy(at, l->pat[i].find, len * 2);
		v[i].find = at;
		v[i].put = at + len;
		at += len * 2;
	}
	free_patterns(l);
	l->pat = v;
	l->sealed = true;
	return 0;
}

int leak_seal(struct leak *l)
{
	if (l->sealed || into_vault(l) < 0)
		return -1;
	vault_free(l->scratch);
	l->scratch = NULL;
	for (size_t i = 0; i < BUCKETS; i++)
		l->bucket[i] = -1;
	for (size_t i = 0; i < l->n; i++) {
		struct pattern *p = &l->pat[i];
		l->first[p->find[0]] = true;
		if (p->len < KEY_LEN) {
			l->first_short[p->find[0]] = true;
			continue;
		}
		unsigned b = bucket_of(p->find);
		p->next = l->bucket[b];
		l->bucket[b] = (int)i;
	}
	return 0;
}

/* ---- finding ---- */

/* What stands at one place: the longest whole pattern, and whether one may still be coming. */
struct leak_place {
	const struct pattern *whole;
	bool partly;
};

static void try_pattern(
	const struct pattern *pat, const uint8_t *p, size_t n, struct leak_place *at)
{
	size_t len = pat->len < n ? pat->len : n;
	if (memcmp(pat->find, p, len) != 0)
		return;
	if (len < pat->len)
		at->partly = true;
	else if (!at->whole || at->whole->len < pat->len)
		at->whole = pat;
}

static struct leak_place look_at(const struct leak *l, const uint8_t *p, size_t n)
{
	struct leak_place at = {0};
	if (n < KEY_LEN) {
		for (size_t i = 0; l->first[*p] && i < l->n; i++)
			try_pattern(&l->pat[i], p, n, &at);
		return at;
	}
	for (int i = l->bucket[bucket_of(p)]; i >= 0; i = l->pat[i].next)
		try_pattern(&l->pat[i], p, n, &at);
	for (size_t i = 0; l->first_short[*p] && i < l->n; i++)
		if (l->pat[i].len < KEY_LEN)
			try_pattern(&l->pat[i], p, n, &at);
	return at;
}

/* The first place from `from` on where something begins; n when there is none. */
static size_t next_place(const struct leak *l, const uint8_t *p, size_t n, size_t from, bool whole,
	struct leak_place *at)
{
	size_t i = from;
	while (i < n) {
		while (n - i >= KEY_LEN && l->bucket[bucket_of(p + i)] < 0 && !l->first_short[p[i]])
			i++;
		*at = look_at(l, p + i, n - i);
		if (at->whole || (at->partly && !whole))
			return i;
		i++;
	}
	return n;
}

bool leak_find(const struct leak *l, const void *p, size_t n, unsigned *id)
{
	if (leak_empty(l))
		return false;
	struct leak_place at;
	if (next_place(l, p, n, 0, true, &at) == n)
		return false;
	if (id)
		*id = at.whole->id;
	return true;
}

size_t leak_next(
	const struct leak *l, const void *p, size_t n, size_t from, size_t *len, unsigned *id)
{
	struct leak_place at = {0};
	size_t i = leak_empty(l) ? n : next_place(l, p, n, from, true, &at);
	if (i < n) {
		*len = at.whole->len;
		*id = at.whole->id;
	}
	return i;
}

size_t leak_replace(const struct leak *l, void *p, size_t n)
{
	size_t hits = 0;
	if (leak_empty(l))
		return 0;
	struct leak_place at;
	for (size_t i = 0; (i = next_place(l, p, n, i, true, &at)) < n; i += at.whole->len) {
		memcpy((uint8_t *)p + i, at.whole->put, at.whole->len);
		hits++;
	}
	return hits;
}

/* ---- streams ---- */

/*
 * Passes p[0..n) on into out up to where a secret may be beginning; *left is what was not passed.
 * final: nothing more comes, so what isn't whole isn't one. stop: end before the first hit, 1.
 */
static int pass_on(struct leak_stream *s, const uint8_t *p, size_t n, bool final, bool stop,
	struct buf *out, size_t *left, unsigned *id)
{
	size_t done = 0;
	struct leak_place at;
	for (;;) {
		size_t i = next_place(s->l, p, n, done, final, &at);
		buf_add(out, p + done, i - done);
		done = i;
		if (i == n || (at.partly && !final))
			break;
		s->hits++;
		if (stop) {
			if (id)
				*id = at.whole->id;
			*left = 0;
			return 1;
		}
		buf_add(out, at.whole->put, at.whole->len);
		done += at.whole->len;
	}
	*left = n - done;
	return buf_failed(out) ? -1 : 0;
}

static int keep(struct leak_stream *s, const void *p, size_t n)
{
	if (s->held.data && (const char *)p >= s->held.data &&
		(const char *)p <= s->held.data + s->held.len) {
		memmove(s->held.data, p, n);
		explicit_bzero(s->held.data + n, s->held.len - n);
		s->held.len = n;
		return 0;
	}
	buf_add(&s->held, p, n);
	return buf_failed(&s->held) ? -1 : 0;
}

/* Grows without leaving an old copy behind in freed memory. */
static int held_room(struct leak_stream *s, size_t n)
{
	size_t need = s->held.len + n + 1;
	if (need <= s->held.cap)
		return 0;
	struct buf grown = {.limit = (size_t)256 << 20};
	if (buf_reserve(&grown, need * 2) < 0)
		return -1;
	buf_add(&grown, s->held.data ? s->held.data : "", s->held.len);
	leak_stream_end(s);
	s->held = grown;
	return 0;
}

static int feed(struct leak_stream *s, const void *p, size_t n, bool final, bool stop,
	struct buf *out, unsigned *id)
{
	size_t left = 0;
	if (leak_empty(s->l)) {
		buf_add(out, p, n);
		return buf_failed(out) ? -1 : 0;
	}
	if (s->held.len || final) {
		if (held_room(s, n) < 0)
			return -1;
		buf_add(&s->held, p, n);
		p = s->held.data;
		n = s->held.len;
	}
	int rc = pass_on(s, p, n, final, stop, out, &left, id);
	if (rc < 0)
		return rc;
	if (!s->held.len && left && held_room(s, left) < 0)
		return -1;
	if (s->held.len || left)
		if (keep(s, (const char *)p + n - left, left) < 0)
			return -1;
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

void leak_stream_end(struct leak_stream *s)
{
	if (s->held.data)
		explicit_bzero(s->held.data, s->held.cap);
	buf_free(&s->held);
	s->held = (struct buf){0};
}

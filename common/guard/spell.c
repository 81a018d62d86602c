#include "guard/spell.h"

#include "base/text.h"
#include "guard/escape.h"

#include <string.h>

static void put_hex(struct buf *t, uint8_t c, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	buf_addc(t, digits[c >> 4]);
	buf_addc(t, digits[c & 15]);
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* How a spelling is made: an encoder, and what varies in it. */
struct spelling {
	void (*encode)(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out);
	const char *safe; /* percent: left alone beside letters and digits; NULL encodes all */
	bool stands;	  /* also by itself, not only in a coding */
	bool upper;	  /* hex digits, letters */
	bool plus;	  /* percent: a space becomes '+' */
	bool slash;	  /* JSON: '/' is escaped */
	bool ascii;	  /* JSON: what is not ASCII is escaped */
	const char *html; /* JSON: these are escaped too */
	bool title;	  /* names: a capital after each '-' */
	bool big;	  /* UTF-16, -32: the high byte first */
	uint8_t width;	  /* 2 or 4; escapes: how often they are undone */
	const char *const *names; /* entities: of & < > " ' = + ` / in turn */
};

static void encode_raw(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	(void)f;
	buf_add(out, v, n);
}

/* What undoing the value's own escapes makes of it, as happens to it beside others'. */
static void encode_undone(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	if (buf_reserve(out, n) < 0)
		return;
	uint8_t *to = (uint8_t *)out->data + out->len;
	memcpy(to, v, n);
	for (int i = 0; i < f->width; i++)
		n = escape_undo(to, n, f->plus, to);
	out->len += n;
}

static void encode_name(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		bool up = f->upper || (f->title && (i == 0 || v[i - 1] == '-'));
		bool lower = v[i] >= 'a' && v[i] <= 'z', capital = v[i] >= 'A' && v[i] <= 'Z';
		buf_addc(out, (char)(up && lower ? v[i] - 32 : !up && capital ? v[i] + 32 : v[i]));
	}
}

static void encode_percent(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (f->safe && (is_alnum(v[i]) || (v[i] && strchr(f->safe, v[i])))) {
			buf_addc(out, (char)v[i]);
		} else if (f->plus && v[i] == ' ') {
			buf_addc(out, '+');
		} else {
			buf_addc(out, '%');
			put_hex(out, v[i], f->upper);
		}
	}
}

static void put_u(struct buf *out, unsigned unit, bool upper)
{
	buf_adds(out, "\\u");
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

static size_t json_wide(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	uint32_t cp;
	size_t len = f->ascii ? utf8_at(v, n, &cp) : 0;
	if (!len) {
		buf_addc(out, (char)v[0]);
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

static void encode_json(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	for (size_t i = 0; i < n;) {
		bool also = f->html && v[i] && strchr(f->html, v[i]);
		const char *at = v[i] && !also ? strchr(plain, v[i]) : NULL;
		if (v[i] >= 0x80) {
			i += json_wide(f, v + i, n - i, out);
			continue;
		}
		if (at || (v[i] == '/' && f->slash)) {
			buf_addc(out, '\\');
			buf_addc(out, at ? letter[at - plain] : '/');
		} else if (v[i] < 0x20 || also) {
			put_u(out, v[i], f->upper);
		} else {
			buf_addc(out, (char)v[i]);
		}
		i++;
	}
}

static void put_unit(const struct spelling *f, uint32_t unit, struct buf *out)
{
	for (int i = 0; i < f->width; i++)
		buf_addc(out, (char)(unit >> 8 * (f->big ? f->width - 1 - i : i)));
}

static void encode_wide(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_at(v + i, n - i, &cp);
		if (!len)
			cp = v[i];
		if (cp >= 0x10000 && f->width == 2) {
			put_unit(f, 0xd800 + ((cp - 0x10000) >> 10), out);
			cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
		}
		put_unit(f, cp, out);
		i += len ? len : 1;
	}
}

/* HTML's and XML's escapes; a name of NULL leaves the character as it is. */
static void encode_entities(const struct spelling *f, const uint8_t *v, size_t n, struct buf *out)
{
	static const char escaped[] = "&<>\"'=+`/";
	for (size_t i = 0; i < n; i++) {
		const char *at = v[i] ? strchr(escaped, v[i]) : NULL;
		const char *name = at ? f->names[at - escaped] : NULL;
		if (name)
			buf_addf(out, "&%s;", name);
		else
			buf_addc(out, (char)v[i]);
	}
}

static const char *const html_names[9] = {"amp", "lt", "gt", "quot", "#x27"};
static const char *const html_old[9] = {"amp", "lt", "gt", "quot", "#039"};
static const char *const html_decimal[9] = {"amp", "lt", "gt", "#34", "#39", NULL, "#43"};
static const char *const html_markup[9] = {"amp", "lt", "gt", "quot", "#39"};
static const char *const html_bars[9] = {"amp", "lt", "gt", "quot", "#x27", "#x3D", NULL, "#x60"};
static const char *const text_names[9] = {"amp", "lt", "gt"};

#define PERCENT(s, p)                                                        \
	{.encode = encode_percent, .safe = (s), .plus = (p), .upper = true}, \
	{                                                                    \
		.encode = encode_percent, .safe = (s), .plus = (p)           \
	}
#define UNDONE(n)                                                                   \
	{.encode = encode_undone, .width = (n), .stands = true},                    \
	{                                                                           \
		.encode = encode_undone, .width = (n), .plus = true, .stands = true \
	}
#define WIDE(w)                                                                  \
	{.encode = encode_wide, .width = (w), .stands = true},                   \
	{                                                                        \
		.encode = encode_wide, .width = (w), .big = true, .stands = true \
	}
#define HTML(n)                                         \
	{                                               \
		.encode = encode_entities, .names = (n) \
	}

static const struct spelling forms[] = {
	{.encode = encode_raw, .stands = true}, UNDONE(1), UNDONE(2), UNDONE(3), WIDE(2), WIDE(4),
	{.encode = encode_name}, {.encode = encode_name, .upper = true},
	{.encode = encode_name, .title = true},
	PERCENT("-._~", false),			  /* RFC 3986; urllib.parse.quote(safe='') */
	PERCENT("-._~/", false),		  /* urllib.parse.quote() */
	PERCENT("-._~", true),			  /* urlencode(), quote_plus() */
	PERCENT("-._~!*'()", false),		  /* encodeURIComponent() */
	PERCENT("*-._", true),			  /* forms in browsers */
	PERCENT("-._~:/?#[]@!$&'()*+,;=", false), /* URL quoting as requests does it */
	PERCENT("-._~$&+:=@", false),		  /* Go's PathEscape */
	PERCENT(NULL, false), {.encode = encode_json}, {.encode = encode_json, .slash = true},
	{.encode = encode_json, .ascii = true},
	{.encode = encode_json, .ascii = true, .slash = true},
	{.encode = encode_json, .ascii = true, .upper = true},
	{.encode = encode_json, .html = "<>&"}, {.encode = encode_json, .html = "<>&='"}, /* Gson */
	{.encode = encode_json, .html = "<>&'+\"`", .ascii = true, .upper = true},	  /* .NET */
	HTML(html_names),   /* html.escape() */
	HTML(html_old),	    /* PHP */
	HTML(html_decimal), /* Go */
	HTML(html_markup),  /* MarkupSafe, Ruby */
	HTML(html_bars),    /* Handlebars */
	HTML(text_names),   /* XML's text */
};

int spell(unsigned i, const uint8_t *v, size_t n, struct buf *out)
{
	if (i >= sizeof forms / sizeof forms[0])
		return -1;
	forms[i].encode(&forms[i], v, n, out);
	return 0;
}

bool spell_stands(unsigned i, const uint8_t *v, size_t n)
{
	bool wide = forms[i].encode == encode_wide, ascii = true;
	for (size_t k = 0; k < n; k++)
		ascii = ascii && v[k] < 0x80;
	/* The zeros of wide ASCII are dropped, and then it is the value itself. */
	return forms[i].stands && !(wide && ascii);
}

/* ---- codings ------------------------------------------------------------------------------- */

size_t codes_list(struct code inner[CODES_MAX], struct code outer[CODES_MAX])
{
	static const uint8_t between[] = {0, ':', '-', ','};
	struct code one[6];
	size_t n = 0;
	for (uint8_t i = 0; i < 6; i++)
		one[i] = (struct code){CODE_BASE64, i % 3, i >= 3};
	outer[n] = inner[n] = (struct code){0};
	n++;
	for (size_t i = 0; i < 6; i++) {
		inner[n] = (struct code){0};
		outer[n++] = one[i];
	}
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < 6; k++) {
			inner[n] = one[i];
			outer[n++] = one[k];
		}
	for (uint8_t i = 0; i < 5; i++) {
		inner[n] = (struct code){0};
		outer[n++] = (struct code){CODE_BASE32, i, 0};
	}
	for (size_t i = 0; i < sizeof between; i++) {
		inner[n] = (struct code){0};
		outer[n++] = (struct code){CODE_HEX, 0, between[i]};
	}
	return n;
}

static unsigned group_bits(struct code c)
{
	return c.kind == CODE_BASE64 ? 6 : 5;
}

static size_t code_length(struct code c, size_t n)
{
	if (c.kind == CODE_NONE || !n)
		return n;
	if (c.kind == CODE_HEX)
		return c.other ? 3 * n - 1 : 2 * n;
	unsigned bits = group_bits(c), skip = c.before * 8u;
	return (skip + n * 8) / bits - (skip + bits - 1) / bits;
}

/* The i-th group of bits of the text that get() gives. */
static unsigned group_at(struct code c, const struct coded *t, size_t i,
	uint8_t (*get)(const struct coded *t, size_t i))
{
	unsigned bits = group_bits(c), skip = c.before * 8u, v = 0;
	size_t bit = ((skip + bits - 1) / bits + i) * bits - skip;
	for (unsigned k = 0; k < bits; k++, bit++)
		v = v << 1 | (get(t, bit / 8) >> (7 - bit % 8) & 1);
	return v;
}

uint8_t code_char(struct code c, unsigned v)
{
	static const char b64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	if (c.kind == CODE_BASE32)
		return (uint8_t) "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[v];
	return (uint8_t)(v < 62 ? b64[v] : (c.other ? "-_" : "+/")[v - 62]);
}

int code_value(struct code c, uint8_t ch)
{
	for (unsigned v = 0; v < 1u << group_bits(c); v++)
		if (code_char(c, v) == ch)
			return (int)v;
	return -1;
}

static uint8_t code_at(struct code c, const struct coded *t, size_t i,
	uint8_t (*get)(const struct coded *t, size_t i))
{
	if (c.kind == CODE_NONE)
		return get(t, i);
	if (c.kind == CODE_HEX) {
		size_t step = c.other ? 3 : 2;
		if (i % step == 2)
			return c.other;
		uint8_t byte = get(t, i / step);
		return (uint8_t) "0123456789abcdef"[i % step ? byte & 15 : byte >> 4];
	}
	return code_char(c, group_at(c, t, i, get));
}

static uint8_t plain_at(const struct coded *t, size_t i)
{
	return t->p[i];
}

static uint8_t inner_at(const struct coded *t, size_t i)
{
	return code_at(t->inner, t, i, plain_at);
}

size_t coded_length(const struct coded *c)
{
	return code_length(c->outer, code_length(c->inner, c->n));
}

uint8_t coded_at(const struct coded *c, size_t i)
{
	return code_at(c->outer, c, i, inner_at);
}

static struct code_edges edges_of(struct code c, size_t n)
{
	unsigned bits = group_bits(c), skip = c.before * 8u;
	if (c.kind != CODE_BASE64 && c.kind != CODE_BASE32)
		return (struct code_edges){0};
	return (struct code_edges){bits, (skip + bits - 1) / bits * bits - skip,
		(unsigned)((skip + n * 8) % bits), false};
}

struct code_edges coded_edges(const struct coded *c)
{
	struct code_edges inner = edges_of(c->inner, c->n),
			  outer = edges_of(c->outer, code_length(c->inner, c->n));
	outer.inner = inner.left || inner.right;
	return outer;
}

uint8_t coded_first(const struct coded *c)
{
	return inner_at(c, 0);
}

uint8_t coded_last(const struct coded *c)
{
	return inner_at(c, code_length(c->inner, c->n) - 1);
}

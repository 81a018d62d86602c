#include "guard/escape.h"

#include "base/text.h"

#include <string.h>

#define MORE ((ssize_t)-1)

struct escape_text {
	const uint8_t *p;
	size_t n;
	bool last;
};

static void put_point(struct escape *e, uint32_t c)
{
	char utf8[4];
	e->n = (size_t)(text_put(utf8, c <= 0x10ffff ? c : 0xfffd) - utf8);
	memcpy(e->out, utf8, e->n);
}

static ssize_t put_byte(struct escape *e, uint8_t c, ssize_t len)
{
	e->out[0] = c;
	e->n = 1;
	return len;
}

/* `want` hex digits at t->p + at: their value; -1 there are none, -2 they may be coming. */
static int64_t hex_at(const struct escape_text *t, size_t at, size_t want)
{
	int64_t v = 0;
	for (size_t i = at; i < at + want; i++) {
		if (i >= t->n)
			return t->last ? -1 : -2;
		int d = text_hex((char)t->p[i]);
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* What a failed or unfinished hex_at() makes of the escape. */
static ssize_t unread(int64_t v)
{
	return v == -1 ? 0 : MORE;
}

static ssize_t hex_byte(const struct escape_text *t, size_t at, struct escape *e)
{
	int64_t v = hex_at(t, at, 2);
	return v < 0 ? unread(v) : put_byte(e, (uint8_t)v, (ssize_t)at + 2);
}

/* ---- "%41", "%u0041" ----------------------------------------------------------------------- */

static ssize_t read_percent(const struct escape_text *t, struct escape *e)
{
	if (t->n < 2)
		return t->last ? 0 : MORE;
	if (t->p[1] != 'u')
		return hex_byte(t, 1, e);
	int64_t v = hex_at(t, 2, 4);
	if (v < 0)
		return unread(v);
	put_point(e, (uint32_t)v);
	return 6;
}

/* ---- behind a backslash -------------------------------------------------------------------- */

/* "\ud83d\udd11": the second half at 6, or nothing of it. */
static ssize_t read_pair(const struct escape_text *t, uint32_t high, struct escape *e)
{
	static const char second[] = "\\u";
	for (size_t i = 0; i < 2; i++) {
		if (6 + i >= t->n && !t->last)
			return MORE;
		if (6 + i >= t->n || t->p[6 + i] != (uint8_t)second[i]) {
			put_point(e, high);
			return 6;
		}
	}
	int64_t low = hex_at(t, 8, 4);
	if (low == -2)
		return MORE;
	bool pair = low >= 0xdc00 && low <= 0xdfff;
	put_point(e, pair ? 0x10000 + ((high - 0xd800) << 10 | ((uint32_t)low - 0xdc00)) : high);
	return pair ? 12 : 6;
}

/* "\u{1f511}" */
static ssize_t read_braced(const struct escape_text *t, struct escape *e)
{
	uint32_t v = 0;
	for (size_t i = 3; i < 12; i++) {
		if (i >= t->n)
			return t->last ? 0 : MORE;
		if (t->p[i] == '}' && i > 3) {
			put_point(e, v);
			return (ssize_t)i + 1;
		}
		int d = text_hex((char)t->p[i]);
		if (d < 0)
			return 0;
		v = v << 4 | (uint32_t)d;
	}
	return 0;
}

static ssize_t read_u(const struct escape_text *t, struct escape *e)
{
	if (t->n < 3)
		return t->last ? 0 : MORE;
	if (t->p[2] == '{')
		return read_braced(t, e);
	int64_t v = hex_at(t, 2, 4);
	if (v < 0)
		return unread(v);
	if (v >= 0xd800 && v < 0xdc00)
		return read_pair(t, (uint32_t)v, e);
	put_point(e, (uint32_t)v);
	return 6;
}

static ssize_t read_octal(const struct escape_text *t, struct escape *e)
{
	unsigned v = 0;
	for (size_t i = 1; i < 4; i++) {
		if (i >= t->n)
			return t->last ? 0 : MORE;
		if (t->p[i] < '0' || t->p[i] > '7')
			return 0;
		v = v * 8 + t->p[i] - '0';
	}
	return v > 255 ? 0 : put_byte(e, (uint8_t)v, 4);
}

static ssize_t read_backslash(const struct escape_text *t, struct escape *e)
{
	static const char letter[] = "nrtbfv\"'\\/`", meant[] = "\n\r\t\b\f\v\"'\\/`";
	if (t->n < 2)
		return t->last ? 0 : MORE;
	uint8_t c = t->p[1];
	const char *at = memchr(letter, c, sizeof letter - 1);
	if (at)
		return put_byte(e, (uint8_t)meant[at - letter], 2);
	if (c == 'u')
		return read_u(t, e);
	if (c == 'x')
		return hex_byte(t, 2, e);
	if (c == '\n') {
		e->n = 0;
		return 2;
	}
	if (c != 'U')
		return read_octal(t, e);
	int64_t v = hex_at(t, 2, 8);
	if (v < 0)
		return unread(v);
	put_point(e, (uint32_t)v);
	return 10;
}

/* ---- HTML ---------------------------------------------------------------------------------- */

struct name {
	const char *text;
	uint32_t c;
	bool bare; /* also without its semicolon */
};

static const struct name names[] = {{"amp", '&', true}, {"AMP", '&', true}, {"lt", '<', true},
	{"LT", '<', true}, {"gt", '>', true}, {"GT", '>', true}, {"quot", '"', true},
	{"QUOT", '"', true}, {"apos", '\'', false}, {"Tab", '\t', false}, {"NewLine", '\n', false},
	{"excl", '!', false}, {"num", '#', false}, {"dollar", '$', false}, {"percnt", '%', false},
	{"lpar", '(', false}, {"rpar", ')', false}, {"ast", '*', false}, {"midast", '*', false},
	{"plus", '+', false}, {"comma", ',', false}, {"period", '.', false}, {"sol", '/', false},
	{"colon", ':', false}, {"semi", ';', false}, {"equals", '=', false}, {"quest", '?', false},
	{"commat", '@', false}, {"lsqb", '[', false}, {"lbrack", '[', false}, {"bsol", '\\', false},
	{"rsqb", ']', false}, {"rbrack", ']', false}, {"Hat", '^', false}, {"lowbar", '_', false},
	{"UnderBar", '_', false}, {"grave", '`', false}, {"DiacriticalGrave", '`', false},
	{"lcub", '{', false}, {"lbrace", '{', false}, {"verbar", '|', false}, {"vert", '|', false},
	{"VerticalLine", '|', false}, {"rcub", '}', false}, {"rbrace", '}', false},
	{"hyphen", 0x2010, false}, {"dash", 0x2010, false}, {"NonBreakingSpace", 0xa0, false}};

/* U+00A0 and up, all of which browsers take bare. */
static const char *const latin[] = {"nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar",
	"sect", "uml", "copy", "ordf", "laquo", "not", "shy", "reg", "macr", "deg", "plusmn",
	"sup2", "sup3", "acute", "micro", "para", "middot", "cedil", "sup1", "ordm", "raquo",
	"frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc", "Atilde", "Auml",
	"Aring", "AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute",
	"Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times",
	"Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave",
	"aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute",
	"ecirc", "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde", "ograve", "oacute",
	"ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc", "uuml",
	"yacute", "thorn", "yuml"};

#define NAMES (sizeof names / sizeof names[0])
#define LATIN (sizeof latin / sizeof latin[0])

static struct name name_at(size_t i)
{
	return i < NAMES ? names[i]
			 : (struct name){latin[i - NAMES], 0xa0 + (uint32_t)(i - NAMES), true};
}

/* The name that the n letters at p are, or (bare) the longest that they begin with. */
static size_t find_name(const uint8_t *p, size_t n, bool bare, uint32_t *c)
{
	size_t best = 0;
	for (size_t i = 0; i < NAMES + LATIN; i++) {
		struct name k = name_at(i);
		size_t len = n && k.text[0] == (char)p[0] ? strlen(k.text) : SIZE_MAX;
		if (len > n || len <= best || (bare ? !k.bare : len != n) ||
			memcmp(k.text, p, len) != 0)
			continue;
		best = len;
		*c = k.c;
	}
	return best;
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static ssize_t read_name(const struct escape_text *t, struct escape *e)
{
	uint32_t c = 0;
	size_t n = 1;
	while (n < t->n && n < ESCAPE_MAX && is_alnum(t->p[n]))
		n++;
	if (n == t->n && !t->last && n < ESCAPE_MAX)
		return MORE;
	size_t len = n < t->n && t->p[n] == ';' ? find_name(t->p + 1, n - 1, false, &c) : 0;
	size_t taken = len ? len + 2 : 0;
	if (!len && (len = find_name(t->p + 1, n - 1, true, &c)))
		taken = len + 1;
	if (!len)
		return 0;
	put_point(e, c);
	return (ssize_t)taken;
}

static ssize_t read_number(const struct escape_text *t, struct escape *e)
{
	bool hex = t->n > 2 && (t->p[2] == 'x' || t->p[2] == 'X');
	size_t from = hex ? 3 : 2, i = from;
	uint32_t v = 0;
	for (; i < t->n && i < from + 12; i++) {
		int d = text_hex((char)t->p[i]);
		if (d < 0 || (!hex && d > 9))
			break;
		v = v > 0x10ffff ? v : v * (hex ? 16 : 10) + (uint32_t)d;
	}
	if (i == t->n && !t->last && i < from + 12)
		return MORE;
	if (i == from)
		return 0;
	put_point(e, v);
	return (ssize_t)i + (i < t->n && t->p[i] == ';');
}

static ssize_t read_reference(const struct escape_text *t, struct escape *e)
{
	if (t->n < 2)
		return t->last ? 0 : MORE;
	return t->p[1] == '#' ? read_number(t, e) : read_name(t, e);
}

/* ---- quoted-printable ---------------------------------------------------------------------- */

static ssize_t read_quoted(const struct escape_text *t, struct escape *e)
{
	if (t->n < 2)
		return t->last ? 0 : MORE;
	e->n = 0;
	if (t->p[1] == '\n')
		return 2;
	if (t->p[1] != '\r')
		return hex_byte(t, 1, e);
	if (t->n < 3)
		return t->last ? 0 : MORE;
	return t->p[2] == '\n' ? 3 : 0;
}

bool escape_begins(uint8_t c, bool quoted)
{
	return c == '%' || c == '\\' || c == '&' || (quoted && c == '=');
}

ssize_t escape_read(const uint8_t *p, size_t n, bool last, bool quoted, struct escape *e)
{
	struct escape_text t = {p, n, last};
	switch (n ? p[0] : 0) {
	case '%':
		return read_percent(&t, e);
	case '\\':
		return read_backslash(&t, e);
	case '&':
		return read_reference(&t, e);
	case '=':
		return quoted ? read_quoted(&t, e) : 0;
	default:
		return 0;
	}
}

size_t escape_undo(const uint8_t *p, size_t n, bool quoted, uint8_t *out)
{
	size_t len = 0;
	struct escape e = {0};
	for (size_t i = 0; i < n;) {
		ssize_t took = escape_read(p + i, n - i, true, quoted, &e);
		if (took > 0)
			memcpy(out + len, e.out, e.n);
		else
			out[len] = p[i];
		len += took > 0 ? e.n : 1;
		i += took > 0 ? (size_t)took : 1;
	}
	return len;
}

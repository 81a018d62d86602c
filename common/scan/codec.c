#include "scan/codec.h"
#include "base/b64.h"
#include "base/text.h"
#include "scan/lex_bits.h"

#include <iconv.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Names */

/* Python's normal form: lower case, and one underscore for all but letters, digits and dots. */
static void normal_form(const char *s, char *to, size_t room)
{
	size_t n = 0;
	bool gap = false;
	for (; *s && n + 2 < room; s++) {
		if (*s != '.' && (!lex_is_word(*s) || *s == '_')) {
			gap = true;
			continue;
		}
		if (gap && n)
			to[n++] = '_';
		gap = false;
		to[n++] = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;
	}
	to[n] = '\0';
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = words; p && *p; p += *p == ' ') {
		size_t len = strcspn(p, " ");
		if (len == n && memcmp(p, word, n) == 0)
			return true;
		p += len;
	}
	return false;
}

static const struct coding *find_alias(const char *alias)
{
	for (size_t i = 0; i < coding_count; i++)
		if (has_word(codings[i].aliases, alias))
			return &codings[i];
	return NULL;
}

const struct coding *codec_find(const char *spelling)
{
	char name[64], dotless[64];
	normal_form(spelling, name, sizeof(name));
	memcpy(dotless, name, sizeof(name));
	for (char *p = dotless; *p; p++)
		if (*p == '.')
			*p = '_';
	const struct coding *c = find_alias(name);
	if (!c)
		c = find_alias(dotless);
	for (size_t i = 0; i < coding_count && !c; i++)
		if (strcmp(codings[i].name, name) == 0)
			c = &codings[i];
	return c;
}

/* Characters */

/* A coding and its converters. */
struct from {
	const struct coding *c;
	iconv_t cd, also; /* NONE if there is none */
};

#define NONE ((iconv_t)-1)

static iconv_t from_open(const char *name)
{
	return name ? iconv_open("UTF-8", name) : NONE;
}

/* Converts n bytes from the initial state, and flushes. The end of the output, or NULL. */
static char *convert(iconv_t cd, const char *s, size_t n, char *out)
{
	char *in = (char *)(uintptr_t)s;
	size_t room = 16;
	if (cd == NONE)
		return NULL;
	iconv(cd, NULL, NULL, NULL, NULL);
	if (iconv(cd, &in, &n, &out, &room) == (size_t)-1 ||
		iconv(cd, NULL, NULL, &out, &room) == (size_t)-1)
		return NULL;
	return out;
}

static const struct coding_fix *find_fix(const struct coding *c, uint32_t code)
{
	for (const struct coding_fix *f = c->fixes; f && f->n; f++)
		if (code >= f->code && code - f->code < f->n)
			return f;
	return NULL;
}

/* Whether CPython has the fixed code. */
static bool put_fixed(const struct coding_fix *f, uint32_t code, char **to)
{
	if (f->point)
		*to = text_put(*to, f->point + (code - f->code));
	return f->point != 0;
}

/*
 * EUC-KR's fillers: eight bytes make a syllable of the letters in the second, third and fourth pair
 * (KS X 1001, annex 3). A letter's digit is its place among the first or the last sounds.
 */
static size_t made_up_syllable(const char *s, size_t n, char **to)
{
	static const char first[] = "ab-c--def-------ghi-jklmnopqrs";
	static const char last[] = "bcdefgh-ijklmnopqr-stuvw-xyz{|";
	if (n < 8 || s[2] != s[0] || s[4] != s[0] || s[6] != s[0])
		return 0;
	int a = (unsigned char)s[3] - 0xA1, b = (unsigned char)s[5] - 0xBF;
	int c = (unsigned char)s[7] - 0xA1;
	if (a < 0 || a >= 30 || first[a] == '-' || b < 0 || b >= 21)
		return 0;
	bool none = s[7] == s[1];
	if (!none && (c < 0 || c >= 30 || last[c] == '-'))
		return 0;
	int end = none ? 0 : last[c] - 'a';
	*to = text_put(*to, (uint32_t)(0xAC00 + ((first[a] - 'a') * 21 + b) * 28 + end));
	return 8;
}

/* One character of one to four bytes; how many there were, 0 if it is none. */
static size_t one_char(const struct from *f, const char *s, size_t n, char **to)
{
	uint32_t code = 0;
	for (size_t k = 1; k <= 4 && k <= n; k++) {
		code = code << 8 | (unsigned char)s[k - 1];
		const struct coding_fix *fix = find_fix(f->c, code);
		if (fix)
			return put_fixed(fix, code, to) ? k : 0;
		if (code < 0x80 || f->c->high) {
			*to = text_put(*to, code < 0x80 ? code : f->c->high[code - 0x80]);
			return 1;
		}
		char *end = convert(f->cd, s, k, *to);
		if (!end && k == 3 && *s == '\x8F')
			end = convert(f->also, s, k, *to);
		if (!end)
			continue;
		*to = end;
		return k;
	}
	return 0;
}

static enum codec_result decode_chars(
	const struct from *f, const char *s, const char *end, char **to)
{
	bool korean = f->c->kind == CODING_EUC_KR;
	/* What single bytes were, as asking again is slow. */
	struct {
		size_t len;
		char utf8[4];
	} known[256] = {0};

	while (s < end) {
		unsigned char c = (unsigned char)*s;
		if (known[c].len) {
			memcpy(*to, known[c].utf8, known[c].len);
			*to += known[c].len;
			s++;
			continue;
		}
		char *begin = *to;
		size_t n = (size_t)(end - s), took = one_char(f, s, n, to);
		if (!took && korean && n >= 2 && memcmp(s, "\xA4\xD4", 2) == 0)
			took = made_up_syllable(s, n, to);
		if (!took)
			return CODEC_WRONG;
		size_t len = (size_t)(*to - begin);
		if (took == 1 && len <= sizeof(known[c].utf8)) {
			memcpy(known[c].utf8, begin, len);
			known[c].len = len;
		}
		s += took;
	}
	return CODEC_DONE;
}

/* ISO 2022 */

#define ESC '\x1B'
#define SO '\x0E'
#define SI '\x0F'

/* The designations of G0, G1 and G2, as after an escape; NULL for ASCII. */
struct designated {
	const char *g[3];
	bool shifted;
};

/* Takes what is behind an escape; how many bytes, 0 if it is no designation that the coding has. */
static size_t designate(const struct coding *c, const char *s, size_t n, struct designated *d)
{
	if (n >= 2 && memcmp(s, "(B", 2) == 0) {
		d->g[0] = NULL;
		return 2;
	}
	/* The oldest sets have two spellings. */
	if (n >= 3 && memcmp(s, "$(", 2) == 0 && s[2] >= '@' && s[2] <= 'B')
		return designate(c, (char[]){'$', s[2]}, 2, d) ? 3 : 0;
	for (const char *p = c->sets; *p; p += *p == ' ') {
		size_t len = strcspn(p, " ");
		if (len <= n && memcmp(p, s, len) == 0) {
			d->g[*p == '.' ? 2 : p[1] == ')' ? 1 : 0] = p;
			return len;
		}
		p += len;
	}
	return 0;
}

/* A character of a set, converted as a text of its own; how many bytes it has, 0 if it is none. */
static size_t set_char(const struct from *f, const char *set, const char *s, size_t n, char **to)
{
	size_t len = strcspn(set, " "), width = *set == '$' ? 2 : 1;
	char text[16] = {ESC};
	uint32_t code = (uint32_t)set[len - 1];
	if (n < width)
		return 0;
	for (size_t i = 0; i < width; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c < 0x20 || c > 0x7F || (width == 2 && (c == 0x20 || c == 0x7F)))
			return 0;
		code = code << 8 | c;
	}
	const struct coding_fix *fix = find_fix(f->c, code);
	if (fix)
		return put_fixed(fix, code, to) ? width : 0;
	memcpy(text + 1, set, len);
	char *at = text + 1 + len;
	if (set[1] == ')')
		*at++ = SO;
	if (*set == '.')
		at = (char *)memcpy(at, "\x1BN", 2) + 2;
	memcpy(at, s, width);
	char *end = convert(f->cd, text, (size_t)(at - text) + width, *to);
	if (end)
		*to = end;
	return end ? width : 0;
}

/* What is no designation, CPython may still take: a lone escape and others' spellings. */
static enum codec_result decode_iso_2022(
	const struct from *f, const char *s, const char *end, char **to)
{
	struct designated d = {0};
	bool shifts = strchr(f->c->sets, ')') != NULL;

	while (s < end) {
		size_t n = (size_t)(end - s), took = 1;
		const char *set = d.g[d.shifted];
		if (*s == ESC && n >= 3 && s[1] == 'N' && d.g[2]) {
			if (!set_char(f, d.g[2], s + 2, 1, to))
				return (unsigned char)s[2] < 0x20 ? CODEC_UNSURE : CODEC_WRONG;
			took = 3;
		} else if (*s == ESC) {
			took = 1 + designate(f->c, s + 1, n - 1, &d);
			if (took == 1)
				return CODEC_UNSURE;
		} else if (shifts && (*s == SO || *s == SI)) {
			d.shifted = *s == SO;
		} else if ((unsigned char)*s < 0x20 || (!set && (unsigned char)*s < 0x80)) {
			d.shifted &= *s != '\n';
			*(*to)++ = *s;
		} else {
			took = set ? set_char(f, set, s, n, to) : 0;
			if (!took)
				return CODEC_WRONG;
		}
		s += took;
	}
	return CODEC_DONE;
}

/* The others that have states */

/* HZ: GB 2312 in seven bits between "~{" and "~}". */
static enum codec_result decode_hz(const struct from *f, const char *s, const char *end, char **to)
{
	bool chinese = false, ok = true;
	while (s < end && ok) {
		size_t n = (size_t)(end - s);
		if (*s == '~' && n > 1 && s[1] && strchr("~{}\n", s[1])) {
			ok = (s[1] == '}') == chinese;
			chinese = s[1] == '{';
			if (s[1] == '~')
				*(*to)++ = '~';
			s += 2;
		} else if (!chinese) {
			ok = (unsigned char)*s < 0x80 && *s != '~';
			*(*to)++ = *s++;
		} else {
			char pair[2] = {(char)(s[0] | 0x80), n > 1 ? (char)(s[1] | 0x80) : 0};
			char *next = convert(f->cd, pair, 2, *to);
			ok = next && (unsigned char)s[0] < 0x80 && (unsigned char)s[1] < 0x80;
			*to = ok ? next : *to;
			s += 2;
		}
	}
	return ok ? CODEC_DONE : CODEC_WRONG;
}

/* Domain names: only ASCII labels come out as they are; the encoded ones are not decoded here. */
static enum codec_result decode_idna(const char *s, const char *end, char **to)
{
	size_t label = 0;
	for (; s < end; s++) {
		label = *s == '.' ? 0 : label + 1;
		if ((unsigned char)*s >= 0x80 || label > 1024)
			return CODEC_WRONG;
		if (label == 4 && strncasecmp(s - 3, "xn--", 4) == 0)
			return CODEC_UNSURE;
		*(*to)++ = *s;
	}
	return CODEC_DONE;
}

/* The UTF-16 between '+' and the first byte that is no base64; NULL if it is malformed. */
static const char *utf7_shifted(const char *s, const char *end, char **out)
{
	uint32_t bits = 0, have = 0, high = 0;
	for (; s < end && b64_value(*s) >= 0; s++) {
		bits = bits << 6 | (uint32_t)b64_value(*s);
		have += 6;
		if (have < 16)
			continue;
		have -= 16;
		uint32_t unit = bits >> have & 0xFFFF;
		bits &= (1u << have) - 1;
		if (high && unit >= 0xDC00 && unit < 0xE000)
			unit = 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00);
		else if (high)
			return NULL;
		high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
		if (!high)
			*out = text_put(*out, unit);
	}
	return high || have >= 6 || bits ? NULL : s;
}

static enum codec_result decode_utf7(const char *s, const char *end, char **to)
{
	while (s < end) {
		if ((unsigned char)*s >= 0x80)
			return CODEC_WRONG;
		if (*s != '+') {
			*(*to)++ = *s++;
		} else if (s + 1 < end && s[1] == '-') {
			*(*to)++ = '+';
			s += 2;
		} else {
			const char *begin = ++s;
			s = utf7_shifted(s, end, to);
			if (!s || (s == begin && s < end))
				return CODEC_WRONG;
			s += s < end && *s == '-';
		}
	}
	return CODEC_DONE;
}

static enum codec_result decode(const struct from *f, const char *s, const char *end, char **to)
{
	switch (f->c->kind) {
	case CODING_ISO_2022:
		return decode_iso_2022(f, s, end, to);
	case CODING_HZ:
		return decode_hz(f, s, end, to);
	case CODING_IDNA:
		return decode_idna(s, end, to);
	case CODING_UTF_7:
		return decode_utf7(s, end, to);
	default:
		return decode_chars(f, s, end, to);
	}
}

enum codec_result codec_decode(
	const struct coding *c, const char *s, size_t n, char *out, size_t *len)
{
	struct from f = {c, from_open(c->iconv), from_open(c->also)};
	bool missing = (c->iconv && f.cd == NONE) || (c->also && f.also == NONE);
	char *to = out;
	enum codec_result got = missing ? CODEC_UNSURE : decode(&f, s, s + n, &to);

	if (f.cd != NONE)
		iconv_close(f.cd);
	if (f.also != NONE)
		iconv_close(f.also);
	*len = (size_t)(to - out);
	return got;
}

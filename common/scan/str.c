#include "scan/str.h"
#include "base/text.h"
#include "scan/decode.h"
#include "scan/tables.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uniname.h>
#include <unictype.h>

#define NAME_MAX_LEN 256 /* CPython's NAME_MAXLEN */

/* As the library's Unicode knows them, but for the twelve that have other names. */
static bool is_ideograph(uint32_t c)
{
	return uc_is_property_unified_ideograph(c) && (c < 0xF900 || c > 0xFAFF);
}

/* The digits behind "CJK UNIFIED IDEOGRAPH-": four or five, in capitals. */
static int64_t ideograph(const char *digits, size_t n)
{
	uint32_t c = 0;
	if (n != 4 && n != 5)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (text_hex(digits[i]) < 0 || digits[i] >= 'a')
			return -1;
		c = c * 16 + (uint32_t)text_hex(digits[i]);
	}
	return is_ideograph(c) ? (int64_t)c : -1;
}

/* The longest of n parts that s begins with; -1 if none does. */
static int longest_part(const char **s, const char *const *parts, int n)
{
	int best = -1;
	size_t len = 0;
	for (int i = 0; i < n; i++) {
		size_t k = strlen(parts[i]);
		if ((best < 0 || k > len) && strncmp(*s, parts[i], k) == 0) {
			best = i;
			len = k;
		}
	}
	*s += len;
	return best;
}

/* What is behind "HANGUL SYLLABLE ": an initial, a vowel, a final, in capitals. */
static int64_t syllable(const char *s)
{
	static const char *const initial[] = {"G", "GG", "N", "D", "DD", "R", "M", "B", "BB", "S",
		"SS", "", "J", "JJ", "C", "K", "T", "P", "H"};
	static const char *const vowel[] = {"A", "AE", "YA", "YAE", "EO", "E", "YEO", "YE", "O",
		"WA", "WAE", "OE", "YO", "U", "WEO", "WE", "WI", "YU", "EU", "YI", "I"};
	static const char *const final[] = {"", "G", "GG", "GS", "N", "NJ", "NH", "D", "L", "LG",
		"LM", "LB", "LS", "LT", "LP", "LH", "M", "B", "BS", "S", "SS", "NG", "J", "C", "K",
		"T", "P", "H"};
	int l = longest_part(&s, initial, 19), v = longest_part(&s, vowel, 21);
	int t = longest_part(&s, final, 28);
	if (l < 0 || v < 0 || t < 0 || *s)
		return -1;
	return 0xAC00 + (l * 21 + v) * 28 + t;
}

static int compare_alias(const void *key, const void *member)
{
	return strcasecmp(key, ((const struct scan_alias *)member)->name);
}

static int64_t str_named_char(const char *name, size_t n)
{
	static const char cjk[] = "CJK UNIFIED IDEOGRAPH-", hangul[] = "HANGUL SYLLABLE ";
	char z[NAME_MAX_LEN + 1];
	if (n == 0 || n > NAME_MAX_LEN || memchr(name, '\0', n))
		return -1;
	memcpy(z, name, n);
	z[n] = '\0';
	if (strncmp(z, cjk, sizeof(cjk) - 1) == 0)
		return ideograph(z + sizeof(cjk) - 1, n - (sizeof(cjk) - 1));
	if (strncmp(z, hangul, sizeof(hangul) - 1) == 0)
		return syllable(z + sizeof(hangul) - 1);
	ucs4_t c = unicode_name_character(z);
	if (c == UNINAME_INVALID) {
		const struct scan_alias *a =
			bsearch(z, scan_aliases, scan_alias_count, sizeof(*a), compare_alias);
		return a ? (int64_t)a->point : -1;
	}
	/* Syllables are made by rule, and CPython's rule knows capitals only. */
	if (c >= 0xAC00 && c <= 0xD7A3)
		return -1;
	return c;
}

struct cursor {
	const char *at, *end;
	char *out;
	const char *error;
};

/* Exactly n hexadecimal digits; -1 if they are not there. */
static int64_t hex_digits(struct cursor *c, int n)
{
	int64_t v = 0;
	for (int i = 0; i < n; i++) {
		int d = c->at < c->end ? text_hex(*c->at) : -1;
		if (d < 0)
			return -1;
		v = v * 16 + d;
		c->at++;
	}
	return v;
}

static uint32_t octal_digits(struct cursor *c)
{
	uint32_t v = 0;
	for (int i = 0; i < 3 && c->at < c->end && *c->at >= '0' && *c->at <= '7'; i++)
		v = v * 8 + (uint32_t)(*c->at++ - '0');
	return v;
}

/* What a one-letter escape stands for; 0 if it is none, '\n' if it vanishes with its newline. */
static char simple_escape(char c)
{
	static const char from[] = "\\'\"bftnrva", to[] = "\\'\"\b\f\t\n\r\v\a";
	const char *p = c ? strchr(from, c) : NULL;
	return p ? to[p - from] : '\0';
}

static void numeric_escape(struct cursor *c, int n)
{
	int64_t v = hex_digits(c, n);
	if (v < 0)
		c->error = n == 2   ? "truncated \\xXX escape"
			   : n == 4 ? "truncated \\uXXXX escape"
				    : "truncated \\UXXXXXXXX escape";
	else if (v > 0x10FFFF)
		c->error = "illegal Unicode character";
	else
		c->out = text_put(c->out, (uint32_t)v);
}

static void named_escape(struct cursor *c)
{
	const char *close = NULL;
	if (c->at < c->end && *c->at == '{')
		close = memchr(c->at, '}', (size_t)(c->end - c->at));
	if (!close || close == c->at + 1) {
		c->error = "malformed \\N character escape";
		c->at = close ? close + 1 : c->at < c->end && *c->at == '{' ? c->end : c->at;
		return;
	}
	int64_t v = str_named_char(c->at + 1, (size_t)(close - c->at - 1));
	if (v < 0) {
		c->error = "unknown Unicode character name";
		c->at = close + 1;
		return;
	}
	c->at = close + 1;
	c->out = text_put(c->out, (uint32_t)v);
}

/* at is behind the backslash. */
static void escape(struct cursor *c, bool text)
{
	char k = *c->at++, plain = simple_escape(k);
	if (plain) {
		*c->out++ = plain;
	} else if (k == '\n') {
		return;
	} else if (k >= '0' && k <= '7') {
		c->at--;
		uint32_t v = octal_digits(c);
		if (text)
			c->out = text_put(c->out, v);
		else
			*c->out++ = (char)v;
	} else if (k == 'x' && text) {
		numeric_escape(c, 2);
	} else if (k == 'x') {
		int64_t v = hex_digits(c, 2);
		if (v < 0)
			c->error = "invalid \\x escape";
		*c->out++ = (char)v;
	} else if (text && (k == 'u' || k == 'U')) {
		numeric_escape(c, k == 'u' ? 4 : 8);
	} else if (text && k == 'N') {
		named_escape(c);
	} else {
		*c->out++ = '\\';
		*c->out++ = k;
	}
}

static struct str_fault unescape(const char *s, size_t n, char *out, size_t *len, bool text)
{
	struct cursor c = {s, s + n, out, NULL};
	const char *begin = s;
	while (c.at < c.end && !c.error) {
		const char *slash = memchr(c.at, '\\', (size_t)(c.end - c.at));
		size_t run = (size_t)((slash ? slash : c.end) - c.at);
		memcpy(c.out, c.at, run);
		c.out += run;
		c.at += run;
		if (!slash)
			break;
		begin = slash;
		if (++c.at == c.end) {
			*c.out++ = '\\';
			break;
		}
		escape(&c, text);
	}
	*len = (size_t)(c.out - out);
	return (struct str_fault){c.error, (size_t)(begin - s), (size_t)(c.at - s)};
}

struct str_fault str_unescape(const char *s, size_t n, char *out, size_t *len)
{
	return unescape(s, n, out, len, true);
}

struct str_fault bytes_unescape(const char *s, size_t n, char *out, size_t *len)
{
	return unescape(s, n, out, len, false);
}

#include "scan/codec.h"
#include "base/text.h"
#include "scan/decode.h"
#include "scan/tables.h"

#include <iconv.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Converts n bytes from the initial state, and flushes. The end of the output, or NULL. */
static char *convert(iconv_t cd, const char *s, size_t n, char *out, size_t room)
{
	char *in = (char *)(uintptr_t)s;

	iconv(cd, NULL, NULL, NULL, NULL);
	if (iconv(cd, &in, &n, &out, &room) == (size_t)-1 ||
		iconv(cd, NULL, NULL, &out, &room) == (size_t)-1)
		return NULL;
	return out;
}

int codec_iconv(const void *arg, const char *s, size_t n, char *out, size_t *len)
{
	iconv_t cd = iconv_open("UTF-8", arg);

	if (cd == (iconv_t)-1)
		return -1;
	char *end = convert(cd, s, n, out, 4 * n + 16);
	iconv_close(cd);
	*len = end ? (size_t)(end - out) : 0;
	return end ? 0 : -1;
}

static int compare_pairs(const void *key, const void *member)
{
	return (int)*(const uint16_t *)key - (int)((const struct scan_pair *)member)->bytes;
}

static const struct scan_pair *find_pair(const struct scan_double *d, uint16_t bytes)
{
	return bsearch(&bytes, d->pairs, d->npairs, sizeof(*d->pairs), compare_pairs);
}

static bool is_lead(const struct scan_double *d, unsigned char c)
{
	return c >= 0x80 && d->leads[(c - 0x80) / 64] >> (c & 63) & 1;
}

/* One character of two, three or four bytes; how many there were, 0 if it is none. */
static size_t long_char(
	const struct scan_double *d, iconv_t cd, const char *s, size_t n, char **out)
{
	unsigned char lead = (unsigned char)*s;

	if (!is_lead(d, lead) || n < 2)
		return 0;
	const struct scan_pair *p = find_pair(d, (uint16_t)(lead << 8 | (unsigned char)s[1]));
	if (p) {
		*out = text_put(*out, p->point);
		return p->point ? 2 : 0;
	}
	for (size_t k = 2; k <= 4 && k <= n; k++) {
		char *end = convert(cd, s, k, *out, 16);
		if (!end)
			continue;
		*out = end;
		return k;
	}
	return 0;
}

static size_t one_char(const struct scan_double *d, iconv_t cd, const char *s, size_t n, char **out)
{
	unsigned char c = (unsigned char)*s;
	const struct scan_pair *alone = NULL;

	if (c >= 0x80 || c == '\\' || c == '~')
		alone = find_pair(d, (uint16_t)(c << 8));
	if (!alone && c >= 0x80)
		return long_char(d, cd, s, n, out);
	*out = text_put(*out, alone ? alone->point : c);
	return 1;
}

static int decode_double(const struct scan_double *d, iconv_t cd, iconv_t older, const char *s,
	size_t n, char *out, size_t *len)
{
	char *to = out;

	for (size_t i = 0, took; i < n; i += took) {
		took = one_char(d, cd, s + i, n - i, &to);
		/* JIS X 0213's encodings of EUC kind still take the characters of JIS X 0212. */
		if (!took && older != (iconv_t)-1 && s[i] == '\x8F' && n - i >= 3) {
			char *end = convert(older, s + i, 3, to, 16);
			took = end ? 3 : 0;
			to = end;
		}
		if (!took)
			return -1;
	}
	*len = (size_t)(to - out);
	return 0;
}

int codec_double(const void *arg, const char *s, size_t n, char *out, size_t *len)
{
	const struct scan_double *d = arg;
	iconv_t none = (iconv_t)-1, cd = iconv_open("UTF-8", d->iconv);
	bool euc_jis = strncmp(d->name, "euc_jis", 7) == 0;
	iconv_t older = euc_jis ? iconv_open("UTF-8", "EUC-JP") : none;
	int got = cd == none ? -1 : decode_double(d, cd, older, s, n, out, len);

	if (cd != none)
		iconv_close(cd);
	if (older != none)
		iconv_close(older);
	return got;
}

/* HZ: GB 2312 in seven bits between "~{" and "~}". */
int codec_hz(const void *arg, const char *s, size_t n, char *out, size_t *len)
{
	iconv_t cd = iconv_open("UTF-8", "GB2312");
	const char *end = s + n;
	bool chinese = false, ok = cd != (iconv_t)-1;
	char *to = out;

	(void)arg;
	while (s < end && ok) {
		if (*s == '~' && s + 1 < end && strchr("~{}\n", s[1])) {
			ok = s[1] == '\n' || (s[1] == '}') == chinese;
			chinese = s[1] == '{' || (chinese && s[1] == '\n');
			if (s[1] == '~')
				*to++ = '~';
			s += 2;
		} else if (!chinese || *s == '\n') {
			ok = (unsigned char)*s < 0x80 && *s != '~';
			chinese = false;
			*to++ = *s++;
		} else {
			char pair[2] = {(char)(s[0] | 0x80), s + 1 < end ? (char)(s[1] | 0x80) : 0};
			char *next = convert(cd, pair, 2, to, 16);
			ok = next && (unsigned char)s[0] < 0x80 && (unsigned char)s[1] < 0x80;
			to = ok ? next : to;
			s += 2;
		}
	}
	if (cd != (iconv_t)-1)
		iconv_close(cd);
	*len = (size_t)(to - out);
	return ok ? 0 : -1;
}

/* Domain names: only ASCII labels come out as they are; the encoded ones are refused. */
int codec_idna(const void *arg, const char *s, size_t n, char *out, size_t *len)
{
	size_t label = 0;

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		label = s[i] == '.' ? 0 : label + 1;
		if ((unsigned char)s[i] >= 0x80 || label > 1024 ||
			(label == 4 && strncasecmp(s + i - 3, "xn--", 4) == 0))
			return -1;
		out[i] = s[i];
	}
	*len = n;
	return 0;
}

static int base64_value(char c)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digit, c) : NULL;
	return p ? (int)(p - digit) : -1;
}

/* The UTF-16 between '+' and the first byte that is no base64; NULL if it is malformed. */
static const char *utf7_shifted(const char *s, const char *end, char **out)
{
	uint32_t bits = 0, have = 0, high = 0;

	for (; s < end && base64_value(*s) >= 0; s++) {
		bits = bits << 6 | (uint32_t)base64_value(*s);
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

int codec_utf7(const void *arg, const char *s, size_t n, char *out, size_t *len)
{
	const char *end = s + n;
	char *to = out;

	(void)arg;
	while (s < end) {
		if ((unsigned char)*s >= 0x80)
			return -1;
		if (*s != '+') {
			*to++ = *s++;
		} else if (s + 1 < end && s[1] == '-') {
			*to++ = '+';
			s += 2;
		} else {
			const char *begin = ++s;
			s = utf7_shifted(s, end, &to);
			if (!s || s == begin)
				return -1;
			s += s < end && *s == '-';
		}
	}
	*len = (size_t)(to - out);
	return 0;
}

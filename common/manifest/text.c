#include "manifest/text.h"

#include <string.h>

uint32_t text_next(const char **p, const char *end)
{
	const unsigned char *s = (const unsigned char *)*p;
	size_t room = (size_t)(end - *p);
	unsigned char c = s[0];
	(*p)++;
	if (c < 0x80)
		return c;
	size_t more = c >= 0xc2 && c < 0xe0   ? 1
		      : c >= 0xe0 && c < 0xf0 ? 2
		      : c >= 0xf0 && c < 0xf5 ? 3
					      : 0;
	if (!more || more >= room)
		return TEXT_BAD_BYTE + c;
	uint32_t u = c & (0x3fu >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return TEXT_BAD_BYTE + c;
		u = u << 6 | (s[i] & 0x3fu);
	}
	/* RFC 3629: shortest form only, no surrogates, nothing past U+10FFFF. */
	if ((more == 2 && u < 0x800) || (more == 3 && u < 0x10000) || u > 0x10ffff ||
		(u >= 0xd800 && u < 0xe000))
		return TEXT_BAD_BYTE + c;
	*p += more;
	return u;
}

bool text_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool text_is_clean(const char *s, size_t n, bool multiline)
{
	for (const char *p = s, *end = s + n; p < end;) {
		uint32_t c = text_next(&p, end);
		if (multiline && (c == '\n' || c == '\t'))
			continue;
		if (c >= TEXT_BAD_BYTE || text_is_control(c))
			return false;
	}
	return true;
}

const char *text_shown(const char *s, char out[TEXT_SHOWN_MAX])
{
	size_t len = 0;
	for (const char *p = s, *end = s + strlen(s); p < end;) {
		const char *at = p;
		uint32_t c = text_next(&p, end);
		bool bad = c >= TEXT_BAD_BYTE || text_is_control(c);
		size_t n = bad ? 1 : (size_t)(p - at);
		if (len + n > TEXT_SHOWN_MAX - 4 - (p < end)) {
			memcpy(out + len, "...", 3);
			len += 3;
			break;
		}
		memcpy(out + len, bad ? "?" : at, n);
		len += n;
	}
	out[len] = '\0';
	return out;
}

#include "base/text.h"

#include <string.h>
#include <unistr.h>

#define PATH_BYTES 1000 /* of an artifact's name */
#define PART_MAX 255	/* as file systems have it */

uint32_t text_next(const char **p, const char *end)
{
	ucs4_t c = (unsigned char)**p;
	if (c < 0x80) {
		(*p)++;
		return c;
	}
	int n = u8_mbtoucr(&c, (const uint8_t *)*p, (size_t)(end - *p));
	uint32_t bad = TEXT_BAD_BYTE + (unsigned char)**p;
	*p += n > 0 ? n : 1;
	return n > 0 ? c : bad;
}

char *text_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xC0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3F));
	} else if (c < 0x10000) {
		*to++ = (char)(0xE0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
		*to++ = (char)(0x80 | (c & 0x3F));
	} else {
		*to++ = (char)(0xF0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3F));
		*to++ = (char)(0x80 | (c >> 6 & 0x3F));
		*to++ = (char)(0x80 | (c & 0x3F));
	}
	return to;
}

bool text_is_utf8(const char *p, size_t n)
{
	return u8_check((const uint8_t *)p, n) == NULL;
}

size_t text_chars(const char *p, size_t n)
{
	size_t chars = 0;
	for (size_t i = 0; i < n; i++)
		chars += (p[i] & 0xc0) != 0x80;
	return chars;
}

size_t text_begun(const char *p, size_t n)
{
	ucs4_t c;
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		const uint8_t *at = (const uint8_t *)p + n - back;
		if ((*at & 0xc0) != 0x80)
			return u8_mbtoucr(&c, at, back) == -2 ? back : 0;
	}
	return 0;
}

bool text_deceives(uint32_t c)
{
	static const uint32_t ranges[][2] = {{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f},
		{0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0x3164, 0x3164}, {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
		{0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
		{TEXT_BAD_BYTE, UINT32_MAX}};
	if (c >= 0x20 && c < 0x7f)
		return false;
	/* U+FFFE and U+FFFF of all planes are no characters. */
	if ((c & 0xfffe) == 0xfffe)
		return true;
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static bool is_clean(uint32_t c, bool multiline)
{
	return (multiline && (c == '\n' || c == '\t')) || !text_deceives(c);
}

bool text_is_clean(const char *s, size_t n, bool multiline)
{
	for (const char *p = s, *end = s + n; p < end;)
		if (!is_clean(text_next(&p, end), multiline))
			return false;
	return true;
}

void text_add_visible(struct buf *b, const char *p, size_t n, bool multiline)
{
	for (const char *end = p + n; p < end;) {
		const char *at = p;
		if (is_clean(text_next(&p, end), multiline))
			buf_add(b, at, (size_t)(p - at));
		else
			for (; at < p; at++)
				buf_addf(b, "\\x%02x", (unsigned char)*at);
	}
}

const char *text_shown(const char *s, char out[TEXT_SHOWN_MAX])
{
	size_t len = 0;
	for (const char *p = s, *end = s + strlen(s); p < end;) {
		const char *at = p;
		bool bad = text_deceives(text_next(&p, end));
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

static bool is_part(const char *p, size_t n)
{
	bool dots = n <= 2 && strspn(p, ".") >= n;
	return n <= PART_MAX && !dots;
}

const char *text_artifact_fault(const char *path)
{
	size_t n = strlen(path), depth = 0;
	if (!text_is_utf8(path, n))
		return "name is not UTF-8";
	if (!text_is_clean(path, n, false))
		return "name has control characters";
	if (n > PATH_BYTES)
		return "name is too long";
	for (const char *p = path;; p++) {
		size_t part = strcspn(p, "/");
		if (!is_part(p, part))
			return "name is no relative path";
		p += part;
		if (!*p)
			return NULL;
		if (++depth > TEXT_DIRECTORIES)
			return "nested too deep";
	}
}

int text_hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

size_t text_unpercent(const char *p, size_t n, char *out)
{
	char *o = out;
	for (size_t i = 0; i < n; i++) {
		bool escape = p[i] == '%' && n - i > 2 && text_hex(p[i + 1]) >= 0 &&
			      text_hex(p[i + 2]) >= 0;
		*o++ = escape ? (char)(text_hex(p[i + 1]) << 4 | text_hex(p[i + 2])) : p[i];
		i += escape ? 2 : 0;
	}
	return (size_t)(o - out);
}

void text_add_percent(struct buf *b, const char *p, size_t n, const char *also)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	for (size_t i = 0; i < n; i++) {
		if (p[i] && (strchr(plain, p[i]) || strchr(also, p[i])))
			buf_addc(b, p[i]);
		else
			buf_addf(b, "%%%02X", (unsigned char)p[i]);
	}
}

void text_to_hex(const void *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = p;
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

bool text_same(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned char differ = 0;
	for (size_t i = 0; na == nb && i < na; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return na == nb && !differ;
}

#include "base/b64.h"

#include <stdint.h>

static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int b64_value(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

ssize_t b64_decode(const char *p, size_t n, void *out)
{
	uint8_t *to = out;
	uint32_t acc = 0;
	size_t len = 0, bits = 0;
	for (int pad = 0; pad < 2 && n && p[n - 1] == '='; pad++)
		n--;
	if (n % 4 == 1)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int six = b64_value(p[i]);
		if (six < 0)
			return -1;
		acc = acc << 6 | (uint32_t)six;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			to[len++] = (uint8_t)(acc >> bits);
		}
	}
	return (ssize_t)len;
}

void b64_encode(const void *data, size_t n, struct buf *out)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);
		buf_addc(out, abc[v >> 18]);
		buf_addc(out, abc[v >> 12 & 63]);
		buf_addc(out, i + 1 < n ? abc[v >> 6 & 63] : '=');
		buf_addc(out, i + 2 < n ? abc[v & 63] : '=');
	}
}

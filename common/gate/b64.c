#include "gate/b64.h"

#include <stdint.h>
#include <string.h>

static const char abc[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
		const char *at = p[i] ? strchr(abc, p[i]) : NULL;
		if (!at)
			return -1;
		acc = acc << 6 | (uint32_t)(at - abc);
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

#include "guard/unpack.h"

#include "base/buf.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define PART_MAX ((size_t)32 << 20)

struct unpacking {
	bool (*look)(void *arg, const void *p, size_t n);
	void *arg;
	size_t left; /* bytes that may still be made */
};

/* As much as there is of the stream at p into out; window bits as zlib has them. */
static void inflate_part(const uint8_t *p, size_t n, int bits, size_t most, struct buf *out)
{
	z_stream z = {
		.next_in = (uint8_t *)p, .avail_in = n < UINT32_MAX ? (unsigned)n : UINT32_MAX};
	uint8_t piece[16384];
	int rc = inflateInit2(&z, bits);
	if (rc != Z_OK) {
		out->failed = true;
		return;
	}
	while (rc == Z_OK && out->len < most && !buf_failed(out)) {
		z.next_out = piece;
		z.avail_out = sizeof piece;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_add(out, piece, sizeof piece - z.avail_out);
	}
	inflateEnd(&z);
	explicit_bzero(piece, sizeof piece);
}

static unsigned two(const uint8_t *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* Where a packed stream begins behind the mark at p, and its kind; 0 for none. */
static size_t begins(const uint8_t *p, size_t n, int *bits)
{
	size_t at = 0;
	*bits = 15;
	if (n > 30 && memcmp(p, "PK\3\4", 4) == 0 && two(p + 8) == 8) {
		*bits = -15;
		at = 30 + two(p + 26) + two(p + 28);
	} else if (n > 18 && memcmp(p, "stream", 6) == 0) {
		at = p[6] == '\r' ? 8 : 7;
	} else if (n > 12 && memcmp(p, "zTXt", 4) == 0) {
		const uint8_t *end = memchr(p + 4, 0, n - 4 < 80 ? n - 4 : 80);
		at = end ? (size_t)(end - p) + 2 : 0;
	}
	bool zlib = at && at + 2 < n && (p[at] & 15) == 8 && (p[at] << 8 | p[at + 1]) % 31 == 0;
	return at < n && (*bits < 0 || zlib) ? at : 0;
}

static bool walk(struct unpacking *u, const uint8_t *p, size_t n, int depth);

static bool part(struct unpacking *u, const uint8_t *p, size_t n, int bits, int depth)
{
	size_t most = u->left < PART_MAX ? u->left : PART_MAX;
	struct buf out = {.limit = most + 32768};
	inflate_part(p, n, bits, most, &out);
	u->left -= out.len < u->left ? out.len : u->left;
	bool found = buf_failed(&out) ||
		     (out.len && (u->look(u->arg, out.data, out.len) ||
					 walk(u, (uint8_t *)out.data, out.len, depth + 1)));
	if (out.data)
		explicit_bzero(out.data, out.cap);
	buf_free(&out);
	return found;
}

static bool walk(struct unpacking *u, const uint8_t *p, size_t n, int depth)
{
	for (size_t i = 0; depth < UNPACK_DEPTH && u->left && i + 18 < n; i++) {
		int bits = 15 + 16;
		bool gzip = p[i] == 0x1f && p[i + 1] == 0x8b && p[i + 2] == 8;
		bool mark = p[i] == 'P' || p[i] == 's' || p[i] == 'z';
		size_t at = mark ? begins(p + i, n - i, &bits) : 0;
		if ((gzip || at) && part(u, p + i + at, n - i - at, bits, depth))
			return true;
	}
	return false;
}

bool unpack_any(
	const void *p, size_t n, bool (*look)(void *arg, const void *p, size_t n), void *arg)
{
	struct unpacking u = {look, arg, UNPACK_MAX};
	return walk(&u, p, n, 0);
}

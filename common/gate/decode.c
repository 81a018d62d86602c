#include "gate/decode.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct decode {
	z_stream z;
	enum decode_kind kind;
	bool started; /* deflate: zlib's wrapping or none has been told apart */
	bool ended;
	unsigned char out[16384];
};

enum decode_kind decode_kind(struct http_text v)
{
	if (v.n == 0 || http_is(v, "identity"))
		return DECODE_NONE;
	if (http_is(v, "gzip") || http_is(v, "x-gzip"))
		return DECODE_GZIP;
	return http_is(v, "deflate") ? DECODE_DEFLATE : DECODE_UNKNOWN;
}

enum decode_kind decode_of(const struct http_field *field, size_t n)
{
	enum decode_kind kind = DECODE_NONE;
	size_t seen = 0;
	for (size_t i = 0; i < n; i++) {
		if (!http_is(field[i].name, "Content-Encoding"))
			continue;
		kind = decode_kind(field[i].value);
		seen++;
	}
	return seen > 1 ? DECODE_UNKNOWN : kind;
}

struct decode *decode_new(enum decode_kind kind)
{
	struct decode *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->kind = kind;
	if (inflateInit2(&d->z, kind == DECODE_GZIP ? 15 + 16 : 15) != Z_OK) {
		free(d);
		return NULL;
	}
	return d;
}

void decode_free(struct decode **d)
{
	if (!*d)
		return;
	inflateEnd(&(*d)->z);
	explicit_bzero((*d)->out, sizeof(*d)->out);
	free(*d);
	*d = NULL;
}

bool decode_ended(const struct decode *d)
{
	return d->ended || (d->z.total_in == 0 && !d->started);
}

/* Some servers send "deflate" without zlib's two bytes of wrapping, against the standard. */
static void start(struct decode *d, unsigned char first)
{
	d->started = true;
	if (d->kind == DECODE_DEFLATE && (first & 0x0f) != 8)
		inflateReset2(&d->z, -15);
}

int decode_push(struct decode *d, const void *p, size_t n,
	int (*take)(void *arg, const void *p, size_t n), void *arg)
{
	if (!n)
		return 0;
	if (!d->started)
		start(d, *(const unsigned char *)p);
	d->z.next_in = (unsigned char *)p;
	d->z.avail_in = (unsigned)n;
	do {
		if (d->ended) {
			/* A further gzip member may follow; anything else is refused. */
			if (d->kind != DECODE_GZIP || !d->z.avail_in)
				return d->z.avail_in ? -1 : 0;
			inflateReset(&d->z);
			d->ended = false;
		}
		d->z.next_out = d->out;
		d->z.avail_out = sizeof d->out;
		int rc = inflate(&d->z, Z_NO_FLUSH);
		size_t len = sizeof d->out - d->z.avail_out;
		if (len && take(arg, d->out, len) < 0)
			return -1;
		if (rc == Z_STREAM_END)
			d->ended = true;
		else if (rc == Z_BUF_ERROR && len == 0)
			break;
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			return -1;
	} while (d->z.avail_in || d->z.avail_out == 0);
	return 0;
}

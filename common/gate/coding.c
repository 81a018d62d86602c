#include "gate/coding.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct decoding {
	z_stream z;
	enum coding_kind kind;
	bool started; /* deflate: zlib's wrapping or none has been told apart */
	bool ended;
	unsigned char out[16384];
};

enum coding_kind coding_kind(struct http_text v)
{
	if (v.n == 0 || http_is(v, "identity"))
		return CODING_NONE;
	if (http_is(v, "gzip") || http_is(v, "x-gzip"))
		return CODING_GZIP;
	return http_is(v, "deflate") ? CODING_DEFLATE : CODING_UNKNOWN;
}

enum coding_kind coding_of(const struct http_field *field, size_t n)
{
	enum coding_kind kind = CODING_NONE;
	size_t seen = 0;
	for (size_t i = 0; i < n; i++) {
		if (!http_is(field[i].name, "Content-Encoding"))
			continue;
		kind = coding_kind(field[i].value);
		seen++;
	}
	return seen > 1 ? CODING_UNKNOWN : kind;
}

struct decoding *coding_new(enum coding_kind kind)
{
	struct decoding *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->kind = kind;
	if (inflateInit2(&d->z, kind == CODING_GZIP ? 15 + 16 : 15) != Z_OK) {
		free(d);
		return NULL;
	}
	return d;
}

void coding_free(struct decoding **d)
{
	if (!*d)
		return;
	inflateEnd(&(*d)->z);
	explicit_bzero((*d)->out, sizeof(*d)->out);
	free(*d);
	*d = NULL;
}

bool coding_ended(const struct decoding *d)
{
	return d->ended || (d->z.total_in == 0 && !d->started);
}

/* Some servers send "deflate" without zlib's two bytes of wrapping, against the standard. */
static void start(struct decoding *d, unsigned char first)
{
	d->started = true;
	if (d->kind == CODING_DEFLATE && (first & 0x0f) != 8)
		inflateReset2(&d->z, -15);
}

int coding_push(struct decoding *d, const void *p, size_t n,
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
			if (d->kind != CODING_GZIP || !d->z.avail_in)
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

struct packing {
	z_stream z;
	unsigned char out[16384];
};

struct packing *packing_new(void)
{
	struct packing *k = calloc(1, sizeof *k);
	if (k && deflateInit2(&k->z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) ==
			 Z_OK)
		return k;
	free(k);
	return NULL;
}

void packing_free(struct packing **k)
{
	if (!*k)
		return;
	deflateEnd(&(*k)->z);
	free(*k);
	*k = NULL;
}

int packing_push(struct packing *k, const void *p, size_t n, bool last,
	int (*take)(void *arg, const void *p, size_t n), void *arg)
{
	if (!n && !last)
		return 0;
	k->z.next_in = (unsigned char *)p;
	k->z.avail_in = (unsigned)n;
	do {
		k->z.next_out = k->out;
		k->z.avail_out = sizeof k->out;
		if (deflate(&k->z, last ? Z_FINISH : Z_SYNC_FLUSH) == Z_STREAM_ERROR ||
			take(arg, k->out, sizeof k->out - k->z.avail_out) < 0)
			return -1;
	} while (k->z.avail_out == 0);
	return 0;
}

#include "base/zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define NEEDS 20	 /* version 2.0: deflate */
#define MADE_BY 0x0314	 /* by Unix */
#define UTF8_NAMES 0x800 /* the names' encoding */
#define DATE 0x21	 /* 1980-01-01: when a run was is not the archive's to say */
#define STORED 0
#define DEFLATED 8
#define FILES_MAX 65535
#define BYTES_MAX UINT32_MAX

static void put(struct buf *b, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, (char)(v >> (8 * i) & 0xff));
}

/* What a file's own head and its entry in the directory share. */
struct zip_entry {
	uint32_t method, crc, packed, size, name;
};

static void put_entry(struct buf *b, const struct zip_entry *t)
{
	put(b, NEEDS, 2);
	put(b, UTF8_NAMES, 2);
	put(b, t->method, 2);
	put(b, 0, 2);
	put(b, DATE, 2);
	put(b, t->crc, 4);
	put(b, t->packed, 4);
	put(b, t->size, 4);
	put(b, t->name, 2);
	put(b, 0, 2);
}

/* Raw deflate into a new string of *got bytes, shorter than n; NULL where it is not. */
static unsigned char *deflated(const void *p, size_t n, size_t *got)
{
	z_stream z = {0};
	unsigned char *to = n > 64 ? malloc(n) : NULL;
	if (!to || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
			   Z_DEFAULT_STRATEGY) != Z_OK) {
		free(to);
		return NULL;
	}
	z.next_in = (unsigned char *)(uintptr_t)p;
	z.avail_in = (unsigned)n;
	z.next_out = to;
	z.avail_out = (unsigned)n - 1;
	bool good = deflate(&z, Z_FINISH) == Z_STREAM_END;
	*got = z.total_out;
	deflateEnd(&z);
	if (!good) {
		free(to);
		return NULL;
	}
	return to;
}

int zip_add(struct zip *z, const char *name, const void *p, size_t n, struct err *e)
{
	size_t len = strlen(name), at = z->out.len, packed = n;
	if (z->n == FILES_MAX || len > UINT16_MAX || n > BYTES_MAX / 2 || at > BYTES_MAX / 2)
		return err_set(e, ERR_USAGE, "too much for one archive");
	unsigned char *small = deflated(p, n, &packed);
	const struct zip_entry t = {small ? DEFLATED : STORED,
		(uint32_t)crc32(0, n ? p : (const unsigned char *)"", (unsigned)n),
		(uint32_t)packed, (uint32_t)n, (uint32_t)len};
	z->out.limit = BYTES_MAX;
	put(&z->out, 0x04034b50, 4);
	put_entry(&z->out, &t);
	buf_add(&z->out, name, len);
	buf_add(&z->out, small ? (const void *)small : p, packed);
	free(small);
	put(&z->list, 0x02014b50, 4);
	put(&z->list, MADE_BY, 2);
	put_entry(&z->list, &t);
	put(&z->list, 0, 2); /* no comment, on the first disk, binary, and how it is on Unix: */
	put(&z->list, 0, 2);
	put(&z->list, 0, 2);
	put(&z->list, 0100644u << 16, 4);
	put(&z->list, (uint32_t)at, 4);
	buf_add(&z->list, name, len);
	z->n++;
	return buf_failed(&z->out) || buf_failed(&z->list) ? err_set(e, ERR_FAIL, "out of memory")
							   : 0;
}

int zip_end(struct zip *z, struct err *e)
{
	size_t at = z->out.len;
	z->out.limit = BYTES_MAX;
	buf_add(&z->out, z->list.data, z->list.len);
	put(&z->out, 0x06054b50, 4);
	put(&z->out, 0, 4);
	put(&z->out, z->n, 2);
	put(&z->out, z->n, 2);
	put(&z->out, (uint32_t)z->list.len, 4);
	put(&z->out, (uint32_t)at, 4);
	put(&z->out, 0, 2);
	return buf_failed(&z->out) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

void zip_free(struct zip *z)
{
	buf_free(&z->out);
	buf_free(&z->list);
}

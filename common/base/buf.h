/*
 * The one growing byte buffer. Valid when zeroed; always NUL-terminated once written to (the NUL is
 * not counted in len); never grows past its limit. A failed append (limit or memory) sets
 * `failed` and leaves what is there; callers append freely and test buf_failed() once.
 * The owner frees with buf_free(), or declares it with BUF_AUTO.
 *
 * With `secret` set from the start, the bytes are in memory of their own: locked as far as the
 * limit goes, in no core dump, in no forked child, wiped when left or freed; not for buf_detach().
 * For one secret rather than a message that holds some, see state/seal.h.
 */
#ifndef EVCTL_BASE_BUF_H
#define EVCTL_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define BUF_DEFAULT_LIMIT ((size_t)64 << 20)

struct buf {
	char *data;
	size_t len, cap;
	size_t limit; /* bytes; 0 means BUF_DEFAULT_LIMIT */
	bool failed, secret;
};

#define BUF_AUTO __attribute__((cleanup(buf_free))) struct buf

void buf_free(struct buf *b);
void buf_clear(struct buf *b); /* len 0, failure forgotten, memory kept */
/* Makes room for n more bytes at data + len (caller then adds to len). 0/-1. */
int buf_reserve(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* One word of a command to copy: in quotes unless it is plain, so that no name is more than a name.
 */
void buf_addword(struct buf *b, const char *word);
/* The text, "" when nothing was written; owned by the buffer. */
const char *buf_str(const struct buf *b);
/* Gives the memory to the caller (free()) and zeroes the buffer; NULL if it had failed. */
char *buf_detach(struct buf *b);

static inline bool buf_failed(const struct buf *b)
{
	return b->failed;
}

#endif

#include "base/buf.h"
#include "base/vault.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void let_go(struct buf *b)
{
	if (b->secret)
		vault_free(b->data);
	else
		free(b->data);
}

void buf_free(struct buf *b)
{
	let_go(b);
	*b = (struct buf){.limit = b->limit, .secret = b->secret};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

/* Another block instead, with what there is; the old one is gone. NULL leaves it. */
static char *secret_block(struct buf *b, size_t cap)
{
	void *p = vault_new(cap);
	if (!p)
		return NULL;
	if (b->len)
		memcpy(p, b->data, b->len);
	let_go(b);
	return p;
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t limit = b->limit ? b->limit : BUF_DEFAULT_LIMIT;
	if (b->failed || n > limit || b->len > limit - n) {
		b->failed = true;
		return -1;
	}
	size_t need = b->len + n + 1;
	if (need <= b->cap)
		return 0;
	/* All of a secret one is locked, so no more at first than is asked for. */
	size_t cap = b->cap ? b->cap : b->secret ? (need + 4095) / 4096 * 4096 : 64;
	while (cap < need)
		cap *= 2;
	char *p = b->secret ? secret_block(b, cap) : realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return -1;
	}
	b->data = p;
	b->cap = cap;
	b->data[b->len] = '\0';
	return 0;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (buf_reserve(b, n) < 0)
		return;
	if (n)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if (buf_reserve(b, (size_t)n) < 0)
		return;
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void buf_addword(struct buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:@%+=,-";
	if (*word && word[strspn(word, plain)] == '\0')
		return buf_adds(b, word);
	buf_addc(b, '\'');
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			buf_adds(b, "'\\''");
		else
			buf_addc(b, *p);
	buf_addc(b, '\'');
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_detach(struct buf *b)
{
	if (!b->failed && !b->data)
		buf_reserve(b, 0);
	char *p = b->failed ? NULL : b->data;
	if (b->failed)
		free(b->data);
	*b = (struct buf){.limit = b->limit};
	return p;
}

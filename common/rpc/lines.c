#include "rpc/lines.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

void lines_open(struct lines *w, int in, int out)
{
	*w = (struct lines){.in = in, .out = out, .line.limit = LINES_LINE_MAX + CHUNK + 1};
	pthread_mutex_init(&w->lock, NULL);
}

void lines_close(struct lines *w)
{
	pthread_mutex_destroy(&w->lock);
	buf_free(&w->line);
}

enum lines_got lines_fill(struct lines *w)
{
	if (buf_reserve(&w->line, CHUNK) < 0)
		return LINES_END;
	ssize_t n;
	do
		n = read(w->in, w->line.data + w->line.len, CHUNK);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return LINES_AGAIN;
	if (n <= 0)
		return LINES_END;
	w->line.len += (size_t)n;
	return LINES_AGAIN;
}

/* Drops the first n bytes. */
static void eat(struct lines *w, size_t n)
{
	memmove(w->line.data, w->line.data + n, w->line.len - n);
	w->line.len -= n;
	w->scanned = 0;
}

/*
 * The line stays in front of the buffer until the next call, which eats it: `scanned` beyond a
 * newline marks that.
 */
enum lines_got lines_next(struct lines *w, bool at_end, const char **p, size_t *n)
{
	if (w->scanned && w->line.data[w->scanned - 1] == '\n')
		eat(w, w->scanned);
	char *from = w->line.data + w->scanned;
	char *nl = w->line.len > w->scanned ? memchr(from, '\n', w->line.len - w->scanned) : NULL;
	if (!nl && at_end && w->line.len && !w->skipping) {
		*p = w->line.data;
		*n = w->line.len;
		w->line.len = w->scanned = 0;
		return LINES_LINE;
	}
	if (!nl) {
		w->scanned = w->line.len;
		if (w->line.len <= LINES_LINE_MAX)
			return LINES_AGAIN;
		bool told = w->skipping;
		w->skipping = true;
		w->line.len = w->scanned = 0;
		return told ? LINES_AGAIN : LINES_TOO_LONG;
	}
	w->scanned = (size_t)(nl - w->line.data) + 1;
	if (w->skipping || w->scanned > LINES_LINE_MAX) {
		bool told = w->skipping;
		w->skipping = false;
		return told ? lines_next(w, at_end, p, n) : LINES_TOO_LONG;
	}
	*p = w->line.data;
	*n = w->scanned - 1;
	return LINES_LINE;
}

/* Whole, also through a descriptor that somebody made non-blocking. */
static int put(int fd, const char *p, size_t n, int patience)
{
	while (n) {
		ssize_t done = write(fd, p, n);
		if (done < 0 && errno == EAGAIN) {
			struct pollfd f = {.fd = fd, .events = POLLOUT};
			if (poll(&f, 1, patience ? patience : -1) == 0)
				return -1;
			continue;
		}
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

void lines_send(struct lines *w, json_t *m)
{
	BUF_AUTO b = {0};
	json_to_buf(m, &b);
	buf_addc(&b, '\n');
	json_decref(m);
	if (buf_failed(&b))
		return;
	pthread_mutex_lock(&w->lock);
	if (!w->gone && put(w->out, buf_str(&b), b.len, w->patience) < 0)
		w->gone = true;
	pthread_mutex_unlock(&w->lock);
}

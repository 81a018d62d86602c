#include "base/ends.h"

#include <string.h>

#define MARK "evctl: %llu bytes of the log are left out here\n"
#define MARK_MAX 80

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Over what was there first. */
static void go_round(struct ends *s, const char *p, size_t n)
{
	while (n) {
		size_t k = least(n, s->tail.len - s->next);
		memcpy(s->tail.data + s->next, p, k);
		s->next = (s->next + k) % s->tail.len;
		p += k;
		n -= k;
	}
}

void ends_add(struct ends *s, const char *p, size_t n)
{
	size_t half = s->limit / 2, room = s->limit - half;
	size_t first = least(n, half - s->head.len);
	s->total += n;
	buf_add(&s->head, p, first);
	p += first;
	n -= first;
	size_t second = least(n, room - s->tail.len);
	buf_add(&s->tail, p, second);
	if (n > second && !buf_failed(&s->tail))
		go_round(s, p + second, n - second);
}

bool ends_cut(const struct ends *s)
{
	return s->total > s->head.len + s->tail.len;
}

/* How much of the head stays: to the end of a line. */
static size_t head_end(const struct buf *head)
{
	size_t shortest = head->len - ENDS_SEAM;
	const char *line = memrchr(head->data + shortest, '\n', ENDS_SEAM);
	return line ? (size_t)(line - head->data) + 1 : shortest;
}

/* Where in the tail, straightened, the first whole line begins; the mark needs room too. */
static size_t tail_start(const char *tail)
{
	const char *line = memchr(tail + MARK_MAX, '\n', ENDS_SEAM - MARK_MAX);
	return line ? (size_t)(line - tail) + 1 : ENDS_SEAM;
}

static void join_cut(const struct ends *s, const struct buf *tail, struct buf *out)
{
	size_t end = head_end(&s->head), start = tail_start(tail->data);
	buf_add(out, s->head.data, end);
	if (s->head.data[end - 1] != '\n')
		buf_addc(out, '\n');
	buf_addf(out, MARK, (unsigned long long)(s->total - end - (tail->len - start)));
	buf_add(out, tail->data + start, tail->len - start);
}

void ends_join(const struct ends *s, struct buf *out)
{
	BUF_AUTO tail = {0};
	buf_add(&tail, buf_str(&s->tail) + s->next, s->tail.len - s->next);
	buf_add(&tail, buf_str(&s->tail), s->next);
	if (ends_cut(s) && !buf_failed(&s->head) && !buf_failed(&tail)) {
		join_cut(s, &tail, out);
		return;
	}
	buf_add(out, buf_str(&s->head), s->head.len);
	buf_add(out, buf_str(&tail), tail.len);
}

void ends_free(struct ends *s)
{
	buf_free(&s->head);
	buf_free(&s->tail);
}

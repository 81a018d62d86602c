#include "verify/linewise.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 3
#define STEPS_MAX 2000 /* changes that are sought one by one; memory goes by their square */

struct line {
	const char *p;
	size_t n; /* with its newline */
};

struct line_list {
	struct line *v;
	size_t n;
};

static int split(const char *p, size_t n, struct line_list *t)
{
	const char *end = p + n;
	size_t count = 0;
	for (const char *at = p; at < end; at++)
		count += *at == '\n';
	t->v = calloc(count + 1, sizeof *t->v);
	if (!t->v)
		return -1;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *next = nl ? nl + 1 : end;
		t->v[t->n++] = (struct line){p, (size_t)(next - p)};
		p = next;
	}
	return 0;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static void put(struct lines_diff *d, char op, size_t times)
{
	memset(d->ops + d->n, op, times);
	d->n += times;
	d->added += op == '+' ? times : 0;
	d->removed += op == '-' ? times : 0;
}

/*
 * Myers: of each number of changes d, how far down each diagonal one gets; rows[d] keeps what was
 * reached, to walk back by. NULL rows of what was never tried.
 */
struct line_search {
	const struct line *a, *b;
	long na, nb;
	long *rows[STEPS_MAX + 1];
};

static long reach(const struct line_search *s, const long *was, long d, long k)
{
	const long *v = was + d; /* was[-d .. d] of the step before, with room at both ends */
	long x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
	while (x < s->na && x - k < s->nb && same(&s->a[x], &s->b[x - k]))
		x++;
	return x;
}

/* The fewest changes; -1: more than are sought, or no memory. */
static long search(struct line_search *s)
{
	static const long start[3] = {0, 0, 0};
	for (long d = 0; d <= STEPS_MAX; d++) {
		/* Each row is of diagonals -d-1 .. d+1, so that the next finds its neighbours. */
		long *row = calloc((size_t)(2 * d + 3), sizeof *row);
		s->rows[d] = row;
		if (!row)
			return -1;
		for (long k = -d; k <= d; k += 2) {
			long x =
				d == 0 ? reach(s, start + 1, 0, 0) : reach(s, s->rows[d - 1], d, k);
			row[k + d + 1] = x;
			if (x >= s->na && x - k >= s->nb)
				return d;
		}
	}
	return -1;
}

/* Back from the end, step by step; the signs come out last first. */
static void walk_back(const struct line_search *s, long steps, char *out, size_t *n)
{
	long x = s->na, y = s->nb;
	for (long d = steps; d > 0; d--) {
		const long *v = s->rows[d - 1] + d;
		long k = x - y;
		bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
		long from = down ? v[k + 1] : v[k - 1] + 1;
		for (; x > from; x--, y--)
			out[(*n)++] = ' ';
		out[(*n)++] = down ? '+' : '-';
		x -= !down;
		y -= down;
	}
	for (; x > 0; x--)
		out[(*n)++] = ' ';
}

static int compare_middle(
	const struct line *a, size_t na, const struct line *b, size_t nb, struct lines_diff *d)
{
	struct line_search *s = calloc(1, sizeof *s);
	char *back = malloc(na + nb + 1);
	size_t n = 0;
	long steps = -1;
	if (s && back) {
		*s = (struct line_search){.a = a, .b = b, .na = (long)na, .nb = (long)nb};
		steps = na && nb ? search(s) : -1;
	}
	if (steps >= 0)
		walk_back(s, steps, back, &n);
	while (n > 0)
		put(d, back[--n], 1);
	if (steps < 0) {
		put(d, '-', na);
		put(d, '+', nb);
	}
	for (size_t i = 0; s && i <= STEPS_MAX; i++)
		free(s->rows[i]);
	bool done = s && back;
	free(s);
	free(back);
	return done ? 0 : -1;
}

int lines_compare(const char *a, size_t na, const char *b, size_t nb, struct lines_diff *d)
{
	struct line_list x = {0}, y = {0};
	size_t head = 0, tail = 0;
	int r = split(a, na, &x) < 0 || split(b, nb, &y) < 0 ? -1 : 0;
	d->ops = r == 0 ? malloc(x.n + y.n + 1) : NULL;
	r = d->ops ? 0 : -1;
	while (r == 0 && head < x.n && head < y.n && same(&x.v[head], &y.v[head]))
		head++;
	while (r == 0 && tail < x.n - head && tail < y.n - head &&
		same(&x.v[x.n - 1 - tail], &y.v[y.n - 1 - tail]))
		tail++;
	if (r == 0) {
		put(d, ' ', head);
		r = compare_middle(x.v + head, x.n - head - tail, y.v + head, y.n - head - tail, d);
	}
	if (r == 0)
		put(d, ' ', tail);
	free(x.v);
	free(y.v);
	return r;
}

bool lines_binary(const char *p, size_t n)
{
	return memchr(p, 0, n < 8000 ? n : 8000) != NULL;
}

/* ---- hunks --------------------------------------------------------------------------------- */

static bool near_change(const struct lines_diff *d, size_t at)
{
	size_t from = at > AROUND ? at - AROUND : 0;
	for (size_t i = from; i <= at + AROUND && i < d->n; i++)
		if (d->ops[i] != ' ')
			return true;
	return false;
}

static void add_line(struct buf *out, char sign, const struct line *l)
{
	buf_addc(out, sign);
	buf_add(out, l->p, l->n);
	if (l->n == 0 || l->p[l->n - 1] != '\n')
		buf_adds(out, "\n\\ No newline at end of file\n");
}

/* One hunk, from the op at `at` on; x and y are where both texts stand. Past its last op. */
static size_t add_hunk(const struct lines_diff *d, size_t at, const struct line_list *a, size_t *x,
	const struct line_list *b, size_t *y, struct buf *out)
{
	size_t end = at, na = 0, nb = 0;
	for (; end < d->n && near_change(d, end); end++) {
		na += d->ops[end] != '+';
		nb += d->ops[end] != '-';
	}
	buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", *x + (na > 0), na, *y + (nb > 0), nb);
	for (; at < end; at++) {
		const struct line *l = d->ops[at] == '+' ? &b->v[*y] : &a->v[*x];
		add_line(out, d->ops[at], l);
		*x += d->ops[at] != '+';
		*y += d->ops[at] != '-';
	}
	return end;
}

void lines_patch(const struct lines_diff *d, const char *a, size_t na, const char *b, size_t nb,
	struct buf *out)
{
	struct line_list s = {0}, t = {0};
	size_t x = 0, y = 0;
	bool good = split(a, na, &s) == 0 && split(b, nb, &t) == 0;
	for (size_t at = 0; good && at < d->n;) {
		if (near_change(d, at)) {
			at = add_hunk(d, at, &s, &x, &t, &y, out);
			continue;
		}
		x++;
		y++;
		at++;
	}
	free(s.v);
	free(t.v);
	if (!good)
		out->failed = true;
}

void lines_free(struct lines_diff *d)
{
	free(d->ops);
	*d = (struct lines_diff){0};
}

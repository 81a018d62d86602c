/* The beginning and the end of a long text, however it comes, in no more bytes than the limit. */
#include "../lib/tap.h"
#include "base/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)300000)

static struct tap tap;

/* n bytes of numbered lines, or of one line, added in pieces of so many bytes. */
static char *text_of(size_t n, bool lines)
{
	char *text = malloc(n + 32);
	size_t at = 0;
	for (unsigned i = 0; at < n; i++)
		at += (size_t)snprintf(text + at, 32, lines ? "line %08u\n" : "word %08u ", i);
	text[n] = '\0';
	return text;
}

static bool is_joined(const char *text, size_t n, const struct buf *b)
{
	const char *mark = strstr(buf_str(b), "evctl: ");
	unsigned long long missing;
	int len = 0;
	if (!mark || sscanf(mark, "evctl: %llu bytes of the log are left out here\n%n", &missing,
			     &len) != 1)
		return false;
	size_t head = (size_t)(mark - b->data), tail = b->len - head - (size_t)len;
	if (text[head - 1] != '\n' && b->data[head - 1] == '\n')
		head--; /* the line's end is ours */
	return b->len <= LIMIT && b->len > LIMIT - 2 * ENDS_SEAM - 100 &&
	       memcmp(text, b->data, head) == 0 &&
	       memcmp(text + n - tail, b->data + b->len - tail, tail) == 0 &&
	       missing == n - head - tail;
}

static void test_of(size_t n, bool lines, size_t piece)
{
	struct ends s = {.limit = LIMIT};
	BUF_AUTO out = {0};
	char what[80], *text = text_of(n, lines);
	for (size_t at = 0; at < n; at += piece)
		ends_add(&s, text + at, n - at < piece ? n - at : piece);
	ends_join(&s, &out);
	snprintf(what, sizeof what, "%zu bytes%s, %zu at a time", n, lines ? " of lines" : "",
		piece);
	if (n <= LIMIT)
		ok(&tap, !ends_cut(&s) && out.len == n && memcmp(out.data, text, n) == 0, "%s",
			what);
	else
		ok(&tap, ends_cut(&s) && is_joined(text, n, &out), "%s", what);
	ends_free(&s);
	free(text);
}

static void test_seam(void)
{
	struct ends s = {.limit = LIMIT};
	BUF_AUTO out = {0};
	char line[1001];
	memset(line, 'k', sizeof line);
	line[1000] = '\n';
	for (int i = 0; i < 1000; i++)
		ends_add(&s, line, sizeof line);
	ends_join(&s, &out);
	bool whole = true;
	char *at = out.data;
	for (char *end; (end = strchr(at, '\n')); at = end + 1)
		whole &= end - at == 1000 || strncmp(at, "evctl: ", 7) == 0;
	ok(&tap, whole && !*at, "no line is left in halves");
	ends_free(&s);
}

int main(void)
{
	static const size_t sizes[] = {0, 1, LIMIT / 2, LIMIT / 2 + 1, LIMIT - 1, LIMIT, LIMIT + 1,
		LIMIT * 3 / 2, LIMIT * 2, 5000000};
	static const size_t pieces[] = {7, 4096, 65536, 10000000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
			test_of(sizes[i], true, pieces[j]);
			test_of(sizes[i], false, pieces[j]);
		}
	test_seam();
	return tap_done(&tap);
}

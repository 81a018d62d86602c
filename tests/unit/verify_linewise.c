/* Line by line: what is told makes the one text of the other, and is as little as can be. */
#include "../lib/tap.h"
#include "verify/linewise.h"

#include <stdlib.h>
#include <string.h>

static struct tap tap;

static void test_rows(void)
{
	static const struct {
		const char *a, *b, *ops;
	} rows[] = {
		{"", "", ""},
		{"a\n", "a\n", " "},
		{"", "a\nb\n", "++"},
		{"a\nb\n", "", "--"},
		{"a\nb\nc\n", "a\nc\n", " - "},
		{"a\nc\n", "a\nb\nc\n", " + "},
		{"a\nb\nc\n", "a\nx\nc\n", " -+ "},
		{"a\n", "a", "-+"},
		{"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct lines_diff d = {0};
		lines_compare(rows[i].a, strlen(rows[i].a), rows[i].b, strlen(rows[i].b), &d);
		bool right = rows[i].ops ? d.n == strlen(rows[i].ops) &&
						   memcmp(d.ops, rows[i].ops, d.n) == 0
					 : d.added + d.removed == 5;
		ok(&tap, right, "row %zu: '%.*s'", i, (int)d.n, d.ops);
		lines_free(&d);
	}
}

/* One text edited at random: the signs, followed, make the second. */
static void test_random(unsigned seed)
{
	char a[4000] = "", b[4000] = "";
	size_t na = 0, nb = 0, edits = 0;
	srand(seed);
	for (int i = 0; i < 200; i++) {
		char line[8];
		size_t n = (size_t)snprintf(line, sizeof line, "%d\n", rand() % 20);
		int what = rand() % 10;
		edits += what < 2;
		if (what != 0) {
			memcpy(a + na, line, n);
			na += n;
		}
		if (what != 1) {
			memcpy(b + nb, line, n);
			nb += n;
		}
	}
	struct lines_diff d = {0};
	BUF_AUTO made = {0};
	lines_compare(a, na, b, nb, &d);
	const char *x = a, *y = b;
	bool same = true;
	for (size_t i = 0; i < d.n; i++) {
		size_t n = strcspn(d.ops[i] == '+' ? y : x, "\n") + 1;
		same &= d.ops[i] != ' ' || memcmp(x, y, n) == 0;
		if (d.ops[i] != '-')
			buf_add(&made, y, n);
		x += d.ops[i] == '+' ? 0 : n;
		y += d.ops[i] == '-' ? 0 : n;
	}
	ok(&tap,
		same && x == a + na && made.len == nb && memcmp(made.data, b, nb) == 0 &&
			d.added + d.removed <= edits,
		"seed %u: %zu changes for %zu edits", seed, d.added + d.removed, edits);
	lines_free(&d);
}

static void test_many(void)
{
	BUF_AUTO a = {0};
	BUF_AUTO b = {0};
	for (int i = 0; i < 10000; i++) {
		buf_addf(&a, "a%d\n", i);
		buf_addf(&b, "b%d\n", i);
	}
	struct lines_diff d = {0};
	lines_compare(a.data, a.len, b.data, b.len, &d);
	ok(&tap, d.added == 10000 && d.removed == 10000, "too many changes are one");
	lines_free(&d);
}

static void test_patch(void)
{
	const char *a = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12",
		   *b = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n";
	struct lines_diff d = {0};
	BUF_AUTO out = {0};
	lines_compare(a, strlen(a), b, strlen(b), &d);
	lines_patch(&d, a, strlen(a), b, strlen(b), &out);
	ok(&tap,
		strcmp(buf_str(&out),
			"@@ -2,11 +2,11 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n"
			"\\ No newline at end of file\n+12\n") == 0,
		"a patch: %s", buf_str(&out));
	lines_free(&d);
}

int main(void)
{
	test_rows();
	for (unsigned seed = 1; seed <= 20; seed++)
		test_random(seed);
	test_many();
	test_patch();
	return tap_done(&tap);
}

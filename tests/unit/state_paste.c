/* How people bring a value: which lines are one, what is around it. */
#include "../lib/tap.h"
#include "state/paste.h"

#include <string.h>

static struct tap tap;

/* How many lines of text it takes; each ends in a newline. */
static size_t taken(const char *text, struct paste *p)
{
	size_t n = 0;
	bool on = true;
	*p = (struct paste){0};
	while (on && *text) {
		size_t len = strcspn(text, "\n");
		on = paste_goes_on(p, text, len);
		text += len + 1;
		n++;
	}
	return n;
}

static void test_lines(void)
{
	static const struct {
		const char *what, *text;
		size_t lines;
		bool whole;
	} rows[] = {
		{"a word", "word\nmore\n", 1, true},
		{"nothing", "\nmore\n", 1, true},
		{"armour", "-----BEGIN A-----\nx\n-----END A-----\n\nmore\n", 4, true},
		{"armour behind blanks", "  -----BEGIN A-----\n  x\n  -----END A-----\n\nmore\n", 4,
			true},
		{"armour behind a mark", "\xef\xbb\xbf-----BEGIN A-----\nx\n-----END A-----\n\n.\n",
			4, true},
		{"two blocks",
			"-----BEGIN A-----\nx\n-----END A-----\n-----BEGIN B-----\ny\n-----END B-----\n\n.\n",
			7, true},
		{"an empty line after headers",
			"-----BEGIN A-----\nDEK-Info: x\n\ny\n-----END A-----\n\n.\n", 6, true},
		{"an empty line for no header", "-----BEGIN A-----\n\ny\n-----END A-----\n\n.\n", 5,
			true},
		{"an empty line within armour", "-----BEGIN A-----\nx\n\ny\n-----END A-----\n", 3,
			false},
		{"SSH2", "---- BEGIN A ----\nx\n---- END A ----\n\n.\n", 4, true},
		{"dashes", "----- a password\nmore\n", 1, true},
		{"JSON in a line", "{\"a\": [1]}\nmore\n", 1, true},
		{"JSON in lines", "[\n{\n}\n]\nmore\n", 4, true},
		{"brackets in strings", "{\"a\": \"}\",\n\"b\": \"\\\"}\"\n}\nmore\n", 3, true},
		{"a brace, and no more", "{abc\n\nmore\n", 2, true},
		{"JSON broken off", "{\n\"a\": 1,\n\n", 3, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct paste p;
		size_t n = taken(rows[i].text, &p);
		ok(&tap, n == rows[i].lines && !paste_fault(&p) == rows[i].whole, "%s: %zu lines%s",
			rows[i].what, n, paste_fault(&p) ? ", broken off" : "");
	}
}

static void test_around(void)
{
	static const struct {
		const char *text;
		struct paste_around want;
	} rows[] = {
		{"", {0}},
		{"a b", {0}},
		{" a", {.before = 1}},
		{"a \t", {.after = 2}},
		{"a\n", {.after = 1, .newline = true}},
		{"a\r\n", {.after = 2, .newline = true}},
		{"a\n\n", {.after = 2}},
		{"\xc2\xa0"
		 "a"
		 "\xe3\x80\x80",
			{.before = 2, .after = 3}},
		{"\xef\xbb\xbf"
		 "a",
			{.before = 3, .marked = true}},
		{"a\xef\xbb\xbf", {.after = 3}},
		{" \n", {.before = 2, .blank = true}},
		{"\xff"
		 "a"
		 "\xff",
			{0}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct paste_around a;
		const struct paste_around *w = &rows[i].want;
		paste_around(rows[i].text, strlen(rows[i].text), &a);
		ok(&tap,
			a.before == w->before && a.after == w->after && a.marked == w->marked &&
				a.blank == w->blank && a.newline == w->newline,
			"around row %zu: %zu before, %zu after", i, a.before, a.after);
	}
}

int main(void)
{
	test_lines();
	test_around();
	return tap_done(&tap);
}

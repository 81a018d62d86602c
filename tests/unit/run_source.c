/* The search for an expert's own code, by table: what holds it beside what nearly does. */
#include "base/b64.h"
#include "run/source.h"
#include "state/seal.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static char code[] = "import os\n\n\tdef one(x):\r\n        return x + 1\n\n# the end\n}\n]\n}\n"
		     "path = \"a\\\\b\" # é\nlast = 3\n";
static char other[] = "just = 1\n";
static char latin[] = "# coding: latin-1\ngr\xfc\xdf"
		      "e = 1\nnoch = \"\xe4\"\nende = 2\n";
static char prompt[] = "You are a helper.\nBe brief.\nNever say why.\n";
static char data[] = "first line\nsecond line\nthird line\n";

static const struct {
	const char *text;
	bool found;
	const char *what;
} table[] = {
	{"import os\ndef one(x):\nreturn x + 1\n", true, "three lines"},
	{"import os\ndef one(x):\n", false, "two lines"},
	{"import os\nreturn x + 1\n# the end\n", false, "lines that do not follow each other"},
	{"import os\n\n\n   def one(x):   \n\t return x + 1", true,
		"other indentation, blank lines"},
	{"import os\r\ndef one(x):\r\nreturn x + 1\r\n", true, "CRLF"},
	{"x\nhere: import os\ndef one(x):\nreturn x + 1 and more", true,
		"text around the outer lines"},
	{"import os\nxdef one(x):\nreturn x + 1", false, "text around the middle line"},
	{"]\n}\nx\n]\n}\n", false, "brackets"},
	{"}\n]\n}\n", false, "brackets as in the code"},
	{"{\"a\": \"import os\\ndef one(x):\\n    return x + 1\\n\"}", true, "a JSON string"},
	{"{\"a\": \"import os\\ndef one(x):\\n\"}", false, "two lines in a JSON string"},
	{"[\"import os\", \"def one(x):\", \"return x + 1\"]", true, "a JSON list of lines"},
	{"[\"import os\", \"def one(x):\", \"else\", \"return x + 1\"]", false,
		"another line between"},
	{"{\"1\": \"import os\", \"2\": \"def one(x):\", \"3\" : \"return x + 1\"}", true,
		"members that are lines"},
	{"[\"# the end\\n}\\n]\\n}\\npath = \\\"a\\\\\\\\b\\\" # \\u00e9\\nlast = 3\"]", true,
		"escapes of all kinds"},
	{"'import os\\n\\n\\tdef one(x):\\r\\n        return x + 1'", true, "a repr()"},
	{"first line\nsecond line\nthird line\n", false, "a file that is no code"},
	{"just = 1\nimport os\ndef one(x):\n", false, "across two files"},
	{"{\"log\": \"{\\\"a\\\": \\\"import os\\\\ndef one(x):\\\\n  return x + 1\\\\n\\\"}\"}",
		true, "JSON in JSON"},
	{"\"'import os\\\\n\\\\n\\\\tdef one(x):\\\\n  return x + 1\\\\n'\"", true,
		"a repr() in JSON"},
	{"['import os', 'def one(x):', 'return x + 1']", true, "a list, as repr() has it"},
	{"   1  import os\n   2  \n   3  def one(x):\n   4      return x + 1\n", true, "numbers"},
	{"1: import os\n3:\tdef one(x):\n4:     return x + 1\n", true, "numbers and colons"},
	{"1| import os\n3|  def one(x):\n4|      return x + 1\n", true, "numbers and bars"},
	{"> import os\n> \n> def one(x):\n>   return x + 1\n", true, "a quote"},
	{"+import os\n+\n+\tdef one(x):\n+        return x + 1\n", true, "a diff"},
	{"| import os\n| def one(x):\n| return x + 1\n", true, "bars"},
	{"> > 1: import os\n> > 2: other\n> > 3: return x + 1\n", false, "another between numbers"},
	{"\u2502    1 import os          \u2502\n\u2502    2                    \u2502\n"
	 "\u2502 \u2771  3 def one(x):       \u2502\n\u2502    4     return x + 1   \u2502\n",
		true, "a box around a traceback"},
	{"\x1b[34mimport\x1b[0m os\n\x1b[34mdef\x1b[0m \x1b[1mone\x1b[0m(x):\n  \x1b[34mreturn\x1b[39m x + 1",
		true, "in colours"},
	{"<tr><td><tt>&nbsp;<small>&nbsp;1</small>&nbsp;import&nbsp;os<br>\n</tt></td></tr>\n"
	 "<tr><td bgcolor=\"#f\"><tt>=&gt;<small>3</small>&nbsp;def&nbsp;one(x):<br>\n</tt></td></tr>\n"
	 "<tr><td><font><tt>&nbsp;<small>&nbsp;4</small>&nbsp;return&nbsp;x&nbsp;+&nbsp;1<br>\n</tt></td></tr>",
		true, "cgitb's HTML"},
	{"gr\u00fc\u00dfe = 1\nnoch = \"\u00e4\"\nende = 2", true,
		"of a file in Latin-1, as UTF-8"},
	{"gr\xfc\xdf"
	 "e = 1\nnoch = \"\xe4\"\nende = 2",
		true, "and as it is"},
	{"You are a helper.\nBe brief.\nNever say why.\n", true, "a private file"},
	{"", false, "nothing"},
};

static void find(
	struct tap *t, const struct source *s, const char *p, size_t n, bool want, const char *what)
{
	ok(t, source_find(s, p, n) == want, "%s: %s", what, want ? "found" : "not found");
}

/* Base64 of a text with `before` bytes in front, a line break each `width` characters, url-safe or
 * not. */
static void find_base64(struct tap *t, const struct source *s, const char *text, int before,
	size_t width, bool url, const char *front, bool want)
{
	BUF_AUTO plain = {0};
	BUF_AUTO b64 = {0};
	BUF_AUTO out = {0};
	for (int i = 0; i < before; i++)
		buf_addc(&plain, '~');
	buf_adds(&plain, text);
	b64_encode(plain.data, plain.len, &b64);
	buf_adds(&out, front);
	for (size_t i = 0; i < b64.len; i++) {
		char c = b64.data[i];
		buf_addc(&out, url && c == '+' ? '-' : url && c == '/' ? '_' : c);
		if (width && i % width == width - 1)
			buf_adds(&out, "\n");
	}
	char what[128];
	snprintf(what, sizeof what, "base64 %s%d %zu%s", front, before, width, url ? " url" : "");
	find(t, s, out.data, out.len, want, what);
}

/* Much of what nearly matches must not take long. */
static void be_quick(struct tap *t, const struct source *s)
{
	BUF_AUTO b = {0};
	while (b.len < 4000000)
		buf_adds(&b, "import os\\n\"def one(x):\ndef one(x):\nAAAABBBB");
	clock_t begun = clock();
	find(t, s, b.data, b.len, false, "four megabytes of near misses");
	if (emulated())
		skip(t, "in bounded time", "an emulator's time says nothing");
	else
		ok(t, clock() - begun < 10 * CLOCKS_PER_SEC, "in bounded time");
}

/* A long table in the code, whose rows have one line in common, and a result that has it too. */
static void be_linear(struct tap *t)
{
	BUF_AUTO rows = {0};
	BUF_AUTO text = {0};
	struct strv none = {0};
	for (int i = 0; i < 80000; i++) {
		buf_addf(&rows, "x = %d\nreturn 1\ny = \"%d\"\n", i, i);
		buf_addf(&text, "{\"x\": %d}\nreturn 1\ny = %d\n", i, i);
	}
	struct tree_file file = {.path = (char *)"rows.py", .data = rows.data, .n = rows.len};
	struct tree tree = {.files = &file, .n = 1};
	clock_t begun = clock();
	struct source *s = source_new(&tree, &none);
	find(t, s, text.data, text.len, false, "80,000 rows that are nearly there");
	find(t, s, rows.data + rows.len / 2, 200, true, "and some that are");
	if (emulated())
		skip(t, "in time that is linear in both", "an emulator's time says nothing");
	else
		ok(t, clock() - begun < 5 * CLOCKS_PER_SEC, "in time that is linear in both");
	source_free(s);
}

int main(void)
{
	struct tap tap = {0}, *t = &tap;
	struct tree_file files[] = {{.path = (char *)"a.py", .data = code, .n = sizeof code - 1},
		{.path = (char *)"b.py", .data = other, .n = sizeof other - 1},
		{.path = (char *)"data.txt", .data = data, .n = sizeof data - 1},
		{.path = (char *)"latin.py", .data = latin, .n = sizeof latin - 1},
		{.path = (char *)"prompts/a.txt", .data = prompt, .n = sizeof prompt - 1}};
	struct strv private = {0};
	struct tree tree = {.files = files, .n = 5};
	strv_add(&private, "prompts/*.txt");
	struct source *s = source_new(&tree, &private);
	ok(t, s != NULL, "an index");
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		find(t, s, table[i].text, strlen(table[i].text), table[i].found, table[i].what);
	for (int before = 0; before < 4; before++) {
		find_base64(t, s, code, before, 0, false, "", true);
		find_base64(t, s, code, before, 76, before & 1, "data:text/plain;base64,", true);
		find_base64(t, s, code, before, 0, true, "abc", true);
		find_base64(t, s, "import os\ndef one(x):\n", before, 0, false, "", false);
	}
	be_quick(t, s);
	be_linear(t);
	source_free(s);
	struct tree none = {0};
	s = source_new(&none, &private);
	find(t, s, code, sizeof code - 1, false, "no code at all");
	source_free(s);
	strv_free(&private);
	return tap_done(&tap);
}

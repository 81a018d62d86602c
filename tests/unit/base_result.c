/* What counts as a result. */
#include "../lib/tap.h"

#include "base/result.h"

#include <stdlib.h>

static const char *const good[] = {"0", "-0", "1", "-1", "0.5", "1e5", "1E-5", "1.5e+3", "null",
	"true", "false", "\"\"", "\"a\\n\\u00e4\\/\"", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"",
	"[]", "{}", "[1, 2]", " [ ] ", "{\"a\": {\"b\": [null]}}", "{\"\":0}",
	"{\"a\\\\u0000\":\"\\u0000\"}", "9223372036854775807", "-9223372036854775808",
	"\"\\u0000\"", "1e308", "0.1234567890123456789012345678901234567890", "\n1\n", "[[],[]]",
	"[{},{}]", "1e-400"};

static const char *const bad[] = {"", " ", "nul", "nulll", "truefalse", "NaN", "Infinity", "-",
	"+1", "01", "1.", ".5", "1e", "1e+", "0x1", "'a'", "\"", "\"\\", "\"\\x\"", "\"\\u12\"",
	"\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\x01\"", "\xff",
	"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "[", "]", "[1",
	"[1,", "[1,]", "[,1]", "{", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}",
	"{a:1}", "1 2", "[1] x", "9223372036854775808", "-9223372036854775809", "1e309",
	("\xef\xbb\xbf"
	 "1"),
	"{\"a\\u0000b\":1}", "{\"a\":{\"\\u0000\":1}}", "[1][2]", "{\"a\" 1}", "[1 2]", "/*x*/1"};

static void nest(struct tap *t, size_t depth, bool fine)
{
	char *text = malloc(2 * depth);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	ok(t, !result_json(text, 2 * depth) == fine, "%zu levels", depth);
	free(text);
}

/* No text is read past its end: each prefix, in memory that ends there. */
static void prefixes(struct tap *t, const char *text)
{
	size_t wrong = 0;
	for (size_t n = 0; n < strlen(text); n++) {
		char *copy = malloc(n ? n : 1);
		memcpy(copy, text, n);
		wrong += !result_json(copy, n);
		free(copy);
	}
	ok(t, wrong == 0, "no prefix of %s is a result", text);
}

int main(void)
{
	struct tap t = {0};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(&t, !result_json(good[i], strlen(good[i])), "good %zu", i);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(&t, result_json(bad[i], strlen(bad[i])), "bad %zu", i);
	ok(&t, result_json("\"a\0b\"", 5), "a NUL in a string");
	ok(&t, result_json("1\0", 2), "a NUL after the end");
	nest(&t, RESULT_MAX_DEPTH, true);
	nest(&t, RESULT_MAX_DEPTH + 1, false);
	nest(&t, 100000, false);
	prefixes(&t, "{\"a\\u00e4\\ud83d\\ude00\":[true,null,{\"\":\"\xf0\x9f\x98\x80\"}]}");
	return tap_done(&t);
}

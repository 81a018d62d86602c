#include "base/result.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct repr_cursor {
	const char *at, *end;
	const char *why;
	bool nul; /* a string held one */
};

static bool wrong(struct repr_cursor *c, const char *why)
{
	if (!c->why)
		c->why = why;
	return false;
}

static void skip_space(struct repr_cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
		c->at++;
}

static bool take(struct repr_cursor *c, char want)
{
	if (c->at >= c->end || *c->at != want)
		return false;
	c->at++;
	return true;
}

static bool hex4(struct repr_cursor *c, unsigned *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, c->at++) {
		if (c->at >= c->end)
			return false;
		int v = text_hex(*c->at);
		if (v < 0)
			return false;
		*out = *out << 4 | (unsigned)v;
	}
	return true;
}

/* After the backslash. */
static bool escape(struct repr_cursor *c)
{
	unsigned hi, lo;
	if (c->at < c->end && *c->at && strchr("\"\\/bfnrt", *c->at)) {
		c->at++;
		return true;
	}
	if (!take(c, 'u') || !hex4(c, &hi))
		return wrong(c, "the result has a bad escape");
	c->nul = c->nul || hi == 0;
	if (hi >= 0xdc00 && hi < 0xe000)
		return wrong(c, "the result has a lone surrogate");
	if (hi < 0xd800 || hi >= 0xe000)
		return true;
	if (!take(c, '\\') || !take(c, 'u') || !hex4(c, &lo) || lo < 0xdc00 || lo >= 0xe000)
		return wrong(c, "the result has a lone surrogate");
	return true;
}

static bool string(struct repr_cursor *c)
{
	if (!take(c, '"'))
		return wrong(c, "the result is not JSON");
	while (c->at < c->end) {
		unsigned char ch = (unsigned char)*c->at;
		if (ch == '"') {
			c->at++;
			return true;
		}
		if (ch < 0x20)
			return wrong(c, "the result has a control character in a string");
		c->at++;
		if (ch == '\\' && !escape(c))
			return false;
	}
	return wrong(c, "the result ends in a string");
}

static size_t digits(struct repr_cursor *c)
{
	const char *start = c->at;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return (size_t)(c->at - start);
}

static bool in_range(const char *start, size_t n, bool real)
{
	char text[64];
	if (n >= sizeof text)
		/* Only a fraction can be that long and still be small. */
		return real && n < 2000 && !memchr(start, 'e', n) && !memchr(start, 'E', n);
	memcpy(text, start, n);
	text[n] = '\0';
	errno = 0;
	if (real)
		return isfinite(strtod(text, NULL));
	(void)strtoll(text, NULL, 10);
	return errno == 0;
}

static bool number(struct repr_cursor *c)
{
	const char *start = c->at;
	bool real = false;
	(void)take(c, '-');
	const char *first = c->at;
	size_t n = digits(c);
	if (n == 0 || (n > 1 && *first == '0'))
		return wrong(c, "the result is not JSON");
	if (take(c, '.')) {
		real = true;
		if (n > 300 || digits(c) == 0)
			return wrong(c, "the result has a bad number");
	}
	if (take(c, 'e') || take(c, 'E')) {
		real = true;
		if (!take(c, '+'))
			(void)take(c, '-');
		if (digits(c) == 0)
			return wrong(c, "the result has a bad number");
	}
	if (!in_range(start, (size_t)(c->at - start), real))
		return wrong(c, "the result has a number that is too large");
	return true;
}

static bool word(struct repr_cursor *c, const char *w)
{
	size_t n = strlen(w);
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, w, n) != 0)
		return wrong(c, "the result is not JSON");
	c->at += n;
	return true;
}

static bool scalar(struct repr_cursor *c)
{
	if (c->at >= c->end)
		return wrong(c, "the result ends too early");
	switch (*c->at) {
	case '"':
		return string(c);
	case 't':
		return word(c, "true");
	case 'f':
		return word(c, "false");
	case 'n':
		return word(c, "null");
	default:
		return number(c);
	}
}

/* After '{' or ',' in an object: the key and its colon. Few readers of JSON take a key with a NUL.
 */
static bool key(struct repr_cursor *c)
{
	skip_space(c);
	c->nul = false;
	if (!string(c))
		return false;
	if (c->nul)
		return wrong(c, "the result has a NUL in a member's name");
	skip_space(c);
	return take(c, ':') || wrong(c, "the result is not JSON");
}

/*
 * One value, with the open brackets on a stack of their own, so that nesting costs no stack of
 * ours.
 */
static bool value(struct repr_cursor *c)
{
	char open[RESULT_MAX_DEPTH];
	size_t depth = 0;
	for (;;) {
		skip_space(c);
		bool object = c->at < c->end && *c->at == '{';
		if (object || (c->at < c->end && *c->at == '[')) {
			if (depth == RESULT_MAX_DEPTH)
				return wrong(c, "the result is nested too deep");
			c->at++;
			skip_space(c);
			open[depth++] = object ? '}' : ']';
			if (!(c->at < c->end && *c->at == open[depth - 1])) {
				if (object && !key(c))
					return false;
				continue;
			}
		} else if (!scalar(c)) {
			return false;
		}
		for (;;) {
			if (depth == 0)
				return true;
			skip_space(c);
			if (take(c, ','))
				break;
			if (!take(c, open[depth - 1]))
				return wrong(c, "the result is not JSON");
			depth--;
		}
		if (open[depth - 1] == '}' && !key(c))
			return false;
	}
}

const char *result_json(const char *p, size_t n)
{
	struct repr_cursor c = {.at = p, .end = p + n};
	if (!text_is_utf8(p, n))
		return "the result is not UTF-8";
	if (!value(&c))
		return c.why;
	skip_space(&c);
	return c.at == c.end ? NULL : "the result has something after its end";
}

#include "guard/parts.h"

#include "base/json.h"

#include <string.h>
#include <strings.h>

#define LONG 192 /* of a value this long a part is enough */
#define PART 48
#define GUESSABLE 20
#define DEPTH 8

struct taker {
	int (*take)(void *arg, const void *p, size_t n);
	void *arg;
};

static int value_parts(const struct taker *t, const char *p, size_t n, int depth);

static char class_of(unsigned char c)
{
	if (c >= 'a' && c <= 'z')
		return 'a';
	if (c >= 'A' && c <= 'Z')
		return 'A';
	return c >= '0' && c <= '9' ? '0' : c & 0x80 ? 'x' : '.';
}

bool parts_guessable(const void *value, size_t n)
{
	const unsigned char *p = value;
	size_t i = 0;
	while (i < n && class_of(p[i]) == class_of(p[0]))
		i++;
	return n && n < GUESSABLE && i == n;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const char **p, size_t *n)
{
	while (*n && is_space(**p))
		++*p, --*n;
	while (*n && is_space((*p)[*n - 1]))
		--*n;
}

static bool worth(const char *p, size_t n)
{
	return n >= LEAK_LOOSE && !parts_guessable(p, n);
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool holds(const char *p, size_t n, const char *word)
{
	return memmem(p, n, word, strlen(word)) != NULL;
}

static bool is_public(const char *p, size_t n)
{
	return holds(p, n, "CERTIFICATE") || holds(p, n, "PUBLIC KEY") || holds(p, n, "PARAMETERS");
}

struct line_walk {
	const char *at, *end;
};

static bool next_line(struct line_walk *l, const char **p, size_t *n)
{
	if (l->at >= l->end)
		return false;
	const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
	*p = l->at;
	*n = (size_t)((stop ? stop : l->end) - l->at);
	l->at = stop ? stop + 1 : l->end;
	trim(p, n);
	return true;
}

/* The first of a block's several lines says what kind of key it is, and is the same in many. */
static bool is_kind(struct line_walk rest, bool first)
{
	const char *p;
	size_t n;
	return first && next_line(&rest, &p, &n) && n && !holds(p, n, "-----END");
}

/* How many lines were worth it; -1 as take() said. */
static int line_parts(const struct taker *t, const char *value, size_t len)
{
	struct line_walk l = {value, value + len};
	bool armour = false, open = false, first = false;
	const char *p;
	size_t n;
	int found = 0;
	while (next_line(&l, &p, &n)) {
		if (n >= 10 &&
			(memcmp(p, "-----BEGIN", 10) == 0 || memcmp(p, "-----END", 8) == 0)) {
			armour = first = p[5] == 'B';
			open = armour && is_public(p, n);
			continue;
		}
		bool skip = open || (armour && (memchr(p, ':', n) || is_kind(l, first)));
		first = first && armour && memchr(p, ':', n);
		if (skip || !worth(p, n))
			continue;
		if (t->take(t->arg, p, n) < 0)
			return -1;
		found++;
	}
	return found;
}

/* ---- members ------------------------------------------------------------------------------- */

static bool ends(const char *name, const char *tail)
{
	size_t n = strlen(name), k = strlen(tail);
	return n >= k && strcasecmp(name + n - k, tail) == 0;
}

static bool is_secret_name(const char *name)
{
	static const char *const words[] = {"key", "secret", "token", "pass", "pwd", "credential",
		"private", "auth", "signature"};
	if (ends(name, "_uri") || ends(name, "_url") || ends(name, "type"))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static int member_parts(const struct taker *t, const json_t *v, bool secret, int depth)
{
	const char *name;
	json_t *m;
	size_t i;
	if (json_is_string(v) && secret)
		return json_string_length(v) < LEAK_LOOSE
			       ? 0
			       : value_parts(t, json_string_value(v), json_string_length(v), depth);
	if (depth > DEPTH)
		return 0;
	json_array_foreach (v, i, m)
		if (member_parts(t, m, secret, depth + 1) < 0)
			return -1;
	json_object_foreach ((json_t *)v, name, m) {
		if (member_parts(t, m, secret || is_secret_name(name), depth + 1) < 0)
			return -1;
	}
	return 0;
}

/* 1 it is JSON of several values, 0 not, -1 as take() said. */
static int json_parts(const struct taker *t, const char *p, size_t n, int depth)
{
	struct err quiet = {0};
	if (depth > DEPTH || (*p != '{' && *p != '['))
		return 0;
	JSON_AUTO v = json_parse("value", p, n, &quiet);
	if (!v)
		return 0;
	return member_parts(t, v, false, depth + 1) < 0 ? -1 : 1;
}

/* ---- the others ---------------------------------------------------------------------------- */

/* "user:password", "scheme://user:password@host". */
static int password_part(const struct taker *t, const char *p, size_t n)
{
	const char *scheme = memmem(p, n, "://", 3), *end = p + n;
	if (scheme) {
		p = scheme + 3;
		const char *path = memchr(p, '/', (size_t)(end - p));
		const char *at = memrchr(p, '@', (size_t)((path ? path : end) - p));
		if (!at)
			return 0;
		end = at;
	}
	const char *colon = memchr(p, ':', (size_t)(end - p));
	if (!colon || colon == p)
		return 0;
	const char *word = colon + 1;
	n = (size_t)(end - word);
	trim(&word, &n);
	return worth(word, n) ? t->take(t->arg, word, n) : 0;
}

static int middle_part(const struct taker *t, const char *p, size_t n)
{
	return n < LONG ? 0 : t->take(t->arg, p + n / 2, PART);
}

static int value_parts(const struct taker *t, const char *p, size_t n, int depth)
{
	trim(&p, &n);
	if (!n)
		return 0;
	int json = json_parts(t, p, n, depth);
	if (json < 0)
		return -1;
	int lines = !json && memchr(p, '\n', n) ? line_parts(t, p, n) : 0;
	if (lines)
		return lines < 0 ? -1 : 0;
	if (t->take(t->arg, p, n) < 0)
		return -1;
	return json ? 0 : password_part(t, p, n) < 0 ? -1 : middle_part(t, p, n);
}

int parts_each(
	const void *value, size_t n, int (*take)(void *arg, const void *p, size_t n), void *arg)
{
	struct taker t = {take, arg};
	return value_parts(&t, value, n, 0);
}

struct adding {
	struct leak *l;
	unsigned id;
};

static int add(void *arg, const void *p, size_t n)
{
	const struct adding *a = arg;
	return leak_add(a->l, a->id, p, n, NULL);
}

int parts_add(struct leak *l, unsigned id, const void *value, size_t n)
{
	return parts_each(value, n, add, &(struct adding){l, id});
}

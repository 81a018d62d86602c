#include "manifest/place.h"

#include <stdlib.h>
#include <string.h>

#define SHOW_ENDS 8 /* steps shown of the start and of the end of a long way */
#define SHOW_NAME 64

char *place_value(const json_t *v)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
	for (char *del = text ? strchr(text, 0x7f) : NULL; del; del = strchr(del, 0x7f))
		*del = '?'; /* ASCII too, and jansson lets it be */
	return text;
}

static void show_step(const struct value_place *at, struct buf *b)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-$";
	if (!at->key) {
		buf_addf(b, "[%zu]", at->index);
		return;
	}
	size_t n = strnlen(at->key, SHOW_NAME + 1);
	if (n && n <= SHOW_NAME && at->key[strspn(at->key, plain)] == '\0') {
		buf_addf(b, b->len ? ".%s" : "%s", at->key);
		return;
	}
	JSON_AUTO name = json_text(at->key, n > SHOW_NAME ? SHOW_NAME : n);
	char *text = place_value(name);
	buf_addf(b, "[%s%s]", text ? text : "?", n > SHOW_NAME ? "..." : "");
	free(text);
}

/* The n-th step from the end. */
static const struct value_place *nth_up(const struct value_place *at, size_t n)
{
	while (n--)
		at = at->up;
	return at;
}

void place_show(const char *root, const struct value_place *at, struct buf *b)
{
	size_t depth = 0;
	buf_adds(b, root);
	for (const struct value_place *p = at; p && p->up; p = p->up)
		depth++;
	for (size_t i = 0; i < depth; i++) {
		if (depth > 2 * SHOW_ENDS && i == SHOW_ENDS) {
			buf_adds(b, "...");
			i = depth - SHOW_ENDS;
		}
		show_step(nth_up(at, depth - 1 - i), b);
	}
}

void place_steps(const struct value_place *at, struct strv *out)
{
	size_t depth = 0;
	for (const struct value_place *p = at; p && p->up; p = p->up)
		depth++;
	for (size_t i = depth; i-- > 0;) {
		const struct value_place *p = nth_up(at, i);
		if (p->key)
			strv_add(out, p->key);
		else
			strv_addf(out, "%zu", p->index);
	}
}

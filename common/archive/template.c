#include "archive/template.h"

#include "archive/html.h"

#include <string.h>

#define NEST_MAX 16

/* Where in HTML the text that was put out ends. */
enum place { BETWEEN, IN_TAG, IN_QUOTES };

struct object_scope {
	const json_t *object;
	const struct object_scope *outer;
};

struct page {
	const struct template *all;
	struct buf *out;
	enum place place;
	int nest;
};

static void fail(struct page *p)
{
	p->out->failed = true;
}

static void put_literal(struct page *p, const char *s, size_t n)
{
	buf_add(p->out, s, n);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"' && p->place != BETWEEN)
			p->place = p->place == IN_TAG ? IN_QUOTES : IN_TAG;
		else if (s[i] == '<' && p->place == BETWEEN)
			p->place = IN_TAG;
		else if (s[i] == '>' && p->place == IN_TAG)
			p->place = BETWEEN;
	}
}

/* ---- values ---- */

static const json_t *find(const struct object_scope *s, const char *name)
{
	const json_t *v = NULL;
	for (; s && !v; s = s->outer)
		v = json_object_get(s->object, name);
	return v;
}

static bool is_given(const json_t *v)
{
	if (json_is_string(v))
		return json_string_length(v) > 0;
	if (json_is_integer(v))
		return json_integer_value(v) != 0;
	return json_is_true(v) || json_array_size(v) > 0;
}

static void put_plural(struct buf *b, int64_t n)
{
	buf_adds(b, n == 1 ? "" : "s");
}

static const struct {
	const char *name;
	void (*text)(struct buf *b, const char *s);
	void (*number)(struct buf *b, int64_t n);
} forms[] = {
	{.name = "plain", .text = html_attr}, /* between tags that have no tags within */
	{.name = "url", .text = html_url},    /* a segment of a path, a value of a query */
	{.name = "size", .number = html_bytes},
	{.name = "s", .number = put_plural},
	{.name = "seconds", .number = html_seconds},
	{.name = "instant", .number = html_instant},
	{.name = "clock", .number = html_clock},
	{.name = "when", .number = html_when},
	{.name = "day", .number = html_day},
};

static void put_in_form(struct page *p, const json_t *v, const char *form)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (strcmp(forms[i].name, form) != 0)
			continue;
		if (forms[i].text && json_is_string(v))
			forms[i].text(p->out, json_string_value(v));
		else if (forms[i].number && json_is_integer(v))
			forms[i].number(p->out, json_integer_value(v));
		else
			fail(p);
		return;
	}
	fail(p);
}

static void put_hole(struct page *p, const struct object_scope *s, char *name)
{
	char *form = strchr(name, ':');
	if (form)
		*form++ = '\0';
	const json_t *v = find(s, name);
	if (p->place == IN_TAG)
		fail(p);
	else if (form)
		put_in_form(p, v, form);
	else if (json_is_integer(v))
		buf_addf(p->out, "%lld", (long long)json_integer_value(v));
	else if (!json_is_string(v))
		fail(p);
	else if (p->place == IN_QUOTES)
		html_attr(p->out, json_string_value(v));
	else
		html_text(p->out, json_string_value(v));
}

/* ---- structure ---- */

static const char *put_block(struct page *p, const char *text, const char *end,
	const struct object_scope *s, bool shown);

static void put_other(struct page *p, const char *name, const struct object_scope *s)
{
	const struct template *t = p->all;
	while (t->name && strcmp(t->name, name) != 0)
		t++;
	if (!t->name || p->nest == NEST_MAX) {
		fail(p);
		return;
	}
	size_t n = strlen(t->text);
	const char *end = t->text + n - (n && t->text[n - 1] == '\n');
	p->nest++;
	if (put_block(p, t->text, end, s, true))
		fail(p); /* an end too many */
	p->nest--;
}

/* A block within another, which has its end. */
static const char *put_inner(
	struct page *p, const char *text, const char *end, const struct object_scope *s, bool shown)
{
	const char *after = put_block(p, text, end, s, shown);
	if (!after)
		fail(p);
	return after ? after : end;
}

static const char *put_each(struct page *p, const char *text, const char *end,
	const struct object_scope *s, const json_t *list)
{
	const char *after = text;
	size_t i;
	json_t *object;
	json_array_foreach (list, i, object) {
		const struct object_scope inner = {object, s};
		after = put_inner(p, text, end, &inner, true);
	}
	return i ? after : put_inner(p, text, end, s, false);
}

/* What stands between the braces, and what it opens. Where the text goes on. */
static const char *put_mark(struct page *p, char *mark, const char *text, const char *end,
	const struct object_scope *s, bool shown)
{
	char *name = mark + 1;
	switch (*mark) {
	case '?':
	case '!':
		return put_inner(
			p, text, end, s, shown && is_given(find(s, name)) == (*mark == '?'));
	case '#':
		return put_each(p, text, end, s, shown ? find(s, name) : NULL);
	case '>':
		if (shown)
			put_other(p, name, s);
		return text;
	default:
		if (shown)
			put_hole(p, s, mark);
		return text;
	}
}

/* Up to its {{/}}: where the text goes on behind that. NULL: it goes on to the end. */
static const char *put_block(
	struct page *p, const char *text, const char *end, const struct object_scope *s, bool shown)
{
	char mark[64];
	while (text < end) {
		const char *open = memmem(text, (size_t)(end - text), "{{", 2);
		const char *stop = open ? open : end;
		if (shown)
			put_literal(p, text, (size_t)(stop - text));
		if (!open)
			return NULL;
		const char *close = memmem(open, (size_t)(end - open), "}}", 2);
		size_t n = close ? (size_t)(close - open) - 2 : sizeof mark;
		if (n >= sizeof mark) {
			fail(p);
			return NULL;
		}
		memcpy(mark, open + 2, n);
		mark[n] = '\0';
		if (strcmp(mark, "/") == 0)
			return close + 2;
		text = put_mark(p, mark, close + 2, end, s, shown);
	}
	return NULL;
}

void template_render(
	const struct template *all, const char *name, const json_t *model, struct buf *out)
{
	struct page p = {.all = all, .out = out};
	put_other(&p, name, &(struct object_scope){model, NULL});
	buf_addc(out, '\n');
	if (p.place != BETWEEN)
		fail(&p);
}

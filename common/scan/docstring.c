#include "scan/docstring.h"

#include <stdbool.h>

struct doc_line {
	const char *s;
	size_t n, indent;
};

/* Trimmed; a blank one has no bytes. False at the end. */
static bool next_line(const char **at, const char *end, struct doc_line *out)
{
	const char *s = *at;
	if (s == end)
		return false;
	const char *stop = memchr(s, '\n', (size_t)(end - s));
	*at = stop ? stop + 1 : end;
	stop = stop ? stop : end;
	*out = (struct doc_line){.s = s};
	for (; s < stop && (*s == ' ' || *s == '\t'); s++)
		out->indent += *s == '\t' ? 8 - out->indent % 8 : 1;
	while (stop > s && (unsigned char)stop[-1] <= ' ')
		stop--;
	out->s = s;
	out->n = (size_t)(stop - s);
	return true;
}

static bool is_text(const struct doc_line *l, const char *text)
{
	return l->n == strlen(text) && memcmp(l->s, text, l->n) == 0;
}

static bool begins(const struct doc_line *l, const char *text)
{
	size_t n = strlen(text);
	return l->n >= n && memcmp(l->s, text, n) == 0;
}

static bool is_rule(const struct doc_line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->s[i] != '-' && l->s[i] != '=')
			return false;
	return l->n >= 3;
}

/* A heading of Google's style. */
static bool is_section(const struct doc_line *l)
{
	static const char *const names[] = {"Args:", "Arguments:", "Parameters:", "Params:",
		"Keyword Args:", "Keyword Arguments:", "Attributes:", "Returns:", "Return:",
		"Yields:", "Raises:", "Example:", "Examples:", "Note:", "Notes:"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is_text(l, names[i]))
			return true;
	return false;
}

/* Whether the section is of parameters: the first of the names above. */
static bool is_param_section(const struct doc_line *l)
{
	return is_section(l) && l->n > 4 &&
	       (begins(l, "Arg") || begins(l, "Param") || begins(l, "Keyword") ||
		       begins(l, "Attributes"));
}

/* ---- words into one line ------------------------------------------------------------------- */

struct words {
	char *s; /* has room for all of the docstring */
	size_t n;
};

static struct words new_words(struct arena *a, size_t room)
{
	return (struct words){arena_alloc(a, room + 2), 0};
}

static void add_words(struct words *w, const char *s, size_t n)
{
	bool gap = w->n > 0;
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] <= ' ') {
			gap = w->n > 0;
			continue;
		}
		if (gap)
			w->s[w->n++] = ' ';
		gap = false;
		w->s[w->n++] = s[i];
	}
}

static const char *finished(const struct words *w)
{
	return w->n ? w->s : NULL;
}

const char *docstring_summary(struct arena *a, const char *s, size_t n)
{
	struct doc_line l, after;
	if (!n || n > DOCSTRING_MAX)
		return NULL;
	const char *end = s + n;
	struct words w = new_words(a, n);
	while (next_line(&s, end, &l)) {
		const char *peek = s;
		if (!l.n && w.n)
			break;
		if (!l.n)
			continue;
		if (is_section(&l) || l.s[0] == ':' || is_rule(&l) ||
			(next_line(&peek, end, &after) && is_rule(&after)))
			break;
		add_words(&w, l.s, l.n);
	}
	return finished(&w);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* What follows "name", "name (TYPE)" or "*name" and a colon at the line's start; NULL: another. */
static const char *after_name(const struct doc_line *l, const char *name, size_t *left)
{
	const char *s = l->s, *end = l->s + l->n;
	size_t n = strlen(name);
	while (s < end && *s == '*')
		s++;
	if ((size_t)(end - s) <= n || memcmp(s, name, n) != 0)
		return NULL;
	for (s += n; s < end && *s == ' '; s++)
		;
	if (s < end && *s == '(') {
		int open = 0;
		do
			open += (*s == '(') - (*s == ')');
		while (++s < end && open);
	}
	if (s == end || *s != ':')
		return NULL;
	*left = (size_t)(end - s - 1);
	return s + 1;
}

/* ":param TYPE name: text" */
static const char *after_field(const struct doc_line *l, const char *name, size_t *left)
{
	static const char *const words[] = {":param ", ":parameter ", ":arg ", ":argument "};
	size_t at = 0, n = strlen(name);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (begins(l, words[i]))
			at = strlen(words[i]);
	const char *colon = at ? memchr(l->s + at, ':', l->n - at) : NULL;
	if (!colon || (size_t)(colon - l->s) < at + n || memcmp(colon - n, name, n) != 0)
		return NULL;
	char before = colon[-(ptrdiff_t)n - 1];
	if (before != ' ' && before != '*')
		return NULL;
	*left = (size_t)(l->s + l->n - colon - 1);
	return colon + 1;
}

/* NumPy's "name : type", "a, b : type" or "name". */
static bool heads(const struct doc_line *l, const char *name)
{
	size_t n = strlen(name), i = 0;
	while (i < l->n && l->s[i] != ':') {
		size_t from = i;
		while (i < l->n && l->s[i] != ':' && l->s[i] != ',' && l->s[i] != ' ')
			i++;
		if (i - from == n && memcmp(l->s + from, name, n) == 0)
			return true;
		while (i < l->n && (l->s[i] == ',' || l->s[i] == ' '))
			i++;
	}
	return false;
}

/* The text of an item that begins with rest: what is indented further belongs to it. */
static const char *item_text(struct arena *a, const char *at, const char *end, size_t indent,
	const char *rest, size_t left)
{
	struct words w = new_words(a, left + (size_t)(end - at));
	struct doc_line l;
	add_words(&w, rest, left);
	while (next_line(&at, end, &l) && l.n && l.indent > indent)
		add_words(&w, l.s, l.n);
	return finished(&w);
}

enum style { STYLE_NONE, STYLE_GOOGLE, STYLE_NUMPY };

struct doc_section {
	enum style style;
	size_t indent, item; /* item: of Google's items, 0 until there was one */
};

static void enter(struct doc_section *in, const struct doc_line *l, const char *at, const char *end)
{
	struct doc_line after;
	if (is_section(l))
		*in = (struct doc_section){
			is_param_section(l) ? STYLE_GOOGLE : STYLE_NONE, l->indent, 0};
	else if (next_line(&at, end, &after) && is_rule(&after))
		*in = (struct doc_section){
			is_text(l, "Parameters") || is_text(l, "Other Parameters") ? STYLE_NUMPY
										   : STYLE_NONE,
			l->indent, 0};
	else if (in->style == STYLE_GOOGLE && l->n && l->indent <= in->indent)
		in->style = STYLE_NONE;
}

static bool is_item(struct doc_section *in, const struct doc_line *l)
{
	if (in->style == STYLE_NONE || !l->n)
		return false;
	if (in->style == STYLE_NUMPY)
		return l->indent == in->indent;
	if (!in->item && l->indent > in->indent)
		in->item = l->indent;
	return l->indent == in->item;
}

const char *docstring_param(struct arena *a, const char *s, size_t n, const char *name)
{
	struct doc_section in = {STYLE_NONE, 0, 0};
	struct doc_line l;
	size_t left;
	if (!n || n > DOCSTRING_MAX)
		return NULL;
	const char *end = s + n, *rest;
	while (next_line(&s, end, &l)) {
		enter(&in, &l, s, end);
		if ((rest = after_field(&l, name, &left)))
			return item_text(a, s, end, l.indent, rest, left);
		if (!is_item(&in, &l))
			continue;
		if (in.style == STYLE_GOOGLE && (rest = after_name(&l, name, &left)))
			return item_text(a, s, end, l.indent, rest, left);
		if (in.style == STYLE_NUMPY && heads(&l, name))
			return item_text(a, s, end, l.indent, "", 0);
	}
	return NULL;
}

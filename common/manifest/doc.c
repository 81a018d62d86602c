#include "manifest/doc.h"

#include "base/grow.h"
#include "base/nearest.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static void doc_free(struct doc *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		doc_free(d->v[i]);
	free(d->v);
	free(d->text);
	free(d);
}

void doc_free_auto(struct doc **d)
{
	doc_free(*d);
}

int doc_no_memory(const struct doc_source *s)
{
	return err_set(s->e, ERR_FAIL, "out of memory");
}

int doc_fail(const char *what, const struct doc *at, struct err *e, const char *fmt, ...)
{
	char cause[sizeof e->msg / 2];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(cause, sizeof cause, fmt, ap);
	va_end(ap);
	return err_set(e, ERR_USAGE, "%s:%d:%d: %s", what, at->line, at->col, cause);
}

/* What is being parsed, and the way down to where we are. */
struct doc_build {
	const char *what;
	yaml_parser_t yaml;
	struct doc *open[DOC_MAX_DEPTH];
	size_t depth;
	struct doc *root;
};

static int fail_at(const struct doc_build *b, yaml_mark_t m, struct err *e, const char *cause)
{
	return err_set(e, ERR_USAGE, "%s:%zu:%zu: %s", b->what, m.line + 1, m.column + 1, cause);
}

/* libyaml gives a byte offset, and no mark, for bytes that are no characters. */
static int fail_reader(const struct doc_build *b, const char *bytes, size_t n, struct err *e)
{
	size_t off = b->yaml.problem_offset < n ? b->yaml.problem_offset : n;
	size_t line = 1, col = 1;
	for (const char *p = bytes; p < bytes + off;) {
		col++;
		if (text_next(&p, bytes + off) == '\n') {
			line++;
			col = 1;
		}
	}
	bool control = b->yaml.problem && strstr(b->yaml.problem, "control");
	return err_set(e, ERR_USAGE, "%s:%zu:%zu: %s", b->what, line, col,
		control ? "control characters are not allowed" : "not valid UTF-8");
}

static int fail_yaml(const struct doc_build *b, const char *bytes, size_t n, struct err *e)
{
	const yaml_parser_t *y = &b->yaml;
	if (y->error == YAML_MEMORY_ERROR)
		return err_set(e, ERR_FAIL, "out of memory");
	if (y->error == YAML_READER_ERROR)
		return fail_reader(b, bytes, n, e);
	fail_at(b, y->problem_mark, e, y->problem ? y->problem : "not valid YAML");
	if (y->problem && (strstr(y->problem, "cannot start any token") ||
				  strstr(y->problem, "tab character")))
		return err_hint(e, "indent with spaces, and quote text that starts with a sign");
	if (y->problem && strstr(y->problem, "mapping values are not allowed"))
		return err_hint(e, "quote text that has a colon in it");
	return -1;
}

static struct doc *node_new(enum doc_kind kind, yaml_mark_t m)
{
	struct doc *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->kind = kind;
	d->line = (int)m.line + 1;
	d->col = (int)m.column + 1;
	return d;
}

static int push(struct doc *list, struct doc *d)
{
	struct doc **v = grow(list->v, list->n, &list->room, sizeof(struct doc *));
	if (!v)
		return -1;
	list->v = v;
	list->v[list->n++] = d;
	return 0;
}

/* Hangs d where we are; it is freed if it can't be. */
static int add(struct doc_build *b, struct doc *d, yaml_mark_t m, struct err *e)
{
	struct doc *up = b->depth ? b->open[b->depth - 1] : NULL;
	int rc = 0;
	if (!d)
		return err_set(e, ERR_FAIL, "out of memory");
	if (up && up->kind == DOC_MAP && up->n % 2 == 0 && d->kind != DOC_SCALAR)
		rc = fail_at(b, m, e, "a key must be plain text");
	else if (!up)
		b->root = d;
	else if (push(up, d) < 0)
		rc = err_set(e, ERR_FAIL, "out of memory");
	if (rc < 0)
		doc_free(d);
	return rc;
}

static int open_node(struct doc_build *b, enum doc_kind kind, yaml_mark_t m, struct err *e)
{
	if (b->depth == DOC_MAX_DEPTH)
		return fail_at(b, m, e, "nested too deeply: at most 64 levels");
	struct doc *d = node_new(kind, m);
	if (add(b, d, m, e) < 0)
		return -1;
	b->open[b->depth++] = d;
	return 0;
}

static int add_scalar(struct doc_build *b, const yaml_event_t *ev, struct err *e)
{
	const char *s = (const char *)ev->data.scalar.value;
	size_t n = ev->data.scalar.length;
	if (memchr(s, '\0', n))
		return fail_at(b, ev->start_mark, e, "a NUL character is not allowed");
	struct doc *d = node_new(DOC_SCALAR, ev->start_mark);
	if (d) {
		d->text = strndup(s, n);
		d->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	}
	if (!d || !d->text) {
		doc_free(d);
		return err_set(e, ERR_FAIL, "out of memory");
	}
	return add(b, d, ev->start_mark, e);
}

struct key {
	const struct doc *d;
	size_t at;
};

static int by_text(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int c = strcmp(x->d->text, y->d->text);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* Names the first key that repeats an earlier one. Sorts, as maps may hold 100,000s of keys. */
static int check_duplicates(const struct doc_build *b, const struct doc *map, struct err *e)
{
	size_t n = map->n / 2;
	const struct key *again = NULL, *first = NULL;
	if (n < 2)
		return 0;
	struct key *keys = calloc(n, sizeof *keys);
	if (!keys)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){map->v[i * 2], i};
	qsort(keys, n, sizeof *keys, by_text);
	for (size_t i = 1; i < n; i++)
		if (strcmp(keys[i - 1].d->text, keys[i].d->text) == 0 &&
			(!again || keys[i].at < again->at)) {
			again = &keys[i];
			first = &keys[i - 1];
		}
	char shown[TEXT_SHOWN_MAX];
	if (again)
		doc_fail(b->what, again->d, e, "duplicate key '%s' (first at line %d)",
			text_shown(again->d->text, shown), first->d->line);
	free(keys);
	return again ? -1 : 0;
}

static int refuse_properties(const struct doc_build *b, const yaml_event_t *ev, const void *anchor,
	const void *tag, struct err *e)
{
	if (anchor) {
		fail_at(b, ev->start_mark, e, "anchors are not allowed");
		return err_hint(e, "quote text that starts with '&'");
	}
	if (tag) {
		fail_at(b, ev->start_mark, e, "tags are not allowed");
		return err_hint(e, "quote text that starts with '!'");
	}
	return 0;
}

static int take(struct doc_build *b, const yaml_event_t *ev, struct err *e)
{
	switch (ev->type) {
	case YAML_ALIAS_EVENT:
		fail_at(b, ev->start_mark, e, "aliases are not allowed");
		return err_hint(e, "quote text that starts with '*'");
	case YAML_SCALAR_EVENT:
		if (refuse_properties(b, ev, ev->data.scalar.anchor, ev->data.scalar.tag, e) < 0)
			return -1;
		return add_scalar(b, ev, e);
	case YAML_SEQUENCE_START_EVENT:
		if (refuse_properties(b, ev, ev->data.sequence_start.anchor,
			    ev->data.sequence_start.tag, e) < 0)
			return -1;
		return open_node(b, DOC_LIST, ev->start_mark, e);
	case YAML_MAPPING_START_EVENT:
		if (refuse_properties(b, ev, ev->data.mapping_start.anchor,
			    ev->data.mapping_start.tag, e) < 0)
			return -1;
		return open_node(b, DOC_MAP, ev->start_mark, e);
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		return 0;
	case YAML_MAPPING_END_EVENT:
		return check_duplicates(b, b->open[--b->depth], e);
	case YAML_DOCUMENT_START_EVENT:
		return b->root ? fail_at(b, ev->start_mark, e, "only one document is allowed") : 0;
	default:
		return 0;
	}
}

static int build_all(struct doc_build *b, const char *bytes, size_t n, struct err *e)
{
	for (bool more = true; more;) {
		yaml_event_t ev;
		if (!yaml_parser_parse(&b->yaml, &ev))
			return fail_yaml(b, bytes, n, e);
		more = ev.type != YAML_STREAM_END_EVENT;
		int rc = take(b, &ev, e);
		yaml_event_delete(&ev);
		if (rc < 0)
			return -1;
	}
	if (!b->root)
		return err_set(e, ERR_USAGE, "%s:1:1: the file is empty", b->what);
	return 0;
}

struct doc *doc_parse(
	const char *what, const void *bytes, size_t n, size_t max_bytes, struct err *e)
{
	struct doc_build b = {.what = what};
	const char *p = bytes;
	if (n > max_bytes) {
		err_set(e, ERR_USAGE, "%s:1:1: too long: %zu bytes, at most %zu", what, n,
			max_bytes);
		return NULL;
	}
	/* A byte order mark is no column. UTF-16 is refused: one spelling for every reader. */
	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	if (!yaml_parser_initialize(&b.yaml)) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	yaml_parser_set_encoding(&b.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.yaml, (const unsigned char *)(p ? p : ""), n);
	int rc = build_all(&b, p, n, e);
	yaml_parser_delete(&b.yaml);
	if (rc < 0) {
		doc_free(b.root);
		return NULL;
	}
	return b.root;
}

const struct doc *doc_get(const struct doc *map, const char *name, const struct doc **key)
{
	for (size_t i = 0; map->kind == DOC_MAP && i + 1 < map->n; i += 2) {
		if (strcmp(map->v[i]->text, name) != 0)
			continue;
		if (key)
			*key = map->v[i];
		return map->v[i + 1];
	}
	return NULL;
}

enum scalar_type { S_NULL, S_BOOL, S_INT, S_FLOAT, S_STRING };

static bool word_in(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(s, *words) == 0)
			return true;
	return false;
}

static bool all_of(const char *s, const char *set)
{
	return *s && s[strspn(s, set)] == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?  */
static bool looks_float(const char *s)
{
	const char *digits = "0123456789";
	s += *s == '-' || *s == '+';
	size_t whole = strspn(s, digits), part = 0;
	s += whole;
	if (*s == '.') {
		part = strspn(++s, digits);
		s += part;
	}
	if (!whole && !part)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '-' || *s == '+';
		return all_of(s, digits);
	}
	return *s == '\0';
}

/* YAML 1.2.2, 10.3.2: the core schema's tag resolution. */
static enum scalar_type scalar_type(const struct doc *d)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {
		"true", "True", "TRUE", "false", "False", "FALSE", NULL};
	static const char *const floats[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
		"-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL};
	const char *s = d->text;
	if (!d->plain)
		return S_STRING;
	if (word_in(s, nulls))
		return S_NULL;
	if (word_in(s, bools))
		return S_BOOL;
	if (all_of(s + (*s == '-' || *s == '+'), "0123456789"))
		return S_INT;
	if (strncmp(s, "0o", 2) == 0 && all_of(s + 2, "01234567"))
		return S_INT;
	if (strncmp(s, "0x", 2) == 0 && all_of(s + 2, "0123456789abcdefABCDEF"))
		return S_INT;
	return looks_float(s) || word_in(s, floats) ? S_FLOAT : S_STRING;
}

const char *doc_kind_word(const struct doc *d)
{
	if (d->kind != DOC_SCALAR)
		return d->kind == DOC_MAP ? "a mapping" : "a list";
	switch (scalar_type(d)) {
	case S_NULL:
		return "nothing";
	case S_BOOL:
		return "true or false";
	case S_INT:
	case S_FLOAT:
		return "a number";
	default:
		return "text";
	}
}

int doc_check_fields(const char *what, const struct doc *d, const char *owner,
	const char *const *fields, struct err *e)
{
	char shown[TEXT_SHOWN_MAX];
	if (d->kind != DOC_MAP)
		return doc_fail(
			what, d, e, "%s must be a mapping, got %s", owner, doc_kind_word(d));
	for (size_t i = 0; i < d->n; i += 2) {
		const struct doc *key = d->v[i];
		if (word_in(key->text, fields))
			continue;
		doc_fail(what, key, e, "unknown field '%s' in %s", text_shown(key->text, shown),
			owner);
		const char *near = strlen(key->text) < 64 ? nearest_word(key->text, fields) : NULL;
		if (near)
			return err_hint(e, "did you mean '%s'?", near);
		BUF_AUTO all = {0};
		for (size_t f = 0; fields[f]; f++) {
			buf_adds(&all, f ? ", " : "");
			buf_adds(&all, fields[f]);
		}
		return err_hint(e, "the fields of %s are: %s", owner, buf_str(&all));
	}
	return 0;
}

/* jansson's reader minds no locale, strtod() does; so it is given JSON's own spelling. */
static json_t *real_json(const char *what, const struct doc *d, struct err *e)
{
	json_error_t je;
	const char *s = d->text;
	double v;
	BUF_AUTO b = {0};
	if (*s == '-')
		buf_addc(&b, '-');
	s += *s == '-' || *s == '+';
	while (s[0] == '0' && s[1] >= '0' && s[1] <= '9')
		s++;
	if (*s == '.')
		buf_addc(&b, '0');
	size_t whole = strspn(s, "0123456789");
	buf_add(&b, s, whole);
	s += whole;
	if (*s == '.') {
		size_t part = strspn(s + 1, "0123456789");
		buf_add(&b, s, part + 1);
		if (!part)
			buf_addc(&b, '0');
		s += part + 1;
	} else if (*s == '\0') {
		buf_adds(&b, ".0");
	}
	buf_adds(&b, s);
	json_t *j = json_loadb(buf_str(&b), b.len, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &je);
	v = json_real_value(j);
	if (!j || !isfinite(v)) {
		json_decref(j);
		doc_fail(what, d, e, "a number that JSON cannot hold");
		return NULL;
	}
	return j;
}

static json_t *int_json(const char *what, const struct doc *d, struct err *e)
{
	const char *s = d->text;
	int base = s[0] == '0' && s[1] == 'o' ? 8 : s[0] == '0' && s[1] == 'x' ? 16 : 10;
	errno = 0;
	long long v = strtoll(base == 10 ? s : s + 2, NULL, base);
	if (errno == 0)
		return json_integer(v);
	if (base == 10)
		return real_json(what, d, e);
	doc_fail(what, d, e, "a number that JSON cannot hold");
	return NULL;
}

static json_t *scalar_json(const char *what, const struct doc *d, struct err *e)
{
	switch (scalar_type(d)) {
	case S_NULL:
		return json_null();
	case S_BOOL:
		return json_boolean(d->text[0] == 't' || d->text[0] == 'T');
	case S_INT:
		return int_json(what, d, e);
	case S_FLOAT:
		return real_json(what, d, e);
	default:
		return json_string(d->text);
	}
}

json_t *doc_to_json(const char *what, const struct doc *d, struct err *e)
{
	json_t *j = d->kind == DOC_SCALAR ? scalar_json(what, d, e)
		    : d->kind == DOC_LIST ? json_array()
					  : json_object();
	size_t step = d->kind == DOC_MAP ? 2 : 1;
	for (size_t i = 0; j && i < d->n; i += step) {
		json_t *v = doc_to_json(what, d->v[i + step - 1], e);
		int rc = !v		       ? -1
			 : d->kind == DOC_LIST ? json_array_append_new(j, v)
					       : json_object_set_new(j, d->v[i]->text, v);
		if (rc < 0) {
			json_decref(j);
			j = NULL;
		}
	}
	if (!j)
		err_set(e, ERR_FAIL, "out of memory");
	return j;
}

int doc_text(const char *what, const struct doc *d, const char *field, size_t max, bool multiline,
	char **out, struct err *e)
{
	if (d->kind != DOC_SCALAR || scalar_type(d) != S_STRING) {
		doc_fail(what, d, e, "%s must be text, got %s", field, doc_kind_word(d));
		if (d->kind == DOC_SCALAR && d->text[0])
			err_hint(e, "put it in quotes");
		return -1;
	}
	size_t n = strlen(d->text);
	if (n > max)
		return doc_fail(
			what, d, e, "%s is too long: %zu bytes, at most %zu", field, n, max);
	if (!text_is_clean(d->text, n, multiline))
		return doc_fail(what, d, e, "%s holds control characters", field);
	*out = strdup(d->text);
	return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

bool doc_is_null(const struct doc *d)
{
	return d->kind == DOC_SCALAR && scalar_type(d) == S_NULL;
}

int doc_bool(const char *what, const struct doc *d, const char *field, bool *out, struct err *e)
{
	if (d->kind != DOC_SCALAR || scalar_type(d) != S_BOOL)
		return doc_fail(what, d, e, "%s must be true or false", field);
	*out = d->text[0] == 't' || d->text[0] == 'T';
	return 0;
}

int doc_words(const char *what, const struct doc *d, const char *field, size_t max, bool spaces,
	struct strv *out, struct err *e)
{
	char shown[TEXT_SHOWN_MAX];
	if (d->kind != DOC_LIST) {
		doc_fail(what, d, e, "%s must be a list, got %s", field, doc_kind_word(d));
		return d->kind == DOC_SCALAR && d->text[0]
			       ? err_hint(e, "write %s: [%s]", field, text_shown(d->text, shown))
			       : -1;
	}
	if (d->n > 1000)
		return doc_fail(what, d, e, "%s is too long: at most 1000", field);
	for (size_t i = 0; i < d->n; i++) {
		char *word = NULL;
		if (doc_text(what, d->v[i], field, max, false, &word, e) < 0)
			return -1;
		int rc = 0;
		if (!*word)
			rc = doc_fail(what, d->v[i], e, "%s holds an empty text", field);
		else if (!spaces && strchr(word, ' '))
			rc = doc_fail(what, d->v[i], e, "%s must be words without spaces", field);
		else if (strv_has(out, word))
			rc = doc_fail(what, d->v[i], e, "%s names '%s' twice", field,
				text_shown(word, shown));
		else
			strv_add(out, word);
		free(word);
		if (rc < 0)
			return -1;
	}
	return out->failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

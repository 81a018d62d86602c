#include "manifest/schema.h"

#include "base/nearest.h"
#include "manifest/pattern.h"
#include "manifest/place.h"
#include "manifest/schema_ref.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MAX_DEPTH 64
#define CHECK_MAX_SCHEMAS 20000
#define CHECK_MAX_REF 512

/* What has been walked over, and what refs point at that may not have been. */
struct schema_check {
	const json_t *root;
	const json_t **seen; /* open addressing by address; room is a power of two */
	size_t nseen, room;
	struct pending {
		const json_t *schema;
		const char *ref; /* NULL: the root */
	} * todo;
	size_t ntodo, todo_room;
	struct strv *where; /* or NULL */
	struct err *e;
};

struct schema_spot {
	struct schema_check *c;
	const struct value_place *at;
	int depth;
};

static int fail(const struct schema_spot *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int fail(const struct schema_spot *h, const char *fmt, ...)
{
	char cause[512];
	BUF_AUTO path = {0};
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(cause, sizeof cause, fmt, ap);
	va_end(ap);
	place_show("", h->at, &path);
	if (h->c->where)
		place_steps(h->at, h->c->where);
	return err_set(h->c->e, ERR_USAGE, "%s%s%s", buf_str(&path), path.len ? ": " : "", cause);
}

static int no_memory(const struct schema_spot *h)
{
	return err_set(h->c->e, ERR_FAIL, "out of memory");
}

static size_t slot(const struct schema_check *c, const json_t *j)
{
	size_t i = ((uintptr_t)j >> 4) * 0x9e3779b97f4a7c15u >> 20;
	for (i &= c->room - 1; c->seen[i] && c->seen[i] != j; i = (i + 1) & (c->room - 1))
		;
	return i;
}

/* 1 the first time, 0 after that, -1 without memory. */
static int first_time(struct schema_check *c, const json_t *j)
{
	if (c->nseen * 2 >= c->room) {
		struct schema_check old = *c;
		c->room = old.room ? old.room * 2 : 64;
		c->seen = calloc(c->room, sizeof *c->seen);
		if (!c->seen) {
			*c = old;
			return -1;
		}
		for (size_t i = 0; i < old.room; i++)
			if (old.seen[i])
				c->seen[slot(c, old.seen[i])] = old.seen[i];
		free(old.seen);
	}
	size_t i = slot(c, j);
	if (c->seen[i])
		return 0;
	c->seen[i] = j;
	c->nseen++;
	return 1;
}

static int check_one(const struct schema_spot *h, const json_t *schema);

static int below(const struct schema_spot *h, const char *key, size_t index, const json_t *schema)
{
	struct value_place at = {h->at, key, index};
	return check_one(&(struct schema_spot){h->c, &at, h->depth + 1}, schema);
}

static int form_schema(const struct schema_spot *h, const json_t *v)
{
	if (json_is_array(v) && h->at->key && strcmp(h->at->key, "items") == 0) {
		fail(h, "must be one schema");
		return err_hint(h->c->e, "a list of schemas is 'prefixItems' since 2020-12");
	}
	return check_one(&(struct schema_spot){h->c, h->at, h->depth + 1}, v);
}

static int form_schemas(const struct schema_spot *h, const json_t *v)
{
	if (!json_is_array(v) || json_array_size(v) == 0)
		return fail(h, "must be a list of one or more schemas");
	for (size_t i = 0; i < json_array_size(v); i++)
		if (below(h, NULL, i, json_array_get(v, i)) < 0)
			return -1;
	return 0;
}

static int form_schema_map(const struct schema_spot *h, const json_t *v)
{
	const char *key;
	json_t *s;
	if (!json_is_object(v))
		return fail(h, "must be an object of schemas");
	json_object_foreach ((json_t *)v, key, s)
		if (below(h, key, 0, s) < 0)
			return -1;
	return 0;
}

static int check_pattern(const struct schema_spot *h, const char *s, size_t n)
{
	char why[200];
	struct compiled_pattern *p = pattern_new(s, n, why, sizeof why);
	if (!p)
		return fail(h, "not a pattern: %s", why);
	pattern_free(p);
	return 0;
}

static int form_pattern_map(const struct schema_spot *h, const json_t *v)
{
	const char *key;
	json_t *s;
	if (!json_is_object(v))
		return fail(h, "must be an object of schemas");
	json_object_foreach ((json_t *)v, key, s) {
		struct value_place at = {h->at, key, 0};
		if (check_pattern(&(struct schema_spot){h->c, &at, h->depth}, key, strlen(key)) <
				0 ||
			below(h, key, 0, s) < 0)
			return -1;
	}
	return 0;
}

static int form_pattern(const struct schema_spot *h, const json_t *v)
{
	if (!json_is_string(v))
		return fail(h, "must be text: a regular expression");
	return check_pattern(h, json_string_value(v), json_string_length(v));
}

/* The words for types in other languages, which people reach for first. */
static const char *usual_type(const char *word)
{
	static const struct {
		const char *from, *to;
	} usual[] = {{"str", "string"}, {"text", "string"}, {"date", "string"}, {"int", "integer"},
		{"long", "integer"}, {"float", "number"}, {"double", "number"}, {"bool", "boolean"},
		{"list", "array"}, {"tuple", "array"}, {"dict", "object"}, {"map", "object"},
		{"None", "null"}, {"none", "null"}};
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (strcmp(word, usual[i].from) == 0)
			return usual[i].to;
	return NULL;
}

static int type_word(const struct schema_spot *h, const json_t *v)
{
	static const char *const types[] = {
		"string", "integer", "number", "boolean", "object", "array", "null", NULL};
	char shown[TEXT_SHOWN_MAX];
	const char *word = json_string_value(v);
	if (!word) {
		fail(h, "a type must be text");
		return json_is_null(v) ? err_hint(h->c->e, "put \"null\" in quotes") : -1;
	}
	for (size_t i = 0; types[i]; i++)
		if (strcmp(word, types[i]) == 0)
			return 0;
	fail(h, "'%s' is not a type", text_shown(word, shown));
	const char *near = usual_type(word);
	if (!near && strlen(word) < 32)
		near = nearest_word(word, types);
	if (near)
		return err_hint(h->c->e, "did you mean '%s'?", near);
	return err_hint(h->c->e,
		"the types are string, integer, number, boolean, object, array and \"null\"");
}

static int form_type(const struct schema_spot *h, const json_t *v)
{
	if (!json_is_array(v))
		return type_word(h, v);
	if (json_array_size(v) == 0 || json_array_size(v) > 7)
		return fail(h, "must be a type or a list of different types");
	for (size_t i = 0; i < json_array_size(v); i++) {
		struct value_place at = {h->at, NULL, i};
		struct schema_spot in = {h->c, &at, h->depth};
		if (type_word(&in, json_array_get(v, i)) < 0)
			return -1;
		for (size_t k = 0; k < i; k++)
			if (json_equal(json_array_get(v, k), json_array_get(v, i)))
				return fail(&in, "a type is named twice");
	}
	return 0;
}

static int form_values(const struct schema_spot *h, const json_t *v)
{
	if (!json_is_array(v) || json_array_size(v) == 0)
		return fail(h, "must be a list of one or more values");
	return 0;
}

static int form_any(const struct schema_spot *h, const json_t *v)
{
	(void)h;
	(void)v;
	return 0;
}

static int form_bool(const struct schema_spot *h, const json_t *v)
{
	return json_is_boolean(v) ? 0 : fail(h, "must be true or false");
}

static int form_text(const struct schema_spot *h, const json_t *v)
{
	return json_is_string(v) ? 0 : fail(h, "must be text");
}

static int form_number(const struct schema_spot *h, const json_t *v)
{
	if (json_is_number(v))
		return 0;
	fail(h, "must be a number");
	if (json_is_boolean(v) && strncmp(h->at->key, "exclusive", 9) == 0)
		return err_hint(h->c->e, "write the bound itself: %s: 10", h->at->key);
	return -1;
}

static int form_positive(const struct schema_spot *h, const json_t *v)
{
	if (form_number(h, v) < 0)
		return -1;
	return json_number_value(v) > 0 ? 0 : fail(h, "must be more than 0");
}

static int form_count(const struct schema_spot *h, const json_t *v)
{
	double d = json_number_value(v);
	if (!json_is_number(v) || d < 0 || d != floor(d))
		return fail(h, "must be a whole number, 0 or more");
	return 0;
}

static int form_names(const struct schema_spot *h, const json_t *v)
{
	if (!json_is_array(v)) {
		fail(h, "must be a list of names");
		if (json_is_boolean(v) && strcmp(h->at->key, "required") == 0)
			err_hint(h->c->e, "list the names in 'required' of the object itself");
		return -1;
	}
	for (size_t i = 0; i < json_array_size(v); i++) {
		struct value_place at = {h->at, NULL, i};
		if (!json_is_string(json_array_get(v, i)))
			return fail(
				&(struct schema_spot){h->c, &at, h->depth}, "a name must be text");
	}
	return 0;
}

static int form_names_map(const struct schema_spot *h, const json_t *v)
{
	const char *key;
	json_t *names;
	if (!json_is_object(v))
		return fail(h, "must be an object of lists of names");
	json_object_foreach ((json_t *)v, key, names) {
		struct value_place at = {h->at, key, 0};
		if (form_names(&(struct schema_spot){h->c, &at, h->depth}, names) < 0)
			return -1;
	}
	return 0;
}

/* Refs may point where no walk goes ("#/x-mine/a"), so the target waits its turn in todo. */
static int later(const struct schema_spot *h, const json_t *schema, const char *ref)
{
	struct schema_check *c = h->c;
	if (c->ntodo == c->todo_room) {
		size_t room = c->todo_room ? c->todo_room * 2 : 16;
		struct pending *p = realloc(c->todo, room * sizeof *p);
		if (!p)
			return no_memory(h);
		c->todo = p;
		c->todo_room = room;
	}
	c->todo[c->ntodo++] = (struct pending){schema, ref};
	return 0;
}

static int form_ref(const struct schema_spot *h, const json_t *v)
{
	char shown[TEXT_SHOWN_MAX];
	const char *ref = json_string_value(v);
	if (!ref)
		return fail(h, "must be text");
	if (json_string_length(v) > CHECK_MAX_REF || (ref[0] != '#' || (ref[1] && ref[1] != '/'))) {
		fail(h, "'%s' is not local", text_shown(ref, shown));
		return err_hint(h->c->e, "refer to a part of this schema: \"#/$defs/NAME\"");
	}
	const json_t *target = schema_ref(h->c->root, ref);
	if (!target)
		return fail(h, "there is no '%s' in this schema", text_shown(ref, shown));
	if (!json_is_object(target) && !json_is_boolean(target))
		return fail(h, "'%s' is not a schema", text_shown(ref, shown));
	return json_is_object(target) ? later(h, target, ref) : 0;
}

static int form_id(const struct schema_spot *h, const json_t *v)
{
	if (h->at->up && h->at->up->up)
		return fail(h, "'$id' is supported at the top only");
	return form_text(h, v);
}

static int form_refused(const struct schema_spot *h, const json_t *v)
{
	(void)v;
	fail(h, "'%s' is not supported", h->at->key);
	if (strncmp(h->at->key, "unevaluated", 11) == 0)
		return err_hint(h->c->e, "use additionalProperties or items beside the properties");
	if (strcmp(h->at->key, "dependencies") == 0)
		return err_hint(
			h->c->e, "it is 'dependentRequired' and 'dependentSchemas' since 2019-09");
	return err_hint(h->c->e, "use $ref");
}

struct keyword_form {
	const char *keyword;
	int (*check)(const struct schema_spot *, const json_t *);
};

/* Sorted by keyword. What is not here says nothing. */
static const struct keyword_form forms[] = {
	{"$comment", form_text},
	{"$defs", form_schema_map},
	{"$dynamicRef", form_refused},
	{"$id", form_id},
	{"$recursiveRef", form_refused},
	{"$ref", form_ref},
	{"additionalProperties", form_schema},
	{"allOf", form_schemas},
	{"anyOf", form_schemas},
	{"const", form_any},
	{"contains", form_schema},
	{"definitions", form_schema_map},
	{"dependencies", form_refused},
	{"dependentRequired", form_names_map},
	{"dependentSchemas", form_schema_map},
	{"description", form_text},
	{"else", form_schema},
	{"enum", form_values},
	{"exclusiveMaximum", form_number},
	{"exclusiveMinimum", form_number},
	{"format", form_text},
	{"if", form_schema},
	{"items", form_schema},
	{"maxContains", form_count},
	{"maxItems", form_count},
	{"maxLength", form_count},
	{"maxProperties", form_count},
	{"maximum", form_number},
	{"minContains", form_count},
	{"minItems", form_count},
	{"minLength", form_count},
	{"minProperties", form_count},
	{"minimum", form_number},
	{"multipleOf", form_positive},
	{"not", form_schema},
	{"oneOf", form_schemas},
	{"pattern", form_pattern},
	{"patternProperties", form_pattern_map},
	{"prefixItems", form_schemas},
	{"properties", form_schema_map},
	{"propertyNames", form_schema},
	{"required", form_names},
	{"then", form_schema},
	{"title", form_text},
	{"type", form_type},
	{"unevaluatedItems", form_refused},
	{"unevaluatedProperties", form_refused},
	{"uniqueItems", form_bool},
};

static int by_keyword(const void *key, const void *form)
{
	return strcmp(key, ((const struct keyword_form *)form)->keyword);
}

static int check_members(const struct schema_spot *h, const json_t *schema)
{
	const char *key;
	json_t *v;
	json_object_foreach ((json_t *)schema, key, v) {
		const struct keyword_form *f = bsearch(
			key, forms, sizeof forms / sizeof *forms, sizeof *forms, by_keyword);
		struct value_place at = {h->at, key, 0};
		if (f && f->check(&(struct schema_spot){h->c, &at, h->depth}, v) < 0)
			return -1;
	}
	return 0;
}

static int check_one(const struct schema_spot *h, const json_t *schema)
{
	if (json_is_boolean(schema))
		return 0;
	if (!json_is_object(schema)) {
		fail(h, "a schema must be an object, or true or false");
		char shown[TEXT_SHOWN_MAX];
		if (json_is_string(schema))
			err_hint(h->c->e, "write {type: %s}",
				text_shown(json_string_value(schema), shown));
		return -1;
	}
	if (h->depth > CHECK_MAX_DEPTH)
		return fail(h, "nested too deeply");
	int first = first_time(h->c, schema);
	if (first <= 0)
		return first < 0 ? no_memory(h) : 0;
	if (h->c->nseen > CHECK_MAX_SCHEMAS)
		return fail(h, "too many schemas");
	return check_members(h, schema);
}

/* The way to a ref's target, for messages: the ref itself, as one step. */
static int check_pending(struct schema_check *c, struct pending p)
{
	struct value_place top = {0}, at = {&top, p.ref, 0};
	return check_one(&(struct schema_spot){c, p.ref ? &at : &top, 0}, p.schema);
}

int schema_check_schema_at(const json_t *schema, struct strv *where, struct err *e)
{
	struct schema_check c = {.root = schema, .where = where, .e = e};
	int rc = check_pending(&c, (struct pending){schema, NULL});
	while (rc == 0 && c.ntodo)
		rc = check_pending(&c, c.todo[--c.ntodo]);
	free(c.seen);
	free(c.todo);
	return rc;
}

int schema_check_schema(const json_t *schema, struct err *e)
{
	return schema_check_schema_at(schema, NULL, e);
}

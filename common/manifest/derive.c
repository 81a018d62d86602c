#include "manifest/derive.h"

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "manifest/ignore.h"
#include "manifest/schema.h"
#include "scan/signature.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DOC_MAX 1000
#define DESCRIPTION_MAX 4000

/* ---- types as schemas ---------------------------------------------------------------------- */

static json_t *schema_of(const struct scan_type *t);

static json_t *typed(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

static json_t *constant(const char *text)
{
	return json_loads(text, JSON_DECODE_ANY, NULL);
}

/* One type as a word, several as a list. */
static void set_types(json_t *schema, const json_t *types)
{
	if (json_array_size(types) == 1)
		json_object_set(schema, "type", json_array_get(types, 0));
	else if (json_array_size(types))
		json_object_set_new(schema, "type", json_copy((json_t *)types));
}

static void add_word(json_t *words, const char *word)
{
	if (!json_array_has(words, word))
		json_array_append_new(words, json_string(word));
}

static json_t *enum_of(const struct scan_type *t)
{
	JSON_AUTO types = json_array();
	json_t *values = json_array(), *schema = json_object();
	for (size_t i = 0; i < t->n; i++) {
		json_t *v = constant(t->consts[i]);
		if (v && !json_is_object(v) && !json_is_array(v))
			add_word(types, json_type_name(v));
		json_array_append_new(values, v);
	}
	set_types(schema, types);
	json_object_set_new(schema, "enum", values);
	return schema;
}

/* The same, or null. Takes schema over. */
static json_t *nullable(json_t *schema)
{
	json_t *type = json_object_get(schema, "type"), *any = json_object_get(schema, "anyOf");
	json_t *values = json_object_get(schema, "enum");
	if (type) {
		JSON_AUTO types =
			json_is_array(type) ? json_deep_copy(type) : json_pack("[O]", type);
		add_word(types, "null");
		set_types(schema, types);
	}
	if (any)
		json_array_append_new(any, typed("null"));
	if (values && (!json_array_size(values) ||
			      !json_is_null(json_array_get(values, json_array_size(values) - 1))))
		json_array_append_new(values, json_null());
	return schema;
}

static json_t *union_of(const struct scan_type *t)
{
	JSON_AUTO types = json_array();
	json_t *others = json_array();
	for (size_t i = 0; i < t->n; i++) {
		JSON_AUTO one = schema_of(t->of[i]);
		const char *type = json_string_value(json_object_get(one, "type"));
		if (type && json_object_size(one) == 1)
			add_word(types, type);
		else
			json_array_append(others, one);
	}
	size_t n = json_array_size(others), k = json_array_size(types);
	json_t *schema = n ? NULL : json_object();
	if (!n) {
		set_types(schema, types);
	} else if (n == 1 && k <= json_array_has(types, "null")) {
		schema = json_copy(json_array_get(others, 0));
		schema = k ? nullable(schema) : schema;
	} else {
		for (size_t i = 0; i < k; i++)
			json_array_append_new(
				others, typed(json_string_value(json_array_get(types, i))));
		schema = json_pack("{s:O}", "anyOf", others);
	}
	json_decref(others);
	return schema;
}

static void set_text(json_t *schema, const char *key, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	if (n && n <= DOC_MAX && text_is_clean(text, n, false))
		json_object_set_new(schema, key, json_string(text));
}

/* A parameter or field: its type, what the docstring says of it, its default. */
static json_t *member_of(const struct scan_param *p)
{
	json_t *schema = schema_of(p->type), *value = p->fallback ? constant(p->fallback) : NULL;
	if (json_is_null(value))
		schema = nullable(schema);
	set_text(schema, "description", p->doc);
	if (value)
		json_object_set_new(schema, "default", value);
	return schema;
}

/* Members that are given by name, as properties, and those that must be, as required. */
static json_t *members_of(const struct scan_param *v, size_t n, bool required)
{
	json_t *properties = json_object(), *names = json_array();
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != SCAN_PARAM_PLAIN)
			continue;
		json_object_set_new(properties, v[i].name, member_of(&v[i]));
		if (v[i].required && required)
			json_array_append_new(names, json_string(v[i].name));
	}
	json_t *schema = json_pack("{s:s,s:o}", "type", "object", "properties", properties);
	if (json_array_size(names))
		json_object_set(schema, "required", names);
	json_decref(names);
	return schema;
}

static json_t *object_of(const struct scan_type *t)
{
	json_t *schema = members_of(t->fields, t->n, true);
	set_text(schema, "description", t->doc);
	if (t->made == SCAN_MADE_DATACLASS)
		json_object_set_new(schema, "additionalProperties", json_false());
	return schema;
}

static json_t *holder_of(const struct scan_type *t, const char *type, const char *key)
{
	json_t *schema = typed(type);
	if (t->of[0]->kind != SCAN_TYPE_ANY)
		json_object_set_new(schema, key, schema_of(t->of[0]));
	return schema;
}

static json_t *schema_of(const struct scan_type *t)
{
	switch (t->kind) {
	case SCAN_TYPE_NULL:
		return typed("null");
	case SCAN_TYPE_BOOL:
		return typed("boolean");
	case SCAN_TYPE_INT:
		return typed("integer");
	case SCAN_TYPE_FLOAT:
		return typed("number");
	case SCAN_TYPE_STR:
		return typed("string");
	case SCAN_TYPE_LIST:
		return holder_of(t, "array", "items");
	case SCAN_TYPE_DICT:
		return holder_of(t, "object", "additionalProperties");
	case SCAN_TYPE_CONSTS:
		return enum_of(t);
	case SCAN_TYPE_UNION:
		return union_of(t);
	case SCAN_TYPE_OBJECT:
		return object_of(t);
	default:
		return json_object();
	}
}

/* ---- a function and its schema ------------------------------------------------------------- */

static bool takes_any(const struct scan_function *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->params[i].kind == SCAN_PARAM_KEYWORDS)
			return true;
	return false;
}

static bool takes(const struct scan_function *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->params[i].kind == SCAN_PARAM_PLAIN && strcmp(f->params[i].name, name) == 0)
			return true;
	return takes_any(f);
}

static json_t *derived(const struct scan_function *f)
{
	struct err bad = {0};
	json_t *schema = members_of(f->params, f->n, !f->wrapped);
	if (!f->wrapped && !takes_any(f))
		json_object_set_new(schema, "additionalProperties", json_false());
	if (schema_check_schema(schema, &bad) == 0)
		return schema;
	json_decref(schema);
	return NULL;
}

/* Whether more of a schema than its `properties` and `required` may speak of members. */
static bool says_more(const json_t *schema)
{
	static const char *const more[] = {
		"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"};
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		if (json_object_get(schema, more[i]))
			return true;
	return false;
}

/* Whether it lets in members that nothing in it names. */
static bool lets_in(const json_t *schema)
{
	const json_t *rest = json_object_get(schema, "additionalProperties");
	return rest && !json_is_false(rest);
}

static json_t *part(json_t *schema, const char *key, json_t *empty)
{
	json_t *have = json_object_get(schema, key);
	if (!have)
		json_object_set(schema, key, empty);
	json_decref(empty);
	return json_object_get(schema, key);
}

/* What the function needs is required; what it has no parameter for is let in no more. */
static void hold_against(json_t *schema, const struct scan_function *f)
{
	const json_t *rest = json_object_get(schema, "additionalProperties");
	bool closes = !takes_any(f) && !lets_in(schema);
	const char *name;
	void *next;
	json_t *member;
	for (size_t i = 0; i < f->n; i++) {
		const struct scan_param *p = &f->params[i];
		if (p->kind != SCAN_PARAM_PLAIN)
			continue;
		if (p->required)
			add_word(part(schema, "required", json_array()), p->name);
		if (closes && !rest &&
			!json_object_get(json_object_get(schema, "properties"), p->name))
			json_object_set_new(
				part(schema, "properties", json_object()), p->name, json_object());
	}
	if (!closes)
		return;
	json_object_foreach_safe (json_object_get(schema, "properties"), next, name, member) {
		if (!takes(f, name))
			json_object_del(json_object_get(schema, "properties"), name);
	}
	json_object_set_new(schema, "additionalProperties", json_false());
}

/* ---- faults -------------------------------------------------------------------------------- */

struct faults {
	const struct manifest_tool *t;
	const struct scan_function *f;
	json_t *list;
};

/* Takes message and hint over; line 0: at the tool in expert.yaml. */
static void add_fault(struct faults *x, bool in_code, json_t *message, json_t *hint)
{
	json_array_append_new(x->list,
		json_pack("{s:s,s:i,s:o,s:o}", "file", in_code ? x->f->file : MANIFEST_FILE, "line",
			in_code ? x->f->line : x->t->line, "message", message, "hint", hint));
}

static void add_gone(struct faults *x, struct scan *s)
{
	size_t n;
	const char *const *v = scan_function_names(s, x->t->entry_file, &n);
	STRV_AUTO names = {0};
	for (size_t i = 0; i < n; i++)
		strv_add(&names, v[i]);
	const char *near =
		names.n ? nearest_word(x->t->entry_func, (const char *const *)names.v) : NULL;
	add_fault(x, false,
		json_sprintf("%s has no function '%s'", x->t->entry_file, x->t->entry_func),
		near ? json_sprintf("did you mean '%s'?", near)
		     : json_string("mend 'entry:', or write the function"));
}

/* A parameter without default. */
static void check_given(struct faults *x, const char *name)
{
	const json_t *in = x->t->input;
	bool named = json_object_get(json_object_get(in, "properties"), name) != NULL;
	if (json_array_has(json_object_get(in, "required"), name) || (!named && lets_in(in)))
		return;
	add_fault(x, true,
		json_sprintf("%s() needs '%s', which 'input:' does not %s", x->t->entry_func, name,
			named ? "require" : "give"),
		json_sprintf("add %s to %s of 'input:', or give the parameter a default", name,
			named ? "'required'" : "'properties' and 'required'"));
}

static void check_params(struct faults *x)
{
	const json_t *in = x->t->input;
	for (size_t i = 0; i < x->f->n; i++) {
		const struct scan_param *p = &x->f->params[i];
		const char *name = p->name;
		if (p->kind == SCAN_PARAM_POSITIONAL && p->required)
			add_fault(x, true,
				json_sprintf("%s() takes '%s' by position only, and inputs come by "
					     "name",
					x->t->entry_func, name),
				json_string("take the '/' out of its parameters"));
		if (p->kind == SCAN_PARAM_PLAIN && p->required && in && !says_more(in))
			check_given(x, name);
	}
}

static void check_required(struct faults *x)
{
	size_t i;
	json_t *r;
	STRV_AUTO names = {0};
	for (i = 0; i < x->f->n; i++)
		if (x->f->params[i].kind == SCAN_PARAM_PLAIN)
			strv_add(&names, x->f->params[i].name);
	json_array_foreach (json_object_get(x->t->input, "required"), i, r) {
		const char *name = json_string_value(r);
		if (!name || takes(x->f, name))
			continue;
		const char *near =
			names.n ? nearest_word(name, (const char *const *)names.v) : NULL;
		add_fault(x, false,
			json_sprintf("'input:' requires '%s', and %s() has no parameter of that "
				     "name",
				name, x->t->entry_func),
			near ? json_sprintf("did you mean '%s'?", near)
			     : json_string("give it one, or take it out of 'required'"));
	}
}

static void check_function(struct faults *x)
{
	if (x->f->wrapped)
		return;
	if (x->f->yields)
		add_fault(x, true,
			json_sprintf("%s() yields, and a generator is no result", x->t->entry_func),
			json_string("return a list of what it yields"));
	check_params(x);
	check_required(x);
}

/* ---- tools --------------------------------------------------------------------------------- */

static int take_description(struct manifest_tool *t, const char *doc)
{
	size_t n = doc ? strlen(doc) : 0;
	if (*t->description || !n || n > DESCRIPTION_MAX || !text_is_clean(doc, n, false))
		return 0;
	char *copy = strdup(doc);
	if (!copy)
		return -1;
	free(t->description);
	t->description = copy;
	return 0;
}

static int derive_tool(
	struct manifest_tool *t, struct scan *s, const struct scan_source *from, struct err *e)
{
	struct err unread = {0};
	struct scan_function f;
	struct faults x = {t, &f, json_array()};
	enum scan_entry found;
	json_decref(t->faults);
	t->faults = x.list;
	if (!x.list)
		return err_set(e, ERR_FAIL, "out of memory");
	if (scan_entry_function(s, from, t->entry_file, t->entry_func, &found, &f, &unread) < 0)
		return 0;
	if (found == SCAN_ENTRY_GONE)
		add_gone(&x, s);
	if (found != SCAN_ENTRY_FUNCTION)
		return 0;
	check_function(&x);
	if (!t->input)
		t->input = derived(&f);
	else if (!f.wrapped)
		hold_against(t->input, &f);
	return take_description(t, f.doc) < 0 ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static int derive(struct manifest *m, const struct scan_source *from, struct err *e)
{
	struct scan *s = NULL;
	int r = 0;
	for (size_t i = 0; i < m->ntools && r == 0; i++) {
		if (!m->tools[i].entry_func)
			continue;
		if (!s && !(s = scan_new(NULL)))
			r = err_set(e, ERR_FAIL, "out of memory");
		if (r == 0)
			r = derive_tool(&m->tools[i], s, from, e);
	}
	scan_free(s);
	return r;
}

/* ---- where files come from ----------------------------------------------------------------- */

static int add_from_tree(void *ctx, struct scan *s, const char *path, struct err *e)
{
	const struct tree_file *f = tree_find(ctx, path);
	if (!f)
		return 0;
	return scan_add_file(s, path, f->data, f->n, e) < 0 ? -1 : 1;
}

int derive_from_tree(struct manifest *m, const struct tree *t, struct err *e)
{
	return derive(m, &(struct scan_source){add_from_tree, (void *)(uintptr_t)t}, e);
}

struct directory {
	const struct strv *ignore;
	int fd;
};

/* By its own name, or that of a directory above it. */
static bool is_ignored(const struct strv *ignore, const char *path)
{
	STR_AUTO part = strdup(path);
	for (char *p = part; p && (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (ignore_matches(ignore, part, true))
			return true;
	}
	return ignore_matches(ignore, path, false);
}

static int add_from_dir(void *ctx, struct scan *s, const char *path, struct err *e)
{
	const struct directory *d = ctx;
	struct stat st;
	BUF_AUTO b = {.limit = SCAN_FILE_MAX + 1};
	if (is_ignored(d->ignore, path))
		return 0;
	FD_AUTO fd = fd_open_beneath(d->fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, BENEATH_LINKS);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fd_read_all(fd, &b) < 0)
		return 0;
	return scan_add_file(s, path, buf_str(&b), b.len, e) < 0 ? -1 : 1;
}

int derive_from_dir(struct manifest *m, int dirfd, struct err *e)
{
	struct directory d = {&m->ignore, dirfd};
	return derive(m, &(struct scan_source){add_from_dir, &d}, e);
}

#include "manifest/manifest.h"

#include "base/file.h"
#include "base/limits.h"
#include "manifest/doc.h"
#include "manifest/ignore.h"
#include "manifest/schema.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define DESCRIPTION_MAX 4000
#define ENTRY_MAX 1000
#define HOST_TEXT 300
#define EXIT_CODE_MAX 15

static const char *const name_rule =
	"lower-case letters, digits, '.', '_' and '-', the first a letter or digit, at most 64";

bool manifest_name_ok(const char *s)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strspn(s, set);
	return n > 0 && n <= NAME_MAX_BYTES && s[n] == '\0' && !strchr("._-", s[0]);
}

static void tool_free(struct manifest_tool *t)
{
	free(t->name);
	free(t->description);
	free(t->entry_file);
	free(t->entry_func);
	json_decref(t->input);
	json_decref(t->output);
	json_decref(t->examples);
	json_decref(t->faults);
}

void manifest_free(struct manifest *m)
{
	for (size_t i = 0; i < m->ntools; i++)
		tool_free(&m->tools[i]);
	free(m->tools);
	free(m->name);
	free(m->description);
	strv_free(&m->hosts);
	strv_free(&m->ignore);
	strv_free(&m->private);
	*m = (struct manifest){0};
}

size_t manifest_most_memory(const struct manifest *m)
{
	size_t most = 0;
	for (size_t i = 0; i < m->ntools; i++)
		if (m->tools[i].memory > most)
			most = m->tools[i].memory;
	return most;
}

const struct manifest_tool *manifest_tool(const struct manifest *m, const char *name)
{
	for (size_t i = 0; i < m->ntools; i++)
		if (strcmp(m->tools[i].name, name) == 0)
			return &m->tools[i];
	return NULL;
}

/* --- checks that both ways in share: NULL, or what is wrong as a static phrase --- */

static const char *file_fault(const char *s)
{
	size_t n = strlen(s);
	if (n < 4 || strcmp(s + n - 3, ".py") != 0)
		return "must name a '.py' file";
	if (s[0] == '/')
		return "must be relative to the expert's directory";
	if (!text_is_clean(s, n, false))
		return "holds control characters";
	for (const char *p = s;;) {
		size_t part = strcspn(p, "/");
		if (part == 2 && p[0] == '.' && p[1] == '.')
			return "must not leave the expert's directory";
		if (part == 0 || (part == 1 && p[0] == '.'))
			return "must be a plain path, without '.' or empty parts";
		if (p[part] == '\0')
			return NULL;
		p += part + 1;
	}
}

static const char *func_fault(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char rest[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	if (!*s || !strchr(first, *s) || s[strspn(s, rest)] || strlen(s) > 255)
		return "must name a function after the ':'";
	return NULL;
}

static const char *input_fault(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type");
	if (type && (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0))
		return "must be of type 'object': its members are the arguments";
	return NULL;
}

/* --- from YAML --- */

static int fail(const struct doc_source *s, const struct doc *at, const char *cause)
{
	return doc_fail(s->what, at, s->e, "%s", cause);
}

/* A field that must be there. Its value, or NULL with the error at its owner. */
static const struct doc *must_have(
	const struct doc_source *s, const struct doc *map, const char *owner, const char *field)
{
	const struct doc *d = doc_get(map, field, NULL);
	if (!d)
		doc_fail(s->what, map, s->e, "%s lacks '%s'", owner, field);
	return d;
}

static int read_name(
	const struct doc_source *s, const struct doc *map, const char *owner, char **out)
{
	char shown[TEXT_SHOWN_MAX];
	const struct doc *d = must_have(s, map, owner, "name");
	if (!d || doc_text(s->what, d, "name", ENTRY_MAX, false, out, s->e) < 0)
		return -1;
	if (manifest_name_ok(*out))
		return 0;
	doc_fail(s->what, d, s->e, "not a name: '%s'", text_shown(*out, shown));
	return err_hint(s->e, "a name is %s", name_rule);
}

static int read_description(const struct doc_source *s, const struct doc *map, char **out)
{
	const struct doc *d = doc_get(map, "description", NULL);
	if (d)
		return doc_text(s->what, d, "description", DESCRIPTION_MAX, true, out, s->e);
	*out = strdup("");
	return *out ? 0 : doc_no_memory(s);
}

static bool ends_in_py(const char *s)
{
	size_t n = strlen(s);
	return n >= 3 && strcmp(s + n - 3, ".py") == 0;
}

/* FILE.py or FILE.py:FUNCTION. A file's name may hold ':', so what ends in ".py" is all file. */
static int read_entry(const struct doc_source *s, const struct doc *map, struct manifest_tool *t)
{
	STR_AUTO text = NULL;
	const struct doc *d = must_have(s, map, "the tool", "entry");
	if (!d || doc_text(s->what, d, "entry", ENTRY_MAX, false, &text, s->e) < 0)
		return -1;
	const char *file = strncmp(text, "./", 2) == 0 ? text + 2 : text;
	char *colon = ends_in_py(text) ? NULL : strrchr(text, ':');
	if (colon)
		*colon = '\0';
	const char *fault = file_fault(file);
	if (!fault && colon)
		fault = func_fault(colon + 1);
	if (fault) {
		doc_fail(s->what, d, s->e, "entry %s", fault);
		return err_hint(s->e, "write FILE.py:FUNCTION, or FILE.py for a script");
	}
	t->entry_file = strdup(file);
	t->entry_func = colon ? strdup(colon + 1) : NULL;
	return t->entry_file && (t->entry_func || !colon) ? 0 : doc_no_memory(s);
}

/* The node that a fault's place names, as near as there is one; its key where it has one. */
static const struct doc *find_fault(const struct doc *d, const struct strv *where)
{
	const struct doc *best = d;
	for (size_t i = 0; i < where->n; i++) {
		const struct doc *key = NULL, *next = NULL;
		if (d->kind == DOC_MAP) {
			next = doc_get(d, where->v[i], &key);
		} else if (d->kind == DOC_LIST) {
			size_t at = strtoul(where->v[i], NULL, 10);
			next = at < d->n ? d->v[at] : NULL;
		}
		if (!next)
			break;
		best = next->kind == DOC_SCALAR || !key ? next : key;
		d = next;
	}
	return best;
}

static int read_schema(
	const struct doc_source *s, const struct doc *map, const char *field, json_t **out)
{
	const struct doc *d = doc_get(map, field, NULL);
	STRV_AUTO where = {0};
	struct err cause = {0};
	if (!d)
		return 0;
	if (d->kind != DOC_MAP)
		return doc_fail(s->what, d, s->e, "%s must be a JSON Schema object, got %s", field,
			doc_kind_word(d));
	*out = doc_to_json(s->what, d, s->e);
	if (!*out)
		return -1;
	if (schema_check_schema_at(*out, &where, &cause) == 0)
		return 0;
	if (cause.code != ERR_USAGE)
		return err_set(s->e, cause.code, "%s", cause.msg);
	doc_fail(s->what, find_fault(d, &where), s->e, "%s schema: %s", field, cause.msg);
	return cause.hint[0] ? err_hint(s->e, "%s", cause.hint) : -1;
}

static int read_input(const struct doc_source *s, const struct doc *map, struct manifest_tool *t)
{
	if (read_schema(s, map, "input", &t->input) < 0)
		return -1;
	const char *fault = t->input ? input_fault(t->input) : NULL;
	if (!fault)
		return 0;
	const struct doc *type = doc_get(doc_get(map, "input", NULL), "type", NULL);
	return doc_fail(s->what, type, s->e, "input %s", fault);
}

static int read_timeout(const struct doc_source *s, const struct doc *map, struct manifest_tool *t)
{
	const struct doc *d = doc_get(map, "timeout", NULL);
	t->timeout_ms = MS(LIMIT_CALL_S);
	if (!d)
		return 0;
	JSON_AUTO j = d->kind == DOC_SCALAR ? doc_to_json(s->what, d, s->e) : NULL;
	double v = json_number_value(j);
	if (s->e->code)
		return -1;
	if (!json_is_number(j) || v < 1 || v > LIMIT_CALL_S) {
		fail(s, d,
			"timeout must be a number of seconds from 1 to " LIMIT_TEXT(LIMIT_CALL_S));
		return err_hint(s->e, "write the number alone: timeout: 20");
	}
	t->timeout_ms = (int)lround(v * 1000);
	return 0;
}

/* "512M", "1Gi", "600MB", "268435456": a whole number and a unit. False if it isn't that. */
static bool parse_size(const char *s, size_t *out)
{
	static const struct {
		const char *unit;
		size_t bytes;
	} units[] = {{"", 1}, {"K", 1000}, {"KB", 1000}, {"Ki", 1024}, {"KiB", 1024},
		{"M", 1000000}, {"MB", 1000000}, {"Mi", 1 << 20}, {"MiB", 1 << 20},
		{"G", 1000000000}, {"GB", 1000000000}, {"Gi", 1 << 30}, {"GiB", 1 << 30}};
	size_t digits = strspn(s, "0123456789");
	if (!digits || digits > 12)
		return false;
	size_t n = strtoul(s, NULL, 10);
	for (s += digits; *s == ' '; s++)
		;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(s, units[i].unit) == 0) {
			*out = n <= SIZE_MAX / units[i].bytes ? n * units[i].bytes : SIZE_MAX;
			return true;
		}
	return false;
}

static int read_memory(const struct doc_source *s, const struct doc *map, struct manifest_tool *t)
{
	const struct doc *d = doc_get(map, "memory", NULL);
	t->memory = GIB(LIMIT_MEMORY_GIB);
	if (!d)
		return 0;
	if (d->kind != DOC_SCALAR || !parse_size(d->text, &t->memory)) {
		fail(s, d, "memory must be a whole number with a unit");
		return err_hint(s->e, "write memory: 512M, 1G or 256Mi");
	}
	if (t->memory < MANIFEST_MEMORY_MIN) {
		fail(s, d, "memory is too little: at least 16M");
		return err_hint(s->e, "write the unit too: memory: 512M");
	}
	if (t->memory > GIB(LIMIT_MEMORY_GIB))
		return fail(s, d, "memory is too much: at most " LIMIT_TEXT(LIMIT_MEMORY_GIB) "Gi");
	return 0;
}

/* What a call of the tool comes to: {input?, output?, exit?}. */
static int read_example(const struct doc_source *s, const struct doc *d, json_t *list)
{
	static const char *const fields[] = {"input", "output", "exit", NULL};
	const struct doc *input = doc_get(d, "input", NULL), *code = doc_get(d, "exit", NULL);
	if (doc_check_fields(s->what, d, "the example", fields, s->e) < 0)
		return -1;
	if (input && input->kind != DOC_MAP)
		return doc_fail(s->what, input, s->e,
			"input must be a mapping of arguments, got %s", doc_kind_word(input));
	json_t *one = doc_to_json(s->what, d, s->e);
	if (!one || json_array_append_new(list, one) < 0)
		return s->e->code ? -1 : doc_no_memory(s);
	if (!input)
		json_object_set_new(one, "input", json_object());
	const json_t *exit = json_object_get(one, "exit");
	json_int_t n = json_integer_value(exit);
	if (code && (!json_is_integer(exit) || n < 0 || n > EXIT_CODE_MAX))
		return fail(s, code, "exit must be an exit code, from 0 to 15");
	return 0;
}

static int read_examples(const struct doc_source *s, const struct doc *map, struct manifest_tool *t)
{
	const struct doc *list = doc_get(map, "examples", NULL);
	if (!list)
		return 0;
	if (list->kind != DOC_LIST)
		return doc_fail(s->what, list, s->e, "examples must be a list, got %s",
			doc_kind_word(list));
	if (list->n > MANIFEST_MAX_EXAMPLES)
		return fail(s, list, "too many examples: at most 100");
	t->examples = json_array();
	if (!t->examples)
		return doc_no_memory(s);
	for (size_t i = 0; i < list->n; i++)
		if (read_example(s, list->v[i], t->examples) < 0)
			return -1;
	return 0;
}

static int read_tool(const struct doc_source *s, const struct doc *d, struct manifest_tool *t)
{
	static const char *const fields[] = {"name", "description", "entry", "input", "output",
		"timeout", "memory", "examples", NULL};
	t->line = d->line;
	if (doc_check_fields(s->what, d, "the tool", fields, s->e) < 0 ||
		read_name(s, d, "the tool", &t->name) < 0 ||
		read_description(s, d, &t->description) < 0 || read_entry(s, d, t) < 0 ||
		read_input(s, d, t) < 0 || read_schema(s, d, "output", &t->output) < 0 ||
		read_timeout(s, d, t) < 0 || read_memory(s, d, t) < 0)
		return -1;
	return read_examples(s, d, t);
}

static int read_tools(const struct doc_source *s, const struct doc *map, struct manifest *m)
{
	const struct doc *list = must_have(s, map, MANIFEST_FILE, "tools");
	if (!list)
		return err_hint(s->e, "add: tools: [{name: hello, entry: hello.py:hello}]");
	if (list->kind != DOC_LIST || list->n == 0)
		return fail(s, list, "tools must be a list of one or more tools");
	if (list->n > MANIFEST_MAX_TOOLS)
		return fail(s, list, "too many tools: at most 256");
	m->tools = calloc(list->n, sizeof *m->tools);
	if (!m->tools)
		return doc_no_memory(s);
	for (size_t i = 0; i < list->n; i++) {
		struct manifest_tool *t = &m->tools[i];
		m->ntools = i + 1;
		if (read_tool(s, list->v[i], t) < 0)
			return -1;
		const struct manifest_tool *same = manifest_tool(m, t->name);
		if (same != t)
			return doc_fail(s->what, doc_get(list->v[i], "name", NULL), s->e,
				"duplicate tool '%s' (first at line %d)", t->name, same->line);
	}
	return 0;
}

static int read_patterns(
	const struct doc_source *s, const struct doc *d, const char *field, struct strv *out)
{
	if (!d)
		return 0;
	if (doc_words(s->what, d, field, IGNORE_MAX_PATTERN + 1, true, out, s->e) < 0)
		return -1;
	for (size_t i = 0; i < out->n; i++) {
		const char *fault = ignore_pattern_fault(out->v[i]);
		if (fault)
			return doc_fail(s->what, d->v[i], s->e, "%s pattern %s", field, fault);
	}
	return 0;
}

static int read_manifest(const struct doc_source *s, const struct doc *d, struct manifest *m)
{
	static const char *const fields[] = {
		"name", "description", "tools", "hosts", "ignore", "private", NULL};
	if (doc_check_fields(s->what, d, MANIFEST_FILE, fields, s->e) < 0 ||
		read_name(s, d, MANIFEST_FILE, &m->name) < 0 ||
		read_description(s, d, &m->description) < 0 || read_tools(s, d, m) < 0)
		return -1;
	const struct doc *hosts = doc_get(d, "hosts", NULL);
	if (hosts && doc_words(s->what, hosts, "hosts", HOST_TEXT, false, &m->hosts, s->e) < 0)
		return -1;
	if (read_patterns(s, doc_get(d, "ignore", NULL), "ignore", &m->ignore) < 0)
		return -1;
	return read_patterns(s, doc_get(d, "private", NULL), "private", &m->private);
}

int manifest_parse(struct manifest *m, const char *path_for_messages, const void *bytes, size_t n,
	struct err *e)
{
	struct doc_source s = {path_for_messages, e};
	DOC_AUTO d = doc_parse(path_for_messages, bytes, n, MANIFEST_MAX_BYTES, e);
	if (d && read_manifest(&s, d, m) == 0)
		return 0;
	if (!e->hint[0])
		err_hint(e, "evctl help expert.yaml");
	manifest_free(m);
	return -1;
}

/* --- snapshots --- */

static json_t *tool_to_json(const struct manifest_tool *t)
{
	return json_pack("{s:s, s:s, s:s, s:s?, s:O?, s:O?, s:i, s:I, s:i, s:O*}", "name", t->name,
		"description", t->description, "entry_file", t->entry_file, "entry_func",
		t->entry_func, "input", t->input, "output", t->output, "timeout_ms", t->timeout_ms,
		"memory", (json_int_t)t->memory, "line", t->line, "examples", t->examples);
}

json_t *manifest_to_json(const struct manifest *m)
{
	json_t *tools = json_array();
	for (size_t i = 0; i < m->ntools; i++)
		if (json_array_append_new(tools, tool_to_json(&m->tools[i])) < 0) {
			json_decref(tools);
			return NULL;
		}
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o*}", "name", m->name, "description",
		m->description, "tools", tools, "hosts", json_texts(&m->hosts), "ignore",
		json_texts(&m->ignore), "private", m->private.n ? json_texts(&m->private) : NULL);
}

static int damaged(struct err *e, const char *field)
{
	return err_set(e, ERR_STATE, "the stored manifest is damaged at '%s'", field);
}

/* A string of max bytes at most, clean, owned by the caller; null gives NULL where that may be. */
static int take_text(const json_t *j, const char *field, size_t max, bool multiline,
	bool may_be_null, char **out, struct err *e)
{
	const json_t *v = json_object_get(j, field);
	if (may_be_null && json_is_null(v))
		return 0;
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);
	if (!s || n > max || strlen(s) != n || !text_is_clean(s, n, multiline))
		return damaged(e, field);
	*out = strdup(s);
	return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

static int take_strings(
	const json_t *j, const char *field, size_t max, struct strv *out, struct err *e)
{
	const json_t *list = json_object_get(j, field);
	if (!json_is_array(list) || json_array_size(list) > 1000)
		return damaged(e, field);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		const char *s = json_string_value(v);
		size_t n = json_string_length(v);
		if (!s || !n || n > max || strlen(s) != n || !text_is_clean(s, n, false))
			return damaged(e, field);
		strv_add(out, s);
	}
	return out->failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static int take_int(const json_t *j, const char *field, json_int_t min, json_int_t max,
	json_int_t *out, struct err *e)
{
	const json_t *v = json_object_get(j, field);
	*out = json_integer_value(v);
	return json_is_integer(v) && *out >= min && *out <= max ? 0 : damaged(e, field);
}

static int take_schema(const json_t *j, const char *field, json_t **out, struct err *e)
{
	json_t *v = json_object_get(j, field);
	struct err cause = {0};
	if (json_is_null(v))
		return 0;
	if (!json_is_object(v) || schema_check_schema(v, &cause) < 0)
		return damaged(e, field);
	*out = json_deep_copy(v);
	return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

static bool example_ok(const json_t *one)
{
	const json_t *exit = json_object_get(one, "exit");
	return json_is_object(json_object_get(one, "input")) && (!exit || json_is_integer(exit));
}

static int take_examples(const json_t *j, json_t **out, struct err *e)
{
	const json_t *list = json_object_get(j, "examples");
	size_t i;
	json_t *one;
	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > MANIFEST_MAX_EXAMPLES)
		return damaged(e, "examples");
	json_array_foreach (list, i, one)
		if (!example_ok(one))
			return damaged(e, "examples");
	*out = json_deep_copy(list);
	return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

static int take_tool(struct manifest_tool *t, const json_t *j, struct err *e)
{
	json_int_t timeout, memory, line;
	if (take_text(j, "name", NAME_MAX_BYTES, false, false, &t->name, e) < 0 ||
		take_text(j, "description", DESCRIPTION_MAX, true, false, &t->description, e) < 0 ||
		take_text(j, "entry_file", ENTRY_MAX, false, false, &t->entry_file, e) < 0 ||
		take_text(j, "entry_func", ENTRY_MAX, false, true, &t->entry_func, e) < 0 ||
		take_schema(j, "input", &t->input, e) < 0 ||
		take_schema(j, "output", &t->output, e) < 0 ||
		take_examples(j, &t->examples, e) < 0 ||
		take_int(j, "timeout_ms", 1000, MS(LIMIT_CALL_S), &timeout, e) < 0 ||
		take_int(j, "memory", MANIFEST_MEMORY_MIN, GIB(LIMIT_MEMORY_GIB), &memory, e) < 0 ||
		take_int(j, "line", 1, INT32_MAX, &line, e) < 0)
		return -1;
	t->timeout_ms = (int)timeout;
	t->memory = (size_t)memory;
	t->line = (int)line;
	if (!manifest_name_ok(t->name))
		return damaged(e, "name");
	if (file_fault(t->entry_file) || (t->entry_func && func_fault(t->entry_func)))
		return damaged(e, "entry_file");
	return t->input && input_fault(t->input) ? damaged(e, "input") : 0;
}

static int take_tools(struct manifest *m, const json_t *j, struct err *e)
{
	const json_t *list = json_object_get(j, "tools");
	size_t n = json_array_size(list);
	if (n == 0 || n > MANIFEST_MAX_TOOLS)
		return damaged(e, "tools");
	m->tools = calloc(n, sizeof *m->tools);
	if (!m->tools)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < n; i++) {
		m->ntools = i + 1;
		if (take_tool(&m->tools[i], json_array_get(list, i), e) < 0)
			return -1;
		if (manifest_tool(m, m->tools[i].name) != &m->tools[i])
			return damaged(e, "tools");
	}
	return 0;
}

static int take_manifest(struct manifest *m, const json_t *j, struct err *e)
{
	if (take_text(j, "name", NAME_MAX_BYTES, false, false, &m->name, e) < 0 ||
		take_text(j, "description", DESCRIPTION_MAX, true, false, &m->description, e) < 0 ||
		take_strings(j, "hosts", HOST_TEXT, &m->hosts, e) < 0 ||
		take_strings(j, "ignore", IGNORE_MAX_PATTERN + 1, &m->ignore, e) < 0 ||
		(json_object_get(j, "private") &&
			take_strings(j, "private", IGNORE_MAX_PATTERN + 1, &m->private, e) < 0))
		return -1;
	if (!manifest_name_ok(m->name))
		return damaged(e, "name");
	for (size_t i = 0; i < m->ignore.n; i++)
		if (ignore_pattern_fault(m->ignore.v[i]))
			return damaged(e, "ignore");
	return take_tools(m, j, e);
}

int manifest_from_json(struct manifest *m, const json_t *j, struct err *e)
{
	if (take_manifest(m, j, e) == 0)
		return 0;
	manifest_free(m);
	return -1;
}

#include "verify/verdict_text.h"

#include "manifest/manifest.h"
#include "base/text.h"
#include "state/seal.h"

#include <stdlib.h>
#include <string.h>

#define FINGERPRINT_DIGITS 32

/* ---- what there is to say, once for text and SARIF ------------------------------------------ */

enum rule {
	RULE_SYNTAX,
	RULE_MODULE,
	RULE_MISSING,
	RULE_OPTIONAL,
	RULE_DYNAMIC,
	RULE_ENV,
	RULE_UNUSED,
	RULE_FLAG,
	RULE_PERHAPS,
	RULE_UNREACHED,
	RULE_ENTRY,
	RULE_GLOBALS,
	RULE_HOST,
	RULES
};

static const struct {
	const char *id, *level, *text;
} rules[RULES] = {
	[RULE_SYNTAX] = {"syntax-error", "error",
		"The file is not Python that the sandbox runs, or no expert.yaml"},
	[RULE_MODULE] = {"module-missing", "error",
		"A module that neither the sandbox nor the expert has"},
	[RULE_MISSING] = {"missing-key", "error", "A required key that no attached host supplies"},
	[RULE_OPTIONAL] = {"optional-key", "warning",
		"An optional key that no attached host supplies"},
	[RULE_DYNAMIC] = {"dynamic-read", "warning",
		"A read of EV_KEYS whose key cannot be told from the code"},
	[RULE_ENV] = {"env-mistake", "warning", "A key looked for in the environment"},
	[RULE_PERHAPS] = {"module-optional", "note",
		"A module that is not there, and without which tools begin all the same"},
	[RULE_UNREACHED] = {"syntax-unreached", "note",
		"A brought file that is not Python that the sandbox runs, and that no tool comes to"},
	[RULE_ENTRY] = {"entry-error", "error",
		"An entry that cannot be called as expert.yaml has it"},
	[RULE_GLOBALS] = {"not-in-globals", "error", "EV_KEYS sought in globals()"},
	[RULE_HOST] = {"host-missing", "note",
		"A host that is named, and that nothing attached covers"},
	[RULE_UNUSED] = {"unused-key", "note", "A bound key that no code reads by name"},
	[RULE_FLAG] = {"flag", "note", "A setting or file that is always pointed out"},
};

struct shown_item {
	enum rule rule;
	const char *file, *name; /* name: what a fingerprint tells items apart by */
	int line, column;	 /* a column of 0 is none */
	struct buf tools;	 /* of a finding that has some, joined */
	const char *why, *hint;
};

struct items {
	struct shown_item *v;
	size_t n;
};

#define ITEMS_AUTO __attribute__((cleanup(items_free))) struct items

static void items_free(struct items *a)
{
	for (size_t i = 0; i < a->n; i++)
		buf_free(&a->v[i].tools);
	free(a->v);
}

static int number_of(const json_t *o, const char *key)
{
	return (int)json_integer_value(json_object_get(o, key));
}

/* Rows that differ in their tool only are one item. */
static struct shown_item *find_same(struct items *a, const struct shown_item *it)
{
	struct shown_item *last = a->n ? &a->v[a->n - 1] : NULL;
	if (last && last->rule == it->rule && last->line == it->line &&
		strcmp(last->file, it->file) == 0 && strcmp(last->name, it->name) == 0)
		return last;
	return NULL;
}

static void add_item(struct items *a, const struct shown_item *it, const char *tool)
{
	struct shown_item *at = find_same(a, it);
	if (!at) {
		struct shown_item *more = reallocarray(a->v, a->n + 1, sizeof *more);
		if (!more)
			return;
		a->v = more;
		at = &more[a->n++];
		*at = *it;
	}
	if (*tool) {
		buf_adds(&at->tools, at->tools.len ? ", " : "");
		buf_adds(&at->tools, tool);
	}
}

static void add_rows(struct items *a, const json_t *verdict, const char *key, enum rule rule,
	const char *name_key, const char *why_key)
{
	size_t i;
	json_t *r;
	json_array_foreach (json_object_get(verdict, key), i, r) {
		struct shown_item it = {.rule = rule,
			.file = json_text_of(r, "file"),
			.name = name_key ? json_text_of(r, name_key) : "",
			.line = number_of(r, "line"),
			.column = number_of(r, "column"),
			.why = why_key ? json_text_of(r, why_key) : "",
			.hint = rule == RULE_MODULE
					? json_text_of(json_object_get(verdict, "module_hints"),
						  json_text_of(r, "module"))
					: json_text_of(r, "hint")};
		add_item(a, &it, json_text_of(r, "tool"));
	}
}

static int by_place(const void *a, const void *b)
{
	const struct shown_item *x = a, *y = b;
	int d = strcmp(x->file, y->file);
	if (d == 0)
		d = (x->line > y->line) - (x->line < y->line);
	if (d == 0)
		d = (int)x->rule - (int)y->rule;
	return d ? d : strcmp(x->name, y->name);
}

static void collect(struct items *a, const json_t *v)
{
	add_rows(a, v, "syntax_errors", RULE_SYNTAX, NULL, "message");
	add_rows(a, v, "modules_missing", RULE_MODULE, "module", NULL);
	add_rows(a, v, "entry_errors", RULE_ENTRY, "message", NULL);
	add_rows(a, v, "missing", RULE_MISSING, "name", NULL);
	add_rows(a, v, "optional_missing", RULE_OPTIONAL, "name", NULL);
	add_rows(a, v, "dynamic", RULE_DYNAMIC, NULL, "why");
	add_rows(a, v, "not_in_globals", RULE_GLOBALS, NULL, NULL);
	add_rows(a, v, "env_mistakes", RULE_ENV, "name", "why");
	add_rows(a, v, "notes", RULE_HOST, "host", "message");
	if (a->n)
		qsort(a->v, a->n, sizeof *a->v, by_place);
}

static void add_message(struct buf *b, const struct shown_item *it)
{
	char name[TEXT_SHOWN_MAX], why[TEXT_SHOWN_MAX];
	const char *tools = it->tools.len ? buf_str(&it->tools) : "code that no tool reaches";
	text_shown(it->name, name);
	text_shown(it->why, why);
	switch (it->rule) {
	case RULE_SYNTAX:
	case RULE_UNREACHED:
		buf_addf(b, "%s", why);
		break;
	case RULE_HOST:
		text_add_visible(b, it->why, strlen(it->why), false);
		break;
	case RULE_ENTRY:
		buf_addf(b, "tool '%s': ", tools);
		text_add_visible(b, it->name, strlen(it->name), false);
		break;
	case RULE_MODULE:
	case RULE_PERHAPS:
		if (name[0] == '.')
			buf_addf(b, "a relative import that finds no package: '%s'", name);
		else
			buf_addf(b,
				"the sandbox has no module '%s', and the expert does not bring it",
				name);
		break;
	case RULE_MISSING:
		buf_addf(b, "%s is required by %s, and no attached host supplies it", name, tools);
		break;
	case RULE_OPTIONAL:
		buf_addf(b, "%s is optional for %s, and no attached host supplies it", name, tools);
		break;
	case RULE_DYNAMIC:
		buf_addf(b, "a read that cannot be resolved, in %s: %s", tools, why);
		break;
	case RULE_ENV:
		buf_addf(b, "%s is looked for in the environment%s%s", name, *why ? ": " : "",
			*why ? why : ", where no key ever is");
		break;
	case RULE_GLOBALS:
		buf_adds(b, "EV_KEYS is in builtins, not in globals()");
		break;
	case RULE_UNUSED:
		buf_addf(b, "%s is bound to %s, and no code reads it by name", name, why);
		break;
	case RULE_FLAG:
	case RULES:
		buf_addf(b, "%s", name);
		break;
	}
}

static void add_hint(struct buf *b, const struct shown_item *it)
{
	char name[TEXT_SHOWN_MAX];
	text_shown(it->name, name);
	if (it->rule == RULE_DYNAMIC && !*it->hint)
		buf_adds(b, "name the key where it is read: EV_KEYS['NAME']");
	else if (it->rule == RULE_GLOBALS)
		buf_adds(b, "read EV_KEYS['NAME']");
	else if (it->rule == RULE_ENV)
		buf_addf(b, "read EV_KEYS['%s']", name);
	else if (it->hint)
		buf_adds(b, it->hint);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void add_coloured(
	struct buf *b, const struct report_style *style, const char *word, const char *as)
{
	const char *code = strcmp(as, "error") == 0 || strcmp(as, "red") == 0 ? "31"
			   : strcmp(as, "green") == 0			      ? "32"
									      : "33";
	if (style->color)
		buf_addf(b, "\033[1;%sm%s\033[0m", code, word);
	else
		buf_adds(b, word);
}

static void add_line(struct buf *b, const struct report_style *style, const struct shown_item *it)
{
	BUF_AUTO hint = {0};
	buf_addf(b, "%s%s:%d: ", style->prefix, it->file, it->line);
	add_coloured(b, style, rules[it->rule].level, rules[it->rule].level);
	buf_adds(b, ": ");
	add_message(b, it);
	buf_addc(b, '\n');
	add_hint(&hint, it);
	if (hint.len)
		buf_addf(b, "    %s: %s\n", strncmp(hint.data, "evctl-", 6) == 0 ? "run" : "hint",
			hint.data);
}

/* Names that rows hold, each once. */
static size_t distinct(const json_t *rows, const char *key)
{
	JSON_AUTO seen = json_object();
	size_t i;
	json_t *r;
	json_array_foreach (rows, i, r)
		json_object_set_new(seen, json_text_of(r, key), json_true());
	return json_object_size(seen);
}

static size_t places(const json_t *rows)
{
	JSON_AUTO seen = json_object();
	size_t i;
	json_t *r;
	json_array_foreach (rows, i, r) {
		BUF_AUTO b = {0};
		buf_addf(&b, "%d %s", number_of(r, "line"), json_text_of(r, "file"));
		json_object_set_new(seen, buf_str(&b), json_true());
	}
	return json_object_size(seen);
}

static void add_count(struct buf *b, size_t n, const char *one, const char *many)
{
	if (!n)
		return;
	buf_adds(b, b->len ? ", " : "");
	buf_addf(b, "%zu %s", n, n == 1 ? one : many);
}

void report_summary(const json_t *v, struct buf *why)
{
	add_count(why, distinct(json_object_get(v, "missing"), "name"),
		"required key is not supplied", "required keys are not supplied");
	add_count(
		why, places(json_object_get(v, "syntax_errors")), "syntax error", "syntax errors");
	add_count(why, distinct(json_object_get(v, "modules_missing"), "module"),
		"module is missing", "modules are missing");
	add_count(why, json_array_size(json_object_get(v, "entry_errors")),
		"entry cannot be called", "entries cannot be called");
	add_count(why, distinct(json_object_get(v, "optional_missing"), "name"),
		"optional key is not supplied", "optional keys are not supplied");
	add_count(why, places(json_object_get(v, "not_in_globals")),
		"time EV_KEYS is sought in globals()", "times EV_KEYS is sought in globals()");
	add_count(why, places(json_object_get(v, "dynamic")), "read cannot be resolved",
		"reads cannot be resolved");
	add_count(why, places(json_object_get(v, "env_mistakes")),
		"key is looked for in the environment", "keys are looked for in the environment");
}

/* All in one line: a package that is brought along may look for many. */
static void add_perhaps(struct buf *out, const json_t *rows)
{
	char name[TEXT_SHOWN_MAX], file[TEXT_SHOWN_MAX];
	size_t i;
	json_t *r;
	json_array_foreach (rows, i, r) {
		text_shown(json_text_of(r, "module"), name);
		text_shown(json_text_of(r, "file"), file);
		buf_addf(out, "%s%s (%s:%d)",
			i ? ", " : "not there, but no tool needs it to begin: ", name, file,
			number_of(r, "line"));
	}
	buf_adds(out, json_array_size(rows) ? "\n" : "");
}

static void add_verdict(struct buf *out, const struct report_style *style, const json_t *v)
{
	BUF_AUTO why = {0};
	const char *status = json_text_of(v, "status");
	report_summary(v, &why);
	if (strcmp(status, "green") == 0)
		buf_adds(&why, "every key the code tools read is supplied by an attached host");
	add_coloured(out, style, status, status);
	buf_addf(out, ": %s\n", buf_str(&why));
}

void report_text(const json_t *verdict, const struct report_style *style, struct buf *out)
{
	ITEMS_AUTO a = {0};
	size_t i;
	json_t *r;
	collect(&a, verdict);
	for (i = 0; i < a.n; i++)
		add_line(out, style, &a.v[i]);
	add_perhaps(out, json_object_get(verdict, "modules_optional"));
	json_array_foreach (json_object_get(verdict, "buyer_keys"), i, r)
		buf_addf(out, "each buyer brings: %s, for %s\n", json_text_of(r, "name"),
			json_text_of(r, "host"));
	json_array_foreach (json_object_get(verdict, "unused"), i, r)
		buf_addf(out, "unused: %s at %s: no code reads it by name\n",
			json_text_of(r, "name"), json_text_of(r, "host"));
	json_array_foreach (json_object_get(verdict, "flags"), i, r)
		buf_addf(out, "%s\n", json_string_value(r));
	add_verdict(out, style, verdict);
}

/* ---- SARIF ---------------------------------------------------------------------------------- */

/* RFC 3986: unreserved characters and "/" stay. */
static void add_uri(struct buf *b, const char *path)
{
	text_add_percent(b, path, strlen(path), "-._~/");
}

/* Lines move when code is edited: a fingerprint holds none, but the how-many-eth of its kind. */
static json_t *fingerprint(const char *expert, const struct items *a, size_t at)
{
	const struct shown_item *it = &a->v[at];
	BUF_AUTO b = {0};
	char hex[65];
	size_t before = 0;
	for (size_t i = 0; i < at; i++)
		before += a->v[i].rule == it->rule && strcmp(a->v[i].file, it->file) == 0 &&
			  strcmp(a->v[i].name, it->name) == 0;
	buf_addf(&b, "%s\n%s\n%s\n%s\n%zu", rules[it->rule].id, expert, it->file, it->name, before);
	seal_sha256_hex(hex, buf_str(&b), b.len);
	return json_stringn(hex, FINGERPRINT_DIGITS);
}

/* The message with its mend, in one text. */
static void add_whole_message(struct buf *b, const struct shown_item *it)
{
	BUF_AUTO hint = {0};
	add_message(b, it);
	add_hint(&hint, it);
	if (hint.len)
		buf_addf(b, ". %s: %s", strncmp(hint.data, "evctl-", 6) == 0 ? "Run" : "Hint",
			hint.data);
}

static json_t *result_of(const struct report_of *of, const struct items *a, size_t at)
{
	const struct shown_item *it = &a->v[at];
	const char *prefix = of->prefix;
	BUF_AUTO message = {0};
	BUF_AUTO uri = {0};
	add_whole_message(&message, it);
	buf_adds(&uri, prefix[0] == '/' ? "file://" : "");
	add_uri(&uri, prefix);
	add_uri(&uri, it->file);
	json_t *column = it->column > 0 ? json_integer(it->column) : NULL;
	return json_pack("{s:s,s:i,s:s,s:{s:s},s:[{s:{s:{s:s},s:{s:i,s:o*}}}],s:{s:o}}", "ruleId",
		rules[it->rule].id, "ruleIndex", (int)it->rule, "level", rules[it->rule].level,
		"message", "text", buf_str(&message), "locations", "physicalLocation",
		"artifactLocation", "uri", buf_str(&uri), "region", "startLine",
		it->line > 0 ? it->line : 1, "startColumn", column, "partialFingerprints",
		"evctlFinding/v1", fingerprint(json_text_of(of->verdict, "expert"), a, at));
}

/* What concerns no line of code is put at expert.yaml, as CI shows no result without a place. */
static void collect_rest(struct items *a, const json_t *v)
{
	size_t i;
	json_t *r;
	add_rows(a, v, "modules_optional", RULE_PERHAPS, "module", NULL);
	add_rows(a, v, "syntax_unreached", RULE_UNREACHED, NULL, "message");
	json_array_foreach (json_object_get(v, "unused"), i, r)
		add_item(a,
			&(struct shown_item){.rule = RULE_UNUSED,
				.file = MANIFEST_FILE,
				.name = json_text_of(r, "name"),
				.line = 1,
				.why = json_text_of(r, "host")},
			"");
	json_array_foreach (json_object_get(v, "flags"), i, r)
		add_item(a,
			&(struct shown_item){.rule = RULE_FLAG,
				.file = MANIFEST_FILE,
				.name = json_string_value(r),
				.line = 1,
				.why = ""},
			"");
}

static json_t *rules_json(void)
{
	json_t *a = json_array();
	for (int i = 0; i < RULES; i++)
		json_array_append_new(a, json_pack("{s:s,s:{s:s},s:{s:s}}", "id", rules[i].id,
						 "shortDescription", "text", rules[i].text,
						 "defaultConfiguration", "level", rules[i].level));
	return a;
}

/* What kept a verdict from being made: a log of no results alone would say that all is well. */
static json_t *invocations(const json_t *failures)
{
	json_t *notes = json_array(), *f;
	size_t i;
	if (!json_array_size(failures)) {
		json_decref(notes);
		return NULL;
	}
	json_array_foreach (failures, i, f)
		json_array_append_new(
			notes, json_pack("{s:s,s:{s:O}}", "level", "error", "message", "text", f));
	return json_pack(
		"[{s:b,s:o}]", "executionSuccessful", 0, "toolExecutionNotifications", notes);
}

json_t *report_sarif(const struct report_of *v, size_t n, const json_t *failures)
{
	json_t *results = json_array();
	for (size_t i = 0; i < n; i++) {
		ITEMS_AUTO a = {0};
		collect(&a, v[i].verdict);
		collect_rest(&a, v[i].verdict);
		for (size_t k = 0; k < a.n; k++)
			json_array_append_new(results, result_of(&v[i], &a, k));
	}
	return json_pack("{s:s,s:s,s:[{s:{s:{s:s,s:s,s:o}},s:s,s:o,s:o*}]}", "$schema",
		"https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool",
		"driver", "name", "evctl-verify", "version", EVCTL_VERSION, "rules", rules_json(),
		"columnKind", "unicodeCodePoints", "results", results, "invocations",
		invocations(failures));
}

/* ---- annotations ---------------------------------------------------------------------------- */

/* What ends a line, or (in a property) ends that, goes as GitHub's runner undoes it. */
static void add_command_text(struct buf *b, const char *s, bool property)
{
	for (; *s; s++)
		if (*s == '%' || *s == '\r' || *s == '\n' || (property && strchr(":,", *s)))
			buf_addf(b, "%%%02X", (unsigned char)*s);
		else
			buf_addc(b, *s);
}

static void add_command(struct buf *b, const char *prefix, const struct shown_item *it)
{
	const char *level = rules[it->rule].level;
	BUF_AUTO message = {0};
	add_whole_message(&message, it);
	buf_addf(b, "::%s file=", strcmp(level, "note") == 0 ? "notice" : level);
	add_command_text(b, prefix, true);
	add_command_text(b, it->file, true);
	buf_addf(b, ",line=%d", it->line > 0 ? it->line : 1);
	if (it->column > 0)
		buf_addf(b, ",col=%d", it->column);
	buf_addf(b, ",title=%s::", rules[it->rule].id);
	add_command_text(b, buf_str(&message), false);
	buf_addc(b, '\n');
}

void report_github(const struct report_of *v, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		ITEMS_AUTO a = {0};
		collect(&a, v[i].verdict);
		collect_rest(&a, v[i].verdict);
		for (size_t k = 0; k < a.n; k++)
			add_command(out, v[i].prefix, &a.v[k]);
	}
}

static json_t *quality_of(const struct report_of *of, const struct items *a, size_t at)
{
	const struct shown_item *it = &a->v[at];
	const char *level = rules[it->rule].level;
	const char *severity = strcmp(level, "error") == 0     ? "major"
			       : strcmp(level, "warning") == 0 ? "minor"
							       : "info";
	BUF_AUTO message = {0};
	BUF_AUTO path = {0};
	add_whole_message(&message, it);
	buf_addf(&path, "%s%s", of->prefix, it->file);
	return json_pack("{s:o,s:s,s:o,s:s,s:{s:o,s:{s:i}}}", "description",
		json_text(buf_str(&message), message.len), "check_name", rules[it->rule].id,
		"fingerprint", fingerprint(json_text_of(of->verdict, "expert"), a, at), "severity",
		severity, "location", "path", json_text(buf_str(&path), path.len), "lines", "begin",
		it->line > 0 ? it->line : 1);
}

json_t *report_gitlab(const struct report_of *v, size_t n)
{
	json_t *all = json_array();
	for (size_t i = 0; i < n; i++) {
		ITEMS_AUTO a = {0};
		collect(&a, v[i].verdict);
		collect_rest(&a, v[i].verdict);
		for (size_t k = 0; k < a.n; k++)
			json_array_append_new(all, quality_of(&v[i], &a, k));
	}
	return all;
}

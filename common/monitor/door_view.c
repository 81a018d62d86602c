#include "monitor/door_view.h"

#include "archive/template.h"
#include "base/file.h"
#include "door/door_message.h"
#include "monitor/admission.h"
#include "state/buyer.h"
#include "state/buyer_key.h"
#include "state/listing.h"
#include "state/quota.h"
#include "state/usage.h"

#include <string.h>

#define DAY_MS ((int64_t)86400000)
#define USAGE_DAYS 62

static const struct template templates[] = {
#include "door_templates.inc"
	{NULL, NULL}};

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

/* A hole's text; a member with none is not there. */
static void set_text(json_t *o, const char *key, const char *s)
{
	if (s && *s)
		set(o, key, json_text(s, strlen(s)));
}

static json_t *new_page(const struct door_view *v, const char *title)
{
	json_t *page =
		json_pack("{s:s,s:o}", "base", "/", "title", json_text(title, strlen(title)));
	set_text(page, "buyer", v->buyer);
	set_text(page, "csrf", v->csrf);
	set_text(page, "said", v->said);
	set_text(page, "wrong", v->wrong);
	return page;
}

/* 1, 0, -1; nobody that is signed in may. */
static int may_use(const struct door_view *v, const char *expert, int *version, struct err *e)
{
	return v->buyer ? admission_may(v->st, v->experts, v->token, v->buyer, expert, version, e)
			: 0;
}

/* A granted one for which the token is good; one that is listed for everybody. */
static bool is_shown(const struct door_view *v, const json_t *x)
{
	struct err quiet = {0};
	int version;
	const char *expert = json_text_of(x, "expert");
	return json_is_true(json_object_get(x, "granted"))
		       ? may_use(v, expert, &version, &quiet) > 0
		       : admission_offers(v->experts, expert);
}

/* ---- the experts ---------------------------------------------------------------------------- */

int door_view_home(const struct door_view *v, struct buf *out, struct err *e)
{
	JSON_AUTO page = new_page(v, v->buyer ? "Your experts" : "Sign in");
	JSON_AUTO all = buyer_experts(v->st, v->buyer, e);
	json_t *shown = json_array(), *x;
	size_t i;
	json_array_foreach (all, i, x) {
		if (is_shown(v, x))
			json_array_append(shown, x);
	}
	set(page, "experts", shown);
	set(page, "at_home", json_true());
	if (!all)
		return -1;
	template_render(templates, "home", page, out);
	return 0;
}

/* ---- one expert ----------------------------------------------------------------------------- */

/* "integer", "string or null", "one of: a, b": a word for what a schema takes. */
static void put_type(const json_t *schema, struct buf *b)
{
	const json_t *type = json_object_get(schema, "type"),
		     *words = json_object_get(schema, "enum");
	size_t i;
	json_t *t;
	if (json_array_size(words)) {
		buf_adds(b, "one of: ");
		json_array_foreach (words, i, t) {
			buf_adds(b, i ? ", " : "");
			json_to_buf(t, b);
		}
	} else if (json_is_string(type)) {
		buf_adds(b, json_string_value(type));
	} else if (json_is_array(type)) {
		json_array_foreach (type, i, t)
			buf_addf(b, "%s%s", i ? " or " : "",
				json_is_string(t) ? json_string_value(t) : "");
	} else {
		buf_adds(b, "any");
	}
}

static bool is_type(const json_t *schema, const char *word)
{
	return strcmp(json_text_of(schema, "type"), word) == 0;
}

static bool fits_a_line(const json_t *schema)
{
	return is_type(schema, "string") || is_type(schema, "integer") ||
	       is_type(schema, "number") || is_type(schema, "boolean");
}

static json_t *choices_of(const json_t *schema)
{
	static const char *const flags[] = {"true", "false"};
	json_t *all = json_array(), *w;
	size_t i;
	json_array_foreach (json_object_get(schema, "enum"), i, w) {
		BUF_AUTO text = {0};
		if (json_is_string(w))
			buf_adds(&text, json_string_value(w));
		else
			json_to_buf(w, &text);
		json_array_append_new(all, json_pack("{s:s}", "choice", buf_str(&text)));
	}
	for (i = 0; is_type(schema, "boolean") && i < 2; i++)
		json_array_append_new(all, json_pack("{s:s}", "choice", flags[i]));
	return all;
}

/* [{input, type, required, meaning, choices, line, area}] of a tool's members. */
static json_t *inputs_of(const json_t *schema)
{
	json_t *all = json_array(), *s;
	const char *name;
	json_object_foreach (json_object_get(schema, "properties"), name, s) {
		BUF_AUTO type = {0};
		put_type(s, &type);
		json_t *choices = choices_of(s);
		bool some = json_array_size(choices), line = !some && fits_a_line(s);
		json_t *row = json_pack("{s:s,s:o,s:b,s:o,s:b,s:b}", "input", name, "type",
			json_text(buf_str(&type), type.len), "required",
			json_array_has(json_object_get(schema, "required"), name), "choices",
			choices, "line", line, "area", !some && !line);
		set_text(row, "meaning", json_text_of(s, "description"));
		json_array_append_new(all, row);
	}
	return all;
}

static json_t *examples_of(const json_t *tool)
{
	json_t *all = json_array(), *one;
	size_t i;
	json_array_foreach (json_object_get(tool, "examples"), i, one) {
		BUF_AUTO text = {0};
		listing_example(one, &text);
		json_array_append_new(
			all, json_pack("{s:o}", "example", json_text(buf_str(&text), text.len)));
	}
	return all;
}

static json_t *tools_of(const json_t *listing)
{
	json_t *all = json_array(), *t;
	size_t i;
	json_array_foreach (json_object_get(listing, "tools"), i, t) {
		json_t *row = json_pack("{s:s,s:o,s:o}", "tool", json_text_of(t, "name"), "inputs",
			inputs_of(json_object_get(t, "input")), "examples", examples_of(t));
		set_text(row, "about", json_text_of(t, "description"));
		json_array_append_new(all, row);
	}
	return all;
}

static void join(const json_t *texts, struct buf *b)
{
	size_t i;
	json_t *t;
	json_array_foreach (texts, i, t)
		buf_addf(b, "%s%s", i ? ", " : "", json_is_string(t) ? json_string_value(t) : "");
}

static json_t *hosts_of(const json_t *listing)
{
	json_t *all = json_array(), *h;
	size_t i;
	json_array_foreach (json_object_get(listing, "hosts"), i, h) {
		BUF_AUTO flags = {0};
		join(json_object_get(h, "flags"), &flags);
		json_t *row = json_pack("{s:s}", "host", json_text_of(h, "host"));
		set_text(row, "flags", buf_str(&flags));
		json_array_append_new(all, row);
	}
	return all;
}

/* To a key that the buyer brings: whether there is one, and what it looks like. */
static void add_key(json_t *all, const char *kind, const char *name, const json_t *hosts,
	const char *env, const json_t *have)
{
	BUF_AUTO where = {0};
	size_t i;
	json_t *k;
	join(hosts, &where);
	json_t *row =
		json_pack("{s:s,s:s,s:s}", "kind", kind, "name", name, "hosts", buf_str(&where));
	set_text(row, "env", env);
	set_text(row, "warning", BUYER_KEY_WARNING);
	json_array_foreach (have, i, k) {
		if (strcmp(json_text_of(k, "kind"), kind) != 0 ||
			strcmp(json_text_of(k, "key"), name) != 0)
			continue;
		json_object_set(row, "hint", json_object_get(k, "hint"));
		json_object_set(row, "widened", json_object_get(k, "widened"));
	}
	json_array_append_new(all, row);
}

static json_t *keys_of(const json_t *listing, const json_t *have)
{
	json_t *all = json_array(), *k;
	size_t i;
	json_array_foreach (json_object_get(listing, "keys"), i, k)
		add_key(all, "credential", json_text_of(k, "name"), json_object_get(k, "hosts"),
			NULL, have);
	json_array_foreach (json_object_get(listing, "connections"), i, k)
		if (strcmp(json_text_of(k, "payer"), "buyer") == 0)
			add_key(all, "connection", json_text_of(k, "name"),
				json_object_get(k, "hosts"), json_text_of(k, "env"), have);
	return all;
}

static int add_quota(const struct door_view *v, const char *expert, json_t *page, struct err *e)
{
	static const char *const members[] = {
		"calls_a_day", "calls_left", "seconds_a_day", "seconds_left", "at_once"};
	JSON_AUTO left = quota_left(v->st, v->buyer, expert, e);
	bool any = false;
	for (size_t i = 0; left && i < sizeof members / sizeof *members; i++) {
		const json_t *n = json_object_get(left, members[i]);
		if (json_is_integer(n))
			any = json_object_set(page, members[i], (json_t *)n) == 0;
	}
	set(page, "limited", json_boolean(any));
	return left ? 0 : -1;
}

static void add_client(const struct door_view *v, const char *expert, json_t *page)
{
	BUF_AUTO url = {0};
	buf_addf(&url, "%s/mcp/%s", v->origin, expert);
	JSON_AUTO config = json_pack("{s:{s:{s:s,s:s,s:{s:s}}}}", "mcpServers", expert, "type",
		"http", "url", buf_str(&url), "headers", "Authorization", "Bearer YOUR-TOKEN");
	char *text = json_dumps(config, JSON_INDENT(2));
	set_text(page, "client", text);
	free(text);
	buf_clear(&url);
	buf_addf(&url, "%s/call/%s/TOOL", v->origin, expert);
	set_text(page, "call", buf_str(&url));
}

/* Who may see it, and how much: granted, listed, or not at all. */
struct access {
	bool granted, listed;
	char *contact;
};

static int find_access(
	const struct door_view *v, const char *expert, struct access *s, struct err *e)
{
	int version;
	*s = (struct access){0};
	int may = may_use(v, expert, &version, e);
	int listed = may < 0 ? -1 : expert_listed(v->st, expert, &s->contact, e);
	if (listed < 0)
		return -1;
	s->granted = may > 0;
	s->listed = listed > 0 && admission_offers(v->experts, expert);
	if (s->granted || s->listed)
		return 0;
	free(s->contact);
	s->contact = NULL;
	return err_set(e, ERR_NOTFOUND, "no such expert");
}

static int fill_expert(const struct door_view *v, const struct access *s,
	const struct expert_view *x, json_t *page, struct err *e)
{
	JSON_AUTO listing = listing_make(v->st, x, e);
	JSON_AUTO have = s->granted && listing ? buyer_keys(v->st, x, v->buyer, e) : json_array();
	if (!listing || !have || (s->granted && add_quota(v, x->name, page, e) < 0))
		return -1;
	set_text(page, "description", json_text_of(listing, "description"));
	set_text(page, "contact", s->contact);
	set(page, "expert", json_string(x->name));
	set(page, "granted", json_boolean(s->granted));
	set(page, "tools", tools_of(listing));
	set(page, "hosts", hosts_of(listing));
	set(page, "keys", keys_of(listing, have));
	if (s->granted)
		add_client(v, x->name, page);
	return 0;
}

static int add_asked(const struct door_view *v, const struct access *s, const char *expert,
	json_t *page, struct err *e)
{
	JSON_AUTO all = v->buyer ? buyer_experts(v->st, v->buyer, e) : json_array();
	bool asked = false;
	size_t i;
	json_t *x;
	json_array_foreach (all, i, x)
		asked |= strcmp(json_text_of(x, "expert"), expert) == 0 &&
			 json_is_true(json_object_get(x, "asked"));
	set(page, "asked", json_boolean(asked && !s->granted));
	set(page, "may_ask", json_boolean(v->buyer && s->listed && !s->granted && !asked));
	return all ? 0 : -1;
}

int door_view_expert(const struct door_view *v, const char *expert, struct buf *out, struct err *e)
{
	EXPERT_VIEW_AUTO x = {0};
	struct access s;
	if (find_access(v, expert, &s, e) < 0)
		return -1;
	JSON_AUTO page = new_page(v, expert);
	int r = expert_load_meta(v->st, expert, EXPERT_PUBLISHED, &x, e);
	if (r == 0)
		r = fill_expert(v, &s, &x, page, e);
	if (r == 0)
		r = add_asked(v, &s, expert, page, e);
	free(s.contact);
	if (r == 0)
		template_render(templates, "expert", page, out);
	return r;
}

/* ---- one tool ------------------------------------------------------------------------------- */

static const struct manifest_tool *find_tool(const struct door_view *v, const char *expert,
	const char *tool, struct expert_view *x, struct err *e)
{
	int version;
	int may = may_use(v, expert, &version, e);
	if (may < 0 || (may && expert_load_meta(v->st, expert, version, x, e) < 0))
		return NULL;
	const struct manifest_tool *t = x->name ? manifest_tool(&x->m, tool) : NULL;
	if (!t)
		err_set(e, ERR_NOTFOUND, "no such tool");
	return t;
}

static const char *trouble(const json_t *answer)
{
	static const char *const words[][2] = {{"missing-key", "A key that you bring is missing."},
		{"timeout", "It took too long."}, {"limit", "It went over a limit."},
		{"cancelled", "It was cancelled."}};
	const char *status = json_text_of(answer, "status");
	const char *said = json_text_of(json_object_get(answer, "error"), "message");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], status) == 0)
			return words[i][1];
	return *said ? said : "It failed.";
}

static void add_answer(json_t *page, const json_t *answer)
{
	json_t *files = json_array(), *f;
	const json_t *result = json_object_get(answer, "result");
	bool ok = strcmp(json_text_of(answer, "status"), "ok") == 0;
	size_t i;
	set(page, "result", json_true());
	set(page, "ok", json_boolean(ok));
	set_text(page, "trouble", trouble(answer));
	set_text(page, "run", json_text_of(answer, "run"));
	set(page, "ms", json_integer(json_int_of(answer, "ms")));
	json_array_foreach (json_object_get(answer, "artifacts"), i, f)
		json_array_append_new(files, json_pack("{s:s,s:I}", "file", json_text_of(f, "name"),
						     "bytes", (json_int_t)json_int_of(f, "bytes")));
	set(page, "files", files);
	if (json_is_string(result)) {
		set_text(page, "text", json_string_value(result));
	} else if (result && ok) {
		char *text = json_dumps(result, JSON_INDENT(2) | JSON_ENCODE_ANY);
		set_text(page, "text", text);
		free(text);
	}
}

int door_view_tool(const struct door_view *v, const char *expert, const char *tool,
	const json_t *answer, struct buf *out, struct err *e)
{
	EXPERT_VIEW_AUTO x = {0};
	const struct manifest_tool *t = find_tool(v, expert, tool, &x, e);
	if (!t)
		return -1;
	JSON_AUTO page = new_page(v, tool);
	json_t *inputs = inputs_of(t->input);
	set(page, "expert", json_string(expert));
	set(page, "tool", json_string(tool));
	set_text(page, "about", t->description);
	set(page, "whole",
		json_boolean(
			!json_array_size(inputs) && (!t->input || json_object_size(t->input))));
	set(page, "inputs", inputs);
	if (answer)
		add_answer(page, answer);
	template_render(templates, "tool", page, out);
	return 0;
}

static const char *param(const struct door_param *p, size_t n, const char *before, const char *name)
{
	size_t len = strlen(before);
	for (size_t i = 0; i < n; i++)
		if (strncmp(p[i].name, before, len) == 0 && strcmp(p[i].name + len, name) == 0)
			return p[i].value;
	return "";
}

/* What a field says, as its schema has it: text, or JSON. */
static json_t *value_of(const json_t *schema, const char *name, const char *text, struct err *e)
{
	bool as_text = is_type(schema, "string");
	size_t i;
	json_t *w;
	json_array_foreach (json_object_get(schema, "enum"), i, w)
		as_text |= json_is_string(w) && strcmp(json_string_value(w), text) == 0;
	if (as_text)
		return json_text(text, strlen(text));
	struct err why = {0};
	json_t *v = json_parse("value", text, strlen(text), &why);
	if (!v)
		err_set(e, ERR_USAGE, "%s: this is not JSON", name);
	return v;
}

int door_view_input(const struct door_view *v, const char *expert, const char *tool,
	const struct door_param *params, size_t n, struct buf *out, struct err *e)
{
	EXPERT_VIEW_AUTO x = {0};
	const struct manifest_tool *t = find_tool(v, expert, tool, &x, e);
	const char *name, *whole = param(params, n, "json", "");
	json_t *schema;
	if (!t)
		return -1;
	if (*whole) {
		buf_adds(out, whole);
		return 0;
	}
	JSON_AUTO input = json_object();
	json_object_foreach (json_object_get(t->input, "properties"), name, schema) {
		const char *text = param(params, n, "in.", name);
		json_t *value = *text ? value_of(schema, name, text, e) : NULL;
		if (*text && !value)
			return -1;
		if (value)
			set(input, name, value);
	}
	json_to_buf(input, out);
	return 0;
}

/* ---- others --------------------------------------------------------------------------------- */

int door_view_usage(const struct door_view *v, struct buf *out, struct err *e)
{
	JSON_AUTO page = new_page(v, "Usage");
	const struct usage_filter f = {
		.buyer = v->buyer, .since = clock_real_ms() - USAGE_DAYS * DAY_MS, .by = "day"};
	json_t *days = usage_list(v->st, &f, e), *d;
	size_t i;
	json_array_foreach (days, i, d) {
		double s = json_number_value(json_object_get(d, "seconds"));
		set(d, "took", json_integer((json_int_t)(s * 1000)));
	}
	if (!days)
		return -1;
	set(page, "days", days);
	set(page, "at_usage", json_true());
	template_render(templates, "usage", page, out);
	return 0;
}

void door_view_notice(
	const struct door_view *v, const char *title, const char *text, struct buf *out)
{
	JSON_AUTO page = new_page(v, title);
	set_text(page, "text", text);
	template_render(templates, "notice", page, out);
}

#include "state/expert.h"

static json_t *tool_json(const struct manifest_tool *t)
{
	return json_pack("{s:s,s:s,s:o,s:o,s:o,s:f,s:I}", "name", t->name, "description",
		t->description, "entry",
		t->entry_func ? json_sprintf("%s:%s", t->entry_file, t->entry_func)
			      : json_string(t->entry_file),
		"input", t->input ? json_deep_copy(t->input) : json_null(), "output",
		t->output ? json_deep_copy(t->output) : json_null(), "timeout",
		t->timeout_ms / 1000.0, "memory", (json_int_t)t->memory);
}

static json_t *tools_json(const struct manifest *m)
{
	json_t *a = json_array();
	for (size_t i = 0; i < m->ntools; i++)
		json_array_append_new(a, tool_json(&m->tools[i]));
	return a;
}

/* What was last seen of the tools, where expert.yaml cannot be read now. */
static json_t *tools_seen(struct state *st, int64_t expert, struct err *e)
{
	json_t *tools = expert_tools_seen(st, expert, e), *t;
	size_t i;
	json_array_foreach (tools, i, t)
		json_object_set_new(t, "entry", json_null());
	return tools;
}

static json_t *hosts_json(const struct expert_view *v)
{
	json_t *a = json_array();
	for (size_t i = 0; i < v->nhosts; i++) {
		const struct bound_host *h = &v->hosts[i];
		json_array_append_new(a, json_pack("{s:o,s:s?,s:o,s:s}", "host",
						 host_json(&h->host), "injects", h->credential_name,
						 "flags", host_flags(&h->host, h->credential != 0),
						 "note", h->credential ? "" : "egress only"));
	}
	return a;
}

static json_t *version_numbers(struct state *st, const struct expert *x, struct err *e)
{
	JSON_AUTO rows = expert_versions(st, x, e);
	json_t *a = json_array(), *row;
	for (size_t i = json_array_size(rows); i-- > 0;) {
		row = json_array_get(rows, i);
		json_array_append(a, json_object_get(row, "version"));
	}
	return a;
}

json_t *expert_describe(struct state *st, const char *name, struct err *e)
{
	EXPERT_AUTO x = {0};
	EXPERT_VIEW_AUTO v = {0};
	struct err why = {0};
	if (expert_find(st, name, &x, e) < 0)
		return NULL;
	if (expert_load_meta(st, name, EXPERT_DRAFT, &v, &why) < 0) {
		if (why.code != ERR_USAGE && why.code != ERR_NOTFOUND) {
			*e = why;
			return NULL;
		}
		v.id = x.id;
		if (expert_load_hosts(st, &v, e) < 0)
			return NULL;
	}
	return json_pack("{s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:o}", "name", x.name, "dir",
		json_text_or_null(x.dir), "description", v.m.name ? v.m.description : "", "tools",
		v.m.name ? tools_json(&v.m) : tools_seen(st, x.id, e), "hosts", hosts_json(&v),
		"published", x.published ? json_integer(x.published) : json_null(), "versions",
		version_numbers(st, &x, e), "problem",
		json_text_or_null(why.code ? why.msg : NULL));
}

static json_t *tool_names(const json_t *row, bool with_entry)
{
	json_t *a = json_array(), *t;
	size_t i;
	json_array_foreach (json_object_get(row, "tools"), i, t) {
		const char *name = json_text_of(t, "name"), *entry = json_text_of(t, "entry");
		json_array_append_new(a, with_entry && *entry ? json_sprintf("%s (%s)", name, entry)
							      : json_string(name));
	}
	return a;
}

/* "string", "string|null"; "" where a schema has no type. */
static void add_type(struct buf *b, const json_t *type)
{
	size_t i;
	json_t *one;
	buf_adds(b, json_is_string(type) ? json_string_value(type) : "");
	json_array_foreach (type, i, one)
		buf_addf(b, "%s%s", i ? "|" : "", json_string_value(one));
}

/* "chart(month: string, year?: integer)" of each tool that takes something. */
static json_t *tool_inputs(const json_t *row)
{
	json_t *a = json_array(), *t, *p;
	size_t i;
	json_array_foreach (json_object_get(row, "tools"), i, t) {
		const json_t *schema = json_object_get(t, "input");
		const char *name, *sep = "(";
		BUF_AUTO b = {0};
		buf_adds(&b, json_text_of(t, "name"));
		json_object_foreach (json_object_get(schema, "properties"), name, p) {
			BUF_AUTO type = {0};
			bool required = json_array_has(json_object_get(schema, "required"), name);
			add_type(&type, json_object_get(p, "type"));
			buf_addf(&b, "%s%s%s%s%s", sep, name, required ? "" : "?",
				type.len ? ": " : "", buf_str(&type));
			sep = ", ";
		}
		if (*sep == ',')
			json_array_append_new(a, json_sprintf("%s)", buf_str(&b)));
	}
	return a;
}

/* "x (KEY)", "x (egress only)", "*.x (KEY, ! wildcard)". */
static json_t *host_cells(const json_t *row)
{
	json_t *a = json_array(), *h, *flag;
	size_t i, k;
	json_array_foreach (json_object_get(row, "hosts"), i, h) {
		BUF_AUTO b = {0};
		const char *injects = json_text_of(h, "injects");
		buf_addf(&b, "%s (%s", json_text_of(h, "host"),
			*injects ? injects : json_text_of(h, "note"));
		json_array_foreach (json_object_get(h, "flags"), k, flag)
			buf_addf(&b, ", %s", json_string_value(flag));
		buf_adds(&b, ")");
		json_array_append_new(a, json_string(buf_str(&b)));
	}
	return a;
}

json_t *expert_cells(const json_t *described, bool with_entry)
{
	json_t *out = json_copy((json_t *)described);
	json_object_set_new(out, "tools", tool_names(described, with_entry));
	json_object_set_new(out, "inputs", tool_inputs(described));
	json_object_set_new(out, "hosts", host_cells(described));
	if (json_is_null(json_object_get(described, "published")))
		json_object_set_new(out, "published", json_string("no"));
	return out;
}

#include "state/listing.h"

#include "base/text.h"
#include "state/conn.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is in it ------------------------------------------------------------------------- */

static json_t *schema_or_null(const json_t *schema)
{
	return schema ? json_deep_copy(schema) : json_null();
}

static json_t *tools_of(const struct manifest *m)
{
	json_t *a = json_array();
	for (size_t i = 0; i < m->ntools; i++)
		json_array_append_new(a,
			json_pack("{s:s,s:s,s:o,s:o,s:O*}", "name", m->tools[i].name, "description",
				m->tools[i].description, "input", schema_or_null(m->tools[i].input),
				"output", schema_or_null(m->tools[i].output), "examples",
				m->tools[i].examples));
	return a;
}

/* What a buyer may know: that it is elsewhere, not where. Returns flags. */
static json_t *hide_places(json_t *flags)
{
	static const char where[] = "! connect-to";
	size_t i;
	json_t *flag;
	json_array_foreach (flags, i, flag) {
		if (strncmp(json_string_value(flag), where, sizeof where - 1) == 0)
			json_array_set_new(flags, i, json_string(where));
	}
	return flags;
}

static json_t *hosts_of(const struct expert_view *v)
{
	json_t *a = json_array();
	for (size_t i = 0; i < v->nhosts; i++)
		json_array_append_new(
			a, json_pack("{s:o,s:o}", "host", host_json(&v->hosts[i].host), "flags",
				   hide_places(host_flags(
					   &v->hosts[i].host, v->hosts[i].credential != 0))));
	return a;
}

/* Hosts come sorted by name; a key is listed once, where its first host is. */
static json_t *keys_of(const struct expert_view *v)
{
	json_t *by_name = json_object(), *a = json_array(), *hosts;
	const char *name;
	for (size_t i = 0; i < v->nhosts; i++) {
		const struct bound_host *h = &v->hosts[i];
		if (!h->buyer_pays)
			continue;
		hosts = json_object_get(by_name, h->credential_name);
		if (!hosts) {
			hosts = json_array();
			json_object_set_new(by_name, h->credential_name, hosts);
		}
		json_array_append_new(hosts, host_json(&h->host));
	}
	json_object_foreach (by_name, name, hosts)
		json_array_append_new(a, json_pack("{s:s,s:O}", "name", name, "hosts", hosts));
	json_decref(by_name);
	return a;
}

/* Grants are live: they are of the expert, not of a version. */
json_t *listing_make(struct state *st, const struct expert_view *v, struct err *e)
{
	json_t *connections = conn_list_of(st, v->id, e), *c;
	size_t i;
	if (!connections)
		return NULL;
	json_array_foreach (connections, i, c) {
		hide_places(json_object_get(c, "flags"));
	}
	json_t *flags = json_array();
	if (v->forced)
		json_array_append_new(flags, json_string("! forced"));
	json_t *l = json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "expert", v->name, "description",
		v->m.description, "version", v->version ? json_integer(v->version) : json_null(),
		"tools", tools_of(&v->m), "hosts", hosts_of(v), "keys", keys_of(v), "connections",
		connections, "flags", flags);
	if (!l)
		err_set(e, ERR_FAIL, "out of memory");
	return l;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_joined(struct buf *b, const json_t *array, const char *sep)
{
	size_t i;
	json_t *s;
	json_array_foreach (array, i, s) {
		buf_adds(b, i ? sep : "");
		buf_adds(b, json_string_value(s));
	}
}

static void add_indented(struct buf *b, const char *text, const char *indent)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		buf_adds(b, indent);
		buf_add(b, text, n);
		buf_addc(b, '\n');
		text += n + (text[n] == '\n');
	}
}

/* "string", "integer or null"; "" where the schema has no type. */
static void add_types(struct buf *b, const json_t *type)
{
	if (json_is_string(type))
		buf_adds(b, json_string_value(type));
	else
		add_joined(b, type, " or ");
}

/* The members of an input schema, one a line; anything deeper is in the JSON. */
static void add_inputs(struct buf *b, const json_t *schema)
{
	const char *name;
	json_t *p;
	json_object_foreach (json_object_get(schema, "properties"), name, p) {
		char shown[TEXT_SHOWN_MAX], what[TEXT_SHOWN_MAX];
		BUF_AUTO type = {0};
		bool required = json_array_has(json_object_get(schema, "required"), name);
		text_shown(json_text_of(p, "description"), what);
		buf_addf(b, "      %s", text_shown(name, shown));
		add_types(&type, json_object_get(p, "type"));
		if (type.len || required)
			buf_addf(b, " (%s%s%s)", buf_str(&type), type.len && required ? ", " : "",
				required ? "required" : "");
		buf_addf(b, "%s%s\n", *what ? ": " : "", what);
	}
}

void listing_example(const json_t *one, struct buf *b)
{
	const json_t *output = json_object_get(one, "output");
	json_to_buf(json_object_get(one, "input"), b);
	if (output) {
		buf_adds(b, " -> ");
		json_to_buf(output, b);
	}
	if (json_int_of(one, "exit"))
		buf_addf(b, " (exit %d)", (int)json_int_of(one, "exit"));
}

static void add_examples(struct buf *b, const json_t *list)
{
	size_t i;
	json_t *one;
	json_array_foreach (list, i, one) {
		buf_adds(b, "      example: ");
		listing_example(one, b);
		buf_addc(b, '\n');
	}
}

static void add_named(struct buf *b, const char *name, const json_t *flags)
{
	buf_addf(b, "  %s", name);
	if (json_array_size(flags)) {
		buf_adds(b, "  ");
		add_joined(b, flags, ", ");
	}
	buf_addc(b, '\n');
}

static const char *payer_words(const json_t *connection)
{
	return strcmp(json_text_of(connection, "payer"), "buyer") == 0 ? "you bring the key"
								       : "the builder pays";
}

static void add_connections(struct buf *b, const json_t *list)
{
	size_t i;
	json_t *c;
	if (json_array_size(list))
		buf_adds(b, "\nConnections:\n");
	json_array_foreach (list, i, c) {
		buf_addf(b, "  %s (%s): ", json_text_of(c, "name"), json_text_of(c, "env"));
		add_joined(b, json_object_get(c, "hosts"), ", ");
		buf_addf(b, "; %s", payer_words(c));
		buf_adds(b, json_array_size(json_object_get(c, "flags")) ? "; " : "");
		add_joined(b, json_object_get(c, "flags"), ", ");
		buf_addc(b, '\n');
	}
}

void listing_text(const json_t *l, struct buf *b)
{
	size_t i;
	json_t *o;
	const json_t *version = json_object_get(l, "version");
	buf_addf(b, "%s, ", json_text_of(l, "expert"));
	if (json_is_null(version))
		buf_adds(b, "a draft");
	else
		buf_addf(b, "version %d", (int)json_integer_value(version));
	buf_adds(b, json_array_size(json_object_get(l, "flags")) ? "  " : "");
	add_joined(b, json_object_get(l, "flags"), ", ");
	buf_addc(b, '\n');
	add_indented(b, json_text_of(l, "description"), "");
	buf_adds(b, "\nTools:\n");
	json_array_foreach (json_object_get(l, "tools"), i, o) {
		buf_addf(b, "  %s\n", json_text_of(o, "name"));
		add_indented(b, json_text_of(o, "description"), "      ");
		add_inputs(b, json_object_get(o, "input"));
		add_examples(b, json_object_get(o, "examples"));
	}
	buf_adds(b, json_array_size(json_object_get(l, "hosts")) ? "\nHosts that it may reach:\n"
								 : "\nIt reaches no host.\n");
	json_array_foreach (json_object_get(l, "hosts"), i, o)
		add_named(b, json_text_of(o, "host"), json_object_get(o, "flags"));
	buf_adds(b, json_array_size(json_object_get(l, "keys")) ? "\nKeys that you bring:\n"
								: "\nYou bring no keys.\n");
	json_array_foreach (json_object_get(l, "keys"), i, o) {
		buf_addf(b, "  %s, for ", json_text_of(o, "name"));
		add_joined(b, json_object_get(o, "hosts"), ", ");
		buf_addc(b, '\n');
	}
	add_connections(b, json_object_get(l, "connections"));
}

/* ---- Markdown ------------------------------------------------------------------------------ */

/*
 * One paragraph: newlines become spaces, so that only its start could begin a block, and what can
 * begin inline markup anywhere is escaped.
 */
static void add_escaped(struct buf *b, const char *s)
{
	s += strspn(s, " \t\n");
	size_t digits = strspn(s, "0123456789");
	buf_add(b, s, digits);
	s += digits;
	if (*s && strchr("#+-=.)", *s))
		buf_addc(b, '\\');
	for (; *s; s++) {
		if (strchr("\\`*_[]<>&|~", *s))
			buf_addc(b, '\\');
		buf_addc(b, *s == '\n' || *s == '\t' ? ' ' : *s);
	}
}

/* A code span whose fence is longer than any run of backticks within; names hold none anyway. */
static void add_code(struct buf *b, const char *s)
{
	buf_addf(b, strchr(s, '`') ? "`` %s ``" : "`%s`", s);
}

static size_t longest_run(const char *s, char c)
{
	size_t best = 0, run = 0;
	for (; *s; s++) {
		run = *s == c ? run + 1 : 0;
		best = run > best ? run : best;
	}
	return best;
}

static void add_schema(struct buf *b, const char *title, const json_t *schema)
{
	if (!schema || json_is_null(schema))
		return;
	char *text = json_dumps(schema, JSON_INDENT(2) | JSON_ENCODE_ANY);
	if (!text)
		return;
	size_t fence = longest_run(text, '`') + 1;
	fence = fence < 3 ? 3 : fence;
	buf_addf(b, "\n%s:\n\n", title);
	for (size_t i = 0; i < fence; i++)
		buf_addc(b, '`');
	buf_addf(b, "json\n%s\n", text);
	for (size_t i = 0; i < fence; i++)
		buf_addc(b, '`');
	buf_addc(b, '\n');
	free(text);
}

static void add_flags_escaped(struct buf *b, const json_t *flags)
{
	size_t i;
	json_t *f;
	json_array_foreach (flags, i, f) {
		buf_adds(b, i ? ", **" : " **");
		add_escaped(b, json_string_value(f));
		buf_adds(b, "**");
	}
}

static void add_codes(struct buf *b, const json_t *names)
{
	size_t i;
	json_t *n;
	json_array_foreach (names, i, n) {
		buf_adds(b, i ? ", " : "");
		add_code(b, json_string_value(n));
	}
}

static void markdown_tools(const json_t *l, struct buf *b)
{
	size_t i;
	json_t *o;
	buf_adds(b, "\n## Tools\n");
	json_array_foreach (json_object_get(l, "tools"), i, o) {
		buf_adds(b, "\n### ");
		add_escaped(b, json_text_of(o, "name"));
		buf_adds(b, "\n\n");
		add_escaped(b, json_text_of(o, "description"));
		buf_addc(b, '\n');
		add_schema(b, "Input", json_object_get(o, "input"));
		add_schema(b, "Output", json_object_get(o, "output"));
		add_schema(b, "Examples", json_object_get(o, "examples"));
	}
}

static void markdown_rest(const json_t *l, struct buf *b)
{
	size_t i;
	json_t *o;
	buf_adds(b, "\n## Hosts that it may reach\n\n");
	json_array_foreach (json_object_get(l, "hosts"), i, o) {
		buf_adds(b, "- ");
		add_code(b, json_text_of(o, "host"));
		add_flags_escaped(b, json_object_get(o, "flags"));
		buf_addc(b, '\n');
	}
	buf_adds(b, i ? "" : "None.\n");
	buf_adds(b, "\n## Keys that you bring\n\n");
	json_array_foreach (json_object_get(l, "keys"), i, o) {
		buf_adds(b, "- ");
		add_code(b, json_text_of(o, "name"));
		buf_adds(b, " for ");
		add_codes(b, json_object_get(o, "hosts"));
		buf_addc(b, '\n');
	}
	buf_adds(b, i ? "" : "None.\n");
	if (json_array_size(json_object_get(l, "connections")))
		buf_adds(b, "\n## Connections\n\n");
	json_array_foreach (json_object_get(l, "connections"), i, o) {
		buf_adds(b, "- ");
		add_code(b, json_text_of(o, "name"));
		buf_adds(b, " (");
		add_code(b, json_text_of(o, "env"));
		buf_adds(b, "): ");
		add_codes(b, json_object_get(o, "hosts"));
		buf_addf(b, "; %s", payer_words(o));
		add_flags_escaped(b, json_object_get(o, "flags"));
		buf_addc(b, '\n');
	}
}

void listing_markdown(const json_t *l, struct buf *b)
{
	const json_t *version = json_object_get(l, "version");
	buf_adds(b, "# ");
	add_escaped(b, json_text_of(l, "expert"));
	buf_adds(b, "\n\n");
	if (*json_text_of(l, "description")) {
		add_escaped(b, json_text_of(l, "description"));
		buf_adds(b, "\n\n");
	}
	if (json_is_null(version))
		buf_adds(b, "A draft.");
	else
		buf_addf(b, "Version %d.", (int)json_integer_value(version));
	add_flags_escaped(b, json_object_get(l, "flags"));
	buf_addc(b, '\n');
	markdown_tools(l, b);
	markdown_rest(l, b);
}

#include "verify/verify.h"
#include "base/nearest.h"
#include "state/cred.h"
#include "verify/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_required(const json_t *read)
{
	return strcmp(json_text_of(read, "kind"), "required") == 0;
}

/* ---- supply -------------------------------------------------------------------------------- */

/* A key is supplied by an attached host that is bound to it, once there is a value or a payer for
 * one.
 */
static const struct bound_host *supplier(const struct bound_host *hosts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		const struct bound_host *h = &hosts[i];
		if (h->credential_name && strcmp(h->credential_name, name) == 0 &&
			(h->buyer_pays || h->has_value))
			return h;
	}
	return NULL;
}

static json_t *host_or_null(const struct bound_host *h)
{
	char text[HOST_TEXT_MAX];
	if (!h)
		return json_null();
	host_text(&h->host, text);
	return json_string(text);
}

static int by_key_name(const void *name, const void *key)
{
	return strcmp(name, ((const struct verify_key *)key)->name);
}

/* What is known of a key that the code reads; NULL for one that it does not read. */
static const struct verify_key *find_key(const struct verify_input *in, const char *name)
{
	return in->nkeys ? bsearch(name, in->keys, in->nkeys, sizeof *in->keys, by_key_name) : NULL;
}

static bool is_bound_here(const struct verify_input *in, const char *name)
{
	for (size_t i = 0; i < in->nhosts; i++)
		if (in->hosts[i].credential_name && strcmp(in->hosts[i].credential_name, name) == 0)
			return true;
	return false;
}

/* The one attached host that injects nothing, where there is just one: what is to be bound. */
static void free_host(const struct verify_input *in, char out[HOST_TEXT_MAX])
{
	const struct bound_host *only = NULL;
	size_t n = 0;
	for (size_t i = 0; i < in->nhosts; i++) {
		if (in->hosts[i].credential)
			continue;
		only = &in->hosts[i];
		n++;
	}
	if (n == 1)
		host_text(&only->host, out);
	else
		snprintf(out, HOST_TEXT_MAX, "HOST");
}

/* What an attached host supplies and no code reads, under a name much like this one: a slip. */
static const char *supplied_like(const struct verify_input *in, const char *name)
{
	for (size_t i = 0; i < in->nhosts; i++) {
		const char *one[] = {in->hosts[i].credential_name, NULL};
		if (one[0] && nearest_word(name, one) && !find_key(in, one[0]))
			return one[0];
	}
	return NULL;
}

char *verify_hint(const struct verify_input *in, const char *name)
{
	struct err quiet = {0};
	struct buf b = {0};
	char host[HOST_TEXT_MAX];
	const char *near;
	const struct verify_key *k = find_key(in, name);
	if (name_check_credential(name, &quiet) < 0)
		buf_adds(&b, "rename the key: letters, digits and _, at most 64");
	else if ((!k || !k->exists) && (near = supplied_like(in, name)))
		buf_addf(&b, "did you mean EV_KEYS['%s']? Else: evctl-cred add %s", near, name);
	else if (!k || !k->exists)
		buf_addf(&b, "evctl-cred add %s", name);
	else if (!k->has_value)
		buf_addf(&b, "evctl-cred rotate %s", name);
	else if (k->host && !is_bound_here(in, name))
		buf_addf(&b, "evctl-expert attach %s %s", in->expert, k->host);
	else {
		free_host(in, host);
		buf_addf(&b, "evctl-bind set %s %s", host, name);
	}
	return buf_detach(&b);
}

/* ---- the verdict's parts ------------------------------------------------------------------- */

/* One copy of row for each tool that reaches its file, or one with a null tool. */
static void add_per_tool(json_t *out, const json_t *tools, json_t *row)
{
	size_t i;
	json_t *tool;
	json_array_foreach (tools, i, tool) {
		json_t *copy = json_copy(row);
		json_object_set(copy, "tool", tool);
		json_array_append_new(out, copy);
	}
	if (json_array_size(tools) == 0) {
		json_object_set_new(row, "tool", json_null());
		json_array_append(out, row);
	}
	json_decref(row);
}

static json_t *reads_of(const struct verify_input *in)
{
	json_t *out = json_array(), *r;
	size_t i;
	json_array_foreach (json_object_get(in->findings, "reads"), i, r) {
		const struct bound_host *h =
			supplier(in->hosts, in->nhosts, json_text_of(r, "name"));
		add_per_tool(out, json_object_get(r, "tools"),
			json_pack("{s:O,s:O,s:O,s:O,s:n,s:o}", "name", json_object_get(r, "name"),
				"file", json_object_get(r, "file"), "line",
				json_object_get(r, "line"), "kind", json_object_get(r, "kind"),
				"tool", "host", host_or_null(h)));
	}
	return out;
}

/* A key that is only read for want of another is not missed while that one is supplied. */
static bool is_missed(const struct verify_input *in, const json_t *read)
{
	const char *instead = json_text_of(read, "instead");
	return is_required(read) && !(*instead && supplier(in->hosts, in->nhosts, instead));
}

/* The reads of a kind that nobody supplies, each with the command that mends it. */
static json_t *unsupplied_of(const struct verify_input *in, bool required)
{
	json_t *out = json_array(), *r;
	size_t i;
	json_array_foreach (json_object_get(in->findings, "reads"), i, r) {
		const char *name = json_text_of(r, "name");
		if (is_missed(in, r) != required || supplier(in->hosts, in->nhosts, name))
			continue;
		const char *own = json_text_of(r, "hint");
		char *hint = *own ? strdup(own) : verify_hint(in, name);
		add_per_tool(out, json_object_get(r, "tools"),
			json_pack("{s:n,s:O,s:O,s:O,s:s?}", "tool", "name",
				json_object_get(r, "name"), "file", json_object_get(r, "file"),
				"line", json_object_get(r, "line"), "hint", hint));
		free(hint);
	}
	return out;
}

static json_t *dynamic_of(const json_t *findings)
{
	json_t *out = json_array(), *r;
	size_t i;
	json_array_foreach (json_object_get(findings, "dynamic"), i, r)
		add_per_tool(out, json_object_get(r, "tools"),
			json_pack("{s:O,s:O,s:O,s:O*,s:n}", "file", json_object_get(r, "file"),
				"line", json_object_get(r, "line"), "why",
				json_object_get(r, "why"), "hint", json_object_get(r, "hint"),
				"tool"));
	return out;
}

static bool is_read(const json_t *findings, const char *name)
{
	json_t *r;
	size_t i;
	json_array_foreach (json_object_get(findings, "reads"), i, r) {
		if (strcmp(json_text_of(r, "name"), name) == 0)
			return true;
	}
	return false;
}

static json_t *unused_of(const struct verify_input *in)
{
	json_t *out = json_array();
	for (size_t i = 0; i < in->nhosts; i++) {
		const struct bound_host *h = &in->hosts[i];
		if (h->credential_name && !is_read(in->findings, h->credential_name))
			json_array_append_new(
				out, json_pack("{s:s,s:o}", "name", h->credential_name, "host",
					     host_or_null(h)));
	}
	return out;
}

static json_t *buyer_keys_of(const struct verify_input *in)
{
	json_t *out = json_array();
	for (size_t i = 0; i < in->nhosts; i++)
		if (in->hosts[i].buyer_pays)
			json_array_append_new(
				out, json_pack("{s:s,s:o}", "name", in->hosts[i].credential_name,
					     "host", host_or_null(&in->hosts[i])));
	return out;
}

static void add_flag(json_t *out, json_t *flag)
{
	size_t i;
	json_t *old;
	json_array_foreach (out, i, old) {
		if (json_equal(old, flag)) {
			json_decref(flag);
			return;
		}
	}
	json_array_append_new(out, flag);
}

static void add_host_flags(json_t *out, const struct bound_host *h)
{
	char text[HOST_TEXT_MAX];
	host_text(&h->host, text);
	if (host_is_wildcard(&h->host))
		add_flag(out, json_sprintf("! wildcard %s%s", text,
				      h->credential ? " injects a key" : ""));
	if (h->host.route.allow_private)
		add_flag(out, json_sprintf("! allow-private %s", text));
	if (h->host.plain)
		add_flag(out, json_sprintf("! plain %s", text));
	if (h->host.route.connect_to)
		add_flag(out, json_sprintf("! connect-to %s", text));
	if (h->credential && !h->buyer_pays && h->has_value && h->length < CRED_SHORT)
		add_flag(out, json_sprintf("! short %s", h->credential_name));
}

static json_t *flags_of(const struct verify_input *in)
{
	json_t *out = json_array(), *s;
	size_t i;
	if (in->forced)
		add_flag(out, json_string("! forced"));
	for (i = 0; i < in->nhosts; i++)
		add_host_flags(out, &in->hosts[i]);
	json_array_foreach (json_object_get(in->findings, "suspicious"), i, s)
		add_flag(out, json_sprintf("! file %s: %s", json_text_of(s, "file"),
				      json_text_of(s, "why")));
	return out;
}

/* ---- the verdict --------------------------------------------------------------------------- */

static size_t count(const json_t *o, const char *key)
{
	return json_array_size(json_object_get(o, key));
}

static const char *status_of(const json_t *v)
{
	if (count(v, "missing") || count(v, "syntax_errors") || count(v, "modules_missing") ||
		count(v, "entry_errors") || count(v, "not_in_globals"))
		return "red";
	if (count(v, "dynamic") || count(v, "env_mistakes") || count(v, "optional_missing"))
		return "amber";
	return "green";
}

/* The rows of a kind without their hints. Versions that were published before there was one lack
 * it. */
static json_t *modules_of(const json_t *findings, const char *kind)
{
	json_t *out = json_array(), *r;
	size_t i;
	json_array_foreach (json_object_get(findings, kind), i, r)
		json_array_append_new(out,
			json_pack("{s:O,s:O,s:O}", "module", json_object_get(r, "module"), "file",
				json_object_get(r, "file"), "line", json_object_get(r, "line")));
	return out;
}

/* Versions that were published before there were such rows have none. */
static json_t *rows_of(const json_t *findings, const char *kind)
{
	json_t *rows = json_object_get(findings, kind);
	return rows ? json_incref(rows) : json_array();
}

/* {MODULE: what mends it} */
static json_t *module_hints_of(const json_t *findings)
{
	json_t *out = json_object(), *r;
	size_t i;
	json_array_foreach (json_object_get(findings, "modules_missing"), i, r)
		json_object_set(out, json_text_of(r, "module"), json_object_get(r, "hint"));
	return out;
}

json_t *verify_judge(const struct verify_input *in)
{
	const json_t *f = in->findings;
	json_t *v = json_pack(
		"{s:o,s:s,s:o,s:o,s:o,s:O,s:o,s:o,s:o,s:b,s:O,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"expert", json_text(in->expert, strlen(in->expert)), "status", "", "missing",
		unsupplied_of(in, true), "reads", reads_of(in), "dynamic", dynamic_of(f),
		"env_mistakes", json_object_get(f, "env_mistakes"), "modules_missing",
		modules_of(f, "modules_missing"), "unused", unused_of(in), "flags", flags_of(in),
		"syntax_error", (int)(count(f, "syntax_errors") > 0), "syntax_errors",
		json_object_get(f, "syntax_errors"), "optional_missing", unsupplied_of(in, false),
		"buyer_keys", buyer_keys_of(in), "modules_optional",
		modules_of(f, "modules_optional"), "module_hints", module_hints_of(f),
		"syntax_unreached", rows_of(f, "syntax_unreached"), "entry_errors",
		rows_of(f, "entry_errors"), "not_in_globals", rows_of(f, "not_in_globals"));
	if (v)
		json_object_set_new(v, "status", json_string(status_of(v)));
	return v;
}

const char *verify_status(const json_t *verdict)
{
	return json_text_of(verdict, "status");
}

static void sort_unique(struct strv *sv)
{
	size_t n = 0;
	if (!sv->n)
		return;
	strv_sort(sv);
	for (size_t i = 0; i < sv->n; i++) {
		if (n && strcmp(sv->v[n - 1], sv->v[i]) == 0)
			free(sv->v[i]);
		else
			sv->v[n++] = sv->v[i];
	}
	sv->n = n;
	sv->v[n] = NULL;
}

void verify_key_names(const json_t *findings, struct strv *out)
{
	size_t i;
	json_t *r;
	json_array_foreach (json_object_get(findings, "reads"), i, r)
		strv_add(out, json_text_of(r, "name"));
	sort_unique(out);
}

/* ---- what one tool needs ------------------------------------------------------------------- */

void verify_needs_free(struct verify_needs *n)
{
	strv_free(&n->required);
	strv_free(&n->optional);
	strv_free(&n->instead);
	strv_free(&n->missing);
	strv_free(&n->modules);
	*n = (struct verify_needs){0};
}

int verify_find(struct expert_view *v, struct err *e)
{
	if (!v->reads)
		v->reads = findings_make(&v->m, &v->t, e);
	return v->reads ? 0 : -1;
}

/* Only what the tool's entry reaches: exit 14 is about keys that this tool reads. */
static bool concerns(const json_t *finding, const char *tool)
{
	return json_array_has(json_object_get(finding, "tools"), tool);
}

static void add_reads(const json_t *findings, const char *tool, bool required, struct strv *out)
{
	size_t i;
	json_t *r;
	json_array_foreach (json_object_get(findings, "reads"), i, r) {
		if (is_required(r) == required && concerns(r, tool))
			strv_add(out, json_text_of(r, "name"));
	}
	sort_unique(out);
}

/* The key for want of which each read of a name that a tool needs is come to; "" if there is none.
 */
static const char *instead_of(const json_t *findings, const char *tool, const char *name)
{
	size_t i;
	json_t *r;
	const char *all = NULL;
	json_array_foreach (json_object_get(findings, "reads"), i, r) {
		if (!is_required(r) || !concerns(r, tool) ||
			strcmp(json_text_of(r, "name"), name) != 0)
			continue;
		const char *one = json_text_of(r, "instead");
		all = !all || strcmp(all, one) == 0 ? one : "";
	}
	return all ? all : "";
}

static bool is_supplied(const struct expert_view *v, const char *name)
{
	return supplier(v->hosts, v->nhosts, name);
}

int verify_reads_for_tool(
	struct expert_view *v, const char *tool, struct verify_needs *out, struct err *e)
{
	STRV_AUTO optional = {0};
	size_t i;
	json_t *f;
	if (verify_find(v, e) < 0)
		return -1;
	add_reads(v->reads, tool, true, &out->required);
	add_reads(v->reads, tool, false, &optional);
	for (i = 0; i < optional.n; i++)
		if (!strv_has(&out->required, optional.v[i]))
			strv_add(&out->optional, optional.v[i]);
	for (i = 0; i < out->required.n; i++) {
		const char *name = out->required.v[i], *instead = instead_of(v->reads, tool, name);
		strv_add(&out->instead, instead);
		if (!is_supplied(v, name) && !(*instead && is_supplied(v, instead)))
			strv_add(&out->missing, name);
	}
	json_array_foreach (json_object_get(v->reads, "dynamic"), i, f)
		out->dynamic |= concerns(f, tool);
	json_array_foreach (json_object_get(json_object_get(v->reads, "modules"), tool), i, f)
		strv_add(&out->modules, json_string_value(f));
	if (optional.failed || out->required.failed || out->optional.failed ||
		out->missing.failed || out->modules.failed || out->instead.failed)
		return err_set(e, ERR_FAIL, "out of memory");
	return 0;
}

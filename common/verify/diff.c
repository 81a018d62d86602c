#include "verify/diff.h"

#include "base/text.h"
#include "verify/linewise.h"
#include "verify/verify.h"

#include <string.h>

/* ---- tools --------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_json(const json_t *a, const json_t *b)
{
	return a == b || (a && b && json_equal(a, b));
}

static void add_if(json_t *array, bool differs, const char *what)
{
	if (differs)
		json_array_append_new(array, json_string(what));
}

static json_t *tool_changes(const struct manifest_tool *a, const struct manifest_tool *b)
{
	json_t *what = json_array();
	add_if(what, strcmp(a->description, b->description) != 0, "description");
	add_if(what,
		strcmp(a->entry_file, b->entry_file) != 0 ||
			!same_text(a->entry_func, b->entry_func),
		"entry");
	add_if(what, !same_json(a->input, b->input), "input");
	add_if(what, !same_json(a->output, b->output), "output");
	add_if(what, !same_json(a->examples, b->examples), "examples");
	add_if(what, a->timeout_ms != b->timeout_ms, "timeout");
	add_if(what, a->memory != b->memory, "memory");
	return what;
}

static json_t *diff_tools(const struct manifest *a, const struct manifest *b)
{
	json_t *added = json_array(), *removed = json_array(), *changed = json_array();
	for (size_t i = 0; i < b->ntools; i++)
		add_if(added, !manifest_tool(a, b->tools[i].name), b->tools[i].name);
	for (size_t i = 0; i < a->ntools; i++) {
		const struct manifest_tool *now = manifest_tool(b, a->tools[i].name);
		add_if(removed, !now, a->tools[i].name);
		json_t *what = now ? tool_changes(&a->tools[i], now) : json_array();
		if (json_array_size(what))
			json_array_append_new(changed,
				json_pack("{s:s,s:O}", "name", a->tools[i].name, "what", what));
		json_decref(what);
	}
	return json_pack("{s:o,s:o,s:o}", "added", added, "removed", removed, "changed", changed);
}

/* ---- hosts --------------------------------------------------------------------------------- */

static const struct bound_host *find_host(const struct expert_view *v, const struct bound_host *h)
{
	for (size_t i = 0; i < v->nhosts; i++)
		if (host_is(&v->hosts[i].host, &h->host))
			return &v->hosts[i];
	return NULL;
}

static json_t *host_changes(const struct host *a, const struct host *b)
{
	const struct route *was = &a->route, *now = &b->route;
	json_t *what = json_array();
	add_if(what, was->allow_private != now->allow_private, "allow-private");
	add_if(what, a->plain != b->plain, "plain");
	add_if(what, !same_text(was->connect_to, now->connect_to), "connect-to");
	add_if(what, !same_text(was->ca, now->ca), "ca");
	return what;
}

static void add_host_text(json_t *array, bool differs, const struct bound_host *h)
{
	char text[HOST_TEXT_MAX];
	host_text(&h->host, text);
	add_if(array, differs, text);
}

static json_t *diff_hosts(const struct expert_view *a, const struct expert_view *b)
{
	json_t *added = json_array(), *removed = json_array(), *changed = json_array();
	for (size_t i = 0; i < b->nhosts; i++)
		add_host_text(added, !find_host(a, &b->hosts[i]), &b->hosts[i]);
	for (size_t i = 0; i < a->nhosts; i++) {
		char text[HOST_TEXT_MAX];
		const struct bound_host *now = find_host(b, &a->hosts[i]);
		add_host_text(removed, !now, &a->hosts[i]);
		json_t *what = now ? host_changes(&a->hosts[i].host, &now->host) : json_array();
		host_text(&a->hosts[i].host, text);
		if (json_array_size(what))
			json_array_append_new(
				changed, json_pack("{s:s,s:O}", "host", text, "what", what));
		json_decref(what);
	}
	return json_pack("{s:o,s:o,s:o}", "added", added, "removed", removed, "changed", changed);
}

static json_t *diff_bindings(const struct expert_view *a, const struct expert_view *b)
{
	json_t *out = json_array();
	for (size_t i = 0; i < a->nhosts; i++) {
		char text[HOST_TEXT_MAX];
		const struct bound_host *was = &a->hosts[i], *now = find_host(b, was);
		if (!now || was->credential == now->credential)
			continue;
		host_text(&was->host, text);
		json_array_append_new(
			out, json_pack("{s:s,s:s?,s:s?}", "host", text, "published",
				     was->credential_name, "draft", now->credential_name));
	}
	return out;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static json_t *diff_keys(const json_t *a, const json_t *b)
{
	STRV_AUTO was = {0};
	STRV_AUTO now = {0};
	json_t *added = json_array(), *removed = json_array();
	verify_key_names(a, &was);
	verify_key_names(b, &now);
	for (size_t i = 0; i < now.n; i++)
		add_if(added, !strv_has(&was, now.v[i]), now.v[i]);
	for (size_t i = 0; i < was.n; i++)
		add_if(removed, !strv_has(&now, was.v[i]), was.v[i]);
	return json_pack("{s:o,s:o}", "added", added, "removed", removed);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static size_t size_of(const json_t *diff, const char *part, const char *list)
{
	return json_array_size(json_object_get(json_object_get(diff, part), list));
}

static bool has_any(const json_t *d, const char *part)
{
	return size_of(d, part, "added") || size_of(d, part, "removed") ||
	       size_of(d, part, "changed");
}

static void add_part(struct buf *out, bool differs, const char *word)
{
	if (differs)
		buf_addf(out, "%s%s", out->len ? ", " : "", word);
}

void diff_parts(const json_t *d, struct buf *out)
{
	add_part(out, strcmp(json_text_of(d, "code"), "same") != 0, "code");
	add_part(out, json_is_true(json_object_get(d, "description")), "description");
	add_part(out, has_any(d, "tools"), "tools");
	add_part(out, has_any(d, "hosts"), "hosts");
	add_part(out, json_array_size(json_object_get(d, "bindings")), "bindings");
	add_part(out, has_any(d, "keys"), "keys");
}

static bool is_same(const json_t *d)
{
	BUF_AUTO parts = {0};
	diff_parts(d, &parts);
	return !parts.len;
}

json_t *diff_make(
	const struct expert_view *published, const struct expert_view *draft, struct err *e)
{
	char id[65];
	if (snapshot_code_id(&draft->t, id, e) < 0)
		return NULL;
	bool same = strcmp(id, json_text_of(published->reads, "code")) == 0;
	json_t *d = json_pack("{s:s,s:i,s:b,s:s,s:b,s:o,s:o,s:o,s:o}", "expert", draft->name,
		"published", published->version, "same", 0, "code", same ? "same" : "changed",
		"description", strcmp(published->m.description, draft->m.description) != 0, "tools",
		diff_tools(&published->m, &draft->m), "hosts", diff_hosts(published, draft),
		"bindings", diff_bindings(published, draft), "keys",
		diff_keys(published->reads, draft->reads));
	if (!d)
		err_set(e, ERR_FAIL, "out of memory");
	else
		json_object_set_new(d, "same", json_boolean(is_same(d)));
	return d;
}

json_t *diff_find(struct state *st, const char *name, struct expert_view *published,
	struct expert_view *draft, struct err *e)
{
	if (expert_load_meta(st, name, EXPERT_PUBLISHED, published, e) < 0 ||
		expert_load(st, name, EXPERT_DRAFT, draft, e) < 0 || verify_find(draft, e) < 0)
		return NULL;
	return diff_make(published, draft, e);
}

int diff_draft(struct state *st, const char *name, struct buf *parts, struct err *e)
{
	EXPERT_VIEW_AUTO published = {0};
	EXPERT_VIEW_AUTO draft = {0};
	JSON_AUTO diff = diff_find(st, name, &published, &draft, e);
	if (!diff)
		return -1;
	diff_parts(diff, parts);
	return 0;
}

/* ---- files --------------------------------------------------------------------------------- */

static void add_patch(struct buf *patch, const struct lines_diff *d, const struct tree_file *a,
	const struct tree_file *b)
{
	buf_addf(patch, "--- %s%s\n+++ %s%s\n", a ? "a/" : "/dev/null", a ? a->path : "",
		b ? "b/" : "/dev/null", b ? b->path : "");
	lines_patch(d, a ? a->data : "", a ? a->n : 0, b ? b->data : "", b ? b->n : 0, patch);
}

/* One file, which one of them may lack. */
static int diff_file(json_t *files, const char *path, const struct tree_file *a,
	const struct tree_file *b, struct buf *patch, struct err *e)
{
	struct lines_diff d = {0};
	if (a && b && a->n == b->n && memcmp(a->data, b->data, a->n) == 0)
		return 0;
	bool binary = (a && lines_binary(a->data, a->n)) || (b && lines_binary(b->data, b->n));
	if (!binary && lines_compare(a ? a->data : "", a ? a->n : 0, b ? b->data : "", b ? b->n : 0,
			       &d) < 0) {
		lines_free(&d);
		return err_set(e, ERR_FAIL, "out of memory");
	}
	json_array_append_new(files, json_pack("{s:s,s:s,s:I,s:I,s:b}", "path", path, "what",
					     !a	  ? "added"
					     : !b ? "removed"
						  : "changed",
					     "added", (json_int_t)d.added, "removed",
					     (json_int_t)d.removed, "binary", (int)binary));
	if (patch && binary)
		buf_addf(patch, "Binary file %s differs\n", path);
	else if (patch)
		add_patch(patch, &d, a, b);
	lines_free(&d);
	return 0;
}

int diff_files(
	json_t *diff, const struct tree *a, const struct tree *b, struct buf *patch, struct err *e)
{
	json_t *files = json_array();
	size_t i = 0, k = 0;
	json_object_set_new(diff, "files", files);
	while (i < a->n || k < b->n) {
		int order = i == a->n	? 1
			    : k == b->n ? -1
					: strcmp(a->files[i].path, b->files[k].path);
		const struct tree_file *was = order <= 0 ? &a->files[i] : NULL;
		const struct tree_file *now = order >= 0 ? &b->files[k] : NULL;
		const char *path = order <= 0 ? a->files[i].path : b->files[k].path;
		if (diff_file(files, path, was, now, patch, e) < 0)
			return -1;
		i += order <= 0;
		k += order >= 0;
	}
	return 0;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_names(struct buf *b, const json_t *o, const char *list, char sign, const char *noun)
{
	size_t i;
	json_t *name;
	char shown[TEXT_SHOWN_MAX];
	json_array_foreach (json_object_get(o, list), i, name)
		buf_addf(b, "%c %s %s\n", sign, noun, text_shown(json_string_value(name), shown));
}

static void add_changed(struct buf *b, const json_t *o, const char *noun, const char *key)
{
	size_t i, k;
	json_t *c, *what;
	json_array_foreach (json_object_get(o, "changed"), i, c) {
		buf_addf(b, "~ %s %s: ", noun, json_text_of(c, key));
		json_array_foreach (json_object_get(c, "what"), k, what)
			buf_addf(b, "%s%s", k ? ", " : "", json_string_value(what));
		buf_addc(b, '\n');
	}
}

static const char *bound_word(const json_t *binding, const char *side)
{
	const char *s = json_text_of(binding, side);
	return *s ? s : "egress only";
}

static void add_file(struct buf *b, const json_t *f)
{
	const char *what = json_text_of(f, "what");
	char shown[TEXT_SHOWN_MAX];
	char sign = *what == 'a' ? '+' : *what == 'r' ? '-' : '~';
	buf_addf(b, "%c file %s: ", sign, text_shown(json_text_of(f, "path"), shown));
	if (json_is_true(json_object_get(f, "binary")))
		buf_adds(b, "binary\n");
	else
		buf_addf(b, "+%lld -%lld\n",
			(long long)json_integer_value(json_object_get(f, "added")),
			(long long)json_integer_value(json_object_get(f, "removed")));
}

void diff_stat(const json_t *d, struct buf *b)
{
	const json_t *files = json_object_get(d, "files");
	long long added = 0, removed = 0;
	size_t i, n = json_array_size(files);
	json_t *f;
	json_array_foreach (files, i, f) {
		add_file(b, f);
		added += json_integer_value(json_object_get(f, "added"));
		removed += json_integer_value(json_object_get(f, "removed"));
	}
	buf_addf(b, "%zu file%s: +%lld -%lld\n", n, n == 1 ? "" : "s", added, removed);
}

void diff_text(const json_t *d, struct buf *b)
{
	const json_t *tools = json_object_get(d, "tools"), *hosts = json_object_get(d, "hosts");
	size_t i;
	json_t *c;
	if (json_is_true(json_object_get(d, "description")))
		buf_adds(b, "~ description\n");
	if (strcmp(json_text_of(d, "code"), "changed") == 0)
		buf_adds(b, "~ code\n");
	json_array_foreach (json_object_get(d, "files"), i, c)
		add_file(b, c);
	add_names(b, tools, "added", '+', "tool");
	add_names(b, tools, "removed", '-', "tool");
	add_changed(b, tools, "tool", "name");
	add_names(b, hosts, "added", '+', "host");
	add_names(b, hosts, "removed", '-', "host");
	add_changed(b, hosts, "host", "host");
	json_array_foreach (json_object_get(d, "bindings"), i, c)
		buf_addf(b, "~ binding of %s: %s -> %s\n", json_text_of(c, "host"),
			bound_word(c, "published"), bound_word(c, "draft"));
	add_names(b, json_object_get(d, "keys"), "added", '+', "key");
	add_names(b, json_object_get(d, "keys"), "removed", '-', "key");
	if (json_is_true(json_object_get(d, "same")))
		buf_addf(b, "the draft is as published in version %d\n",
			(int)json_integer_value(json_object_get(d, "published")));
}

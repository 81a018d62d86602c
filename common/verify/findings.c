#include "verify/findings.h"

#include "base/python.h"
#include "verify/modules.h"

#include <string.h>

static bool is_python(const char *path)
{
	size_t n = strlen(path);
	return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

static int scan_all(struct scan *s, const struct tree *t, struct err *e)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tree_file *f = &t->files[i];
		if (is_python(f->path) && scan_add_file(s, f->path, f->data, f->n, e) < 0)
			return -1;
	}
	return scan_resolve(s, e);
}

static json_t *text(const char *s)
{
	return json_text(s, strlen(s));
}

enum part { PART_OURS, PART_TESTS, PART_LEFT_OUT };

static bool is_test(const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t n = strlen(base);
	return strncmp(path, "tests/", 6) == 0 || strncmp(path, "test/", 5) == 0 ||
	       strstr(path, "/tests/") || strstr(path, "/test/") ||
	       strncmp(base, "test_", 5) == 0 || strcmp(base, "conftest.py") == 0 ||
	       (n >= 8 && strcmp(base + n - 8, "_test.py") == 0);
}

/* Tests that no tool comes to are told apart; those of a brought package are nobody's concern. */
static enum part part_of(const struct reach *r, const char *file)
{
	if (!is_test(file) || reach_at_all(r, file))
		return PART_OURS;
	return reach_is_brought(r, file) ? PART_LEFT_OUT : PART_TESTS;
}

#define ONLY_IN_TESTS "only in tests; `ignore:` leaves them out"

/* What a module reads when it is imported, where all that import it do without it. */
static bool is_caught_by_importers(const struct reach *r, const struct scan_read *x)
{
	return x->at_import && reach_at_all(r, x->file) && !reach_uncaught(r, x->file);
}

static json_t *reads_of(const struct reach *r)
{
	size_t n;
	const struct scan_read *a = scan_reads(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++) {
		enum part part = part_of(r, a[i].file);
		bool required =
			a[i].required && part == PART_OURS && !is_caught_by_importers(r, &a[i]);
		if (part == PART_LEFT_OUT)
			continue;
		json_array_append_new(
			out, json_pack("{s:o,s:o,s:i,s:s,s:o,s:s*,s:o*}", "name", text(a[i].name),
				     "file", text(a[i].file), "line", a[i].line, "kind",
				     required ? "required" : "optional", "tools",
				     reach_tools(r, a[i].file), "hint",
				     part == PART_TESTS ? ONLY_IN_TESTS : NULL, "instead",
				     a[i].instead ? text(a[i].instead) : NULL));
	}
	return out;
}

static json_t *dynamics_of(const struct reach *r)
{
	size_t n;
	const struct scan_dynamic *a = scan_dynamics(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		if (part_of(r, a[i].file) != PART_LEFT_OUT)
			json_array_append_new(
				out, json_pack("{s:o,s:i,s:o,s:s*,s:o}", "file", text(a[i].file),
					     "line", a[i].line, "why", text(a[i].why), "hint",
					     a[i].hint, "tools", reach_tools(r, a[i].file)));
	return out;
}

static json_t *not_in_globals_of(const struct reach *r)
{
	size_t n;
	const struct scan_place *a = scan_not_in_globals(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		if (part_of(r, a[i].file) == PART_OURS)
			json_array_append_new(out,
				json_pack("{s:o,s:i}", "file", text(a[i].file), "line", a[i].line));
	return out;
}

static json_t *env_mistakes_of(const struct reach *r)
{
	size_t n;
	const struct scan_env *a = scan_env_mistakes(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		if (part_of(r, a[i].file) != PART_LEFT_OUT)
			json_array_append_new(out,
				json_pack("{s:o,s:o,s:i,s:s*}", "name", text(a[i].name), "file",
					text(a[i].file), "line", a[i].line, "why", a[i].why));
	return out;
}

static json_t *syntax_message(const struct scan_syntax *x, const struct python *py)
{
	if (!x->needs)
		return text(x->message);
	return json_sprintf("%s: this syntax needs Python %s, the sandbox has 3.%d", x->message,
		x->needs, py->minor);
}

/* Those that matter, or those of brought packages in files that no tool comes to. */
static json_t *syntax_errors_of(const struct reach *r, const struct python *py, bool matters)
{
	size_t n;
	const struct scan_syntax *a = scan_syntax_errors(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		if ((reach_at_all(r, a[i].file) || !reach_is_brought(r, a[i].file)) == matters)
			json_array_append_new(
				out, json_pack("{s:o,s:i,s:i,s:o}", "file", text(a[i].file), "line",
					     a[i].line, "column", a[i].column, "message",
					     syntax_message(&a[i], py)));
	return out;
}

static json_t *suspicious_of(const struct tree *t)
{
	json_t *out = json_array();
	for (size_t i = 0; i < t->n; i++)
		if (t->files[i].suspicious)
			json_array_append_new(out,
				json_pack("{s:o,s:s}", "file", text(t->files[i].path), "why",
					t->files[i].why ? t->files[i].why : "looks like a key"));
	return out;
}

/* What deriving the inputs found (manifest/derive.h). */
static json_t *entry_errors_of(const struct manifest *m)
{
	json_t *out = json_array(), *fault;
	size_t k;
	for (size_t i = 0; m && i < m->ntools; i++)
		json_array_foreach (m->tools[i].faults, k, fault) {
			json_t *row = json_pack("{s:s}", "tool", m->tools[i].name);
			json_object_update(row, fault);
			json_array_append_new(out, row);
		}
	return out;
}

/* Not of packages that were brought along: their URLs are mostly of their makers. */
static json_t *urls_of(const struct reach *r, struct scan *s)
{
	size_t n;
	const struct scan_url *a = scan_urls(s, &n);
	const struct scan_url *last = NULL;
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++) {
		if ((last && strcmp(last->host, a[i].host) == 0 && last->port == a[i].port) ||
			!reach_at_all(r, a[i].file) || reach_is_brought(r, a[i].file))
			continue;
		last = &a[i];
		bool plain = a[i].port == 443;
		json_array_append_new(
			out, json_pack("{s:o,s:o,s:i}", "host",
				     plain ? json_string(a[i].host)
					   : json_sprintf("%s:%d", a[i].host, a[i].port),
				     "file", text(a[i].file), "line", a[i].line));
	}
	return out;
}

static json_t *make(const struct manifest *m, const struct tree *t, const struct python *py,
	struct scan *s, struct err *e)
{
	REACH_AUTO r = {0};
	if (scan_all(s, t, e) < 0 || reach_find(&r, m, t, s, py, e) < 0)
		return NULL;
	json_t *out = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "reads",
		reads_of(&r), "dynamic", dynamics_of(&r), "env_mistakes", env_mistakes_of(&r),
		"modules_missing", modules_missing(&r, true), "modules_optional",
		modules_missing(&r, false), "syntax_errors", syntax_errors_of(&r, py, true),
		"syntax_unreached", syntax_errors_of(&r, py, false), "entry_errors",
		entry_errors_of(m), "suspicious", suspicious_of(t), "modules", modules_used(&r),
		"not_in_globals", not_in_globals_of(&r), "urls", urls_of(&r, s));
	if (!out)
		err_set(e, ERR_FAIL, "out of memory");
	return out;
}

json_t *findings_make(const struct manifest *m, const struct tree *t, struct err *e)
{
	PYTHON_AUTO py = {0};
	if (python_load(&py, e) < 0)
		return NULL;
	struct scan *s = scan_new(&py);
	json_t *out = s ? make(m, t, &py, s, e) : NULL;
	if (!s)
		err_set(e, ERR_FAIL, "out of memory");
	scan_free(s);
	return out;
}

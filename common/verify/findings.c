#include "verify/findings.h"

#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>

struct scan_auto {
	struct scan *s;
};

static void scan_auto_free(struct scan_auto *a)
{
	scan_free(a->s);
}

/* Which files each tool's entry reaches: one row of nfiles flags a tool. */
struct reach {
	const struct manifest *m; /* NULL: any file may be run, and no tool does */
	const struct scan *s;
	size_t nfiles;
	bool *flags;
};

static void reach_free(struct reach *r)
{
	free(r->flags);
}

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

static int find_reach(struct reach *r, struct err *e)
{
	size_t ntools = r->m ? r->m->ntools : 0;
	r->nfiles = scan_file_count(r->s);
	r->flags = calloc(ntools * r->nfiles + 1, sizeof *r->flags);
	if (!r->flags)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < ntools; i++)
		scan_reach(r->s, r->m->tools[i].entry_file, r->flags + i * r->nfiles);
	return 0;
}

/*
 * The scanner's own string of a file is what its results point to, so that finding a file's number
 * again is a walk over pointers; text is compared only to be safe.
 */
static size_t file_number(const struct reach *r, const char *file)
{
	for (size_t i = 0; i < r->nfiles; i++)
		if (scan_file_name(r->s, i) == file)
			return i;
	for (size_t i = 0; i < r->nfiles; i++)
		if (strcmp(scan_file_name(r->s, i), file) == 0)
			return i;
	return r->nfiles;
}

static bool tool_reaches(const struct reach *r, size_t tool, size_t file)
{
	return file < r->nfiles && r->flags[tool * r->nfiles + file];
}

static json_t *tools_of(const struct reach *r, const char *file)
{
	json_t *a = json_array();
	size_t at = file_number(r, file);
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		if (tool_reaches(r, i, at))
			json_array_append_new(a, json_string(r->m->tools[i].name));
	return a;
}

static bool is_reached(const struct reach *r, const char *file)
{
	if (!r->m)
		return true;
	size_t at = file_number(r, file);
	for (size_t i = 0; i < r->m->ntools; i++)
		if (tool_reaches(r, i, at))
			return true;
	return false;
}

static json_t *text(const char *s)
{
	return json_text(s, strlen(s));
}

static json_t *reads_of(const struct reach *r)
{
	size_t n;
	const struct scan_read *a = scan_reads(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			out, json_pack("{s:o,s:o,s:i,s:s,s:o}", "name", text(a[i].name), "file",
				     text(a[i].file), "line", a[i].line, "kind",
				     a[i].required ? "required" : "optional", "tools",
				     tools_of(r, a[i].file)));
	return out;
}

static json_t *dynamics_of(const struct reach *r)
{
	size_t n;
	const struct scan_dynamic *a = scan_dynamics(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			out, json_pack("{s:o,s:i,s:o,s:s*,s:o}", "file", text(a[i].file), "line",
				     a[i].line, "why", text(a[i].why), "hint", a[i].hint, "tools",
				     tools_of(r, a[i].file)));
	return out;
}

static json_t *env_mistakes_of(const struct scan *s)
{
	size_t n;
	const struct scan_env *a = scan_env_mistakes(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, json_pack("{s:o,s:o,s:i}", "name", text(a[i].name),
						   "file", text(a[i].file), "line", a[i].line));
	return out;
}

static json_t *modules_missing_of(const struct reach *r)
{
	size_t n;
	const struct scan_import *a = scan_imports(r->s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		if (a[i].missing && !a[i].guarded && is_reached(r, a[i].file))
			json_array_append_new(
				out, json_pack("{s:o,s:o,s:i}", "module", text(a[i].module), "file",
					     text(a[i].file), "line", a[i].line));
	return out;
}

static json_t *syntax_errors_of(const struct scan *s)
{
	size_t n;
	const struct scan_syntax *a = scan_syntax_errors(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *message = a[i].needs ? json_sprintf("%s: this syntax needs Python %s, the "
							    "sandbox has 3.11",
						       a[i].message, a[i].needs)
					     : text(a[i].message);
		json_array_append_new(out, json_pack("{s:o,s:i,s:o}", "file", text(a[i].file),
						   "line", a[i].line, "message", message));
	}
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

static json_t *modules_of(const struct reach *r)
{
	size_t n;
	const struct scan_import *a = scan_imports(r->s, &n);
	json_t *out = json_object();
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		json_object_set_new(out, r->m->tools[i].name, json_array());
	for (size_t k = 0; k < n; k++) {
		if (a[k].target || a[k].missing || a[k].guarded)
			continue;
		size_t at = file_number(r, a[k].file);
		for (size_t i = 0; r->m && i < r->m->ntools; i++) {
			json_t *list = json_object_get(out, r->m->tools[i].name);
			if (tool_reaches(r, i, at) && !json_array_has(list, a[k].module))
				json_array_append_new(list, json_string(a[k].module));
		}
	}
	return out;
}

json_t *findings_make(const struct manifest *m, const struct tree *t, struct err *e)
{
	__attribute__((cleanup(scan_auto_free))) struct scan_auto a = {scan_new()};
	__attribute__((cleanup(reach_free))) struct reach r = {.m = m, .s = a.s};
	if (!a.s) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	if (scan_all(a.s, t, e) < 0 || find_reach(&r, e) < 0)
		return NULL;
	json_t *out = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "reads", reads_of(&r), "dynamic",
		dynamics_of(&r), "env_mistakes", env_mistakes_of(a.s), "modules_missing",
		modules_missing_of(&r), "syntax_errors", syntax_errors_of(a.s), "suspicious",
		suspicious_of(t), "modules", modules_of(&r));
	if (!out)
		err_set(e, ERR_FAIL, "out of memory");
	return out;
}

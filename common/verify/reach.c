#include "verify/reach.h"

#include <stdlib.h>
#include <string.h>

void reach_free(struct reach *r)
{
	free(r->perhaps);
	free(r->uncaught);
	free(r->surely);
}

static size_t ntools(const struct reach *r)
{
	return r->m ? r->m->ntools : 0;
}

int reach_find(struct reach *r, const struct manifest *m, const struct tree *t, struct scan *s,
	const struct python *py, struct err *e)
{
	*r = (struct reach){.m = m, .t = t, .s = s, .py = py, .nfiles = scan_file_count(s)};
	r->perhaps = calloc(ntools(r) * r->nfiles + 1, sizeof *r->perhaps);
	r->uncaught = calloc(ntools(r) * r->nfiles + 1, sizeof *r->uncaught);
	r->surely = calloc(ntools(r) * r->nfiles + 1, sizeof *r->surely);
	if (!r->perhaps || !r->uncaught || !r->surely)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < ntools(r); i++) {
		const struct manifest_tool *tool = &m->tools[i];
		scan_reach(s, tool->entry_file, SCAN_PERHAPS, r->perhaps + i * r->nfiles);
		scan_reach(s, tool->entry_file, SCAN_UNCAUGHT, r->uncaught + i * r->nfiles);
		scan_reach(s, tool->entry_file,
			tool->entry_func ? SCAN_SURELY : SCAN_SURELY_AS_SCRIPT,
			r->surely + i * r->nfiles);
	}
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

static bool flag(const struct reach *r, const bool *flags, size_t tool, const char *file)
{
	size_t at = file_number(r, file);
	return at < r->nfiles && flags[tool * r->nfiles + at];
}

bool reach_by_tool(const struct reach *r, size_t tool, const char *file)
{
	return flag(r, r->perhaps, tool, file);
}

bool reach_surely(const struct reach *r, size_t tool, const char *file)
{
	return flag(r, r->surely, tool, file);
}

bool reach_uncaught(const struct reach *r, const char *file)
{
	for (size_t i = 0; i < ntools(r); i++)
		if (flag(r, r->uncaught, i, file))
			return true;
	return !r->m;
}

bool reach_at_all(const struct reach *r, const char *file)
{
	for (size_t i = 0; i < ntools(r); i++)
		if (reach_by_tool(r, i, file))
			return true;
	return !r->m;
}

/* The length of a path's first directory and the slash behind it; 0 for a file at the top. */
static size_t top(const char *path)
{
	const char *slash = strchr(path, '/');
	return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool is_metadata(const char *path, size_t n)
{
	static const char tail[] = ".dist-info/";
	return n > strlen(tail) && memcmp(path + n - strlen(tail), tail, strlen(tail)) == 0;
}

bool reach_is_brought(const struct reach *r, const char *file)
{
	size_t n = top(file);
	bool reached = false;
	for (size_t i = 0; n && i < ntools(r); i++)
		if (strncmp(r->m->tools[i].entry_file, file, n) == 0)
			return false;
	for (size_t i = 0; n && i < r->t->n; i++)
		if (is_metadata(r->t->files[i].path, top(r->t->files[i].path)))
			return true;
	for (size_t i = 0; n && r->m && i < r->nfiles; i++)
		reached |= strncmp(scan_file_name(r->s, i), file, n) == 0 &&
			   reach_at_all(r, scan_file_name(r->s, i));
	return reached;
}

json_t *reach_tools(const struct reach *r, const char *file)
{
	json_t *a = json_array();
	for (size_t i = 0; i < ntools(r); i++)
		if (reach_by_tool(r, i, file))
			json_array_append_new(a, json_string(r->m->tools[i].name));
	return a;
}

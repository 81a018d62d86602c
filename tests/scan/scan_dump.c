/*
 * Scans the *.py files beneath each directory named and prints, a line each, one JSON object:
 * {"reads":[{name,file,line,kind}],"dynamic":[{file,line,why}],"env_mistakes":[{name,file,line}],
 * "syntax_error":bool} and, for our own tests, "not_in_globals", "syntax_errors", "imports" and,
 * with -e FILE, what that entry file reaches. -p FILE names what another Python has.
 */
#include "base/buf.h"
#include "base/file.h"
#include "base/python.h"
#include "scan/scan.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int add_tree(struct scan *s, const char *dir, const char *rel, struct err *e)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort), bad = 0;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		size_t len = strlen(name);
		STR_AUTO path = path_join(dir, name);
		STR_AUTO below = *rel ? path_join(rel, name) : strdup(name);
		struct stat st;
		if (name[0] != '.' && !bad && lstat(path, &st) == 0) {
			if (S_ISDIR(st.st_mode))
				bad = add_tree(s, path, below, e);
			else if (S_ISREG(st.st_mode) && len > 3 && !strcmp(name + len - 3, ".py")) {
				BUF_AUTO b = {0};
				bad = file_read(path, &b, e) < 0 ||
				      scan_add_file(s, below, buf_str(&b), b.len, e) < 0;
			}
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return bad;
}

static json_t *reads(const struct scan *s)
{
	size_t n;
	const struct scan_read *a = scan_reads(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out,
			json_pack("{s:s,s:s,s:i,s:s}", "name", a[i].name, "file", a[i].file, "line",
				a[i].line, "kind", a[i].required ? "required" : "optional"));
	return out;
}

static json_t *dynamics(const struct scan *s)
{
	size_t n;
	const struct scan_dynamic *a = scan_dynamics(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, json_pack("{s:s,s:i,s:s}", "file", a[i].file, "line",
						   a[i].line, "why", a[i].why));
	return out;
}

static json_t *mistakes(const struct scan *s)
{
	size_t n;
	const struct scan_env *a = scan_env_mistakes(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, json_pack("{s:s,s:s,s:i}", "name", a[i].name, "file",
						   a[i].file, "line", a[i].line));
	return out;
}

static json_t *not_in_globals(const struct scan *s)
{
	size_t n;
	const struct scan_place *a = scan_not_in_globals(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			out, json_pack("{s:s,s:i}", "file", a[i].file, "line", a[i].line));
	return out;
}

static json_t *syntax(const struct scan *s)
{
	size_t n;
	const struct scan_syntax *a = scan_syntax_errors(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, json_pack("{s:s,s:i,s:i,s:s,s:s?}", "file", a[i].file,
						   "line", a[i].line, "column", a[i].column,
						   "message", a[i].message, "needs", a[i].needs));
	return out;
}

static json_t *imports(const struct scan *s)
{
	size_t n;
	const struct scan_import *a = scan_imports(s, &n);
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			out, json_pack("{s:s,s:s,s:i,s:b,s:b,s:b,s:b,s:s?}", "module", a[i].module,
				     "file", a[i].file, "line", a[i].line, "guarded", a[i].guarded,
				     "certain", a[i].certain, "main_only", a[i].main_only,
				     "missing", a[i].missing, "target", a[i].target));
	return out;
}

static json_t *reach(const struct scan *s, const char *entry)
{
	size_t n = scan_file_count(s);
	bool *reached = calloc(n + 1, sizeof(*reached));
	json_t *out = json_array();

	scan_reach(s, entry, SCAN_PERHAPS, reached);
	for (size_t i = 0; i < n; i++)
		if (reached[i])
			json_array_append_new(out, json_string(scan_file_name(s, i)));
	free(reached);
	return out;
}

static int show(const struct python *py, const char *dir, const char *entry)
{
	struct scan *s = scan_new(py);
	struct err e = {0};
	size_t n;

	if (add_tree(s, dir, "", &e) || scan_resolve(s, &e) < 0) {
		fprintf(stderr, "%s: %s\n", dir, e.msg);
		scan_free(s);
		return 1;
	}
	scan_syntax_errors(s, &n);
	json_t *out = json_pack("{s:o,s:o,s:o,s:b,s:o,s:o}", "reads", reads(s), "dynamic",
		dynamics(s), "env_mistakes", mistakes(s), "syntax_error", n > 0, "syntax_errors",
		syntax(s), "imports", imports(s));
	json_object_set_new(out, "not_in_globals", not_in_globals(s));
	if (entry)
		json_object_set_new(out, "reach", reach(s, entry));
	json_dumpf(out, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(out);
	scan_free(s);
	return 0;
}

int main(int argc, char **argv)
{
	const char *entry = NULL;
	int bad = 0;
	PYTHON_AUTO py = {0};
	struct err e = {0};

	bool other = argc > 2 && strcmp(argv[1], "-p") == 0;

	if ((other ? python_read(&py, argv[2], &e) : python_load(&py, &e)) < 0) {
		fprintf(stderr, "scan_dump: %s\n", e.msg);
		return 1;
	}
	for (int i = other ? 3 : 1; i < argc; i++) {
		if (strcmp(argv[i], "-e") == 0 && i + 1 < argc)
			entry = argv[++i];
		else
			bad |= show(&py, argv[i], entry);
	}
	return bad;
}

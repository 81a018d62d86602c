#include "run/reads.h"

#include <stdlib.h>
#include <string.h>

static int add_all(struct scan *s, const struct tree *t, struct err *e)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t n = strlen(t->files[i].path);
		if (n > 3 && strcmp(t->files[i].path + n - 3, ".py") == 0 &&
			scan_add_file(s, t->files[i].path, t->files[i].data, t->files[i].n, e) < 0)
			return -1;
	}
	return scan_resolve(s, e);
}

struct scan *reads_scan(const struct tree *t)
{
	struct err quiet = {0};
	struct scan *s = scan_new();
	if (s && add_all(s, t, &quiet) == 0)
		return s;
	if (s)
		scan_free(s);
	return NULL;
}

static bool file_reached(const struct scan *s, const bool *reached, const char *file)
{
	for (size_t i = 0; i < scan_file_count(s); i++)
		if (strcmp(scan_file_name(s, i), file) == 0)
			return reached[i];
	return false;
}

static bool *reach(const struct scan *s, const char *entry)
{
	bool *reached = s ? calloc(scan_file_count(s) + 1, sizeof *reached) : NULL;
	if (reached && scan_reach(s, entry, reached) == 0)
		return reached;
	free(reached);
	return NULL;
}

void reads_required(const struct scan *s, const char *entry, struct strv *names)
{
	bool *reached = reach(s, entry);
	size_t n = 0;
	const struct scan_read *r = reached ? scan_reads(s, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (r[i].required && !strv_has(names, r[i].name) &&
			file_reached(s, reached, r[i].file))
			strv_add(names, r[i].name);
	free(reached);
}

void reads_preload(const struct scan *s, const struct manifest *m, struct strv *modules)
{
	for (size_t t = 0; s && t < m->ntools; t++) {
		bool *reached = reach(s, m->tools[t].entry_file);
		size_t n = 0;
		const struct scan_import *im = reached ? scan_imports(s, &n) : NULL;
		for (size_t i = 0; i < n; i++)
			if (!im[i].guarded && !im[i].missing && !im[i].target &&
				!strv_has(modules, im[i].module) &&
				file_reached(s, reached, im[i].file))
				strv_add(modules, im[i].module);
		free(reached);
	}
}

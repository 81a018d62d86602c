#include "scan/sema.h"
#include "base/python.h"

#include <stdlib.h>
#include <string.h>

void *vec_grow(struct arena *a, void *old, size_t n, size_t *room, size_t size)
{
	*room = *room ? 2 * *room : 16;
	void *v = arena_alloc(a, *room * size);
	if (n)
		memcpy(v, old, n * size);
	return v;
}

static int compare_paths(const void *a, const void *b)
{
	const struct module *x = *(struct module *const *)a, *y = *(struct module *const *)b;
	int order = strcmp(x->path, y->path);
	/* A package's __init__.py wins over a module of the same name, both over a bare directory.
	 */
	return order ? order : (int)(y->item.kind) - (int)(x->item.kind);
}

enum { RANK_DIRECTORY, RANK_MODULE, RANK_PACKAGE };

/* While the index is made, item.kind holds the module's rank. */
static void add(struct scan *s, const char *path, size_t n, struct scan_file *file, int rank)
{
	struct module *m = arena_alloc(&s->arena, sizeof(*m));
	m->path = arena_copy(&s->arena, path, n);
	m->file = file;
	m->item.kind = (enum item_kind)rank;
	VEC_GROW(&s->arena, s->modules);
	s->modules.v[s->modules.n++] = m;
}

static void add_file(struct scan *s, struct scan_file *file)
{
	static const char init[] = "__init__.py";
	const char *slash = strrchr(file->name, '/');
	const char *base = slash ? slash + 1 : file->name;
	size_t dir = slash ? (size_t)(slash - file->name) : 0, n = strlen(file->name);
	file->package = arena_copy(&s->arena, file->name, dir);
	for (size_t i = 0; i < dir; i++)
		if (file->name[i] == '/')
			add(s, file->name, i, NULL, RANK_DIRECTORY);
	add(s, file->name, dir, NULL, RANK_DIRECTORY);
	if (strcmp(base, init) == 0)
		add(s, file->name, dir, file, RANK_PACKAGE);
	else if (n > 3 && strcmp(file->name + n - 3, ".py") == 0)
		add(s, file->name, n - 3, file, RANK_MODULE);
}

static struct module *find(struct scan *s, const char *path)
{
	size_t lo = 0, hi = s->modules.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int order = strcmp(path, s->modules.v[mid]->path);
		if (order == 0)
			return s->modules.v[mid];
		if (order < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

void module_index(struct scan *s)
{
	size_t kept = 0;
	add(s, "", 0, NULL, RANK_DIRECTORY);
	for (size_t i = 0; i < s->files.n; i++)
		add_file(s, s->files.v[i]);
	qsort(s->modules.v, s->modules.n, sizeof(*s->modules.v), compare_paths);
	for (size_t i = 0; i < s->modules.n; i++) {
		struct module *m = s->modules.v[i];
		if (kept && strcmp(s->modules.v[kept - 1]->path, m->path) == 0)
			continue;
		m->item = (struct item){.kind = ITEM_MODULE, .module = m};
		if (m->file)
			m->file->module = m;
		s->modules.v[kept++] = m;
	}
	s->modules.n = kept;
}

/* "a/b" and "c.d" -> "a/b/c/d" */
static char *below(struct scan *s, const char *dir, const char *dotted, size_t n)
{
	size_t len = strlen(dir);
	char *path = arena_alloc(&s->arena, len + n + 2), *to = path + len;
	memcpy(path, dir, len);
	if (len && n)
		*to++ = '/';
	for (size_t i = 0; i < n; i++)
		*to++ = dotted[i] == '.' ? '/' : dotted[i];
	return path;
}

struct module *module_child(struct scan *s, const struct module *m, const char *name, size_t n)
{
	if (m->file && m->file->package && strcmp(m->file->package, m->path) != 0)
		return NULL; /* a module, not a package */
	return find(s, below(s, m->path, name, n));
}

static const char *dotted(struct scan *s, const char *path)
{
	char *d = arena_copy(&s->arena, path, strlen(path));
	for (char *p = d; *p; p++)
		if (*p == '/')
			*p = '.';
	return d;
}

static struct import_found find_relative(
	struct scan *s, const struct scan_file *from, uint32_t dots, const char *name)
{
	struct import_found f = {.where = IMPORT_INSIDE};
	size_t n = strlen(from->package);

	for (uint32_t i = 1; i < dots && n; i++) {
		while (n && from->package[n - 1] != '/')
			n--;
		n -= n > 0;
	}
	char *dir = arena_copy(&s->arena, from->package, n);
	char *path = below(s, dir, name ? name : "", name ? strlen(name) : 0);
	f.name = dotted(s, path);
	f.top = find(s, dir);
	f.module = find(s, path);
	if (!f.module)
		f.where = IMPORT_NOWHERE;
	return f;
}

/* These are Python's own whatever the directory has. */
static bool is_fixed(const char *name, size_t n)
{
	static const char *const fixed[] = {"os", "builtins", "operator", "contextlib"};
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (strlen(fixed[i]) == n && memcmp(fixed[i], name, n) == 0)
			return true;
	return false;
}

static bool is_directory(struct scan *s, const char *path)
{
	const struct module *m = find(s, path);
	return m && (!m->file || strcmp(m->file->package, m->path) == 0);
}

/* Whether dir has the first part of a name, the first n bytes; if so, f is what there is. */
static bool find_below(
	struct scan *s, const char *dir, const char *name, size_t n, struct import_found *f)
{
	struct module *m = find(s, below(s, dir, name, n));
	if (!m || (!m->file && s->python &&
			  python_imports(s->python, arena_copy(&s->arena, name, n))))
		return false;
	f->top = m;
	f->module = find(s, below(s, dir, name, strlen(name)));
	f->where = f->module ? IMPORT_INSIDE : IMPORT_NOWHERE;
	if (f->module && *dir)
		f->name = dotted(s, f->module->path);
	return true;
}

struct import_found module_find(
	struct scan *s, const struct scan_file *from, uint32_t dots, const char *name)
{
	struct import_found f = {.where = IMPORT_OUTSIDE, .name = name};

	if (dots)
		return find_relative(s, from, dots, name);
	size_t n = strcspn(name, ".");
	if (is_fixed(name, n) || find_below(s, "", name, n, &f) ||
		find_below(s, from->package, name, n, &f))
		return f;
	if (!s->python || python_imports(s->python, arena_copy(&s->arena, name, n)))
		return f;
	if (!s->paths_sought)
		path_seek(s, is_directory);
	s->paths_sought = true;
	for (size_t i = 0; i < s->paths.n; i++)
		if (find_below(s, s->paths.v[i], name, n, &f))
			break;
	return f;
}

void module_note_import(struct scan *s, struct scan_file *from, struct module *m,
	const struct node *stmt, bool certain, bool main_only)
{
	char *path = arena_copy(&s->arena, m->path, strlen(m->path));
	/* Importing a.b runs a/__init__.py too. */
	for (;;) {
		if (m && m->file) {
			VEC_GROW(&s->arena, from->imports);
			from->imports.v[from->imports.n++] =
				(struct import_edge){m->file, stmt, certain, main_only};
		}
		char *slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
		m = find(s, path);
	}
}

static size_t file_index(const struct scan *s, const char *name)
{
	size_t i = 0;
	while (i < s->files.n && strcmp(s->files.v[i]->name, name) != 0)
		i++;
	return i;
}

static bool is_taken(const struct import_edge *x, enum scan_reach how, bool entry)
{
	switch (how) {
	case SCAN_PERHAPS:
		return true;
	case SCAN_UNCAUGHT:
		return !x->stmt || !(x->stmt->flags & NODE_CAUGHT);
	default:
		return x->certain && (!x->main_only || (entry && how == SCAN_SURELY_AS_SCRIPT));
	}
}

int scan_reach(const struct scan *s, const char *entry, enum scan_reach how, bool *reached)
{
	size_t n = s->files.n, top = 0, first = file_index(s, entry);
	memset(reached, 0, n * sizeof(*reached));
	if (first == n)
		return -1;
	size_t *todo = malloc(n * sizeof(*todo));
	if (!todo)
		return -1;
	reached[first] = true;
	todo[top++] = first;
	while (top) {
		const struct scan_file *f = s->files.v[todo[--top]];
		for (size_t i = 0; i < f->imports.n; i++) {
			const struct import_edge *x = &f->imports.v[i];
			if (reached[x->file->index] || !is_taken(x, how, f->index == first))
				continue;
			reached[x->file->index] = true;
			todo[top++] = x->file->index;
		}
	}
	free(todo);
	return 0;
}

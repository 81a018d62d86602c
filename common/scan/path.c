/* The directories that code puts on sys.path. */
#include "scan/sema.h"

#include <string.h>

#define MAX_PATHS 8

struct path_walk {
	struct scan *s;
	const struct scan_file *file;
	bool (*is_directory)(struct scan *s, const char *path);
	bool changes;
};

static bool is_named(const struct node *n, const char *name)
{
	return n->kind == E_NAME && n->op == NAME_PLAIN && strcmp(n->name->s, name) == 0;
}

static void seek_change(struct node *n, void *arg)
{
	struct path_walk *w = arg;
	if (w->changes)
		return;
	w->changes = (n->kind == E_ATTR && is_named(n->attr.value, "sys") &&
			     strcmp(n->attr.name->s, "path") == 0) ||
		     (n->kind == E_ATTR && is_named(n->attr.value, "site") &&
			     strcmp(n->attr.name->s, "addsitedir") == 0);
	ast_each(n, seek_change, w);
}

static void add_path(struct path_walk *w, const char *path)
{
	struct scan *s = w->s;
	for (size_t i = 0; i < s->paths.n; i++)
		if (strcmp(s->paths.v[i], path) == 0)
			return;
	if (s->paths.n == MAX_PATHS || !w->is_directory(s, path))
		return;
	VEC_GROW(&s->arena, s->paths);
	s->paths.v[s->paths.n++] = path;
}

/* "/tool/vendor", "./vendor/" and "vendor" are the same, beneath the top or beside the file. */
static void add_text(struct path_walk *w, const char *text, size_t n)
{
	static const char root[] = "/tool/";
	size_t dir = strlen(w->file->package);
	if (n > strlen(root) && memcmp(text, root, strlen(root)) == 0)
		text += strlen(root), n -= strlen(root);
	if (n > 2 && memcmp(text, "./", 2) == 0)
		text += 2, n -= 2;
	while (n && text[n - 1] == '/')
		n--;
	if (!n || memchr(text, '\0', n))
		return;
	add_path(w, arena_copy(&w->s->arena, text, n));
	if (!dir)
		return;
	char *beside = arena_alloc(&w->s->arena, dir + n + 2);
	memcpy(beside, w->file->package, dir);
	beside[dir] = '/';
	memcpy(beside + dir + 1, text, n);
	add_path(w, beside);
}

static void seek_texts(struct node *n, void *arg)
{
	struct path_walk *w = arg;
	if (n->kind == E_STR && n->str.n < 256)
		add_text(w, n->str.s, n->str.n);
	ast_each(n, seek_texts, w);
}

/* Which directory it is may be computed at length, so each that such a file names is one. */
void path_seek(struct scan *s, bool is_directory(struct scan *s, const char *path))
{
	for (size_t i = 0; i < s->files.n; i++) {
		struct path_walk w = {s, s->files.v[i], is_directory, false};
		struct seq body = w.file->body;
		for (uint32_t k = 0; w.file->parsed && k < body.n; k++)
			seek_change(body.v[k], &w);
		for (uint32_t k = 0; w.changes && k < body.n; k++)
			seek_texts(body.v[k], &w);
	}
}

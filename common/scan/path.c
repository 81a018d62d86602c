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

static bool is_path(const struct node *n)
{
	return n->kind == E_ATTR && is_named(n->attr.value, "sys") &&
	       strcmp(n->attr.name->s, "path") == 0;
}

static void seek_change(struct node *n, void *arg)
{
	struct path_walk *w = arg;
	if (w->changes)
		return;
	w->changes = is_path(n) || (n->kind == E_ATTR && is_named(n->attr.value, "site") &&
					   strcmp(n->attr.name->s, "addsitedir") == 0);
	ast_each(n, seek_change, w);
}

static void add_below(struct path_walk *w, const char *dir, const char *text, size_t n)
{
	struct scan *s = w->s;
	size_t len = strlen(dir);
	char *path = arena_alloc(&s->arena, len + n + 2), *to = path + len;
	memcpy(path, dir, len);
	if (len)
		*to++ = '/';
	memcpy(to, text, n);
	for (size_t i = 0; i < s->paths.n; i++)
		if (strcmp(s->paths.v[i], path) == 0)
			return;
	if (s->paths.n == MAX_PATHS || !w->is_directory(s, path))
		return;
	VEC_GROW(&s->arena, s->paths);
	s->paths.v[s->paths.n++] = path;
}

/*
 * "/tool/vendor", "./vendor/", "../vendor" and "vendor" are the same: beneath the top, beside the
 * file, or beneath a directory that stands before it, as in join(HERE, "third_party", "vendor").
 */
static void add_text(struct path_walk *w, const char *text, size_t n)
{
	static const char root[] = "/tool/";
	size_t before = w->s->paths.n;
	if (n > strlen(root) && memcmp(text, root, strlen(root)) == 0)
		text += strlen(root), n -= strlen(root);
	if (n > 2 && memcmp(text, "./", 2) == 0)
		text += 2, n -= 2;
	while (n > 3 && memcmp(text, "../", 3) == 0)
		text += 3, n -= 3;
	while (n && text[n - 1] == '/')
		n--;
	if (!n || memchr(text, '\0', n))
		return;
	add_below(w, "", text, n);
	add_below(w, w->file->package, text, n);
	for (size_t i = 0; i < before; i++)
		add_below(w, w->s->paths.v[i], text, n);
}

/* sys.path.append("vendor") is beneath the current directory, which is not the tool's. */
static bool is_elsewhere(const struct node *call, const struct node *arg)
{
	return arg->kind == E_STR && (!arg->str.n || arg->str.s[0] != '/') &&
	       call->call.func->kind == E_ATTR && is_path(call->call.func->attr.value);
}

static void seek_texts(struct node *n, void *arg)
{
	struct path_walk *w = arg;
	if (n->kind == E_CALL)
		for (uint32_t i = 0; i < n->call.args.n; i++)
			if (is_elsewhere(n, n->call.args.v[i]))
				return;
	if (n->kind == E_STR && n->str.n < 256)
		add_text(w, n->str.s, n->str.n);
	ast_each(n, seek_texts, w);
}

/* dirname(dirname(__file__)) has no text: each directory above the file may be meant. */
static void add_above(struct path_walk *w)
{
	const char *dir = w->file->package;
	for (size_t n = strlen(dir); n; n--)
		if (dir[n] == '/')
			add_below(w, "", dir, n);
}

/* Which directory it is may be computed at length, so each that such a file names is one. */
void path_seek(struct scan *s, bool is_directory(struct scan *s, const char *path))
{
	for (size_t i = 0; i < s->files.n; i++) {
		struct path_walk w = {s, s->files.v[i], is_directory, false};
		struct seq body = w.file->body;
		for (uint32_t k = 0; w.file->parsed && k < body.n; k++)
			seek_change(body.v[k], &w);
		if (w.changes)
			add_above(&w);
		for (uint32_t k = 0; w.changes && k < body.n; k++)
			seek_texts(body.v[k], &w);
	}
}

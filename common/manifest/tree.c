#include "manifest/tree.h"

#include "base/file.h"
#include "base/json.h"
#include "base/grow.h"
#include "base/limits.h"
#include "manifest/derive.h"
#include "manifest/ignore.h"
#include "manifest/secretish.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Entries looked at, ignored ones too: a directory of a million names must not take for ever. */
#define TREE_MAX_ENTRIES 200000
#define LARGEST_SHOWN 3

void tree_free(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->files[i].path);
		free(t->files[i].data);
	}
	free(t->files);
	*t = (struct tree){0};
}

/* A limit that is passed: from then on nothing is read, so that all can be counted. */
enum tree_over { TREE_WITHIN, TREE_TOO_MANY, TREE_TOO_LARGE };

struct tree_walk {
	struct tree *tree;
	enum tree_over over;
	json_t *bytes, *files; /* of each place, {"vendor/boto3/": N} */
	size_t room;
	int root;
	const char *dir; /* for messages */
	const struct strv *ignore;
	struct strv todo; /* directories yet to be listed, relative; "" is the root */
	size_t entries;
	struct err *e;
};

static int no_memory(const struct tree_walk *w)
{
	return err_set(w->e, ERR_FAIL, "out of memory");
}

/* Refuses a file by name, and says how to leave it out where that is the mend. */
static int refuse(const struct tree_walk *w, const char *path, const char *why)
{
	char shown[TEXT_SHOWN_MAX];
	return err_set(w->e, ERR_USAGE, "%s: '%s/%s'", why, w->dir, text_shown(path, shown));
}

static int refuse_with_ignore(const struct tree_walk *w, const char *path, const char *why)
{
	char shown[TEXT_SHOWN_MAX];
	refuse(w, path, why);
	return err_hint(w->e, "remove it, or list it in " MANIFEST_FILE ": ignore: [\"/%s\"]",
		text_shown(path, shown));
}

/* Where a file counts: the directory that it is in, as far as two deep; at the top, itself. */
static char *place_of(const char *path)
{
	const char *end = strchr(path, '/');
	const char *next = end ? strchr(end + 1, '/') : NULL;
	if (next)
		end = next;
	return end ? strndup(path, (size_t)(end - path) + 1) : strdup(path);
}

static void add_to(json_t *counts, const char *place, json_int_t n)
{
	json_object_set_new(counts, place, json_integer(json_int_of(counts, place) + n));
}

static void count_file(struct tree_walk *w, const char *path, off_t size)
{
	STR_AUTO place = place_of(path);
	if (!place)
		return;
	add_to(w->bytes, place, (json_int_t)size);
	add_to(w->files, place, 1);
}

/* The largest, of equals the first by name, which is taken out. */
static const char *take_largest(json_t *counts, char *name, size_t size, json_int_t *n)
{
	const char *key, *best = NULL;
	json_t *v;
	*n = 0;
	json_object_foreach (counts, key, v)
		if (!best || json_integer_value(v) > *n ||
			(json_integer_value(v) == *n && strcmp(key, best) < 0)) {
			best = key;
			*n = json_integer_value(v);
		}
	snprintf(name, size, "%s", best ? best : "");
	json_object_del(counts, name);
	return best ? name : NULL;
}

static void add_largest(const struct tree_walk *w, struct buf *b)
{
	bool many = w->over == TREE_TOO_MANY;
	char name[600], shown[TEXT_SHOWN_MAX];
	json_int_t n;
	for (int i = 0; i < LARGEST_SHOWN &&
			take_largest(many ? w->files : w->bytes, name, sizeof name, &n);
		i++) {
		buf_addf(b, "%s%s ", i ? ", " : "; most of it: ", text_shown(name, shown));
		if (many)
			buf_addf(b, "%lld file%s", (long long)n, n == 1 ? "" : "s");
		else
			buf_addf(b, "%.1f MB", (double)n / 1e6);
	}
}

static int refuse_over(const struct tree_walk *w)
{
	BUF_AUTO largest = {0};
	add_largest(w, &largest);
	if (w->over == TREE_TOO_MANY)
		err_set(w->e, ERR_USAGE,
			"too many files: '%s' has more than " LIMIT_TEXT(LIMIT_EXPERT_FILES) "%s",
			w->dir, buf_str(&largest));
	else
		err_set(w->e, ERR_USAGE,
			"too large: the files of '%s' are more than " LIMIT_TEXT(
				LIMIT_EXPERT_MB) " MB%s",
			w->dir, buf_str(&largest));
	return err_hint(
		w->e, "list what the tools don't need in " MANIFEST_FILE ": ignore: [data/]");
}

/* Every open goes through here. Links are followed only where asked. */
static int open_beneath(const struct tree_walk *w, const char *path, int flags, bool follow)
{
	if (!(flags & O_PATH))
		flags |= O_NOCTTY | O_NONBLOCK;
	return fd_open_beneath(
		w->root, *path ? path : ".", flags, follow ? BENEATH_LINKS : BENEATH_PLAIN);
}

static int cannot_read(const struct tree_walk *w, const char *path)
{
	char shown[TEXT_SHOWN_MAX];
	int saved = errno;
	if (saved == EXDEV)
		return refuse_with_ignore(w, path, "link leaves the expert's directory");
	if (saved == ELOOP)
		return refuse_with_ignore(w, path, "link leads in a circle, or changed meanwhile");
	if (saved == ENOENT || saved == ENXIO || saved == ENOTDIR)
		return refuse(w, path, "file changed meanwhile");
	errno = saved;
	return err_errno(w->e, ERR_FAIL, "cannot read '%s/%s'", w->dir, text_shown(path, shown));
}

static struct tree_file *new_file(struct tree_walk *w, const char *path)
{
	struct tree *t = w->tree;
	struct tree_file *v = grow(t->files, t->n, &w->room, sizeof *v);
	if (!v)
		return NULL;
	t->files = v;
	struct tree_file *f = &t->files[t->n];
	*f = (struct tree_file){.path = strdup(path)};
	if (!f->path)
		return NULL;
	t->n++;
	return f;
}

/* The bytes, at most what is left of the limit: a file may grow while we read. */
static int read_bytes(
	struct tree_walk *w, int fd, const char *path, off_t size, struct tree_file *f)
{
	size_t left = MB(LIMIT_EXPERT_MB) - w->tree->bytes;
	BUF_AUTO b = {.limit = left + 1};
	if (size > (off_t)left) {
		w->over = TREE_TOO_LARGE;
		return 0;
	}
	buf_reserve(&b, (size_t)size + 1);
	if (fd_read_all(fd, &b) < 0 && !b.failed)
		return cannot_read(w, path);
	if (b.failed || b.len > left) {
		w->over = TREE_TOO_LARGE;
		return 0;
	}
	f->n = b.len;
	f->data = b.len ? buf_detach(&b) : strdup("");
	w->tree->bytes += f->n;
	return f->data ? 0 : no_memory(w);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* link_name: what a link points at, or NULL; a key is a key under another name too. */
static int load_fd(struct tree_walk *w, int fd, const char *path, const char *link_name)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return cannot_read(w, path);
	if (S_ISDIR(st.st_mode))
		return refuse_with_ignore(w, path, "link to a directory");
	if (!S_ISREG(st.st_mode))
		return refuse_with_ignore(w, path, "not a regular file");
	count_file(w, path, st.st_size);
	if (!w->over && w->tree->n == LIMIT_EXPERT_FILES)
		w->over = TREE_TOO_MANY;
	if (w->over)
		return 0;
	struct tree_file *f = new_file(w, path);
	if (!f)
		return no_memory(w);
	if (read_bytes(w, fd, path, st.st_size, f) < 0)
		return -1;
	if (w->over)
		return 0;
	f->why = secretish_why(last_part(path), f->data, f->n);
	if (!f->why && link_name)
		f->why = secretish_why(last_part(link_name), f->data, f->n);
	f->suspicious = f->why != NULL;
	return 0;
}

static int load_file(struct tree_walk *w, const char *path)
{
	FD_AUTO fd = open_beneath(w, path, O_RDONLY, false);
	return fd < 0 ? cannot_read(w, path) : load_fd(w, fd, path, NULL);
}

/* Looks at what the link means by O_PATH first: opening a device or a fifo may do things. */
static int load_link(struct tree_walk *w, const char *path)
{
	char target[4096];
	struct stat st;
	FD_AUTO look = open_beneath(w, path, O_PATH, true);
	if (look < 0 && errno == ENOENT)
		return refuse_with_ignore(w, path, "link points at nothing");
	if (look < 0 || fstat(look, &st) < 0)
		return cannot_read(w, path);
	if (S_ISDIR(st.st_mode))
		return refuse_with_ignore(w, path, "link to a directory");
	if (!S_ISREG(st.st_mode))
		return refuse_with_ignore(w, path, "not a regular file");
	ssize_t n = readlinkat(w->root, path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	FD_AUTO fd = open_beneath(w, path, O_RDONLY, true);
	return fd < 0 ? cannot_read(w, path) : load_fd(w, fd, path, target);
}

static bool is_virtualenv(const struct tree_walk *w, const char *path)
{
	struct stat st;
	STR_AUTO cfg = path_join(path, "pyvenv.cfg");
	return cfg && fstatat(w->root, cfg, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A link counts as a directory for the lists where it leads to one: `.venv`, `data/`. */
static bool acts_as_dir(const struct tree_walk *w, const char *path, const struct stat *st)
{
	struct stat at;
	if (!S_ISLNK(st->st_mode))
		return S_ISDIR(st->st_mode);
	return fstatat(w->root, path, &at, 0) == 0 && S_ISDIR(at.st_mode);
}

static int take_entry(struct tree_walk *w, const char *path)
{
	struct stat st;
	if (fstatat(w->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cannot_read(w, path);
	bool dir = acts_as_dir(w, path, &st);
	if (ignore_builtin(last_part(path), dir))
		return 0;
	if (w->ignore && ignore_matches(w->ignore, path, dir))
		return 0;
	if (S_ISDIR(st.st_mode) && is_virtualenv(w, path))
		return 0;
	if (!text_is_clean(path, strlen(path), false))
		return refuse(w, path, "file name is not plain UTF-8");
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		strv_add(&w->todo, path);
		return 0;
	case S_IFREG:
		return load_file(w, path);
	case S_IFLNK:
		return load_link(w, path);
	default:
		return refuse_with_ignore(w, path, "not a regular file");
	}
}

static int list_dir(struct tree_walk *w, DIR *d, const char *path)
{
	for (;;) {
		errno = 0;
		const struct dirent *de = readdir(d);
		if (!de)
			return errno ? cannot_read(w, path) : 0;
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (++w->entries > TREE_MAX_ENTRIES)
			return err_set(w->e, ERR_USAGE,
				"too many files: '%s' has more than 200000, ignored ones included",
				w->dir);
		STR_AUTO name = *path ? path_join(path, de->d_name) : strdup(de->d_name);
		if (!name)
			return no_memory(w);
		if (take_entry(w, name) < 0)
			return -1;
	}
}

static int walk_dir(struct tree_walk *w, const char *path)
{
	int fd = open_beneath(w, path, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0)
		return cannot_read(w, path);
	DIR *d = fdopendir(fd);
	if (!d) {
		fd_close(&fd);
		return no_memory(w);
	}
	int rc = list_dir(w, d, path);
	closedir(d);
	return rc;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct tree_file *)a)->path, ((const struct tree_file *)b)->path);
}

int tree_load(struct tree *t, int dirfd, const char *dir_for_messages, const struct strv *ignore,
	struct err *e)
{
	struct tree_walk w = {
		.tree = t, .root = dirfd, .dir = dir_for_messages, .ignore = ignore, .e = e};
	w.bytes = json_object();
	w.files = json_object();
	int rc = walk_dir(&w, "");
	while (rc == 0 && w.todo.n && !w.todo.failed) {
		char *path = w.todo.v[--w.todo.n];
		w.todo.v[w.todo.n] = NULL;
		rc = walk_dir(&w, path);
		free(path);
	}
	if (rc == 0 && w.todo.failed)
		rc = no_memory(&w);
	if (rc == 0 && w.over)
		rc = refuse_over(&w);
	strv_free(&w.todo);
	json_decref(w.bytes);
	json_decref(w.files);
	if (rc < 0)
		tree_free(t);
	else if (t->n > 1)
		qsort(t->files, t->n, sizeof *t->files, by_path);
	return rc;
}

const struct tree_file *tree_find(const struct tree *t, const char *path)
{
	struct tree_file key = {.path = (char *)path};
	return t->n ? bsearch(&key, t->files, t->n, sizeof *t->files, by_path) : NULL;
}

/* --- a whole expert --- */

static int open_dir(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return err_set(e, ERR_NOTFOUND, "no such directory: '%s'", dir);
	if (errno == ENOTDIR)
		return err_set(e, ERR_USAGE, "not a directory: '%s'", dir);
	return err_errno(e, ERR_FAIL, "cannot open '%s'", dir);
}

static int no_manifest(int fd, const char *dir, const char *path, struct err *e)
{
	BUF_AUTO at = {0};
	err_set(e, ERR_NOTFOUND, "no " MANIFEST_FILE " in '%s'", dir);
	buf_addword(&at, path);
	if (!text_is_clean(path, strlen(path), false) || buf_failed(&at))
		return -1;
	if (faccessat(fd, "expert.yml", F_OK, 0) == 0)
		return err_hint(e, "rename expert.yml to " MANIFEST_FILE);
	return err_hint(e,
		"printf '%%s\\n' 'name: my-expert' 'tools:' '- name: hello' "
		"'  entry: hello.py:hello' > %s",
		buf_str(&at));
}

static int read_manifest(int fd, const char *dir, const char *path, struct buf *b, struct err *e)
{
	struct tree_walk w = {.root = fd, .dir = dir, .e = e};
	struct stat st;
	FD_AUTO look = open_beneath(&w, MANIFEST_FILE, O_PATH, true);
	if (look < 0 && errno == ENOENT)
		return no_manifest(fd, dir, path, e);
	if (look < 0 || fstat(look, &st) < 0)
		return cannot_read(&w, MANIFEST_FILE);
	if (!S_ISREG(st.st_mode))
		return refuse(&w, MANIFEST_FILE, "not a regular file");
	FD_AUTO file = open_beneath(&w, MANIFEST_FILE, O_RDONLY, true);
	if (file < 0 || fstat(file, &st) < 0)
		return cannot_read(&w, MANIFEST_FILE);
	if (!S_ISREG(st.st_mode))
		return refuse(&w, MANIFEST_FILE, "not a regular file");
	if (fd_read_all(file, b) == 0)
		return 0;
	if (b->failed)
		return err_set(e, ERR_USAGE, "%s:1:1: too long: at most %zu bytes", path,
			MANIFEST_MAX_BYTES);
	return cannot_read(&w, MANIFEST_FILE);
}

static int check_entries(
	const struct manifest *m, const struct tree *t, const char *path, struct err *e)
{
	char shown[TEXT_SHOWN_MAX];
	for (size_t i = 0; i < m->ntools; i++) {
		const struct manifest_tool *tool = &m->tools[i];
		if (tree_find(t, tool->entry_file))
			continue;
		err_set(e, ERR_USAGE, "%s:%d: tool '%s': there is no file '%s'", path, tool->line,
			tool->name, text_shown(tool->entry_file, shown));
		if (ignore_matches(&m->ignore, tool->entry_file, false))
			return err_hint(e, "'ignore:' leaves it out");
		return err_hint(e, "write the file, or mend 'entry:'");
	}
	return 0;
}

int manifest_load(struct manifest *m, struct tree *t, const char *dir, struct err *e)
{
	BUF_AUTO b = {.limit = MANIFEST_MAX_BYTES + 1};
	FD_AUTO fd = open_dir(dir, e);
	STR_AUTO path = path_join(dir, MANIFEST_FILE);
	if (fd < 0)
		return -1;
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (read_manifest(fd, dir, path, &b, e) < 0 ||
		manifest_parse(m, path, buf_str(&b), b.len, e) < 0)
		return -1;
	if (tree_load(t, fd, dir, &m->ignore, e) == 0 && check_entries(m, t, path, e) == 0 &&
		derive_from_tree(m, t, e) == 0)
		return 0;
	manifest_free(m);
	tree_free(t);
	return -1;
}

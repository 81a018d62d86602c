#include "sandbox/collect.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/magic.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bounds on the work, beyond any honest use. */
#define MAX_ENTRIES 5000
#define MAX_SHOWN 300

/* One thing found: a file to consider, or one that is out of the question (why). */
struct found_file {
	char *name;
	const char *why;
};

struct gathering {
	int root;
	struct found_file *entries;
	size_t n, cap;
	size_t seen, unnamed;
	struct buf path;
};

/* Opens for reading the very thing that an O_PATH descriptor holds, whatever its mode says. */
static int reopen(int path_fd, int flags)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
	int fd = open(link, flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && chmod(link, flags & O_DIRECTORY ? 0700 : 0600) == 0)
		fd = open(link, flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

static int add_entry(struct gathering *w, const char *name, size_t len, const char *why)
{
	struct found_file *more = grow(w->entries, w->n, &w->cap, sizeof *more);
	if (!more)
		return -1;
	w->entries = more;
	char *copy = strndup(name, len);
	if (!copy)
		return -1;
	w->entries[w->n++] = (struct found_file){copy, why};
	return 0;
}

static const char *bad_type(const struct stat *st, const struct stat *root)
{
	if (S_ISLNK(st->st_mode))
		return "link";
	if (S_ISFIFO(st->st_mode))
		return "pipe";
	if (S_ISSOCK(st->st_mode))
		return "socket";
	if (!S_ISREG(st->st_mode))
		return "device";
	if (st->st_dev != root->st_dev)
		return "on another file system";
	if (st->st_nlink != 1)
		return "has other names";
	if ((uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size)
		return "sparse";
	return NULL;
}

static int look_in(struct gathering *w, int dir, int depth, const struct stat *root);

/* The path of the entry is in w->path. */
static int look_at(
	struct gathering *w, int dir, const char *name, int depth, const struct stat *root)
{
	const char *path = buf_str(&w->path), *why = text_artifact_fault(path);
	struct stat st;
	FD_AUTO fd = fd_open_beneath(dir, name, O_PATH | O_NOFOLLOW, BENEATH_MOUNT);
	if (fd < 0 || fstat(fd, &st) < 0)
		return add_entry(w, path, w->path.len, "cannot be read");
	if (!S_ISDIR(st.st_mode))
		return add_entry(w, path, w->path.len, why ? why : bad_type(&st, root));
	if (why || depth >= TEXT_DIRECTORIES || st.st_dev != root->st_dev)
		return add_entry(w, path, w->path.len, why ? why : "nested too deep");
	FD_AUTO sub = reopen(fd, O_DIRECTORY);
	if (sub < 0)
		return add_entry(w, path, w->path.len, "cannot be read");
	return look_in(w, sub, depth + 1, root);
}

static int look_in(struct gathering *w, int dir, int depth, const struct stat *root)
{
	size_t len = w->path.len;
	int list = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = 0;
	DIR *d = list < 0 ? NULL : fdopendir(list);
	if (!d) {
		fd_close(&list);
		return -1;
	}
	for (struct dirent *de; failed == 0 && (de = readdir(d));) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (w->seen++ >= MAX_ENTRIES) {
			/* One more is enough to know that there are too many. */
			w->unnamed++;
			break;
		}
		buf_addf(&w->path, "%s%s", len ? "/" : "", de->d_name);
		failed = look_at(w, dir, de->d_name, depth, root);
		w->path.len = len;
		if (w->path.data)
			w->path.data[len] = '\0';
	}
	closedir(d);
	return failed;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found_file *)a)->name, ((const struct found_file *)b)->name);
}

/* A name fit to be shown: what is not clean text as \xNN, and not too much of it. */
static char *shown(const char *name)
{
	struct buf b = {0};
	size_t whole = strlen(name), n = whole > MAX_SHOWN ? MAX_SHOWN : whole;
	text_add_visible(&b, name, n - text_begun(name, n), false);
	if (whole > MAX_SHOWN)
		buf_adds(&b, "...");
	return buf_detach(&b);
}

static int withhold(struct collected *c, const char *name, const char *why)
{
	if (c->nwithheld == COLLECT_MAX_WITHHELD) {
		c->more_withheld++;
		return 0;
	}
	struct withheld_file *w = &c->withheld[c->nwithheld++];
	*w = (struct withheld_file){.name = shown(name), .whole = strdup(name), .why = why};
	return w->name && w->whole ? 0 : -1;
}

/* Exactly size bytes and then the end, or NULL with why. */
static char *read_whole(int fd, size_t size, const char **why)
{
	char *data = malloc(size + 1);
	if (!data) {
		*why = "cannot be read";
		return NULL;
	}
	if ((size && fd_read_full(fd, data, size) < 0) || read(fd, data + size, 1) != 0) {
		*why = "changed while it was read";
		free(data);
		return NULL;
	}
	return data;
}

struct caps {
	size_t file, total, files;
	size_t used;
};

/* NULL when the file fits, and is then counted. */
static const char *over(struct collected *c, const struct caps *caps, size_t size)
{
	const char *why = size > caps->file		    ? "too large"
			  : size > caps->total - caps->used ? "too much together"
			  : c->nfiles >= caps->files	    ? "too many files"
							    : NULL;
	if (why)
		c->over_cap = true;
	return why;
}

/* 1 with *why, 0 kept, -1 no memory. */
static int keep(struct collected *c, struct caps *caps, const struct gathering *w, const char *name,
	const struct stat *root, const char **why)
{
	struct stat st;
	FD_AUTO path_fd = fd_open_beneath(w->root, name, O_PATH | O_NOFOLLOW, BENEATH_MOUNT);
	FD_AUTO fd = -1;
	*why = "cannot be read";
	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return 1;
	*why = bad_type(&st, root);
	if (!*why)
		*why = over(c, caps, (size_t)st.st_size);
	if (*why)
		return 1;
	*why = "cannot be read";
	if ((fd = reopen(path_fd, 0)) < 0)
		return 1;
	char *data = read_whole(fd, (size_t)st.st_size, why);
	if (!data)
		return 1;
	struct magic m = magic_of(data, (size_t)st.st_size);
	struct collected_file f = {.name = strdup(name),
		.data = data,
		.size = (size_t)st.st_size,
		.type = m.type,
		.inline_ok = m.inline_ok};
	if (!f.name) {
		free(data);
		return -1;
	}
	caps->used += f.size;
	c->files[c->nfiles++] = f;
	return 0;
}

static int choose(
	struct collected *c, struct gathering *w, struct caps *caps, const struct stat *root)
{
	c->files = calloc(caps->files + 1, sizeof *c->files);
	c->withheld = calloc(COLLECT_MAX_WITHHELD, sizeof *c->withheld);
	if (!c->files || !c->withheld)
		return -1;
	for (size_t i = 0; i < w->n; i++) {
		const struct found_file *en = &w->entries[i];
		const char *why = en->why;
		int got = why ? 1 : keep(c, caps, w, en->name, root, &why);
		if (got < 0 || (got > 0 && withhold(c, en->name, why) < 0))
			return -1;
	}
	if (w->unnamed) {
		c->more_withheld += w->unnamed;
		c->over_cap = true;
	}
	return 0;
}

static void walk_free(struct gathering *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->entries[i].name);
	free(w->entries);
	buf_free(&w->path);
}

int collect_outputs(
	int dirfd, struct collected *c, const struct collect_limits *limits, struct err *e)
{
	static const struct collect_limits defaults = {
		MB(LIMIT_OUTPUT_MB), MB(LIMIT_OUTPUTS_MB), LIMIT_OUTPUTS};
	const struct collect_limits *l = limits ? limits : &defaults;
	struct caps caps = {.file = l->file ? l->file : defaults.file,
		.total = l->total ? l->total : defaults.total,
		.files = l->files ? l->files : defaults.files};
	struct gathering w = {.root = dirfd};
	struct stat root;
	memset(c, 0, sizeof *c);
	if (fstat(dirfd, &root) < 0)
		return err_errno(e, ERR_FAIL, "cannot read the outputs");
	/* The tool may have shut it; what cannot be opened after this is an error below. */
	(void)fchmod(dirfd, 0755);
	int failed = look_in(&w, dirfd, 0, &root) < 0 || w.path.failed;
	if (!failed) {
		if (w.n)
			qsort(w.entries, w.n, sizeof *w.entries, by_name);
		failed = choose(c, &w, &caps, &root) < 0;
	}
	walk_free(&w);
	if (!failed)
		return 0;
	collected_free(c);
	return err_set(e, ERR_FAIL, "cannot read the outputs");
}

void collected_free(struct collected *c)
{
	for (size_t i = 0; i < c->nfiles; i++) {
		free(c->files[i].name);
		free(c->files[i].data);
	}
	for (size_t i = 0; i < c->nwithheld; i++) {
		free(c->withheld[i].name);
		free(c->withheld[i].whole);
	}
	free(c->files);
	free(c->withheld);
	memset(c, 0, sizeof *c);
}

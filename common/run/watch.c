#include "run/watch.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 200
#define DEPTH_MAX 32
#define SEEN_MAX 50000
#define NAMED_MAX 3

struct seen {
	char *path;
	off_t size;
	ino_t inode;
	struct timespec changed;
};

struct glance {
	struct seen *v;
	size_t n, room;
};

struct watch {
	char *dir;
	bool apart; /* something in it is not looked at: */
	dev_t not_dev;
	ino_t not_inode;
	struct glance last;
};

static void look_free(struct glance *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	*l = (struct glance){0};
}

static int add_seen(struct glance *l, const char *path, const struct stat *sb)
{
	struct seen *more = grow(l->v, l->n, &l->room, sizeof *more);
	if (!more)
		return -1;
	l->v = more;
	char *copy = strdup(path);
	if (!copy)
		return -1;
	l->v[l->n++] = (struct seen){copy, sb->st_size, sb->st_ino, sb->st_mtim};
	return 0;
}

static bool is_apart(const struct watch *w, const struct stat *sb)
{
	return w->apart && sb->st_dev == w->not_dev && sb->st_ino == w->not_inode;
}

/* What comes and goes while it is looked at is seen the next time. */
static int look_in(const struct watch *w, int fd, const char *prefix, int depth, struct glance *l)
{
	DIR *d = fdopendir(fd);
	int r = d ? 0 : -1;
	if (!d)
		fd_close(&fd);
	for (struct dirent *de; r == 0 && l->n < SEEN_MAX && (de = readdir(d));) {
		struct stat sb;
		BUF_AUTO path = {0};
		if (de->d_name[0] == '.' || strcmp(de->d_name, "__pycache__") == 0 ||
			fstatat(fd, de->d_name, &sb, 0) < 0 || is_apart(w, &sb))
			continue;
		buf_addf(&path, "%s%s", prefix, de->d_name);
		if (!S_ISDIR(sb.st_mode)) {
			r = add_seen(l, buf_str(&path), &sb);
			continue;
		}
		int sub = depth < DEPTH_MAX
				  ? openat(fd, de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				  : -1;
		buf_addc(&path, '/');
		if (sub >= 0)
			r = look_in(w, sub, buf_str(&path), depth + 1, l);
	}
	if (d)
		closedir(d);
	return r;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->path, ((const struct seen *)b)->path);
}

static int look_now(const struct watch *w, struct glance *l, struct err *e)
{
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot open the directory '%s'", w->dir);
	if (look_in(w, fd, "", 0, l) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (l->n)
		qsort(l->v, l->n, sizeof *l->v, by_path);
	return 0;
}

static bool same(const struct seen *a, const struct seen *b)
{
	return a->size == b->size && a->inode == b->inode &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* How many differ; names, unless NULL, gets the first few. */
static size_t compare(const struct glance *a, const struct glance *b, struct buf *names)
{
	size_t i = 0, k = 0, n = 0;
	while (i < a->n || k < b->n) {
		int order = i == a->n ? 1 : k == b->n ? -1 : by_path(&a->v[i], &b->v[k]);
		const struct seen *one = order <= 0 ? &a->v[i] : &b->v[k];
		bool differs = order != 0 || !same(&a->v[i], &b->v[k]);
		if (differs && n++ < NAMED_MAX && names) {
			char shown[TEXT_SHOWN_MAX];
			buf_addf(names, "%s%s", names->len ? ", " : "",
				text_shown(one->path, shown));
		}
		i += order <= 0;
		k += order >= 0;
	}
	if (names && n > NAMED_MAX)
		buf_addf(names, " and %zu more", n - NAMED_MAX);
	return n;
}

int watch_open(struct watch **out, const char *dir, const char *not_dir, struct err *e)
{
	struct watch *w = calloc(1, sizeof *w);
	struct stat sb;
	*out = w;
	if (!w || !(w->dir = strdup(dir)))
		return err_set(e, ERR_FAIL, "out of memory");
	w->apart = not_dir && stat(not_dir, &sb) == 0;
	if (w->apart) {
		w->not_dev = sb.st_dev;
		w->not_inode = sb.st_ino;
	}
	return look_now(w, &w->last, e);
}

int watch_wait(struct watch *w, struct buf *names, struct err *e)
{
	struct glance before = {0};
	for (bool moved = false;;) {
		struct glance now = {0};
		if (look_now(w, &now, e) < 0) {
			look_free(&now);
			look_free(&before);
			return -1;
		}
		/* Saved in steps, it is half of one thing until it keeps still. */
		bool still = moved && compare(&before, &now, NULL) == 0;
		moved = compare(&w->last, &now, NULL) > 0;
		look_free(&before);
		before = now;
		if (moved && still)
			break;
		poll(NULL, 0, LOOK_MS);
	}
	compare(&w->last, &before, names);
	look_free(&w->last);
	w->last = before;
	return 0;
}

void watch_close(struct watch **w)
{
	if (!*w)
		return;
	look_free(&(*w)->last);
	free((*w)->dir);
	free(*w);
	*w = NULL;
}

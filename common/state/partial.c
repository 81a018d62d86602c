#include "state/partial.h"

#include "base/file.h"
#include "state/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void partial_close(struct partial *p)
{
	fd_close(&p->parent);
	fd_close(&p->dir);
	free(p->name);
	free(p->partial);
	free(p->path);
}

static int split(const char *to, char **parent, char **name, struct err *e)
{
	STR_AUTO copy = strdup(to);
	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory");
	size_t n = strlen(copy);
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	char *slash = strrchr(copy, '/');
	const char *last = slash ? slash + 1 : copy;
	if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
		err_set(e, ERR_USAGE, "not a name for a new directory: '%s'", to);
		return err_hint(e, "evctl-state backup DIR/NAME");
	}
	*name = strdup(last);
	*parent = slash == copy ? strdup("/") : strndup(copy, slash ? (size_t)(slash - copy) : 0);
	if (*parent && !**parent) {
		free(*parent);
		*parent = strdup(".");
	}
	return *name && *parent ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

static int is_free(const struct partial *p, const char *to, struct err *e)
{
	struct stat st;
	if (fstatat(p->parent, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	err_set(e, ERR_CONFLICT, "there is already something at '%s'", to);
	return err_hint(e, "name a directory that does not exist yet");
}

/* A partial one that nobody has locked is what a crash left. */
static int make_dir(struct partial *p, struct err *e)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		bool made = mkdirat(p->parent, p->partial, 0700) == 0;
		if (!made && errno != EEXIST)
			return err_errno(e, ERR_FAIL, "cannot create '%s'", p->path);
		p->dir = openat(
			p->parent, p->partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (p->dir < 0)
			return err_errno(e, ERR_FAIL, "cannot open '%s'", p->path);
		if (flock(p->dir, LOCK_EX | LOCK_NB) < 0)
			return err_set(
				e, ERR_BUSY, "another backup is being written to '%s'", p->name);
		if (made)
			return 0;
		if (file_remove_tree(p->parent, p->partial) < 0)
			return err_errno(e, ERR_FAIL, "cannot remove '%s'", p->path);
		fd_close(&p->dir);
	}
	return err_set(e, ERR_BUSY, "another backup is being written to '%s'", p->name);
}

int partial_open(struct partial *p, const char *to, struct err *e)
{
	STR_AUTO parent = NULL;
	if (split(to, &parent, &p->name, e) < 0 || file_mkdirs(parent, 0700, e) < 0)
		return -1;
	p->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->parent < 0)
		return err_errno(e, ERR_FAIL, "cannot open '%s'", parent);
	if (is_free(p, to, e) < 0)
		return -1;
	if (asprintf(&p->partial, ".%s.evctl-partial", p->name) < 0) {
		p->partial = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	p->path = path_join(parent, p->partial);
	if (!p->path)
		return err_set(e, ERR_FAIL, "out of memory");
	return make_dir(p, e);
}

int partial_finish(struct partial *p, const char *to, struct err *e)
{
	if (copy_sync(p->dir, e) < 0)
		return -1;
	int r = file_rename_new(p->parent, p->partial, p->name);
	if (r < 0 && (errno == EINVAL || errno == ENOSYS)) { /* a file system without the flag */
		if (is_free(p, to, e) < 0)
			return -1;
		r = renameat(p->parent, p->partial, p->parent, p->name);
	}
	if (r < 0)
		return err_errno(e, errno == EEXIST ? ERR_CONFLICT : ERR_FAIL,
			"cannot put the backup at '%s'", to);
	return copy_sync(p->parent, e);
}

void partial_drop(struct partial *p)
{
	if (p->dir >= 0)
		file_remove_tree(p->parent, p->partial);
}

#include "state/objects.h"
#include "base/file.h"
#include "state/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP_PREFIX "tmp-"
#define TMP_AGE_S 3600

static int open_root(const struct state *st, bool make, struct err *e)
{
	return state_subdir(st, "objects", make, e);
}

static void place_name(char out[72], const char *sha256)
{
	snprintf(out, 72, "%.2s/%s", sha256, sha256 + 2);
}

static bool is_there(int root, const struct object *o)
{
	char name[72];
	struct stat sb;
	place_name(name, o->sha256);
	return fstatat(root, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(sb.st_mode) &&
	       (size_t)sb.st_size == o->n;
}

static int write_tmp(int root, struct object *o, struct err *e)
{
	char id[17];
	seal_random_id(id, 'o');
	snprintf(o->tmp, sizeof o->tmp, TMP_PREFIX "%s", id);
	FD_AUTO fd =
		openat(root, o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fd_write_full(fd, o->data, o->n) == 0 && fsync(fd) == 0)
		return 0;
	err_errno(e, ERR_FAIL, "cannot store an artifact");
	err_hint(e, "make room on the disk that holds the state");
	if (fd >= 0)
		unlinkat(root, o->tmp, 0);
	o->tmp[0] = '\0';
	return -1;
}

int objects_stage(struct state *st, const void *p, size_t n, struct object *o, struct err *e)
{
	*o = (struct object){.data = p ? p : "", .n = n};
	seal_sha256_hex(o->sha256, o->data, n);
	FD_AUTO root = open_root(st, true, e);
	if (root < 0)
		return -1;
	return is_there(root, o) ? 0 : write_tmp(root, o, e);
}

static int sync_dir(int root, const char *name, struct err *e)
{
	FD_AUTO fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, ERR_FAIL, "cannot sync 'objects/%s'", name);
	return 0;
}

int objects_place(struct state *st, struct object *o, struct err *e)
{
	char name[72], sub[3] = {o->sha256[0], o->sha256[1], '\0'};
	FD_AUTO root = open_root(st, true, e);
	if (root < 0)
		return -1;
	if (is_there(root, o)) {
		objects_drop(st, o);
		return 0;
	}
	/* It was there when staged, and has been swept since. */
	if (!o->tmp[0] && write_tmp(root, o, e) < 0)
		return -1;
	if (mkdirat(root, sub, 0700) == 0) {
		if (sync_dir(root, ".", e) < 0)
			return -1;
	} else if (errno != EEXIST) {
		return err_errno(e, ERR_FAIL, "cannot make 'objects/%s'", sub);
	}
	place_name(name, o->sha256);
	if (renameat(root, o->tmp, root, name) < 0)
		return err_errno(e, ERR_FAIL, "cannot store an artifact");
	o->tmp[0] = '\0';
	return sync_dir(root, sub, e);
}

void objects_drop(struct state *st, struct object *o)
{
	struct err quiet = {0};
	if (!o->tmp[0])
		return;
	FD_AUTO root = open_root(st, true, &quiet);
	if (root >= 0)
		unlinkat(root, o->tmp, 0);
	o->tmp[0] = '\0';
}

int objects_read(struct state *st, const char *sha256, size_t n, struct buf *b, struct err *e)
{
	char name[72], sum[65];
	FD_AUTO root = open_root(st, true, e);
	if (root < 0)
		return -1;
	place_name(name, sha256);
	FD_AUTO fd = openat(root, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	buf_clear(b);
	b->limit = n + 1;
	if (fd < 0 && errno == ENOENT)
		err_set(e, ERR_STATE, "the bytes of an artifact are missing: 'objects/%s'", name);
	else if (fd < 0 || (fd_read_all(fd, b) < 0 && !b->failed))
		err_errno(e, ERR_STATE, "cannot read 'objects/%s'", name);
	if (e->code)
		return err_hint(e, "evctl-state restore BACKUP");
	seal_sha256_hex(sum, buf_str(b), b->len);
	if (!b->failed && b->len == n && strcmp(sum, sha256) == 0)
		return 0;
	err_set(e, ERR_STATE, "the bytes of an artifact are damaged: 'objects/%s'", name);
	return err_hint(e, "evctl-state restore BACKUP");
}

/* ---- the sweep ----------------------------------------------------------------------------- */

/* 1 when some artifact has it, 0 when none has. */
static int is_used(struct state *st, const char *sub, const char *rest, struct err *e)
{
	char sha256[65];
	int64_t one;
	bool found;
	if (snprintf(sha256, sizeof sha256, "%s%s", sub, rest) != 64)
		return 0;
	if (db_number(st->db, e, &one, &found, "SELECT 1 FROM artifacts WHERE sha256 = ? LIMIT 1",
		    "s", sha256) < 0)
		return -1;
	return found;
}

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define DIR_AUTO __attribute__((cleanup(close_dir))) DIR *

/* Counts what nothing uses, and removes it if so told. */
static int sweep_sub(
	struct state *st, int root, const char *sub, bool remove, int64_t *n, struct err *e)
{
	DIR_AUTO d = open_dir(root, sub);
	struct dirent *de;
	while (d && (de = readdir(d))) {
		if (de->d_name[0] == '.')
			continue;
		int used = is_used(st, sub, de->d_name, e);
		if (used < 0)
			return -1;
		if (!used && (!remove || unlinkat(dirfd(d), de->d_name, 0) == 0))
			++*n;
	}
	return 0;
}

static void sweep_tmp(int root, const char *name)
{
	struct stat sb;
	if (fstatat(root, name, &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
		clock_real_ms() / 1000 - sb.st_mtime > TMP_AGE_S)
		unlinkat(root, name, 0);
}

static int sweep_all(struct state *st, int root, bool remove, int64_t *n, struct err *e)
{
	DIR_AUTO d = open_dir(root, ".");
	struct dirent *de;
	while (d && (de = readdir(d))) {
		const char *name = de->d_name;
		if (remove && strncmp(name, TMP_PREFIX, strlen(TMP_PREFIX)) == 0)
			sweep_tmp(root, name);
		else if (name[0] != '.' && strlen(name) == 2 &&
			 sweep_sub(st, root, name, remove, n, e) < 0)
			return -1;
	}
	return 0;
}

int objects_sweep(struct state *st, int64_t *removed, struct err *e)
{
	int64_t n = 0;
	FD_AUTO root = open_root(st, true, e);
	if (root < 0 || state_begin(st, e) < 0)
		return -1;
	int r = sweep_all(st, root, true, &n, e);
	if (removed)
		*removed = n;
	if (r == 0)
		return state_commit(st, e);
	state_rollback(st);
	return -1;
}

int64_t objects_orphans(struct state *st)
{
	struct err quiet = {0};
	int64_t n = 0;
	FD_AUTO root = open_root(st, false, &quiet);
	if (root >= 0)
		sweep_all(st, root, false, &n, &quiet);
	return n;
}

int64_t objects_missing(struct state *st, char run[32])
{
	struct err quiet = {0};
	int64_t n = 0;
	FD_AUTO root = open_root(st, false, &quiet);
	QUERY_AUTO q = db_query(
		st->db, &quiet, "SELECT sha256, min(run) FROM artifacts GROUP BY sha256", "");
	while (query_step(q, &quiet) > 0) {
		char name[72];
		place_name(name, col_text(q, 0));
		if (root >= 0 && faccessat(root, name, F_OK, 0) == 0)
			continue;
		n++;
		snprintf(run, 32, "%s", col_text(q, 1));
	}
	return n;
}

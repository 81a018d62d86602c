#include "run/deliver.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int deliver_dir(const char *path, bool make, struct err *e)
{
	if (make && file_mkdirs(path, 0777, e) < 0)
		return -1;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot open the directory '%s'", path);
	return fd;
}

/* The directory that name is to be in, made if need be; *leaf is what is left of the name. */
static int open_parent(int dir, const char *name, const char **leaf)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	const char *slash;
	while (at >= 0 && (slash = strchr(name, '/'))) {
		char part[256];
		size_t n = (size_t)(slash - name);
		int next = -1;
		if (n < sizeof part) {
			memcpy(part, name, n);
			part[n] = '\0';
			if (mkdirat(at, part, 0777) == 0 || errno == EEXIST)
				next = fd_open_beneath(
					at, part, O_RDONLY | O_DIRECTORY, BENEATH_PLAIN);
		} else {
			errno = ENAMETOOLONG;
		}
		fd_close(&at);
		at = next;
		name = slash + 1;
	}
	*leaf = name;
	return at;
}

static int write_whole(
	int at, const char *tmp, const char *leaf, const void *p, size_t n, bool overwrite)
{
	FD_AUTO fd = openat(at, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	if (fd_write_full(fd, p, n) == 0 &&
		(overwrite ? renameat(at, tmp, at, leaf) : file_rename_new(at, tmp, leaf)) == 0)
		return 0;
	int saved = errno;
	unlinkat(at, tmp, 0);
	errno = saved;
	return -1;
}

int deliver_file(int dir, const char *name, const void *p, size_t n, bool overwrite, struct err *e)
{
	const char *leaf;
	char tmp[64];
	FD_AUTO at = open_parent(dir, name, &leaf);
	snprintf(tmp, sizeof tmp, ".evctl-%ld-%lld", (long)getpid(), (long long)clock_mono_ms());
	if (at >= 0 && *leaf && strcmp(leaf, ".") != 0 && strcmp(leaf, "..") != 0 &&
		write_whole(at, tmp, leaf, p ? p : "", n, overwrite) == 0)
		return 0;
	if (errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot write '%s'", name);
	err_set(e, ERR_CONFLICT, "'%s' exists already", name);
	return err_hint(e, "add --yes to overwrite it");
}

int deliver_check(int dir, const char *name, struct err *e)
{
	FD_AUTO there = fd_open_beneath(dir, name, O_PATH | O_NOFOLLOW, BENEATH_PLAIN);
	if (there < 0)
		return 0;
	err_set(e, ERR_CONFLICT, "'%s' exists already", name);
	return err_hint(e, "add --yes to overwrite it");
}

static bool holds_anything(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	bool any = false;
	for (struct dirent *de; d && !any && (de = readdir(d));)
		any = strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
	if (d)
		closedir(d);
	else
		fd_close(&fd);
	return any;
}

int deliver_ready(const char *path, bool overwrite, struct err *e)
{
	FD_AUTO dir = deliver_dir(path, true, e);
	if (dir < 0)
		return -1;
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return err_errno(e, ERR_FAIL, "cannot write to the directory '%s'", path);
	if (overwrite || !holds_anything(dir))
		return 0;
	err_set(e, ERR_CONFLICT, "the directory '%s' is not empty", path);
	return err_hint(e, "give another one, or add --overwrite");
}

int deliver_files(const char *dir, const struct run_outcome *o, bool overwrite, struct err *e)
{
	FD_AUTO to = o->nfiles ? deliver_dir(dir, true, e) : -1;
	if (o->nfiles && to < 0)
		return -1;
	for (size_t i = 0; i < o->nfiles; i++)
		if (deliver_file(to, o->files[i].name, o->files[i].data, o->files[i].n, overwrite,
			    e) < 0)
			return -1;
	return 0;
}

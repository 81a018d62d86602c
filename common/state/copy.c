#include "state/copy.h"

#include "base/file.h"
#include "state/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int object_path(const char *sha256, char out[OBJECT_PATH_MAX])
{
	if (!sha256 || strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64)
		return -1;
	snprintf(out, OBJECT_PATH_MAX, "%.2s/%s", sha256, sha256 + 2);
	return 0;
}

static int open_regular(int at, const char *name, struct err *e)
{
	struct stat st;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e,
			errno == ENOENT	 ? ERR_NOTFOUND
			: errno == ELOOP ? ERR_STATE
					 : ERR_FAIL,
			"cannot open '%s'", name);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	fd_close(&fd);
	return err_set(e, ERR_STATE, "not a regular file: '%s'", name);
}

static int hash_fd(int fd, const char *name, struct copied *out, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_errno(e, ERR_FAIL, "cannot read '%s'", name);
	out->bytes = st.st_size;
	if (st.st_size == 0) {
		seal_sha256_hex(out->sha256, "", 0);
		return 0;
	}
	size_t n = (size_t)st.st_size;
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_FAIL, "cannot read '%s'", name);
	seal_sha256_hex(out->sha256, p, n);
	munmap(p, n);
	return 0;
}

/* By copy_file_range(2) where the file systems can, which also shares blocks where they can. */
static int copy_bytes(int from, int to)
{
	char chunk[65536];
	bool by_kernel = true;
	for (;;) {
		ssize_t n = by_kernel ? copy_file_range(from, NULL, to, NULL, 1 << 30, 0)
				      : read(from, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && by_kernel && errno != ENOSPC && errno != EIO && errno != EDQUOT) {
			by_kernel = false;
			continue;
		}
		if (n < 0 || (n > 0 && !by_kernel && fd_write_full(to, chunk, (size_t)n) < 0))
			return -1;
		if (n == 0 && !by_kernel)
			return 0;
		if (n == 0) /* some file systems say 0 for "cannot": ask by read(2) too */
			by_kernel = false;
	}
}

int copy_file(
	int from_at, const char *from, int to_at, const char *to, struct copied *out, struct err *e)
{
	FD_AUTO in = open_regular(from_at, from, e);
	if (in < 0)
		return -1;
	FD_AUTO fd = openat(to_at, to, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot create '%s'", to);
	if (copy_bytes(in, fd) < 0 || fsync(fd) < 0) {
		err_errno(e, ERR_FAIL, "cannot copy '%s'", from);
		unlinkat(to_at, to, 0);
		return -1;
	}
	return hash_fd(fd, to, out, e);
}

int copy_hash(int at, const char *name, struct copied *out, struct err *e)
{
	FD_AUTO fd = open_regular(at, name, e);
	return fd < 0 ? -1 : hash_fd(fd, name, out, e);
}

int copy_dir(int at, const char *name, struct err *e)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot create directory '%s'", name);
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_errno(e, ERR_FAIL, "cannot open directory '%s'", name);
}

int copy_sync(int dir, struct err *e)
{
	return fsync(dir) == 0 ? 0 : err_errno(e, ERR_FAIL, "cannot write to the disk");
}

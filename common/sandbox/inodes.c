#include "sandbox/inodes.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <time.h>

/*
 * A tool that waits for an exclusive lock gets it for the moment between its supervisor's death and
 * its own, so one refusal means little.
 */
#define TRIES 200
#define PAUSE_NS 5000000

static int lock(int fd)
{
	struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return -1;
	return fcntl(fd, F_OFD_SETLK, &whole);
}

static int lock_soon(int fd)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int failed = lock(fd);
	for (int i = 0; i < TRIES && failed && (errno == EWOULDBLOCK || errno == EACCES); i++) {
		nanosleep(&pause, NULL);
		failed = lock(fd);
	}
	return failed;
}

/* Takes fd, which may be -1 with errno. */
static int hold(struct inodes *in, int fd, const char *what, struct err *e)
{
	if (fd < 0)
		return err_errno(e, ERR_SANDBOX, "cannot open '%s'", what);
	in->fds[in->n++] = fd;
	if (lock_soon(fd) == 0)
		return 0;
	if (errno != EWOULDBLOCK && errno != EACCES)
		return err_errno(e, ERR_SANDBOX, "cannot lock '%s'", what);
	err_set(e, ERR_SANDBOX, "another program on this machine has '%s' locked", what);
	return err_hint(e, "find it, and end it: lslocks");
}

static int hold_path(struct inodes *in, const char *path, struct err *e)
{
	return hold(in, open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC), path, e);
}

/* A kernel that lacks the kind of namespace has nothing to lock. */
static int hold_namespace(struct inodes *in, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 && errno == ENOENT ? 0 : hold(in, fd, path, e);
}

int inodes_hold(struct inodes *in, struct err *e)
{
	for (size_t i = 0; i < PLAN_DEVICES; i++) {
		char path[32];
		snprintf(path, sizeof path, "/dev/%s", plan_devices[i]);
		if (hold_path(in, path, e) < 0)
			return -1;
	}
	if (hold_namespace(in, "/proc/self/ns/time", e) < 0 ||
		hold_namespace(in, "/proc/self/ns/cgroup", e) < 0)
		return -1;
	return hold(in, eventfd(0, EFD_CLOEXEC), "eventfd", e);
}

void inodes_release(struct inodes *in)
{
	for (int i = 0; i < in->n; i++)
		fd_close(&in->fds[i]);
	in->n = 0;
}

#include "sandbox/inodes.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

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

/* A line of /proc/locks: whose exclusive lock it is, on the inode; 0 if it is no such line. */
static long owner_of(const char *line, const struct stat *st)
{
	char kind[16], mode[16];
	long pid;
	unsigned major, minor;
	unsigned long long inode;
	if (sscanf(line, "%*d: %15s %*s %15s %ld %x:%x:%llu", kind, mode, &pid, &major, &minor,
		    &inode) != 6)
		return 0;
	return strcmp(mode, "WRITE") == 0 && inode == st->st_ino && major == major(st->st_dev) &&
			       minor == minor(st->st_dev)
		       ? pid
		       : 0;
}

/* "NAME, process 123"; a lock of an open file, or of another pid namespace, tells no process. */
static void holder(int fd, char who[80])
{
	char path[40], line[256], name[20] = "";
	struct stat st;
	long pid = 0;
	FILE *f = fstat(fd, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
	while (f && pid <= 0 && fgets(line, sizeof line, f))
		pid = owner_of(line, &st);
	if (f)
		fclose(f);
	snprintf(path, sizeof path, "/proc/%ld/comm", pid);
	FD_AUTO comm = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (comm >= 0 && read(comm, name, sizeof name - 1) > 0)
		name[strcspn(name, "\n")] = '\0';
	if (pid > 0)
		snprintf(who, 80, "process %ld%s%s", pid, name[0] ? ", " : "", name);
	else
		snprintf(who, 80, "which one cannot be seen from here");
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
	char who[80];
	holder(fd, who);
	err_set(e, ERR_SANDBOX, "another program on this machine has '%s' locked: %s", what, who);
	return err_hint(e, "end it; see lslocks");
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

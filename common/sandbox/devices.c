#include "sandbox/devices.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

int devices_hold(struct devices *d, struct err *e)
{
	for (size_t i = 0; i < PLAN_DEVICES; i++) {
		char path[32];
		snprintf(path, sizeof path, "/dev/%s", plan_devices[i]);
		d->fds[i] = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
		if (d->fds[i] < 0)
			return err_errno(e, ERR_SANDBOX, "cannot open '%s'", path);
		if (lock_soon(d->fds[i]) == 0)
			continue;
		if (errno != EWOULDBLOCK && errno != EACCES)
			return err_errno(e, ERR_SANDBOX, "cannot lock '%s'", path);
		err_set(e, ERR_SANDBOX, "another program on this machine has '%s' locked", path);
		return err_hint(e, "find it, and end it: lslocks");
	}
	return 0;
}

void devices_release(struct devices *d)
{
	for (size_t i = 0; i < PLAN_DEVICES; i++)
		fd_close(&d->fds[i]);
}

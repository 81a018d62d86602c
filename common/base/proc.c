#include "base/proc.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/signalfd.h>
#include <unistd.h>

int64_t proc_start(pid_t pid)
{
	char path[40], text[1024];
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* The command's name may hold anything; the fields start behind its last parenthesis. */
	char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || strchr("ZXx", at[2]))
		return -1;
	at += 2;
	for (int field = 3; field < 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return -1;
		at++;
	}
	return strtoll(at, NULL, 10);
}

void proc_space(char out[PROC_SPACE_MAX])
{
	char boot[37] = "";
	struct stat ns;
	FD_AUTO fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	out[0] = '\0';
	if (fd >= 0 && fd_read_full(fd, boot, 36) == 0 && stat("/proc/self/ns/pid", &ns) == 0)
		snprintf(out, PROC_SPACE_MAX, "%s %llu", boot, (unsigned long long)ns.st_ino);
}

bool proc_alive(pid_t pid, int64_t start)
{
	return pid > 0 && start >= 0 && proc_start(pid) == start;
}

int proc_end_signals(sigset_t *old)
{
	sigset_t set, before;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &before) < 0)
		return -1;
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	else if (old)
		*old = before;
	return fd;
}

#include "base/proc.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool proc_alive(pid_t pid, int64_t start)
{
	return pid > 0 && start >= 0 && proc_start(pid) == start;
}

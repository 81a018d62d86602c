#include "sandbox/userns.h"
#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

long userns_setting(const char *path)
{
	BUF_AUTO b = {.limit = 64};
	struct err ignored = {0};
	if (file_read(path, &b, &ignored) < 0)
		return -1;
	return strtol(buf_str(&b), NULL, 10);
}

/* Somebody filters this process's system calls: most likely a container's runtime. */
static bool is_filtered(void)
{
	BUF_AUTO b = {.limit = 65536};
	struct err ignored = {0};
	return file_read("/proc/self/status", &b, &ignored) == 0 &&
	       strstr(buf_str(&b), "\nSeccomp:\t2\n");
}

const char *userns_mend(int error)
{
	bool refused = error == EPERM || error == EACCES || error == ENOSYS;
	if (error == ENOSPC)
		return "raise it: sysctl user.max_user_namespaces=10000";
	if (refused && is_filtered())
		return "in a container: --security-opt seccomp=seccomp.json, a file of evctl's (share/container), and "
		       "--security-opt systempaths=unconfined, which podman calls unmask=ALL";
	if (refused &&
		userns_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "load evctl's AppArmor profile, which its package installs, or sysctl -w "
		       "kernel.apparmor_restrict_unprivileged_userns=0";
	if (refused && userns_setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl -w kernel.unprivileged_userns_clone=1";
	return "";
}

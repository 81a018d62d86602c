#include "sandbox/cgroup.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP2_MAGIC 0x63677270

/* Of all connections together in version 1; version 2 counts them as memory. */
#define TCP_BYTES ((uint64_t)64 << 20)

/* evctl-PID-N: PID is the supervisor's, so that others can tell when it is dead. */
#define PREFIX "evctl-"
#define LEAF "evctl.supervisor"
#define SYSTEMCTL "/usr/bin/systemctl"
#define MANAGER_MS 3000
#define MOVES 16

static int write_at(int dir, const char *name, const char *text)
{
	FD_AUTO fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int write_number(int dir, const char *name, uint64_t n)
{
	char text[32];
	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	return write_at(dir, name, text);
}

/* The number after `key ` in a file of such lines, or the whole file's where key is NULL; 0 if not.
 */
static uint64_t read_number(int dir, const char *name, const char *key)
{
	char text[4096];
	FD_AUTO fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (!key)
		return strtoull(text, NULL, 10);
	size_t len = strlen(key);
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

/* This process's group in the hierarchy of a version 1 controller, or in version 2 for "". */
static char *own_group(const char *controller)
{
	BUF_AUTO b = {.limit = 65536};
	struct err ignored = {0};
	if (file_read("/proc/self/cgroup", &b, &ignored) < 0)
		return NULL;
	for (char *save, *line = strtok_r(b.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path = '\0';
		bool match = *controller == '\0' && names[1] == '\0';
		for (char *s2, *c = strtok_r(names + 1, ",", &s2); c && *controller;
			c = strtok_r(NULL, ",", &s2))
			match = match || strcmp(c, controller) == 0;
		if (match)
			return strdup(strcmp(path + 1, "/") == 0 ? "" : path + 1);
	}
	return NULL;
}

/* Containers may share the tree of groups, where a process of another's looks dead from here. */
static unsigned long pid_namespace(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long)st.st_ino : 0;
}

/* Groups whose supervisor is dead and that hold nothing any more. */
static void sweep(const char *parent)
{
	unsigned long mine = pid_namespace(), its;
	DIR *d = opendir(parent);
	if (!d)
		return;
	for (struct dirent *de; (de = readdir(d));) {
		int pid;
		if (sscanf(de->d_name, PREFIX "%d-%lu-", &pid, &its) == 2 && its == mine &&
			pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			unlinkat(dirfd(d), de->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* A new group below parent: its path (owned) and directory, or NULL. */
static char *make_group(const char *parent, int *dir)
{
	char *path = NULL;
	sweep(parent);
	for (unsigned n = 0; n < 4096; n++) {
		if (asprintf(&path, "%s/" PREFIX "%d-%lu-%u", parent, (int)getpid(),
			    pid_namespace(), n) < 0)
			return NULL;
		if (mkdir(path, 0755) == 0) {
			*dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (*dir >= 0)
				return path;
			rmdir(path);
			errno = EACCES;
		}
		free(path);
		if (errno != EEXIST)
			return NULL;
	}
	return NULL;
}

static char *v1_group(const char *controller, int *dir)
{
	STR_AUTO own = own_group(controller);
	char parent[4096];
	if (!own)
		return NULL;
	snprintf(parent, sizeof parent, CGROUP_ROOT "/%s%s", controller, own);
	char *path = make_group(parent, dir);
	if (path)
		return path;
	/* Inside a container the path may be that of the host. */
	snprintf(parent, sizeof parent, CGROUP_ROOT "/%s", controller);
	return make_group(parent, dir);
}

static bool open_v1(struct cgroup *cg)
{
	cg->memory_path = v1_group("memory", &cg->memory);
	cg->pids_path = cg->memory_path ? v1_group("pids", &cg->pids) : NULL;
	cg->mode = CGROUP_V1;
	return cg->pids_path;
}

static bool controllers_on(int dir)
{
	char text[512] = "";
	FD_AUTO fd = openat(dir, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	return n > 0 && strstr(text, "memory") && strstr(text, "pids");
}

/* Asks the user's own service manager. */
static bool manager_delegates(const char *unit)
{
	char runtime[64];
	int out[2];
	struct child c = CHILD_NONE;
	struct err ignored = {0};
	snprintf(runtime, sizeof runtime, "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)geteuid());
	const char *const argv[] = {
		SYSTEMCTL, "--user", "show", "--value", "--property=Delegate", "--", unit, NULL};
	const char *const envp[] = {runtime, NULL};
	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	const int fds[] = {-1, out[1], -1};
	const struct child_spec spec = {
		.argv = argv, .envp = envp, .fds = fds, .nfds = 3, .die_with_parent = true};
	char answer[4] = "";
	bool yes = child_start(&c, &spec, &ignored) == 0 &&
		   child_wait(&c, NULL, clock_mono_ms() + MANAGER_MS) == 1;
	fd_close(&out[1]);
	yes = yes && read(out[0], answer, sizeof answer) == 4 && memcmp(answer, "yes\n", 4) == 0;
	fd_close(&out[0]);
	child_kill(&c);
	return yes;
}

/*
 * A group that an ordinary user may write was delegated by root. But all groups of the user's own
 * service manager are the user's, delegated or not: where not, it would take the controllers back
 * when it next looks, and end all of a unit in which the kernel had to kill for memory.
 */
static bool may_arrange(const char *path)
{
	char manager[64], mark;
	if (geteuid() == 0)
		return false;
	snprintf(manager, sizeof manager, "/user@%u.service/", (unsigned)geteuid());
	const char *unit = strstr(path, manager);
	if (!unit)
		return true;
	unit += strlen(manager);
	size_t n = strcspn(unit, "/");
	while (unit[n] && strncmp(unit + n - strlen(".slice"), ".slice", strlen(".slice")) == 0) {
		unit += n + 1;
		n = strcspn(unit, "/");
	}
	STR_AUTO group = strndup(path, (size_t)(unit + n - path));
	if (!group)
		return false;
	if (getxattr(group, "user.delegate", &mark, 1) == 1)
		return mark == '1';
	return manager_delegates(strrchr(group, '/') + 1);
}

/* Whoever is in the group goes into a leaf of it. */
static int empty_into_leaf(int dir)
{
	if (mkdirat(dir, LEAF, 0755) < 0 && errno != EEXIST)
		return -1;
	FD_AUTO leaf = openat(dir, LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FD_AUTO list = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	BUF_AUTO b = {.limit = 1 << 20};
	if (leaf < 0 || list < 0 || fd_read_all(list, &b) < 0)
		return -1;
	for (char *save, *pid = strtok_r(b.data, "\n", &save); pid;
		pid = strtok_r(NULL, "\n", &save))
		(void)write_at(leaf, "cgroup.procs", pid);
	return 0;
}

/*
 * Version 2 has no group with both processes and controlled children, so the supervisor, and
 * whoever shares its group, moves into a leaf of it first, where that is allowed; root, who may
 * write any, moves nobody. Others may start processes in the group meanwhile.
 */
static bool enable_controllers(const char *path)
{
	FD_AUTO dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	if (controllers_on(dir))
		return true;
	for (int i = 0; i < MOVES; i++) {
		if (write_at(dir, "cgroup.subtree_control", "+memory +pids") == 0)
			return controllers_on(dir);
		if (errno != EBUSY || (i == 0 && !may_arrange(path)) || empty_into_leaf(dir) < 0)
			return false;
	}
	return false;
}

/* Below our own group, or, once moved into the leaf, beside it. */
static bool open_v2(struct cgroup *cg)
{
	struct statfs fs;
	STR_AUTO own = own_group("");
	char parent[4096];
	if (!own || statfs(CGROUP_ROOT, &fs) < 0 || fs.f_type != CGROUP2_MAGIC)
		return false;
	char *leaf = strrchr(own, '/');
	if (leaf && strcmp(leaf + 1, LEAF) == 0)
		*leaf = '\0';
	snprintf(parent, sizeof parent, CGROUP_ROOT "%s", own);
	bool enabled = enable_controllers(parent);
	if (!enabled && geteuid() == 0) {
		snprintf(parent, sizeof parent, CGROUP_ROOT "/evctl");
		(void)mkdir(parent, 0755);
		enabled = enable_controllers(parent);
	}
	cg->memory_path = enabled ? make_group(parent, &cg->memory) : NULL;
	cg->pids = cg->memory_path ? fcntl(cg->memory, F_DUPFD_CLOEXEC, 0) : -1;
	cg->mode = CGROUP_V2;
	return cg->memory_path && cg->pids >= 0;
}

int cgroup_set_memory(const struct cgroup *cg, size_t memory)
{
	switch (cg->mode) {
	case CGROUP_NONE:
		return 0;
	case CGROUP_V1:
		/* memsw must not go below memory; without swap accounting it is not there. */
		if (write_number(cg->memory, "memory.limit_in_bytes", memory) < 0 &&
			write_number(cg->memory, "memory.memsw.limit_in_bytes", memory) < 0)
			return -1;
		(void)write_number(cg->memory, "memory.memsw.limit_in_bytes", memory);
		/* Counted apart, where it is counted. */
		(void)write_number(cg->memory, "memory.kmem.tcp.limit_in_bytes", TCP_BYTES);
		return write_number(cg->memory, "memory.limit_in_bytes", memory);
	case CGROUP_V2:
		(void)write_number(cg->memory, "memory.swap.max", 0);
		return write_number(cg->memory, "memory.max", memory);
	}
	return 0;
}

/* The directory of the group that this process is in, if it tells what the kernel killed there. */
static int open_outer(const char *controller, const char *file)
{
	STR_AUTO own = own_group(controller);
	char path[4096];
	/* Inside a container the path may be that of the host. */
	for (int whole = 0; own && whole < 2; whole++) {
		snprintf(path, sizeof path, CGROUP_ROOT "%s%s%s", *controller ? "/" : "",
			controller, whole ? "" : own);
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && faccessat(dir, file, R_OK, 0) == 0)
			return dir;
		fd_close(&dir);
	}
	return -1;
}

/* The sandbox stays in the group of its supervisor, whose limit may end it. */
static void have_none(struct cgroup *cg)
{
	cgroup_close(cg);
	cg->outer = open_outer("", "memory.events");
	if (cg->outer < 0)
		cg->outer = open_outer("memory", "memory.oom_control");
}

void cgroup_open(struct cgroup *cg, size_t memory, unsigned processes)
{
	*cg = CGROUP_INIT;
	if (!open_v2(cg)) {
		cgroup_close(cg);
		if (!open_v1(cg)) {
			have_none(cg);
			return;
		}
	}
	if (cgroup_set_memory(cg, memory) < 0 || write_number(cg->pids, "pids.max", processes) < 0)
		have_none(cg);
}

int cgroup_join(const struct cgroup *cg, pid_t pid)
{
	if (write_number(cg->memory, "cgroup.procs", (uint64_t)pid) < 0)
		return -1;
	return write_number(cg->pids, "cgroup.procs", (uint64_t)pid);
}

struct cgroup_events cgroup_events(const struct cgroup *cg)
{
	struct cgroup_events ev = {0};
	if (cg->mode == CGROUP_NONE) {
		/* Only one of the two is there. */
		ev.outer_kills = read_number(cg->outer, "memory.events", "oom_kill") +
				 read_number(cg->outer, "memory.oom_control", "oom_kill");
		return ev;
	}
	ev.oom_kills = read_number(cg->memory,
		cg->mode == CGROUP_V2 ? "memory.events" : "memory.oom_control", "oom_kill");
	ev.pids_denied = read_number(cg->pids, "pids.events", "max");
	return ev;
}

/* The kernel lets go of the dead a moment after they are reaped. */
static void remove_group(const char *path)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	for (int i = 0; path && i < 1000 && rmdir(path) < 0 && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

void cgroup_close(struct cgroup *cg)
{
	fd_close(&cg->memory);
	fd_close(&cg->pids);
	fd_close(&cg->outer);
	remove_group(cg->memory_path);
	remove_group(cg->pids_path);
	free(cg->memory_path);
	free(cg->pids_path);
	*cg = CGROUP_INIT;
}

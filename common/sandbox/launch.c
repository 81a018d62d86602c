#include "sandbox/launch.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/proc.h"
#include "sandbox/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/if.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Started as root, the sandbox gets a uid that nobody has: above what systemd, containers and
 * subordinate uids use, and another for each live sandbox. Where this is a container that lacks
 * such uids, nobody's.
 */
#define UID_BASE 2000000000u
#define UID_NOBODY 65534u

#define READY_MS 10000
#define WATCH_STACK 65536

/* Of a connection inside, in bytes: least, at first, most. */
#define TCP_READ_BUFFERS "4096 131072 262144"
#define TCP_WRITE_BUFFERS "4096 16384 131072"
#define TCP_BACKLOG "128" /* connections that nobody has accepted yet, which no limit counts */
/*
 * Of a process. What is in flight through Unix sockets, and what epoll watches, the kernel counts
 * for the whole user of the host, so this is far from what others of that user may have.
 */

/* What the helper was doing, for the message when it could not. */
enum step {
	STEP_OK,
	STEP_IDENTITY,
	STEP_MAPS,
	STEP_NAME,
	STEP_LOOPBACK,
	STEP_LISTEN,
	STEP_PRIVATE,
	STEP_STAGE,
	STEP_OVERLAY,
	STEP_PROC,
	STEP_ROOT,
	STEP_FDS,
	STEP_LIMITS,
	STEP_EXEC,
};

/* What the supervisor fills, empties or reads. */
#define STAGE_FDS 5
static const char *const stage_dirs[STAGE_FDS] = {
	".", "work/scratch/outputs", "work/tmp", "work/shm", "work/scratch"};

struct report {
	enum step step;
	int error;
	unsigned nlisteners;
};

struct launch_helper {
	const struct launch_spec *spec;
	uid_t uid;
	gid_t gid;
	bool root;
	int sock;
};

/* ---- the helper: a copy of this process, so nothing here takes memory or locks ---- */

#define HELPER_SOCK PLAN_FDS

static _Noreturn void give_up_on(int sock, enum step step)
{
	struct report r = {.step = step, .error = errno};
	struct err ignored = {0};
	frame_send(sock, &r, sizeof r, NULL, 0, &ignored);
	_exit(127);
}

static _Noreturn void give_up(enum step step)
{
	give_up_on(HELPER_SOCK, step);
}

/* First of all: nothing that the supervisor has open is open here, but what the plan names. */
static void place_fds(const struct launch_helper *h)
{
	int moved[PLAN_FDS + 1];
	for (int i = 0; i <= PLAN_FDS; i++) {
		int fd = i < PLAN_FDS ? h->spec->fds[i] : h->sock;
		moved[i] = fcntl(fd, F_DUPFD_CLOEXEC, PLAN_FDS + 1);
		if (moved[i] < 0)
			give_up_on(h->sock, STEP_FDS);
	}
	for (int i = 0; i <= PLAN_FDS; i++)
		if (dup3(moved[i], i, i == HELPER_SOCK ? O_CLOEXEC : 0) < 0)
			give_up_on(moved[PLAN_FDS], STEP_FDS);
	if (syscall(SYS_close_range, PLAN_FDS + 1, ~0u, 0) < 0)
		give_up(STEP_FDS);
}

static int write_file(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int write_map(const char *path, unsigned id)
{
	char text[64];
	snprintf(text, sizeof text, "%u %u 1\n", id, id);
	return write_file(path, text);
}

static void await_byte(void)
{
	char c;
	if (fd_read_full(HELPER_SOCK, &c, 1) < 0)
		_exit(127);
}

/*
 * An ordinary user maps itself; for root the supervisor has written the maps. A change of uid
 * clears dumpable and the death signal, so these come last.
 */
static void take_identity(const struct launch_helper *h)
{
	uid_t uid;
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		give_up(STEP_IDENTITY);
	if (!h->root && (write_file("/proc/self/setgroups", "deny") < 0 ||
				write_map("/proc/self/uid_map", h->uid) < 0 ||
				write_map("/proc/self/gid_map", h->gid) < 0))
		give_up(STEP_MAPS);
	if (fd_read_full(HELPER_SOCK, &uid, sizeof uid) < 0)
		_exit(127);
	if (h->root && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
			       setresuid(uid, uid, uid) < 0))
		give_up(STEP_IDENTITY);
	if (prctl(PR_SET_DUMPABLE, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		give_up(STEP_IDENTITY);
}

/* bwrap gives the sandbox a host name; of the other one it would keep a copy. */
static void leave_domain(void)
{
	static const char none[] = "(none)";
	if (setdomainname(none, sizeof none - 1) < 0)
		give_up(STEP_NAME);
}

static void loopback_up(void)
{
	FD_AUTO fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		give_up(STEP_LOOPBACK);
}

static int listen_at(const void *addr, socklen_t len, int family)
{
	FD_AUTO fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	if (fd < 0)
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return -1;
	if (bind(fd, addr, len) < 0 || listen(fd, SOMAXCONN) < 0)
		return -1;
	int out = fd;
	fd = -1;
	return out;
}

/* A machine without IPv6 has no ::1; nothing inside can reach it then either. */
static unsigned make_listeners(const struct launch_spec *spec, int *fds)
{
	unsigned n = 0;
	for (size_t i = 0; i < spec->nports; i++) {
		uint16_t port = htons((uint16_t)spec->ports[i]);
		struct sockaddr_in a4 = {.sin_family = AF_INET,
			.sin_port = port,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
			.sin6_port = port,
			.sin6_addr = IN6ADDR_LOOPBACK_INIT};
		int fd = listen_at(&a4, sizeof a4, AF_INET);
		if (fd < 0)
			give_up(STEP_LISTEN);
		fds[n++] = fd;
		fd = listen_at(&a6, sizeof a6, AF_INET6);
		if (fd >= 0)
			fds[n++] = fd;
		else if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
			give_up(STEP_LISTEN);
	}
	return n;
}

static void mount_tmpfs(const char *at, size_t bytes, unsigned inodes)
{
	char options[128];
	snprintf(options, sizeof options, "mode=0755,size=%zu,nr_inodes=%u", bytes, inodes);
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		give_up(STEP_STAGE);
}

static void make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		give_up(STEP_STAGE);
}

static void make_file(const char *path)
{
	FD_AUTO fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		give_up(STEP_STAGE);
}

/* mask/PATH, made with what leads there. */
static int open_mask(const char *path, size_t n)
{
	char part[PATH_MAX];
	if ((size_t)snprintf(part, sizeof part, "mask/%.*s", (int)n, path) >= sizeof part)
		give_up(STEP_STAGE);
	for (char *at = strchr(part, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			give_up(STEP_STAGE);
		*at = '/';
	}
	if (mkdir(part, 0755) < 0 && errno != EEXIST)
		give_up(STEP_STAGE);
	return open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Above the system's files in the overlay: a whiteout for each that is to be left out. */
static void hide(const struct strv *paths)
{
	const char *last = "";
	size_t n = 0;
	FD_AUTO dir = -1;
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i], *name = strrchr(path, '/') + 1;
		size_t len = (size_t)(name - 1 - path);
		if (dir < 0 || len != n || memcmp(path, last, n) != 0) {
			fd_close(&dir);
			dir = open_mask(path, len);
		}
		if (dir < 0 || mknodat(dir, name, S_IFCHR, makedev(0, 0)) < 0)
			give_up(STEP_STAGE);
		last = path;
		n = len;
	}
}

/* One overlay, of what is at usr/PART; part is "" for all of it. */
static int mount_overlay(const char *part)
{
	char at[64], lower[160];
	snprintf(at, sizeof at, "usr/%s", part);
	snprintf(lower, sizeof lower, "lowerdir=mask/%s:/usr/%s,userxattr", part, part);
	return mount("overlay", at, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, lower);
}

static void mount_part(const char *path)
{
	char part[48], at[64];
	if (strncmp(path, "/usr/", 5) != 0)
		return;
	size_t n = strcspn(path + 5, "/");
	if (n >= sizeof part)
		give_up(STEP_OVERLAY);
	snprintf(part, sizeof part, "%.*s", (int)n, path + 5);
	snprintf(at, sizeof at, "usr/%s", part);
	if (mkdir(at, 0755) < 0) {
		if (errno == EEXIST)
			return;
		give_up(STEP_STAGE);
	}
	snprintf(at, sizeof at, "mask/%s", part);
	if (mkdir(at, 0755) < 0 && errno != EEXIST)
		give_up(STEP_STAGE);
	if (mount_overlay(part) < 0)
		give_up(STEP_OVERLAY);
}

/*
 * A user namespace may not see what another file system covers, so a directory with a mount
 * anywhere beneath it cannot be a layer. Then each part of /usr that is needed is one by itself.
 */
static void mount_parts(const struct mounts *m)
{
	for (size_t i = 0; i < m->binds.n; i++)
		mount_part(m->binds.v[i]);
	for (size_t i = 0; i + 1 < m->links.n; i += 2)
		mount_part(m->links.v[i]);
}

/*
 * The system's files go through an overlay of this sandbox's own: the inodes differ from those that
 * every other process sees, so locks on them signal nobody. An overlay without an upper layer needs
 * two lower ones.
 */
static void mount_system(const struct mounts *m)
{
	hide(&m->hidden);
	if (mount_overlay("") < 0) {
		if (errno != EINVAL)
			give_up(STEP_OVERLAY);
		mount_parts(m);
	}
	for (size_t i = 0; i + 1 < m->links.n; i += 2)
		if (!strchr(m->links.v[i] + 1, '/') &&
			symlink(m->links.v[i + 1], m->links.v[i] + 1) < 0)
			give_up(STEP_STAGE);
}

/*
 * A device cannot be made in a user namespace, so these are the machine's own (see inodes.h).
 * Read-only, as the directory is: that leaves writing to a device, and not setting its times.
 */
static void make_dev(void)
{
	char from[32];
	if (chdir("dev") < 0)
		give_up(STEP_STAGE);
	for (size_t i = 0; i < PLAN_DEVICES; i++)
		make_file(plan_devices[i]);
	for (size_t i = 0; plan_device_links[i][0]; i++)
		if (symlink(plan_device_links[i][1], plan_device_links[i][0]) < 0)
			give_up(STEP_STAGE);
	make_dir("shm", 0755);
	unsigned long flags = MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	if (mount(".", ".", NULL, MS_BIND, NULL) < 0 || chdir("../dev") < 0 ||
		mount(NULL, ".", NULL, MS_REMOUNT | flags, NULL) < 0 ||
		mount("../work/shm", "shm", NULL, MS_BIND, NULL) < 0)
		give_up(STEP_STAGE);
	for (size_t i = 0; i < PLAN_DEVICES; i++) {
		const char *to = plan_devices[i];
		snprintf(from, sizeof from, "/dev/%s", to);
		if (mount(from, to, NULL, MS_BIND, NULL) < 0 ||
			mount(NULL, to, NULL, MS_REMOUNT | (flags & ~(unsigned long)MS_NODEV),
				NULL) < 0)
			give_up(STEP_STAGE);
	}
	if (chdir("..") < 0)
		give_up(STEP_STAGE);
}

/* What the supervisor fills, or reads, comes first, so that it can while the rest is made. */
static void make_stage(const struct launch_spec *spec)
{
	static const char *const dirs[] = {
		"tool", "cell", "etc", "empty", "mask", "usr", "work", "dev", "proc"};
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		give_up(STEP_PRIVATE);
	mount_tmpfs("/tmp", spec->stage_bytes, spec->stage_inodes);
	if (chdir("/tmp") < 0)
		give_up(STEP_STAGE);
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		make_dir(dirs[i], 0755);
	make_dir("tmp", 01777);
	make_file("nothing");
	mount_tmpfs("work", spec->work_bytes, spec->work_inodes);
	make_dir("work/scratch", 0755);
	make_dir("work/scratch/outputs", 0755);
	make_dir("work/tmp", 01777);
	make_dir("work/shm", 01777);
	mount_tmpfs("work/scratch/outputs", spec->outputs_bytes, spec->outputs_inodes);
}

/*
 * Buffers of connections are charged to no process, and where there is no control group to nobody.
 * With RLIMIT_NOFILE these bound what one process can have the kernel keep; launch_sockets() tells
 * of what needs no descriptor.
 */
static void bound_buffers(void)
{
	if (write_file("proc/sys/net/ipv4/tcp_rmem", TCP_READ_BUFFERS) < 0 ||
		write_file("proc/sys/net/ipv4/tcp_wmem", TCP_WRITE_BUFFERS) < 0 ||
		write_file("proc/sys/net/core/somaxconn", TCP_BACKLOG) < 0)
		give_up(STEP_PROC);
}

/*
 * bwrap gets a root with nothing in it but what the plan names: it cannot bind what it cannot see,
 * and each of its binds reads the whole list of mounts. Its /proc is of its own processes: it looks
 * its child up there by the number that it knows, which elsewhere is another's or nobody's.
 */
static void change_root(void)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	if (mount("proc", "proc", "proc", flags, NULL) < 0)
		give_up(STEP_PROC);
	bound_buffers();
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		give_up(STEP_ROOT);
}

/* Through the sandbox's own mount, by which its times cannot be set. */
static void open_null(void)
{
	FD_AUTO fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || dup2(fd, PLAN_FD_NULL) < 0)
		give_up(STEP_FDS);
}

/* At least one frame, which says how many listeners there are; closes what it sends. */
static void hand_out(int *fds, unsigned nfds, unsigned nlisteners)
{
	struct report r = {.step = STEP_OK, .nlisteners = nlisteners};
	struct err ignored = {0};
	unsigned done = 0;
	do {
		unsigned n = nfds - done;
		n = n < FRAME_MAX_FDS ? n : FRAME_MAX_FDS;
		if (frame_send(HELPER_SOCK, &r, sizeof r, fds + done, n, &ignored) < 0)
			give_up(STEP_FDS);
		done += n;
	} while (done < nfds);
	for (unsigned i = 0; i < nfds; i++)
		close(fds[i]);
}

static void hand_out_stage(void)
{
	int open_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fds[STAGE_FDS];
	for (int i = 0; i < STAGE_FDS; i++) {
		fds[i] = open(stage_dirs[i], open_flags);
		if (fds[i] < 0)
			give_up(STEP_FDS);
	}
	hand_out(fds, STAGE_FDS, 0);
}

static void limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit old, r = {.rlim_cur = soft, .rlim_max = hard};
	if (getrlimit(what, &old) < 0)
		give_up(STEP_LIMITS);
	if (old.rlim_max != RLIM_INFINITY && (hard == RLIM_INFINITY || hard > old.rlim_max))
		r.rlim_max = old.rlim_max;
	if (r.rlim_max != RLIM_INFINITY && r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	if (setrlimit(what, &r) < 0)
		give_up(STEP_LIMITS);
}

/* The launcher may run before all others, or be what is killed last: the sandbox is not. */
static void be_ordinary(void)
{
	const struct sched_param none = {0};
	int policy = sched_getscheduler(0);
	if ((policy == SCHED_FIFO || policy == SCHED_RR) &&
		sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		give_up(STEP_LIMITS);
	errno = 0;
	int nice = getpriority(PRIO_PROCESS, 0);
	if (nice < 0 && errno == 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		give_up(STEP_LIMITS);
	long io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	if (io >= 0 && IOPRIO_PRIO_CLASS(io) == IOPRIO_CLASS_RT &&
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) < 0)
		give_up(STEP_LIMITS);
	personality(PER_LINUX); /* addresses at random, whatever the launcher's are */
	char text[16] = "";
	FD_AUTO fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && text[0] == '-' &&
		pwrite(fd, "0", 1, 0) != 1)
		give_up(STEP_LIMITS);
}

/*
 * Private writable memory is what a tool can ask for; address space stops shared maps too, with
 * room for what is only reserved. RLIMIT_NPROC counts within the user namespace just made.
 */
static void set_limits(const struct launch_spec *spec)
{
	rlim_t memory = spec->memory, space = 2 * spec->memory + ((rlim_t)1 << 30);
	if (write_file("/proc/self/coredump_filter", "0") < 0 && errno != ENOENT)
		give_up(STEP_LIMITS);
	limit(RLIMIT_DATA, memory, memory);
	limit(RLIMIT_AS, space, space);
	limit(RLIMIT_NPROC, spec->processes, spec->processes);
	limit(RLIMIT_FSIZE, spec->file, spec->file);
	limit(RLIMIT_NOFILE, LIMIT_OPEN_FILES, LIMIT_OPEN_FILES);
	limit(RLIMIT_STACK, 8 << 20, 8 << 20);
	limit(RLIMIT_CORE, NO_CORE, NO_CORE);
	limit(RLIMIT_MSGQUEUE, 0, 0);
	limit(RLIMIT_MEMLOCK, 1 << 20, 1 << 20);
	limit(RLIMIT_RTPRIO, 0, 0);
	limit(RLIMIT_SIGPENDING, 1024, 1024);
}

/*
 * Another process of the outer namespace, in which it ends whatever goes on longer than the
 * supervisor said: that one may be stopped. It kills all but process 1, which is bwrap, and ends
 * with what it started. It has the helper's memory to itself once that is bwrap, and dies with the
 * namespace.
 */
static int watch(void *none)
{
	int32_t ms = -1;
	(void)none;
	syscall(SYS_close_range, 0u, HELPER_SOCK - 1u, 0);
	prctl(PR_SET_NAME, "evctl-watch");
	prctl(PR_SET_DUMPABLE, 0);
	for (;;) {
		struct pollfd p = {.fd = HELPER_SOCK, .events = POLLIN};
		if (poll(&p, 1, ms) <= 0 || fd_read_full(HELPER_SOCK, &ms, sizeof ms) < 0)
			break;
	}
	kill(-1, SIGKILL);
	_exit(0);
}

static void start_watch(char *stack, size_t n)
{
	if (clone(watch, stack + n, CLONE_VM | SIGCHLD, NULL) < 0)
		give_up(STEP_LIMITS);
}

static _Noreturn void run_helper(const struct launch_helper *h)
{
	static const char *const no_env[] = {NULL};
	_Alignas(64) char stack[WATCH_STACK];
	int fds[LAUNCH_MAX_LISTENERS];
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	place_fds(h);
	umask(0);
	take_identity(h);
	make_stage(h->spec);
	hand_out_stage();
	leave_domain();
	loopback_up();
	unsigned n = make_listeners(h->spec, fds);
	mount_system(h->spec->mounts);
	make_dev();
	change_root();
	open_null();
	hand_out(fds, n, n);
	await_byte();
	set_limits(h->spec);
	be_ordinary();
	umask(022);
	if (setsid() < 0)
		give_up(STEP_LIMITS);
	start_watch(stack, sizeof stack);
	execve(h->spec->argv[0], (char *const *)h->spec->argv, (char *const *)no_env);
	give_up(STEP_EXEC);
}

/* ---- the supervisor ---- */

static int refused(int error, struct err *e)
{
	const char *mend = userns_mend(error);
	return err_hint(e, "%s", *mend ? mend : "see what this machine allows: evctl doctor");
}

static int explain(const struct report *r, struct err *e)
{
	static const char *const doing[] = {
		[STEP_IDENTITY] = "cannot take an unprivileged uid",
		[STEP_MAPS] = "cannot map the user into a new user namespace",
		[STEP_NAME] = "cannot take the machine's name away",
		[STEP_LOOPBACK] = "cannot bring up the loopback of a new network namespace",
		[STEP_LISTEN] = "cannot listen inside the sandbox",
		[STEP_PRIVATE] = "cannot make the mounts private",
		[STEP_STAGE] = "cannot mount a tmpfs in a user namespace",
		[STEP_OVERLAY] = "cannot mount an overlay in a user namespace",
		[STEP_PROC] = "cannot mount a /proc in a user namespace",
		[STEP_ROOT] = "cannot change the root of a user namespace",
		[STEP_FDS] = "cannot hand out the sandbox's descriptors",
		[STEP_LIMITS] = "cannot set resource limits",
		[STEP_EXEC] = "cannot start '" PLAN_BWRAP "'",
	};
	unsigned step = r->step;
	if (step == STEP_OK || step >= sizeof doing / sizeof *doing)
		return err_set(e, ERR_SANDBOX, "the sandbox's helper sent an unexpected message");
	errno = r->error;
	err_errno(e, ERR_SANDBOX, "%s", doing[step]);
	if (step == STEP_EXEC)
		return err_hint(e, "install it: apt-get install bubblewrap");
	if (step == STEP_PROC)
		return err_hint(e, "nothing may be mounted over parts of this system's /proc; in a "
				   "container: --security-opt systempaths=unconfined, which podman "
				   "calls unmask=ALL");
	if (step == STEP_OVERLAY)
		return err_hint(e, "Linux 5.11 or newer with overlayfs is needed, and nothing "
				   "mounted below /usr/bin, /usr/lib and /usr/share");
	return refused(r->error, e);
}

/* Whether an id of the host can be had from inside a container. */
static bool id_exists(const char *map, unsigned id)
{
	char text[4096];
	FD_AUTO fd = open(map, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		unsigned long first, outside, count;
		if (*line == '\n')
			line++;
		if (sscanf(line, "%lu %lu %lu", &first, &outside, &count) == 3 && id >= first &&
			id - first < count)
			return true;
	}
	return false;
}

static int map_for_root(pid_t pid, uid_t *uid, struct err *e)
{
	char path[64];
	*uid = UID_BASE + (unsigned)pid;
	if (!id_exists("/proc/self/uid_map", *uid) || !id_exists("/proc/self/gid_map", *uid))
		*uid = UID_NOBODY;
	snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
	if (write_map(path, *uid) < 0) {
		err_errno(e, ERR_SANDBOX, "cannot give the sandbox an unprivileged uid");
		return err_hint(e, "run evctl as an ordinary user");
	}
	snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
	if (write_map(path, *uid) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot give the sandbox an unprivileged gid");
	return 0;
}

static int clone_failed(struct err *e)
{
	int error = errno;
	err_errno(e, ERR_SANDBOX, "cannot make a user namespace");
	if (error == EACCES || error == EBUSY || error == EOPNOTSUPP) {
		err_wrap(e, "in the sandbox's control group");
		return err_hint(e, "see what this machine allows: evctl doctor");
	}
	return refused(error, e);
}

static int bwrap_missing(struct err *e)
{
	err_errno(e, ERR_SANDBOX, "cannot start '" PLAN_BWRAP "'");
	return err_hint(e, "install it: apt-get install bubblewrap");
}

static int start_helper(struct launch *l, const struct launch_helper *h, struct err *e)
{
	if (access(PLAN_BWRAP, X_OK) < 0)
		return bwrap_missing(e);
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS |
			 CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&l->pidfd,
	};
	if (l->cgroup->mode == CGROUP_V2) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)l->cgroup->memory;
	}
	long pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid < 0)
		return clone_failed(e);
	if (pid == 0)
		run_helper(h);
	l->pid = (pid_t)pid;
	return 0;
}

static int has_died(struct err *e)
{
	err_set(e, ERR_SANDBOX, "the sandbox's helper was ended while it was starting");
	return err_hint(e, "try again; what this machine allows: evctl doctor");
}

/* What could not be done because the helper is dead has the reason that the helper gave. */
static int why_died(struct launch *l, struct err *e)
{
	err_clear(e);
	launch_why(l, e);
	return e->code == ERR_NONE ? has_died(e) : -1;
}

static int died_or(struct launch *l, struct err *e)
{
	return launch_ended(l) ? why_died(l, e) : -1;
}

/* Not by write(2): to a dead one that is a signal. */
static int tell(struct launch *l, const void *p, size_t n, struct err *e)
{
	if (send(l->go, p, n, MSG_NOSIGNAL) == (ssize_t)n)
		return 0;
	return why_died(l, e);
}

/* The helper says what failed, or gives a report with descriptors; nothing means it died. */
static int read_report(struct launch *l, struct report *r, int *fds, size_t *nfds, struct err *e)
{
	BUF_AUTO b = {.limit = sizeof *r};
	struct err why = {0};
	int got = frame_recv(l->go, &b, fds, nfds, clock_mono_ms() + READY_MS, &why);
	if (got < 0 && why.code == ERR_TIMEOUT)
		return err_set(e, ERR_SANDBOX, "the sandbox's helper does not answer");
	if (got <= 0 || b.len != sizeof *r)
		return has_died(e);
	memcpy(r, b.data, sizeof *r);
	if (r->step == STEP_OK)
		return 0;
	return explain(r, e);
}

static int take_stage(struct launch *l, struct err *e)
{
	struct report r;
	int fds[STAGE_FDS] = {-1, -1, -1, -1, -1};
	size_t n = STAGE_FDS;
	if (read_report(l, &r, fds, &n, e) < 0)
		return -1;
	l->stage = fds[0];
	l->outputs = fds[1];
	l->tmp = fds[2];
	l->shm = fds[3];
	l->scratch = fds[4];
	return n == STAGE_FDS
		       ? 0
		       : err_set(e, ERR_SANDBOX, "the sandbox's helper sent an unexpected message");
}

static int take_listeners(struct launch *l, struct err *e)
{
	struct report r;
	do {
		int fds[FRAME_MAX_FDS];
		size_t n = FRAME_MAX_FDS;
		if (read_report(l, &r, fds, &n, e) < 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			if (l->nlisteners == LAUNCH_MAX_LISTENERS) {
				close(fds[i]);
				continue;
			}
			l->ports[l->nlisteners] = fd_port(fds[i]);
			l->listeners[l->nlisteners++] = fds[i];
		}
		if (n == 0 && r.nlisteners)
			return err_set(
				e, ERR_SANDBOX, "the sandbox's helper sent an unexpected message");
	} while (l->nlisteners < r.nlisteners);
	return 0;
}

/*
 * In version 2 the helper is made in its group. In version 1 it is moved there, which waits for the
 * kernel's grace periods, so it goes beside everything else. The helper has no children yet, and
 * gets none before launch_go() has seen this end.
 */
static void *join(void *arg)
{
	struct launch *l = arg;
	l->join_error = cgroup_join(l->cgroup, l->pid) < 0 ? errno : 0;
	return NULL;
}

static void start_join(struct launch *l)
{
	l->joining = pthread_create(&l->joiner, NULL, join, l) == 0;
	if (!l->joining)
		join(l);
}

static int start_and_take(struct launch *l, struct launch_helper *h, struct err *e)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot make a socket pair");
	l->go = pair[0];
	h->sock = pair[1];
	int started = start_helper(l, h, e);
	fd_close(&pair[1]);
	if (started < 0)
		return -1;
	l->uid = h->uid;
	if (h->root && map_for_root(l->pid, &l->uid, e) < 0)
		return died_or(l, e);
	if (l->cgroup->mode == CGROUP_V1)
		start_join(l);
	if (tell(l, &l->uid, sizeof l->uid, e) < 0)
		return -1;
	return take_stage(l, e);
}

static void end_join(struct launch *l)
{
	if (l->joining)
		pthread_join(l->joiner, NULL);
	l->joining = false;
}

int launch_start(
	struct launch *l, const struct launch_spec *spec, const struct cgroup *cg, struct err *e)
{
	struct launch_helper h = {
		.spec = spec, .uid = geteuid(), .gid = getegid(), .root = geteuid() == 0};
	*l = LAUNCH_NONE;
	l->cgroup = cg;
	if (spec->nports > LAUNCH_MAX_LISTENERS / 2)
		return err_set(e, ERR_SANDBOX, "too many ports to listen on: %zu", spec->nports);
	return start_and_take(l, &h, e);
}

/* Of the sandbox's network namespace, and open for as long as that is looked at. */
static void open_sockets(struct launch *l)
{
	static const char *const names[2] = {"sockstat", "sockstat6"};
	char path[64];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/net/%s", l->pid, names[i]);
		l->sockets[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

int launch_go(struct launch *l, struct err *e)
{
	char go = 0;
	end_join(l);
	if (l->join_error) {
		errno = l->join_error;
		err_errno(e, ERR_SANDBOX, "cannot put the sandbox into its control group");
		return died_or(l, e);
	}
	if (take_listeners(l, e) < 0)
		return -1;
	open_sockets(l);
	return tell(l, &go, 1, e);
}

void launch_watch(const struct launch *l, int ms)
{
	const int32_t left = ms;
	(void)!send(l->go, &left, sizeof left, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* How many the file says are in use, by its line for the protocol. */
static unsigned in_use(int fd, const char *line)
{
	char text[1024];
	unsigned n = 0;
	ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	const char *at = strstr(text, line);
	return at && sscanf(at + strlen(line), "%u", &n) == 1 ? n : 0;
}

unsigned launch_sockets(const struct launch *l)
{
	return in_use(l->sockets[0], "\nTCP: inuse ") + in_use(l->sockets[1], "TCP6: inuse ");
}

bool launch_ended(const struct launch *l)
{
	struct pollfd p = {.fd = l->pidfd, .events = POLLIN};
	return l->pidfd < 0 || poll(&p, 1, 0) > 0;
}

void launch_why(struct launch *l, struct err *e)
{
	BUF_AUTO b = {.limit = sizeof(struct report)};
	struct err ignored = {0};
	struct report r;
	if (l->go < 0 ||
		frame_recv(l->go, &b, NULL, NULL, clock_mono_ms() + READY_MS, &ignored) != 1)
		return;
	if (b.len == sizeof r) {
		memcpy(&r, b.data, sizeof r);
		explain(&r, e);
	}
}

void launch_drop_listeners(struct launch *l)
{
	for (size_t i = 0; i < l->nlisteners; i++)
		fd_close(&l->listeners[i]);
	l->nlisteners = 0;
}

/*
 * Once process 1 is dead the kernel has killed, and waited for, all that was in its namespace; only
 * then does the pidfd become readable.
 */
void launch_kill(struct launch *l)
{
	end_join(l);
	if (l->pidfd >= 0) {
		struct pollfd p = {.fd = l->pidfd, .events = POLLIN};
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
		siginfo_t info;
		while (waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED | __WALL) < 0 &&
			errno == EINTR)
			;
	}
	fd_close(&l->pidfd);
	l->pid = -1;
}

void launch_close(struct launch *l)
{
	launch_kill(l);
	launch_drop_listeners(l);
	fd_close(&l->go);
	fd_close(&l->stage);
	fd_close(&l->outputs);
	fd_close(&l->tmp);
	fd_close(&l->shm);
	fd_close(&l->scratch);
	fd_close(&l->sockets[0]);
	fd_close(&l->sockets[1]);
}

/* ---- what doctor asks ---- */

static int try_inside(void)
{
	static const char name[] = "sandbox";
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		setdomainname(name, sizeof name - 1) < 0)
		return errno;
	return 0;
}

int launch_try(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_inside());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return EAGAIN;
	return WEXITSTATUS(status);
}

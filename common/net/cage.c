#include "net/cage.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define NOBODY 65534

/* The sanitizers need memory and system calls that the cage refuses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool instrumented = true;
#else
static const bool instrumented = false;
#endif

/* "cannot WHAT the NAME's PART". */
static int failed(const struct cage *c, const char *what, struct err *e)
{
	return err_errno(e, ERR_SANDBOX, "cannot %s of %s", what, c->name);
}

static int limit(const struct cage *c, int what, rlim_t n, struct err *e)
{
	struct rlimit old, r = {n, n};
	if (getrlimit(what, &old) == 0 && old.rlim_max < n)
		r.rlim_cur = r.rlim_max = old.rlim_max;
	if (setrlimit(what, &r) < 0)
		return failed(c, "set the limits", e);
	return 0;
}

/* Root becomes nobody; where that uid is not mapped (a user namespace) it stays what it is. */
static int drop_root(const struct cage *c, struct err *e)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 && errno != EPERM)
		return failed(c, "drop the groups", e);
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0) {
		if (errno == EINVAL)
			return 0;
		return failed(c, "drop the privileges", e);
	}
	return 0;
}

static int drop_capabilities(const struct cage *c, struct err *e)
{
	struct {
		uint32_t version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		uint32_t effective, permitted, inheritable;
	} none[2] = {0};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) < 0)
		return failed(c, "drop the capabilities", e);
	return 0;
}

/* ---- Landlock, by number: Debian 12's headers know its first version only ---- */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

enum {
	LL_READ_FILE = 1 << 2,
	LL_READ_DIR = 1 << 3,
	LL_BIND_TCP = 1 << 0,
	LL_SCOPE_ALL = 3, /* abstract unix sockets, signals */
};

static void allow_reading(int ruleset, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	struct path_attr a = {.allowed = LL_READ_FILE | LL_READ_DIR, .parent = fd};
	syscall(SYS_landlock_add_rule, ruleset, 1, &a, 0);
	close(fd);
}

const char *const cage_name_service[] = {"/etc", "/usr/lib", "/usr/lib64",
	"/usr/share/ca-certificates", "/usr/share/pki", "/usr/share/crypto-policies",
	"/usr/share/p11-kit", "/var/lib/ca-certificates", "/usr/local/share/ca-certificates",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/mnt/wsl", "/lib",
	"/lib64", NULL};

static int landlock(const struct cage *c, struct err *e)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	if (abi < 1)
		return 0;
	struct ruleset_attr a = {.fs = abi >= 5	  ? 0xffff
				       : abi >= 3 ? 0x7fff
				       : abi == 2 ? 0x3fff
						  : 0x1fff,
		.net = abi >= 4 ? LL_BIND_TCP : 0,
		.scoped = abi >= 6 ? LL_SCOPE_ALL : 0};
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	int fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
	if (fd < 0)
		return failed(c, "make the Landlock rules", e);
	for (size_t i = 0; c->readable && c->readable[i]; i++)
		allow_reading(fd, c->readable[i]);
	long rc = syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc < 0 ? failed(c, "enforce the Landlock rules", e) : 0;
}

/* ---- seccomp ---- */

/* What any server needs on connections that it has. */
static const int served[] = {
	/* memory, threads, time */
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mlock),
	SCMP_SYS(munlock),
	SCMP_SYS(mprotect),
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(get_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getrusage),
	SCMP_SYS(tgkill),
	SCMP_SYS(membarrier),
	/* descriptors */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(pipe2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(fstat),
	SCMP_SYS(accept4),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
};

/* What one needs beside that which calls other hosts. */
static const int dialled[] = {
	SCMP_SYS(lseek),
	SCMP_SYS(pread64),
	SCMP_SYS(memfd_create),
	SCMP_SYS(ioctl),
	/* files, as far as Landlock lets it: certificates, name service */
	SCMP_SYS(openat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(stat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	/* sockets; making them is bound below */
	SCMP_SYS(connect),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(bind),
};

static int allow(scmp_filter_ctx f, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0) < 0)
			return -1;
	return 0;
}

/* What a thread may do, not what a new process may: clone() must carry CLONE_THREAD. */
static int allow_threads(scmp_filter_ctx f)
{
	const scmp_datum_t thread = 0x00010000;
	/* clone3's flags are behind a pointer; without it the C library takes clone(). */
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) |
	       seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		       SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));
}

static int allow_sockets(scmp_filter_ctx f)
{
	static const int families[] = {AF_INET, AF_INET6};
	int rc = 0;
	for (size_t i = 0; i < 2; i++) {
		for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++)
			rc |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
				SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]),
				SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, (scmp_datum_t)type));
	}
	/* getaddrinfo() asks the kernel which families have addresses */
	rc |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
		SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE));
	rc |= seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return rc;
}

static int filter(const struct cage *c, struct err *e)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = -ENOMEM;
	if (f) {
		rc = allow(f, served, sizeof served / sizeof *served) | allow_threads(f);
		if (c->dials)
			rc |= allow(f, dialled, sizeof dialled / sizeof *dialled) |
			      allow_sockets(f);
		static const int fatal[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace),
			SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(fork),
			SCMP_SYS(vfork), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mount)};
		for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
			rc |= seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
		if (rc == 0)
			rc = seccomp_load(f);
		seccomp_release(f);
	}
	if (rc != 0) {
		errno = rc < 0 ? -rc : EINVAL;
		return failed(c, "load the seccomp filter", e);
	}
	return 0;
}

int cage_enter(const struct cage *c, struct err *e)
{
	signal(SIGPIPE, SIG_IGN);
	if (limit(c, RLIMIT_CORE, NO_CORE, e) < 0 || limit(c, RLIMIT_NOFILE, c->files, e) < 0)
		return -1;
	if (!instrumented && limit(c, RLIMIT_AS, c->memory, e) < 0)
		return -1;
	if (drop_root(c, e) < 0 || drop_capabilities(c, e) < 0)
		return -1;
	/* After the uid has changed: that resets both of these. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(c, "close the process", e);
	if (landlock(c, e) < 0)
		return -1;
	return instrumented ? 0 : filter(c, e);
}

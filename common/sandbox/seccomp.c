#include "sandbox/seccomp.h"
#include "base/file.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67 /* Linux 6.4 */
#endif

/* The newest call that is let through: futex_requeue. After it come statmount, listmount, LSM. */
#define NEWEST_CALL 456
#define X32_BIT 0x40000000u

/* Looking into, or at, other processes and the kernel; changing what the whole machine shares. */
static const char *const forbidden[] = {
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
	"kcmp", "pidfd_getfd", "perf_event_open", "userfaultfd", "bpf", "lookup_dcookie", "mount",
	"umount", "umount2", "pivot_root", "chroot", "unshare", "setns", "add_key", "request_key",
	"keyctl", "syslog", "sync", /* of every file system of the machine */
	"acct", "vhangup", "personality", "init_module", "finit_module", "delete_module",
	"create_module", "query_module", "get_kernel_syms", "kexec_load", "kexec_file_load",
	"reboot", "swapon", "swapoff", "sethostname", "setdomainname", "iopl", "ioperm",
	"modify_ldt", "vm86", "vm86old", "settimeofday", "clock_settime", "clock_adjtime",
	"adjtimex", "stime", "quotactl", "quotactl_fd", "nfsservctl", "sysfs", "_sysctl", "uselib",
	"ustat", "name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark",
	"move_pages", "migrate_pages", "mbind", "set_mempolicy",
	"vmsplice", /* pages kept by a pipe are charged to nobody */
};

/* Memory and signals that are bounded by no limit, or counted for the whole user. */
static const char *const missing[] = {
	"clone3",
	"memfd_create",
	"memfd_secret",
	"shmget",
	"shmat",
	"shmctl",
	"shmdt",
	"msgget",
	"msgsnd",
	"msgrcv",
	"msgctl",
	"semget",
	"semop",
	"semctl",
	"semtimedop",
	"mq_open",
	"mq_unlink",
	"mq_timedsend",
	"mq_timedreceive",
	"mq_notify",
	"mq_getsetattr",
	"inotify_init",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"io_setup",
	"io_submit",
	"io_getevents",
	"io_pgetevents",
	"io_destroy",
	"io_cancel",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
};

struct arg_rule {
	const char *call;
	unsigned arg;
	enum scmp_compare op;
	uint64_t a, b;
};

/* IPv4 and IPv6 streams and nothing else; the kernel looks at 32 bits, so more is no match either.
 */
static const struct arg_rule rules[] = {
	{"socket", 0, SCMP_CMP_LT, AF_INET, 0},
	{"socket", 0, SCMP_CMP_GT, AF_INET6, 0},
	{"socket", 2, SCMP_CMP_GT, IPPROTO_TCP, 0},
	{"socketpair", 0, SCMP_CMP_NE, AF_UNIX, 0},
	/* The machine's huge pages are set aside for somebody, and charged to nobody here. */
	{"mmap", 3, SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB},
	{"ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI},
	{"ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCLINUX},
	{"ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCCONS},
	{"ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSETD},
	{"prlimit64", 0, SCMP_CMP_NE, 0, 0},
	/* Whose page is the same as whose would show in the time that a write takes. */
	{"prctl", 0, SCMP_CMP_MASKED_EQ, 0xffffffff, PR_SET_MEMORY_MERGE},
	/* Process 1 is what a session's later calls are forked from; its group and user are theirs.
	 */
	{"setpriority", 0, SCMP_CMP_NE, PRIO_PROCESS, 0},
	{"setpriority", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"ioprio_set", 0, SCMP_CMP_NE, IOPRIO_WHO_PROCESS, 0},
	{"ioprio_set", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"sched_setaffinity", 0, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"sched_setattr", 0, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"sched_setparam", 0, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"sched_setscheduler", 0, SCMP_CMP_MASKED_EQ, 0xffffffff, 1},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWNET, CLONE_NEWNET},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWNS, CLONE_NEWNS},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWPID, CLONE_NEWPID},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWIPC, CLONE_NEWIPC},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWUTS, CLONE_NEWUTS},
	{"clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWCGROUP, CLONE_NEWCGROUP},
};

/* Calls that this architecture or libseccomp does not know need no rule: see the prelude. */
static int deny(scmp_filter_ctx ctx, const char *call, int error, unsigned n,
	const struct scmp_arg_cmp *cmp)
{
	int nr = seccomp_syscall_resolve_name(call);
	if (nr < 0)
		return 0;
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint16_t)error), nr, n, cmp);
}

static int deny_sockets(scmp_filter_ctx ctx)
{
	/* Of a pair too only streams: an end of another kind can be given a name, and take from
	 * others. */
	static const char *const calls[] = {"socket", "socketpair"};
	for (unsigned v = AF_INET + 1; v < AF_INET6; v++)
		if (deny(ctx, "socket", EPERM, 1, &SCMP_A0(SCMP_CMP_EQ, v)) < 0)
			return -1;
	for (unsigned v = 0; v < 16; v++)
		for (size_t i = 0; i < 2 && v != SOCK_STREAM; i++)
			if (deny(ctx, calls[i], EPERM, 1, &SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, v)) < 0)
				return -1;
	for (unsigned v = 1; v < IPPROTO_TCP; v++)
		if (deny(ctx, "socket", EPERM, 1, &SCMP_A2(SCMP_CMP_EQ, v)) < 0)
			return -1;
	return 0;
}

/*
 * What a socket buffers is charged to no process. Programs set it for speed, and would not bear to
 * be refused: they are told that it is done.
 */
static int ignore_sizes(scmp_filter_ctx ctx)
{
	static const int options[] = {SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const struct scmp_arg_cmp cmp[] = {
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, SOL_SOCKET),
			SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, (uint64_t)options[i])};
		if (deny(ctx, "setsockopt", 0, 2, cmp) < 0)
			return -1;
	}
	return 0;
}

static int add_rules(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
		if (deny(ctx, forbidden[i], EPERM, 0, NULL) < 0)
			return -1;
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (deny(ctx, missing[i], ENOSYS, 0, NULL) < 0)
			return -1;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		const struct arg_rule *r = &rules[i];
		struct scmp_arg_cmp cmp = SCMP_CMP64(r->arg, r->op, r->a, r->b);
		if (deny(ctx, r->call, EPERM, 1, &cmp) < 0)
			return -1;
	}
	return ignore_sizes(ctx) < 0 ? -1 : deny_sockets(ctx);
}

/*
 * Before libseccomp's program: a call number beyond the list, and below x32's (which libseccomp
 * kills), does not exist.
 */
static int write_prelude(int fd)
{
	const struct sock_filter prelude[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	return fd_write_full(fd, prelude, sizeof prelude);
}

int seccomp_write(int fd, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		return err_set(e, ERR_SANDBOX, "cannot make the system call filter");
	int failed = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
		     seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0 || add_rules(ctx) < 0 ||
		     write_prelude(fd) < 0 || seccomp_export_bpf(ctx, fd) < 0 ||
		     lseek(fd, 0, SEEK_SET) < 0;
	seccomp_release(ctx);
	return failed ? err_set(e, ERR_SANDBOX, "cannot make the system call filter") : 0;
}

/* The system call filter as the kernel would read it, for the machine that it was compiled for: run
 * here, step by step. */
#include "../lib/tap.h"
#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HERE AUDIT_ARCH_X86_64
#define BESIDE AUDIT_ARCH_I386
#define ELSEWHERE AUDIT_ARCH_AARCH64
#elif defined(__aarch64__)
#define HERE AUDIT_ARCH_AARCH64
#define BESIDE AUDIT_ARCH_ARM
#define ELSEWHERE AUDIT_ARCH_X86_64
#endif

#ifdef HERE
#define MOST 4096
#define UNKNOWN 0xdeadbeefu

struct program {
	struct sock_filter at[MOST];
	size_t n;
};

static bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	default:
		return a & k;
	}
}

/* What becomes of a call; UNKNOWN for an instruction that is none of a filter's. */
static uint32_t judge(const struct program *p, const struct seccomp_data *d)
{
	uint32_t a = 0, memory[BPF_MEMWORDS] = {0};
	for (size_t i = 0; i < p->n; i++) {
		const struct sock_filter *f = &p->at[i];
		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f->k % 4 || f->k + 4 > sizeof *d)
				return UNKNOWN;
			memcpy(&a, (const char *)d + f->k, sizeof a);
			break;
		case BPF_LD | BPF_MEM:
			a = memory[f->k % BPF_MEMWORDS];
			break;
		case BPF_ST:
			memory[f->k % BPF_MEMWORDS] = a;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JA:
			i += f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			i += jumps(f->code, a, f->k) ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			return UNKNOWN;
		}
	}
	return UNKNOWN;
}

#define REFUSED(error) (SECCOMP_RET_ERRNO | (error))
#define HIGH ((uint64_t)1 << 32)

static const struct {
	const char *what;
	long nr;
	uint64_t args[3];
	uint32_t want;
} cases[] = {
	{"read", SYS_read, {0}, SECCOMP_RET_ALLOW},
	{"openat", SYS_openat, {0}, SECCOMP_RET_ALLOW},
	{"exit_group", SYS_exit_group, {0}, SECCOMP_RET_ALLOW},
	{"ptrace", SYS_ptrace, {0}, REFUSED(EPERM)},
	{"mount", SYS_mount, {0}, REFUSED(EPERM)},
	{"unshare", SYS_unshare, {0}, REFUSED(EPERM)},
	{"bpf", SYS_bpf, {0}, REFUSED(EPERM)},
	{"kexec_load", SYS_kexec_load, {0}, REFUSED(EPERM)},
	{"clone3", SYS_clone3, {0}, REFUSED(ENOSYS)},
	{"memfd_create", SYS_memfd_create, {0}, REFUSED(ENOSYS)},
	{"io_uring_setup", SYS_io_uring_setup, {0}, REFUSED(ENOSYS)},
	{"shmget", SYS_shmget, {0}, REFUSED(ENOSYS)},
	{"the newest call", 456, {0}, SECCOMP_RET_ALLOW},
	{"one that is newer", 457, {0}, REFUSED(ENOSYS)},
	{"one of the future", 999, {0}, REFUSED(ENOSYS)},
	{"a stream", SYS_socket, {AF_INET, SOCK_STREAM}, SECCOMP_RET_ALLOW},
	{"a stream of TCP, closed on exec", SYS_socket,
		{AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP}, SECCOMP_RET_ALLOW},
	{"a datagram", SYS_socket, {AF_INET, SOCK_DGRAM}, REFUSED(EPERM)},
	{"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, REFUSED(EPERM)},
	{"another protocol", SYS_socket, {AF_INET, SOCK_STREAM, 132}, REFUSED(EPERM)},
	{"a Unix socket", SYS_socket, {AF_UNIX, SOCK_STREAM}, REFUSED(EPERM)},
	{"netlink", SYS_socket, {AF_NETLINK, SOCK_RAW}, REFUSED(EPERM)},
	{"a pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}, SECCOMP_RET_ALLOW},
	{"a pair of datagrams", SYS_socketpair, {AF_UNIX, SOCK_DGRAM}, REFUSED(EPERM)},
	{"a child", SYS_clone, {SIGCHLD}, SECCOMP_RET_ALLOW},
	{"a child in a user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, REFUSED(EPERM)},
	{"a child in a network namespace", SYS_clone, {CLONE_NEWNET | SIGCHLD}, REFUSED(EPERM)},
	{"a terminal's size", SYS_ioctl, {0, TIOCGWINSZ}, SECCOMP_RET_ALLOW},
	{"typing for the terminal", SYS_ioctl, {0, TIOCSTI}, REFUSED(EPERM)},
	{"the same with bits that the kernel drops", SYS_ioctl, {0, HIGH | TIOCSTI},
		REFUSED(EPERM)},
	{"its own limits", SYS_prlimit64, {0}, SECCOMP_RET_ALLOW},
	{"another's", SYS_prlimit64, {1}, REFUSED(EPERM)},
	{"a socket's buffer: told that it is done", SYS_setsockopt, {3, SOL_SOCKET, SO_SNDBUF},
		REFUSED(0)},
	{"another of its options", SYS_setsockopt, {3, SOL_SOCKET, SO_REUSEADDR},
		SECCOMP_RET_ALLOW},
};

static uint32_t ask(const struct program *p, size_t i, uint32_t arch)
{
	struct seccomp_data d = {.nr = (int)cases[i].nr, .arch = arch};
	memcpy(d.args, cases[i].args, sizeof cases[i].args);
	return judge(p, &d);
}

static void check(struct tap *t, const struct program *p)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t got = ask(p, i, HERE);
		if (!ok(t, got == cases[i].want, "%s", cases[i].what))
			printf("# got %x, want %x\n", got, cases[i].want);
	}
	struct seccomp_data d = {.nr = SYS_mmap, .arch = HERE};
	ok(t, judge(p, &d) == SECCOMP_RET_ALLOW, "memory");
	d.args[3] = MAP_HUGETLB;
	ok(t, judge(p, &d) == REFUSED(EPERM), "huge pages");
	ok(t, ask(p, 0, BESIDE) == SECCOMP_RET_KILL_PROCESS,
		"a call of the 32-bit machine beside it: killed");
	ok(t, ask(p, 0, ELSEWHERE) == SECCOMP_RET_KILL_PROCESS,
		"a call of another machine: killed");
#ifdef __x86_64__
	d = (struct seccomp_data){.nr = 0x40000000, .arch = HERE};
	ok(t, judge(p, &d) == SECCOMP_RET_KILL_PROCESS, "a call of x32: killed");
#endif
}

int main(void)
{
	struct tap t = {0};
	static struct program p;
	struct err e = {0};
	/* An emulator may have no seccomp to ask; the filter is made as for a kernel that has. */
	if (seccomp_api_get() < 3)
		seccomp_api_set(3);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ok(&t, fd >= 0 && seccomp_write(fd, &e) == 0, "the filter is written");
	ssize_t n = read(fd, p.at, sizeof p.at);
	p.n = n > 0 ? (size_t)n / sizeof *p.at : 0;
	ok(&t, p.n > 100 && p.n < MOST && (size_t)n % sizeof *p.at == 0,
		"and is read as instructions");
	check(&t, &p);
	close(fd);
	return tap_done(&t);
}
#else
int main(void)
{
	puts("1..0 # SKIP the numbers of this machine's calls are not known here");
	return 0;
}
#endif

/*
 * Tries what the gate's cage must stop. "cage_probe free DIR" tries the same outside of the cage,
 * so that each "no" has its "yes"; "cage_probe caged DIR" inside. A line each: NAME yes|no|killed.
 */
#include "gate/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir;
static pid_t other;

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int in_dir(const char *name, int flags)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return opens(path, flags);
}

static int reads_hosts(void)
{
	return opens("/etc/hosts", O_RDONLY);
}
static int reads_roots(void)
{
	return opens("/etc/ssl/certs/ca-certificates.crt", O_RDONLY);
}
static int reads_file(void)
{
	return in_dir("secret", O_RDONLY);
}
static int writes_file(void)
{
	return in_dir("secret", O_WRONLY);
}
static int makes_file(void)
{
	return in_dir("new", O_WRONLY | O_CREAT);
}
static int reads_other_environ(void)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/environ", other);
	return opens(path, O_RDONLY);
}
static int signals_other(void)
{
	return kill(other, 0) == 0;
}
static int forks(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0;
}
static int is_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE) == 1;
}

static void *nothing(void *arg)
{
	return arg;
}
static int makes_threads(void)
{
	pthread_t t;
	return pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0;
}
static int sock(int family, int type, int proto)
{
	int fd = socket(family, type | SOCK_CLOEXEC, proto);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
static int tcp_socket(void)
{
	return sock(AF_INET, SOCK_STREAM, 0);
}
static int udp_socket(void)
{
	return sock(AF_INET6, SOCK_DGRAM, 0);
}
static int unix_socket(void)
{
	return sock(AF_UNIX, SOCK_STREAM, 0);
}
static int alg_socket(void)
{
	return sock(AF_NETLINK, SOCK_RAW, 4); /* NETLINK_SOCK_DIAG */
}
static int listens(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = bind(fd, (struct sockaddr *)&in, sizeof in);
	if (rc == 0)
		rc = listen(fd, 1);
	close(fd);
	return rc == 0;
}
static int much_memory(void)
{
	void *p = mmap(NULL, (size_t)3 << 30, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p != MAP_FAILED;
}
static int is_root(void)
{
	return geteuid() == 0;
}
static int has_capabilities(void)
{
	struct {
		unsigned version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		unsigned effective, permitted, inheritable;
	} set[2] = {0};
	syscall(SYS_capget, &head, set);
	return (set[0].effective | set[0].permitted | set[1].effective | set[1].permitted) != 0;
}
static int runs_programs(void)
{
	char *argv[] = {(char *)"/bin/true", NULL}, *envp[] = {NULL};
	execve("/bin/true", argv, envp);
	return 0;
}
static int traces(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}
static int changes_namespace(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

static const struct {
	const char *name;
	int (*try)(void);
	int deadly; /* run in a child, and by the cage killed */
} tries[] = {{"reads-hosts", reads_hosts, 0}, {"reads-roots", reads_roots, 0},
	{"tcp-socket", tcp_socket, 0}, {"udp-socket", udp_socket, 0},
	{"makes-threads", makes_threads, 0}, {"reads-file", reads_file, 0},
	{"writes-file", writes_file, 0}, {"makes-file", makes_file, 0},
	{"reads-other-environ", reads_other_environ, 0}, {"signals-other", signals_other, 0},
	{"forks", forks, 0}, {"is-dumpable", is_dumpable, 0}, {"unix-socket", unix_socket, 0},
	{"diag-socket", alg_socket, 0}, {"listens", listens, 0}, {"much-memory", much_memory, 0},
	{"is-root", is_root, 0}, {"has-capabilities", has_capabilities, 0},
	{"runs-programs", runs_programs, 1}, {"traces", traces, 1},
	{"changes-namespace", changes_namespace, 1}};

static void attempt(size_t i, int caged)
{
	struct err e = {0};
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (caged && cage_enter(&gate_cage, &e) < 0)
			_exit(99);
		int yes = tries[i].try();
		_exit(yes ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	const char *word = WIFSIGNALED(status)	      ? "killed"
			   : WEXITSTATUS(status) == 0 ? "yes"
			   : WEXITSTATUS(status) == 1 ? "no"
						      : "broken";
	printf("%s %s\n", tries[i].name, word);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	dir = argv[2];
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++)
		attempt(i, strcmp(argv[1], "caged") == 0);
	kill(other, SIGKILL);
	return 0;
}

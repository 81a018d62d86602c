#include "base/child.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILD_FDS 64

/* Makes room for the copies: the parent may have all the descriptors that it may have. */
static void close_others(const struct child_spec *spec, int report)
{
	for (unsigned from = 3;;) {
		unsigned next = (unsigned)report >= from ? (unsigned)report : ~0u;
		for (size_t i = 0; i < spec->nfds; i++)
			if (spec->fds[i] >= (int)from && (unsigned)spec->fds[i] < next)
				next = (unsigned)spec->fds[i];
		if (next > from)
			syscall(SYS_close_range, from, next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

/* In the child: puts every wanted descriptor in place without stepping on one still needed. */
static int place_fds(const struct child_spec *spec, int report, int *report_at)
{
	int moved[MAX_CHILD_FDS];
	size_t n = spec->nfds < 3 ? 3 : spec->nfds;
	close_others(spec, report);
	int above = (int)n + 1; /* no higher than it must be: there may be few */
	for (size_t i = 0; i < n; i++) {
		int want = i < spec->nfds ? spec->fds[i] : -1;
		int fd = want >= 0 ? fcntl(want, F_DUPFD_CLOEXEC, above)
				   : open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd >= 0 && fd < above)
			fd = fcntl(fd, F_DUPFD_CLOEXEC, above);
		if (fd < 0)
			return -1;
		moved[i] = fd;
	}
	int high = fcntl(report, F_DUPFD_CLOEXEC, above);
	if (high < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (dup2(moved[i], (int)i) < 0)
			return -1;
	/* The report pipe stays open, close-on-exec, just above the wanted ones. */
	*report_at = (int)n;
	if (dup3(high, (int)n, O_CLOEXEC) < 0)
		return -1;
	return (int)syscall(SYS_close_range, (unsigned)n + 1, ~0u, 0);
}

static _Noreturn void run_child(const struct child_spec *spec, int report, pid_t parent)
{
	static const char *const no_env[] = {NULL};
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	if (place_fds(spec, report, &report) < 0)
		goto fail;
	if (spec->new_session)
		setsid();
	if (spec->die_with_parent) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
	}
	if (spec->cwd && chdir(spec->cwd) < 0)
		goto fail;
	execve(spec->argv[0], (char *const *)spec->argv,
		(char *const *)(spec->envp ? spec->envp : no_env));
fail:;
	int saved = errno;
	(void)!write(report, &saved, sizeof saved);
	_exit(127);
}

int child_start(struct child *c, const struct child_spec *spec, struct err *e)
{
	*c = CHILD_NONE;
	int report[2];
	if (spec->nfds > MAX_CHILD_FDS)
		return err_set(e, ERR_FAIL, "too many descriptors for a child");
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a pipe");
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		run_child(spec, report[1], parent);
	fd_close(&report[1]);
	if (pid < 0) {
		err_errno(e, ERR_FAIL, "cannot start '%s'", spec->argv[0]);
		fd_close(&report[0]);
		return -1;
	}
	int failed = 0;
	bool bad = fd_read_full(report[0], &failed, sizeof failed) == 0;
	fd_close(&report[0]);
	if (bad) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = failed;
		return err_errno(e, ERR_FAIL, "cannot start '%s'", spec->argv[0]);
	}
	c->pid = pid;
	c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->pidfd < 0) {
		err_errno(e, ERR_FAIL, "cannot watch '%s'", spec->argv[0]);
		child_kill(c);
		return -1;
	}
	return 0;
}

int child_wait(struct child *c, int *status, int64_t deadline)
{
	if (c->pid < 0)
		return 1;
	for (;;) {
		int64_t left = deadline < 0 ? -1 : deadline - clock_mono_ms();
		struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
		int n = poll(&p, 1, deadline < 0 ? -1 : left < 0 ? 0 : (int)left);
		if (n == 0)
			return 0;
		if (n > 0)
			break;
	}
	int st = 0;
	while (waitpid(c->pid, &st, 0) < 0 && errno == EINTR)
		;
	if (status)
		*status = st;
	fd_close(&c->pidfd);
	*c = CHILD_NONE;
	return 1;
}

void child_kill(struct child *c)
{
	if (c->pid < 0)
		return;
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(&c->pidfd);
	*c = CHILD_NONE;
}

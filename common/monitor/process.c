#include "monitor/process.h"

#include "base/file.h"
#include "base/paths.h"
#include "state/seal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY_FD 3
#define HELPER_MORE 2 /* descriptors that one takes behind its socket */

/* The read end of a pipe that holds the private key, as a key file has it. */
static int key_pipe(struct state *st, struct err *e)
{
	SECRET_AUTO text = {0};
	int ends[2];
	if (seal_key_to_text(&st->private_key, NULL, &text, e) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a pipe");
	int rc = fd_write_full(ends[1], text.data, text.n); /* far less than a pipe holds */
	close(ends[1]);
	if (rc == 0)
		return ends[0];
	close(ends[0]);
	return err_errno(e, ERR_FAIL, "cannot write to a pipe");
}

/* mine[i] becomes the child's descriptor i, theirs[i] is the front's end. */
static int make_pipes(int mine[PROCESS_FDS], int theirs[PROCESS_FDS], size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_errno(e, ERR_FAIL, "cannot make a pipe");
		mine[i] = ends[i == 0 ? 0 : 1];
		theirs[i] = ends[i == 0 ? 1 : 0];
	}
	/* A process that takes nothing must not hold a thread of the front for good. */
	return fcntl(theirs[0], F_SETFL, O_NONBLOCK) < 0
		       ? err_errno(e, ERR_FAIL, "cannot make a pipe")
		       : 0;
}

/* From the struct's own memory: that of a message is not there in a child (base/vault.h). */
static int start(struct state *st, struct process *p, const int fds[], struct err *e)
{
	char version[16];
	const char *tool = p->tool[0] ? p->tool : NULL;
	STR_AUTO path = paths_beside(tool ? "evctl-run" : "evctl-mcp", e);
	const char *argv[24] = {path, p->expert};
	size_t n = 2;
	snprintf(version, sizeof version, "%d", p->version);
	if (!path)
		return err_set(e, ERR_FAIL, "evctl-mcp and evctl-run are not where evctl-serve is");
	if (tool)
		argv[n++] = tool;
	const char *const more[] = {"--buyer", p->buyer, "--version", version, "--state",
		st->place.dir, "--key-fd", "3", "-o", "json"};
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		argv[n++] = more[i];
	if (tool) {
		argv[n++] = "--input-file";
		argv[n++] = "-";
	}
	const struct child_spec spec = {.argv = argv,
		.envp = (const char *const *)environ,
		.fds = fds,
		.nfds = KEY_FD + 1,
		.new_session = true,
		.die_with_parent = true};
	return child_start(&p->child, &spec, e);
}

static struct process *new_process(const struct process_spec *spec)
{
	static uint64_t last;
	struct process *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->number = ++last;
	p->child = CHILD_NONE;
	p->version = spec->version;
	snprintf(p->token, sizeof p->token, "%s", spec->token);
	snprintf(p->buyer, sizeof p->buyer, "%s", spec->buyer);
	snprintf(p->expert, sizeof p->expert, "%s", spec->expert);
	snprintf(p->tool, sizeof p->tool, "%s", spec->tool ? spec->tool : "");
	return p;
}

struct process *process_start(struct state *st, const struct process_spec *spec,
	int fds[PROCESS_FDS], size_t *nfds, struct err *e)
{
	int mine[KEY_FD + 1] = {-1, -1, STDERR_FILENO, -1};
	struct process *p = new_process(spec);
	for (size_t i = 0; i < PROCESS_FDS; i++)
		fds[i] = -1;
	*nfds = spec->tool ? PROCESS_FDS : PROCESS_FDS - 1;
	int r = p ? make_pipes(mine, fds, *nfds, e) : err_set(e, ERR_FAIL, "out of memory");
	if (r == 0)
		r = mine[KEY_FD] = key_pipe(st, e);
	if (r >= 0)
		r = start(st, p, mine, e);
	for (size_t i = 0; i <= KEY_FD; i++)
		if (mine[i] != STDERR_FILENO)
			fd_close(&mine[i]);
	if (r == 0)
		return p;
	for (size_t i = 0; i < PROCESS_FDS; i++)
		fd_close(&fds[i]);
	process_free(&p);
	return NULL;
}

int process_helper(
	const char *name, const int *more, size_t nmore, struct child *c, int *sock, struct err *e)
{
	int pair[2], fds[KEY_FD + 1 + HELPER_MORE] = {-1, -1, STDERR_FILENO};
	STR_AUTO path = paths_helper(name, e);
	const char *const argv[] = {path, NULL};
	if (!path)
		return -1;
	if (nmore > HELPER_MORE)
		return err_set(e, ERR_FAIL, "too many descriptors for '%s'", name);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	fds[3] = pair[1];
	for (size_t i = 0; i < nmore; i++)
		fds[4 + i] = more[i];
	const struct child_spec spec = {.argv = argv,
		.fds = fds,
		.nfds = 4 + nmore,
		.new_session = true,
		.die_with_parent = true};
	int r = child_start(c, &spec, e);
	close(pair[1]);
	*sock = pair[0];
	return r;
}

void process_free(struct process **p)
{
	if (!*p)
		return;
	child_kill(&(*p)->child);
	free(*p);
	*p = NULL;
}

void process_end(struct process *p, int grace_ms)
{
	if (p->child.pid > 0)
		kill(p->child.pid, SIGTERM);
	p->kill_at = clock_mono_ms() + grace_ms;
}

/*
 * evctl-egress: the gate. Started by a supervisor with its control socket as descriptor 3, and
 * memory to note events down in as 4; people have no use for it.
 */
#include "base/err.h"
#include "base/help.h"
#include "gate/server.h"
#include "gate/upstream.h"
#include "net/cage.h"

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTROL 3
#define JOURNAL 4 /* gate/message.h */

static int usage(int argc, char **argv)
{
	return help_helper(argc, argv, "evctl-egress",
		"evctl-egress: the gate between a sandbox and its attached hosts.\n"
		"It is started by evctl-run and evctl-session, with a control socket as descriptor "
		"3.\n");
}

/* What must be set before the first thread, or before the cage shuts. */
static int prepare(struct err *e)
{
	pthread_attr_t small;
	syscall(SYS_close_range, JOURNAL + 1u, ~0u, 0); /* whatever a supervisor forgot */
	/* Few arenas and small stacks: address space is limited, and memory stays flat. */
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 4);
#endif
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 524288);
	pthread_setattr_default_np(&small);
	if (gnutls_global_init() < 0 || upstream_init() < 0)
		return err_set(e, ERR_SANDBOX, "cannot set up TLS");
	return cage_enter(&gate_cage, e);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	int type = 0;
	socklen_t len = sizeof type;
	if (argc > 1)
		return usage(argc, argv);
	if (getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM)
		return usage(0, argv);
	/* _exit(): libraries must not be torn down under threads that still use them. */
	if (prepare(&e) == 0 && server_run(CONTROL, JOURNAL, &e) == 0)
		_exit(0);
	fprintf(stderr, "evctl-egress: error: %s\n", e.msg);
	_exit((int)e.code);
}

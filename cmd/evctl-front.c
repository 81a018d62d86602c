/*
 * evctl-front: the door's front. Started by evctl-serve with the monitor's socket as descriptor 3,
 * the door's listening socket as 4, and one to ask figures at as 5; people have no use for it.
 */
#include "base/err.h"
#include "base/help.h"
#include "front/front.h"

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTROL 3
#define LISTENER 4
#define METRICS 5
#define STACK 262144

static int usage(int argc, char **argv)
{
	return help_helper(argc, argv, "evctl-front",
		"evctl-front: HTTP and TLS to the door's visitors.\n"
		"It is started by evctl-serve, with the monitor's socket as descriptor 3.\n");
}

static int socket_type(int fd)
{
	int type = 0;
	socklen_t len = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 ? type : -1;
}

/* What must be set before the first thread, or before the cage shuts. */
static int prepare(struct err *e)
{
	pthread_attr_t small;
	syscall(SYS_close_range, METRICS + 1u, ~0u, 0);
	/* Few arenas and small stacks: there may be a thousand threads. */
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 4);
#endif
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_setattr_default_np(&small);
	return gnutls_global_init() < 0 ? err_set(e, ERR_FAIL, "cannot set up TLS") : 0;
}

int main(int argc, char **argv)
{
	struct err e = {0};
	if (argc > 1)
		return usage(argc, argv);
	if (socket_type(CONTROL) != SOCK_STREAM || socket_type(LISTENER) != SOCK_STREAM)
		return usage(0, argv);
	int metrics = socket_type(METRICS) == SOCK_STREAM ? METRICS : -1;
	/* _exit(): libraries must not be torn down under threads that still use them. */
	if (prepare(&e) == 0 && front_run(CONTROL, LISTENER, metrics, &e) == 0)
		_exit(0);
	fprintf(stderr, "evctl-front: error: %s\n", e.msg);
	_exit(1);
}

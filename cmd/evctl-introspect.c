/*
 * evctl-introspect: asks an authorization server about tokens, for evctl-serve, which starts it
 * with a socket as descriptor 3; people have no use for it.
 */
#include "base/help.h"
#include "gate/upstream.h"
#include "issuer/introspect.h"

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTROL 3

static int usage(int argc, char **argv)
{
	return help_helper(argc, argv, "evctl-introspect",
		"evctl-introspect: asks an authorization server about tokens.\n"
		"It is started by evctl-serve, with a socket as descriptor 3.\n");
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
	syscall(SYS_close_range, CONTROL + 1u, ~0u, 0);
	if (gnutls_global_init() < 0 || upstream_init() < 0)
		err_set(&e, ERR_FAIL, "cannot set up TLS");
	else if (introspect_run(CONTROL, &e) == 0)
		_exit(0);
	fprintf(stderr, "evctl-introspect: error: %s\n", e.msg);
	_exit(1);
}

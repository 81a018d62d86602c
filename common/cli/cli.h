/*
 * From the command line to what the folders below take: the one place where options become the
 * state's place and the source of a secret.
 */
#ifndef EVCTL_CLI_CLI_H
#define EVCTL_CLI_CLI_H

#include "base/program.h"
#include "state/state.h"

/* By --state, --key-file, --key-fd and --passphrase-fd, and what the environment says. */
int cli_place(const struct invocation *in, struct state_place *p, struct err *e);
/* Opens the state that the command line names. */
int cli_state(struct state *st, const struct invocation *in, enum state_mode mode, struct err *e);
/* -1 where an option for a descriptor was not given. */
int cli_fd(const struct invocation *in, const char *option, int *fd, struct err *e);
/* A secret value by the options below, as secret_input(). */
int cli_secret(const struct invocation *in, const char *what, bool for_header, struct secret *out,
	struct err *e);
/* The options that cli_secret() reads, for a verb's table. */
#define SECRET_OPTIONS                                                                             \
	{"from-file", 0, "FILE", "read the value from FILE ('-': stdin)", NAME_FILE, NULL, false}, \
		{"from-fd", 0, "N", "read the value from descriptor N", NAME_NONE, NULL, false},   \
	{                                                                                          \
		"trim", 0, NULL, "drop a newline at the value's end", NAME_NONE, NULL, false       \
	}

#endif

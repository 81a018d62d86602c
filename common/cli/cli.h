/*
 * Between the command line and the folders below: the one place where options become the state's
 * place and the source of a secret, and where a change is reported.
 */
#ifndef EVCTL_CLI_CLI_H
#define EVCTL_CLI_CLI_H

#include "base/output.h"
#include "state/prompt.h"
#include "state/state.h"

/* By --state, --key-file, --key-fd and --passphrase-fd, and what the environment says. */
int cli_place(const struct invocation *in, struct state_place *p, struct err *e);
/* Opens the state that the command line names. */
int cli_state(struct state *st, const struct invocation *in, enum state_mode mode, struct err *e);
/* A secret value from where the options below say, as secret_input(). */
int cli_secret(const struct invocation *in, const struct secret_source *given, const char *what,
	bool for_header, struct secret *out, struct err *e);
/* The rows of a verb whose struct has a struct secret_source as its member `secret`. */
#define SECRET_OPTIONS(T)                                                                        \
	OPT_STR(T, secret.file, "from-file", "FILE", "read the value from FILE ('-': stdin)",    \
		.kind = NAME_FILE),                                                              \
		OPT_INT(T, secret.fd, "from-fd", "N", "read the value from descriptor N", -1, 0, \
			OPTION_FD_MAX),                                                          \
		OPT_FLAG(T, secret.trim, "trim", "drop a newline at the value's end")

/* How things of a kind are shown. */
struct cli_noun {
	const struct column *columns;
	/* The thing of that name, or an array that begins with it; NULL is an error. */
	json_t *(*find)(struct state *, const char *name, struct err *);
	bool warns; /* each change is followed by what the thing is flagged with */
};
/* Shows one. */
int cli_show(const struct invocation *in, struct state *st, const struct cli_noun *noun,
	const char *name, struct err *e);
/* Says what changed: on text in a line, else by the thing as it is now. */
int cli_report(const struct invocation *in, struct state *st, const struct cli_noun *noun,
	const char *name, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

#endif

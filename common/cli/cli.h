/*
 * Between the command line and the folders below: the one place where options become the state's
 * place and the source of a secret, and where a change is reported.
 */
#ifndef EVCTL_CLI_CLI_H
#define EVCTL_CLI_CLI_H

#include "base/output.h"
#include "net/host.h"
#include "state/prompt.h"
#include "state/state.h"

#include <stdio.h>

/* By --state, --key-file, --key-fd and --passphrase-fd, and what the environment says. */
int cli_place(const struct invocation *in, struct state_place *p, struct err *e);
/* Opens the state that the command line names. */
int cli_state(struct state *st, const struct invocation *in, enum state_mode mode, struct err *e);
/* As cli_state() to write, with what died without saying so ended: runs and sessions as they are.
 */
int cli_state_swept(struct state *st, const struct invocation *in, struct err *e);
/* A secret value from where the options below say, as secret_input(). */
int cli_secret(const struct invocation *in, const struct secret_source *given, const char *what,
	bool for_header, struct secret *out, struct err *e);
/* A whole file, or stdin ("-"): what, of at most limit bytes. */
int cli_read(const char *path, const char *what, size_t limit, struct buf *b, struct err *e);
/* To read a file, or stdin ("-"), a line at a time; the caller closes it. */
FILE *cli_open(const char *path, struct err *e);
/* Warns of a value too short for what a longer one is safe from. */
void cli_warn_short(const struct invocation *in, const char *name, const struct secret *value,
	const char *danger);
/* The rows of a verb whose struct has a struct secret_source as its member `secret`. */
#define SECRET_OPTIONS(T)                                                                        \
	OPT_STR(T, secret.file, "from-file", "FILE", "read the value from FILE ('-': stdin)",    \
		.kind = NAME_FILE),                                                              \
		OPT_INT(T, secret.fd, "from-fd", "N", "read the value from descriptor N", -1, 0, \
			OPTION_FD_MAX),                                                          \
		OPT_FLAG(T, secret.trim, "trim",                                                 \
			"drop white space and a byte order mark around the value")

/* A new value, and a buyer's: their options, and what is wrong without one of them. */
struct cli_rotate {
	struct secret_source secret;
};
extern const struct option_spec cli_rotate_options[];
struct cli_supply {
	const char *expert, *buyer;
	struct secret_source secret;
};
extern const struct option_spec cli_supply_options[], cli_withdraw_options[];
int cli_need_buyer(const struct invocation *in, const struct cli_supply *o, struct err *e);

/* What is said of a route that is there; what is not said stays. "none" takes a member away. */
struct cli_route {
	const char *allow_private, *connect_to, *ca_file;
};
/* pem holds the certificates of to->ca. */
int cli_change_route(const struct cli_route *o, struct route *to, struct buf *pem, struct err *e);

/* People take "*.x" for all of x: of a wildcard that was added, says what is not in it. */
void cli_note_wildcard(const struct invocation *in, struct state *st, const char *text);

/* The moment so many days ago, ms; ERR_USAGE where they are not given (-1). */
int cli_days_ago(const struct invocation *in, int days, int64_t *ms, struct err *e);

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

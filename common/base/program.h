/*
 * The one main. A program is a const table of verbs and options; parsing, help, usage errors with
 * "did you mean", completion and the manual's check all come from it. program_main() parses, calls
 * the verb, prints the error if there is one, and returns the exit code.
 */
#ifndef EVCTL_BASE_PROGRAM_H
#define EVCTL_BASE_PROGRAM_H

#include "base/options.h"

#include <stdio.h>

struct invocation;
struct name_request; /* base/complete.h */

struct verb {
	const char *name; /* NULL: the program has no verbs and this is what it does */
	const char *help;
	const struct arg_spec *args;	   /* ends with a name of NULL; may be NULL */
	const struct option_spec *options; /* ends with OPT_END; may be NULL */
	const char *examples;		   /* lines, or NULL */
	int (*run)(struct invocation *, struct err *);
	const char *outputs; /* what -o takes besides ("sarif"), seen in common.output; or NULL */
};

struct program {
	const char *name;
	const char *summary;
	const char *examples;	  /* shown first in --help */
	const struct verb *verbs; /* ends with a run of NULL */
	/* Where live names come from (state/livenames.h); NULL: nowhere. */
	void (*names)(const struct name_request *, struct strv *);
	bool rest_is_command; /* options end at the first argument (the evctl front end) */
};

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_NAME };

/* The options that every program has. */
struct common_options {
	const char *state, *key_file, *output;
	int key_fd, passphrase_fd; /* -1: not given */
	bool yes, wide, help, version;
};
extern const struct option_spec common_options[];

struct invocation {
	const struct program *program;
	const struct verb *verb;
	struct common_options common;
	void *options; /* the struct of the verb's table; NULL where it has none */
	enum output output;
	struct strv args;
	struct given { /* in order; for the parser, and for who hands it on */
		const struct option_spec *spec;
		const char *value;
	} * given;
	size_t ngiven;
	int exit_code; /* what main returns if the verb succeeds */
	int dies_by;   /* a signal that the program dies by in the end, for a shell to see */
	bool silent;   /* the verb has said all: print no error line, use the error's code */
};

int program_main(const struct program *p, int argc, char **argv);

/* The n-th argument or NULL. */
const char *arg(const struct invocation *in, size_t n);

#endif

/* The command line: words into an invocation, by its program's tables. */
#ifndef EVCTL_BASE_ARGV_H
#define EVCTL_BASE_ARGV_H

#include "base/program.h"

/* Reads all words: verb, arguments, what is given, and the common options. ERR_USAGE. */
int argv_read(struct invocation *in, int argc, char **argv, struct err *e);
/* What -o asks for. */
int argv_output(struct invocation *in, struct err *e);
/* Checks what the verb was given, and lets its options land. */
int argv_check(struct invocation *in, struct err *e);
void argv_free(struct invocation *in);
/* The row of that name or (unless 0) letter; before there is a verb, of any verb's. */
const struct option_spec *argv_option(
	const struct program *p, const struct verb *verb, const char *name, size_t n, char letter);

#endif

/* --help from a program's tables: examples first, then usage, then options. */
#ifndef EVCTL_BASE_HELP_H
#define EVCTL_BASE_HELP_H

#include "base/program.h"

/* Of one verb, or of the whole program where only is NULL. */
void help_print(FILE *f, const struct program *p, const struct verb *only);

/*
 * What a program that only others start says to a person: its version or, for any other words, text
 * (on stdout for --help). The exit code.
 */
int help_helper(int argc, char **argv, const char *name, const char *text);

#endif

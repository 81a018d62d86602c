/* --help from a program's tables: examples first, then usage, then options. */
#ifndef EVCTL_BASE_HELP_H
#define EVCTL_BASE_HELP_H

#include "base/program.h"

/* Of one verb, or of the whole program where only is NULL. */
void help_print(FILE *f, const struct program *p, const struct verb *only);

#endif

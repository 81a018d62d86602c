/* A program's options and verbs as JSON, for completions and the manual. */
#ifndef EVCTL_BASE_SPEC_H
#define EVCTL_BASE_SPEC_H

#include "base/program.h"

void spec_print(const struct program *p, FILE *f);

#endif

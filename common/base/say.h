/* What a program says on stderr, and what it asks there. Every message is one line. */
#ifndef EVCTL_BASE_SAY_H
#define EVCTL_BASE_SAY_H

#include "base/program.h"

/* "evctl-cred: error: ..." and its hint; with -o json one JSON line. */
void say_error(const struct invocation *in, const struct err *e);

#endif

/* "Did you mean": two arguments the other way round. */
#ifndef EVCTL_BASE_SWAPPED_H
#define EVCTL_BASE_SWAPPED_H

#include "base/program.h"

/*
 * Where an error says that something is not there, and the first two arguments are each what the
 * other should be, the hint is the command with them changed over.
 */
void swapped_hint(const struct invocation *in, struct err *e);

#endif

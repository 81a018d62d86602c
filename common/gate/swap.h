/*
 * Sealed credentials: code holds a stand-in, and the gate puts the value in its place on the way to
 * the hosts that the credential is bound to. Both have the same length, and the same bytes where
 * the value has no letter or digit; so every encoding of the two has the same length as well, and a
 * Content-Length holds.
 */
#ifndef EVCTL_GATE_SWAP_H
#define EVCTL_GATE_SWAP_H

#include "base/buf.h"
#include "base/err.h"
#include "guard/leak.h"

#include <stddef.h>

/* A value must be this long to be sealed (or guarded), with as many letters and digits. */
#define SWAP_MIN 12

/*
 * A fresh stand-in: letters and digits redrawn within their kind (upper, lower, digit), all else
 * kept, and a leading word such as "sk_live_" too where enough is left, for clients that look at
 * it. out has n + 1 bytes. ERR_USAGE when the value is too short, or holds NUL, CR or LF.
 */
int swap_standin(const void *value, size_t n, char *out, struct err *e);

/*
 * A header's value, or a request target, into out with every stand-in replaced; also inside
 * "Basic ..." credentials when name is given. l holds the stand-ins with the values as their
 * replacements. How many were replaced, -1 without memory, or where one
 * cannot be.
 */
int swap_text(const struct leak *l, const char *name, size_t name_len, const char *p, size_t n,
	struct buf *out);

#endif

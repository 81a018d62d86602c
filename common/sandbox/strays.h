/*
 * Files that a call wrote where nobody looks for them: beside outputs/, mostly by mistake. For a
 * hint to the tool's owner, so work and words are bounded, and what cannot be read is passed over.
 */
#ifndef EVCTL_SANDBOX_STRAYS_H
#define EVCTL_SANDBOX_STRAYS_H

#include "base/buf.h"

#include <stdint.h>

struct strays {
	int64_t since_ns; /* of the file's clock: older ones are not this call's */
	int shown, more;
	int looked_at;
	struct buf *out; /* "a.csv, /tmp/b.csv", what is not clean as \xNN */
};

/* All regular files beneath dir, which is called prefix ("" or "/tmp/"). */
void strays_look(struct strays *s, int dir, const char *prefix);
/* Says how many are not named. */
void strays_end(struct strays *s);

#endif

/*
 * What is kept of a long text: its beginning and its end, and how much is missing between, in no
 * more bytes than the limit. A text within the limit is kept whole. Zeroed but for the limit, which
 * is of at least ENDS_LEAST bytes, it is ready.
 *
 * At the cut whole lines go, so that nothing that is searched for line by line is left in halves;
 * where lines are longer than ENDS_SEAM, that many bytes go.
 */
#ifndef EVCTL_BASE_ENDS_H
#define EVCTL_BASE_ENDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define ENDS_SEAM ((size_t)65536)
#define ENDS_LEAST (4 * ENDS_SEAM)

struct ends {
	size_t limit;
	struct buf head, tail; /* the tail goes round from `next` on, once it is full */
	size_t next;
	uint64_t total; /* bytes that were added */
};

void ends_add(struct ends *s, const char *p, size_t n);
/* Whether something is missing. */
bool ends_cut(const struct ends *s);
/* Appends what is kept, with a line that says how many bytes are not. */
void ends_join(const struct ends *s, struct buf *out);
void ends_free(struct ends *s);

#endif

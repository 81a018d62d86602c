/* What differs between two texts, line by line, as diff(1) has it. Pure. */
#ifndef EVCTL_VERIFY_LINEWISE_H
#define EVCTL_VERIFY_LINEWISE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct lines_diff {
	char *ops; /* a sign for each line: ' ' both have it, '-' the first, '+' the second; owned
		    */
	size_t n, added, removed;
};

/* Is it no text, so that lines say nothing? */
bool lines_binary(const char *p, size_t n);
/* Fills a zeroed one. -1 without memory. Texts that differ too much are told as one replaced. */
int lines_compare(const char *a, size_t na, const char *b, size_t nb, struct lines_diff *out);
/* Hunks, with three lines around each change. */
void lines_patch(const struct lines_diff *d, const char *a, size_t na, const char *b, size_t nb,
	struct buf *out);
void lines_free(struct lines_diff *d);

#endif

/*
 * Finds an expert's own code in what a run hands over: three consecutive non-blank lines of a *.py
 * file, in plain text, in JSON strings, or in base64. Indentation and blank lines do not matter.
 * Lines without a letter or digit (brackets) do not count towards the three. Code that somebody
 * re-encodes on purpose passes: that is the builder's own act.
 */
#ifndef EVCTL_RUN_SOURCE_H
#define EVCTL_RUN_SOURCE_H

#include "manifest/tree.h"

#include <stdbool.h>
#include <stddef.h>

struct source;

/* The tree must outlive it. NULL without memory. */
struct source *source_new(const struct tree *t);
void source_free(struct source *s);
/* Time is linear in n and in the code's size. True also without memory: then nothing is let out. */
bool source_find(const struct source *s, const void *p, size_t n);

#endif

/*
 * Finds an expert's own code in what a run hands over: three consecutive non-blank lines of a *.py
 * file, or of one that the manifest calls private, in plain text, in texts within texts (JSON,
 * repr), in a list of lines, behind line numbers and the marks of quotes, diffs and tracebacks, in
 * HTML, or in base64. White space and blank lines do not matter. Lines without a letter or digit
 * (brackets) do not count towards the three. Code that somebody re-encodes on purpose passes: that
 * is the builder's own act.
 */
#ifndef EVCTL_RUN_SOURCE_H
#define EVCTL_RUN_SOURCE_H

#include "base/strv.h"
#include "manifest/tree.h"

#include <stdbool.h>
#include <stddef.h>

struct source;

/* private: patterns as of ignore. NULL without memory. */
struct source *source_new(const struct tree *t, const struct strv *private);
void source_free(struct source *s);
/* Time is linear in n and in the code's size. True also without memory: then nothing is let out. */
bool source_find(const struct source *s, const void *p, size_t n);

#endif

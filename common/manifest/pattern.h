/*
 * JSON Schema's regular expressions, in bounded time: the one includer of pcre2.h. The dialect is
 * PCRE2 in UTF mode, bent towards ECMA-262 (`$` is the very end, `[]` and \u0041 work).
 *
 * A match draws on the caller's steps: one for each item tried, and one for each 16 bytes that an
 * item moved over, so that backtracking of any shape ends when they run out. A clock stands behind
 * that, for what a single item does by itself.
 */
#ifndef EVCTL_MANIFEST_PATTERN_H
#define EVCTL_MANIFEST_PATTERN_H

#include <stddef.h>

#define PATTERN_MAX_BYTES 4096
#define PATTERN_MAX_MS 2000 /* of this thread's CPU time, for one match */

struct compiled_pattern;

/* NULL with the reason in why (a C string, cut to fit): not a pattern, or too big. */
struct compiled_pattern *pattern_new(const char *s, size_t n, char *why, size_t whysize);
void pattern_free(struct compiled_pattern *p);
/* Is there a match anywhere in s? 1, 0; -1 when steps (which then is 0) or the time ran out. */
int pattern_match(const struct compiled_pattern *p, const char *s, size_t n, long *steps);

#endif

/*
 * What is not part of an expert: the built-in lists, and `ignore:` patterns in the manner of
 * gitignore. "*.tmp" at any depth; "data/" directories only; "/x", "docs/x" from the top; "*", "?"
 * and "[a-z]" never match "/", "**" does between slashes; "!x" takes x back in, the last pattern
 * that matches wins. What is in an ignored directory can't be taken back, as it isn't looked at.
 * Matching takes time linear in pattern times path.
 */
#ifndef EVCTL_MANIFEST_IGNORE_H
#define EVCTL_MANIFEST_IGNORE_H

#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

#define IGNORE_MAX_PATTERN 256

/* NULL if pattern is one, else what is wrong with it, a static phrase. */
const char *ignore_pattern_fault(const char *pattern);
/* Do the patterns leave out this relative path? */
bool ignore_matches(const struct strv *patterns, const char *path, bool is_dir);
/* One pattern alone, without "!". */
bool ignore_pattern_matches(const char *pattern, const char *path, bool is_dir);
/* Version control, caches, virtual environments, by name (also where the name is a link). */
bool ignore_builtin(const char *name, bool is_dir);

#endif

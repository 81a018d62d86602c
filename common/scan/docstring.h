/*
 * What a docstring says: its first paragraph, and of a parameter what the styles of Google, NumPy
 * and Sphinx say where they are plain.
 */
#ifndef EVCTL_SCAN_DOCSTRING_H
#define EVCTL_SCAN_DOCSTRING_H

#include "scan/arena.h"

/* A longer one says nothing: it is gone through for each parameter. */
#define DOCSTRING_MAX ((size_t)100000)

/* One line, words one space apart; NULL where it says nothing. In the arena. */
const char *docstring_summary(struct arena *a, const char *s, size_t n);
const char *docstring_param(struct arena *a, const char *s, size_t n, const char *name);

#endif

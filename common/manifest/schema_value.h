/*
 * JSON Schema's notion of when two values are the same: 1 and 1.0 are, true and 1 are not, order of
 * members does not matter. Work draws on the caller's steps; running out is -1, and steps is 0.
 */
#ifndef EVCTL_MANIFEST_SCHEMA_VALUE_H
#define EVCTL_MANIFEST_SCHEMA_VALUE_H

#include "base/json.h"

#include <stddef.h>

/* 1 the same, 0 not, -1 out of steps. */
int value_same(const json_t *a, const json_t *b, long *steps);
/*
 * Looks for two members of an array that are the same: 1 with their indexes, first < second, 0 if
 * all differ, -1 out of steps or memory (then steps isn't 0).
 */
int value_find_twins(const json_t *array, size_t *first, size_t *second, long *steps);
/* Whole numbers and reals in one type that holds both exactly. */
long double value_number(const json_t *v);

#endif

/*
 * Whether bytes that a tool gave are a result. Pure.
 */
#ifndef EVCTL_BASE_RESULT_H
#define EVCTL_BASE_RESULT_H

#include <stdbool.h>
#include <stddef.h>

/* Deeper than any honest result, shallower than any parser's stack. */
#define RESULT_MAX_DEPTH 500

/*
 * NULL if p is one JSON text: UTF-8, whole, without NaN, lone surrogates, integers beyond 64 bits,
 * numbers beyond a double, NUL in a member's name, or deep nesting. Else what is wrong; static.
 */
const char *result_json(const char *p, size_t n);

#endif

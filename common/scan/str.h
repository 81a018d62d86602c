/*
 * The values of string literals. Escapes are as CPython 3.11's; an unknown escape keeps its
 * backslash; lone surrogates come out as three bytes (so values are UTF-8, but for those).
 */
#ifndef EVCTL_SCAN_STR_H
#define EVCTL_SCAN_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An escape that is none: which bytes, and why. */
struct str_fault {
	const char *message; /* NULL: there is none */
	size_t start, stop;
};

/* Decodes the inside of a literal into out, which has room for n bytes and gets *len. */
struct str_fault str_unescape(const char *s, size_t n, char *out, size_t *len);
struct str_fault bytes_unescape(const char *s, size_t n, char *out, size_t *len);

#endif

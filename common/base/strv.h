/*
 * A growing, NULL-terminated list of owned strings: argument lists, name lists. Valid when zeroed.
 * A failed append sets `failed`, as in base/buf.h.
 */
#ifndef EVCTL_BASE_STRV_H
#define EVCTL_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **v;
	size_t n, cap;
	bool failed;
};

#define STRV_AUTO __attribute__((cleanup(strv_free))) struct strv

void strv_free(struct strv *sv);
void strv_add(struct strv *sv, const char *s);
void strv_addf(struct strv *sv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool strv_has(const struct strv *sv, const char *s);
void strv_sort(struct strv *sv); /* by bytes */
/* A new string of all members with sep between; the caller frees; NULL without memory. */
char *strv_join(const struct strv *sv, const char *sep);

#endif

/*
 * TAP for the manifest's and the schema's tests. A table row is one test; a failure says what was
 * got beside what was wanted.
 */
#ifndef EVCTL_TESTS_MANIFEST_TAP_H
#define EVCTL_TESTS_MANIFEST_TAP_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tap {
	int n, failed;
};

__attribute__((format(printf, 3, 4))) static inline bool ok(
	struct tap *t, bool good, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++t->n);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	t->failed += !good;
	return good;
}

/* The error is of that code, its message starts with msg, its hint holds hint (if not NULL). */
static inline bool says(struct tap *t, const struct err *e, enum err_code code, const char *msg,
	const char *hint, const char *name)
{
	bool good = e->code == code && strncmp(e->msg, msg, strlen(msg)) == 0 &&
		    (!hint || strstr(e->hint, hint));
	ok(t, good, "%s: %s", name, msg);
	if (!good)
		printf("# got %d '%s' hint '%s'\n", (int)e->code, e->msg, e->hint);
	return good;
}

static inline int tap_done(const struct tap *t)
{
	printf("1..%d\n", t->n);
	return t->failed != 0;
}

#endif

/*
 * TAP for the tests in C: counts, and says what was got beside what was wanted.
 */
#ifndef EVCTL_TESTS_TAP_H
#define EVCTL_TESTS_TAP_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Not checked, for a reason. */
static inline void skip(struct tap *t, const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++t->n, name, why);
}

/* Run by qemu-user, which has no /proc and no clock of its own: what test-roots says in the
 * environment. */
static inline bool emulated(void)
{
	return getenv("EVCTL_EMULATED") != NULL;
}

static inline bool is_text(struct tap *t, const char *got, const char *want, const char *name)
{
	bool good = got && strcmp(got, want) == 0;
	ok(t, good, "%s", name);
	if (!good)
		printf("# got '%s'\n# want '%s'\n", got ? got : "(null)", want);
	return good;
}

/* As ok(), with the error that a failure left. */
static inline bool went(struct tap *t, bool good, const char *name, const struct err *e)
{
	ok(t, good, "%s", name);
	if (!good && e)
		printf("# got %d '%s' hint '%s'\n", (int)e->code, e->msg, e->hint);
	return good;
}

/* The error is of that code, its message starts with msg, its hint holds hint (if not NULL). */
static inline bool says(struct tap *t, const struct err *e, enum err_code code, const char *msg,
	const char *hint, const char *name)
{
	char what[512];
	snprintf(what, sizeof what, "%s: %s", name, msg);
	return went(t,
		e->code == code && strncmp(e->msg, msg, strlen(msg)) == 0 &&
			(!hint || strstr(e->hint, hint)),
		what, e);
}

static inline int tap_done(const struct tap *t)
{
	printf("1..%d\n", t->n);
	return t->failed != 0;
}

#endif

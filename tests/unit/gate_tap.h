/* TAP for the gate's unit tests: counts, and says what was got beside what was wanted. */
#ifndef EVCTL_TESTS_GATE_TAP_H
#define EVCTL_TESTS_GATE_TAP_H

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

static inline bool is_text(struct tap *t, const char *got, const char *want, const char *name)
{
	bool good = got && strcmp(got, want) == 0;
	ok(t, good, "%s", name);
	if (!good)
		printf("# got '%s'\n# want '%s'\n", got ? got : "(null)", want);
	return good;
}

static inline int tap_done(const struct tap *t)
{
	printf("1..%d\n", t->n);
	return t->failed != 0;
}

#endif

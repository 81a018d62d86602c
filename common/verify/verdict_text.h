/*
 * A verdict for people and for CI. Text never holds more of the source than names and line numbers,
 * and no control characters, whatever the code calls its keys.
 */
#ifndef EVCTL_VERIFY_VERDICT_TEXT_H
#define EVCTL_VERIFY_VERDICT_TEXT_H

#include "base/buf.h"
#include "base/json.h"

struct report_style {
	bool color;
	const char *prefix; /* put before each file's path: "" or "experts/crm/" */
};

/* Lines "FILE:LINE: ...", with the command that mends each, and the verdict as the last one. */
void report_text(const json_t *verdict, const struct report_style *style, struct buf *out);

/* What is wrong, counted: "1 required key is not supplied, 2 syntax errors"; nothing when green. */
void report_summary(const json_t *verdict, struct buf *out);

/*
 * A verdict, and what goes before the paths of its files: with it they are relative to the root
 * that CI counts from, or begin with '/'. Both are borrowed.
 */
struct report_of {
	const json_t *verdict;
	const char *prefix;
};

/* SARIF 2.1.0; failures are texts, of what could not be judged at all. */
json_t *report_sarif(const struct report_of *v, size_t n, const json_t *failures);
/* Lines that GitHub's runner makes annotations of. */
void report_github(const struct report_of *v, size_t n, struct buf *out);
/* GitLab's code quality report. */
json_t *report_gitlab(const struct report_of *v, size_t n);

#endif

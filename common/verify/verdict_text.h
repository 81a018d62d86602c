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
 * SARIF 2.1.0 of several verdicts; prefixes[i] goes before the paths of verdicts[i] and makes them
 * relative to the current directory, or begins with '/' for an absolute directory.
 */
json_t *report_sarif(json_t *const *verdicts, const char *const *prefixes, size_t n);

#endif

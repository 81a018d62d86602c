/*
 * The examples of expert.yaml, made as calls and held against what they are said to come to. Each
 * is a run like any other.
 */
#ifndef EVCTL_RUN_EXAMPLES_H
#define EVCTL_RUN_EXAMPLES_H

#include "run/run.h"

/*
 * Calls those of one tool, or (NULL) of all: [{tool, example: N, ok, run (or null), exit, expected,
 * ms, why: [...], input}], in the file's order; why says what differs. ERR_NOTFOUND where there is
 * none, or no such tool. NULL on error; one that cannot be called at all fails as an example does,
 * but for what ends all (no sandbox here, cancelled), which is an error.
 */
json_t *examples_run(
	struct runner *r, const char *tool, const struct run_hooks *hooks, struct err *e);
size_t examples_failed(const json_t *results);
/* ERR_FINDINGS that names the first which fails; 0 where none does. */
int examples_refuse(const json_t *results, const char *expert, struct err *e);

void examples_tap(const json_t *results, struct buf *out);
/* One suite, as CI systems read it. */
void examples_junit(const json_t *results, const char *expert, struct buf *out);

#endif

/* What people write to run something, and what they are told of it. */
#ifndef EVCTL_RUN_ASKED_H
#define EVCTL_RUN_ASKED_H

#include "run/run.h"

/*
 * The input that "NAME=VALUE"s make, as JSON into b: text where the tool's schema says string, JSON
 * elsewhere. t NULL: no such tool, which is said later.
 */
int asked_args(
	const struct manifest_tool *t, const struct strv *given, struct buf *b, struct err *e);
/* A line of calls, {"tool", "input"}, into rq, which borrows from *call and input. */
int asked_line(const char *line, size_t n, json_t **call, struct run_request *rq, struct buf *input,
	struct err *e);
/* The same of what was parsed already. */
int asked_call(json_t *call, struct run_request *rq, struct buf *input, struct err *e);
int asked_code(const struct run_outcome *o); /* the exit code */
/* 0 for a run that is ok. A buyer gets the run's id and the word, and nothing more. */
int asked_failure(const struct run_outcome *o, const char *buyer, struct err *e);

#endif

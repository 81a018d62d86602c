/*
 * How much of an expert a buyer may use, by UTC day. Counted are the runs that began, which are
 * kept whatever is cleared away; a batch that goes on has taken all of its calls. A buyer who is
 * not registered has no quotas.
 */
#ifndef EVCTL_STATE_QUOTA_H
#define EVCTL_STATE_QUOTA_H

#include "state/state.h"

struct quota {
	int64_t calls, seconds, at_once; /* -1: without */
};

/* Changes what is not -2; all of them -1: none is left. */
int quota_set(struct state *st, const char *buyer, const char *expert, const struct quota *q,
	struct err *e);
/* {calls_a_day, calls_left, seconds_a_day, seconds_left, at_once}, null: without. */
json_t *quota_left(struct state *st, const char *buyer, const char *expert, struct err *e);
/*
 * Within the transaction that records the beginning of so many calls (or of a batch with them):
 * ERR_QUOTA says when the day ends. ERR_TURN: more at once than may be.
 */
int quota_take(struct state *st, const char *buyer, const char *expert, int64_t calls, bool at_once,
	struct err *e);

#endif

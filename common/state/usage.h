/*
 * What was used, by whom, and whose keys it took: counted from the runs, whose rows stay whatever
 * logs and artifacts are cleared away.
 */
#ifndef EVCTL_STATE_USAGE_H
#define EVCTL_STATE_USAGE_H

#include "state/state.h"

struct usage_filter {
	const char *buyer, *expert; /* NULL: any; buyer "builder": the builder's own */
	int64_t since, until;	    /* ms; until 0: now */
	const char *by;		    /* "day", "month", "buyer", "expert", "tool" or "credential" */
};

/*
 * [{BY: name, payer, calls, ok, failed, seconds, requests, bytes, broker_calls, artifacts,
 * artifact_bytes}], in the order of the names; a row for each payer ("builder", "buyer", "both",
 * "").
 */
json_t *usage_list(struct state *st, const struct usage_filter *f, struct err *e);

#endif

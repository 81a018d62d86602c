/*
 * All that is recorded, as a log shipper takes it: one JSON object a line, in the order of time. No
 *key is needed, and nothing that is sealed (logs, inputs) is in it.
 *
 *	{"kind":"run","at","id","expert","version","tool","buyer","session","status","reason","started","ms"}
 *	{"kind":"egress","at","id","run","method","host","port","path","status","up","down","ms","verdict"}
 *	{"kind":"audit","at","id","actor","action","object","detail","hash"}
 *
 * "at" is UTC with milliseconds; a run's is its end, and one that has not ended is not there yet.
 *kind and id name a line for good. "hash" is the audit chain's link, in hex: kept elsewhere, it
 *shows whether rows were cut off the chain's end.
 */
#ifndef EVCTL_STATE_LOGEXPORT_H
#define EVCTL_STATE_LOGEXPORT_H

#include "state/state.h"

struct logexport {
	bool runs, egress, audit;
	int64_t since; /* ms since the epoch: lines of this time and later */
	/* Called for each line; less than 0 ends it. */
	int (*line)(void *ctx, const json_t *line);
	void *ctx;
};

int logexport(struct state *st, const struct logexport *x, struct err *e);
/* "2026-01-31" or "2026-01-31T12:00:05[.123]Z" to ms since the epoch; ERR_USAGE otherwise. */
int logexport_time(const char *text, int64_t *ms, struct err *e);

#endif

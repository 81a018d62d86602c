/*
 * What the parts of the runner share: run.c (one call), finish.c (what came of it), policy.c.
 */
#ifndef EVCTL_RUN_RUNNER_IN_H
#define EVCTL_RUN_RUNNER_IN_H

#include "run/key_guard.h"
#include "run/keys.h"
#include "run/run.h"
#include "run/source.h"
#include "verify/verify.h"

struct runner {
	struct state *st;
	struct expert_view view;
	char *buyer, *session;
	bool warm;
	const struct run_sink *sink; /* NULL: the state's record */
	struct source *source;	     /* NULL: not yet */
	struct room *room;	     /* NULL: not yet */
	char *share, *egress;
};

/* One call on its way. */
struct going {
	struct runner *r;
	const struct run_request *rq;
	const struct manifest_tool *tool;
	struct run_outcome *out;
	const struct bound_host *hosts; /* as of now */
	size_t nhosts;
	const char *input;
	size_t ninput;
	int timeout_ms;
	struct key_plan plan;
	struct call_keys keys;
	const struct call_keys *earlier; /* the room's: what former calls had */
	struct guard guard;
	struct leak_stream live; /* scrubs the log that is streamed */
	struct room_reply reply;
	int64_t begun, opened, called, over; /* CLOCK_MONOTONIC ms */
	int64_t started;		     /* CLOCK_REALTIME ms; for a sink */
	const char *reason;		     /* for the owner; static, or NULL */
	const char *limit;
	struct strv leaks; /* for the owner: what held which key */
};

/* ---- policy.c ---- */

/* The call as the room takes it, to be freed with policy_free(). */
int policy_make(struct room_call *c, const struct going *g, struct err *e);
void policy_free(struct room_call *c);

/* ---- finish.c ---- */

/* Judges the reply, collects, searches, records, and fills g->out. */
void finish_call(struct going *g);
/* Records a run that was not begun for want of keys. */
void finish_missing(struct going *g);

/* The modules of the sandbox that the view's tools import, each once: for a zygote to import ahead.
 */
void runner_preload(struct expert_view *v, struct strv *modules);

#endif

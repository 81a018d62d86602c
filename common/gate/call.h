/*
 * One call's policy, made ready to be applied: rows with their ways out, what must not go to each,
 * what is swapped on the way there and back. Made from the supervisor's message by the main thread,
 * const while connections use it, freed when none is left.
 */
#ifndef EVCTL_GATE_CALL_H
#define EVCTL_GATE_CALL_H

#include "base/err.h"
#include "gate/client.h"
#include "guard/leak.h"
#include "gate/policy.h"
#include "gate/upstream.h"

#include <pthread.h>
#include <stdatomic.h>

/* What goes with policy_row i; made when the first request comes for it. */
struct call_row {
	bool made;
	struct upstream *up;
	struct leak *guard; /* keys (and stand-ins) that are not this row's */
	struct leak
		*guard_plain; /* the same over plain HTTP, where the row's own may not go either */
	struct leak *swap;    /* the row's stand-in -> value; NULL when not sealed */
	struct leak *unswap;  /* value -> stand-in, for answers */
};

struct call {
	struct buf text; /* the message, which the policy's strings and values are in */
	struct gate_policy policy;
	int64_t deadline; /* CLOCK_MONOTONIC ms */
	struct policy_row *rows;
	struct call_row *ready;
	size_t nrows;
	struct leak *scrub;   /* every key, for what is written down */
	struct leak *guarded; /* every guarded key and stand-in: whose tables the rows share */
	atomic_bool over;
	pthread_mutex_t lock;
	pthread_cond_t left;
	unsigned running; /* requests under way */
};

/* Row i's part, and the two of all rows: NULL without memory. Owned by the call. */
struct call_row *call_row(struct call *c, size_t i);
const struct leak *call_scrub(struct call *c);
const struct leak *call_guarded(struct call *c);
/* Takes one of the places, waiting for it; false when the call is over first. */
bool call_enter(struct call *c);
void call_leave(struct call *c);
/* Nobody enters any more, and who waits to is let go. */
void call_end(struct call *c);

/* Of the supervisor's message, which it takes: a secret buffer. NULL with ERR_USAGE when it is not
 * as it must be. */
struct call *call_new(struct buf *message, struct err *e);
void call_free(struct call **c);

#endif

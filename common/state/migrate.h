/*
 * Bringing an older state file up to the version that these programs know. A copy is kept first in
 * DIR/backups/; then all steps run in one transaction, with their audit row.
 */
#ifndef EVCTL_STATE_MIGRATE_H
#define EVCTL_STATE_MIGRATE_H

#include "state/state.h"

struct migration {
	int to; /* the version that sql makes of the one before */
	const char *sql;
};

/* Called by state_open(), in whatever mode; st is open. ERR_STATE and nothing changed on failure.
 */
int migrate_state(struct state *st, struct err *e);
/* The same with steps given, in ascending order without gaps; what is done already is left out. */
int migrate_steps(struct state *st, const struct migration *steps, size_t n, struct err *e);

#endif

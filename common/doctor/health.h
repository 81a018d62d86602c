/*
 * Is the state healthy, and is the machine fit for it: a list of findings, each with its mend.
 */
#ifndef EVCTL_DOCTOR_HEALTH_H
#define EVCTL_DOCTOR_HEALTH_H

#include "state/state.h"

/* What is found of one thing; what is required makes doctor exit 7, what is weaker does not. */
enum health {
	HEALTH_OK,
	HEALTH_WEAKER, /* it works: less safely, or slower */
	HEALTH_MISSING,
	HEALTH_BROKEN,
	HEALTH_EXPOSED, /* others can read it */
};

/*
 * Appends {area, check, ok, required, level, fixable, is, mend} rows; level is the word for its
 * enum health. With fix, what is safe to mend is mended first (modes of the state's own files, a
 * directory of its own that is gone, orphaned objects, runs and sessions whose process is gone) and
 * said in `fixed`; else what would be is fixable. No state at all is no finding: there is nothing
 * yet that could be ill.
 */
int health_state(
	const struct state_place *place, bool fix, json_t *rows, json_t *fixed, struct err *e);
/* What sandbox_probe() finds, as the same rows. */
int health_machine(json_t *rows, struct err *e);
/* One row, which is the caller's list's; mend may be "". */
json_t *health_add(json_t *rows, const char *area, const char *check, enum health level,
	const char *is, const char *mend);

/* The same of what is never more than weaker. */
json_t *health_wanted(json_t *rows, const char *area, const char *check, bool ok, const char *is,
	const char *mend);

#endif

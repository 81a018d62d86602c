/*
 * Is the state healthy, and is the machine fit for it: a list of findings, each with its mend.
 */
#ifndef EVCTL_DOCTOR_HEALTH_H
#define EVCTL_DOCTOR_HEALTH_H

#include "state/state.h"

/*
 * Appends {area, check, ok, required, is, mend} rows. With fix, what is safe to mend is mended
 * first (modes of the state's own files, orphaned objects, runs whose process is gone) and said in
 * `fixed`. No state at all is no finding: there is nothing yet that could be ill.
 */
int health_state(
	const struct state_place *place, bool fix, json_t *rows, json_t *fixed, struct err *e);
/* What sandbox_probe() finds, as the same rows. */
int health_machine(json_t *rows, struct err *e);
/* One row. mend may be "". */
void health_add(json_t *rows, const char *area, const char *check, bool ok, bool required,
	const char *is, const char *mend);

#endif

/* Publishing a draft, for which it must not be red. */
#ifndef EVCTL_VERIFY_PUBLISH_H
#define EVCTL_VERIFY_PUBLISH_H

#include "state/expert.h"

/*
 * Judges the draft, and freezes it with the verdict, which the caller gets, as *version. Red is
 * ERR_FINDINGS, or forced, and then flagged. v is loaded; the caller frees it. Where
 * it is what is published already, *same is set and no version made, unless forced.
 */
json_t *publish(struct state *st, const char *name, bool force, struct expert_view *v, int *version,
	bool *same, struct err *e);

#endif

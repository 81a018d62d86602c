/*
 * The verdict on a view, with what the state knows of the keys that its code reads.
 */
#ifndef EVCTL_VERIFY_CHECK_H
#define EVCTL_VERIFY_CHECK_H

#include "verify/verify.h"

/*
 * st NULL: there is no state. registered: the view is of an expert in it, not of a mere directory.
 * The verdict has `notes` too (verify/notes.h). Makes v->reads where they are not there yet. The
 * verdict is the caller's; NULL on error.
 */
json_t *verify_view(struct state *st, struct expert_view *v, bool registered, struct err *e);

#endif

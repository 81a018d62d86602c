/*
 * Hosts that expert.yaml or the code names and that no attached host covers, with what mends it. No
 * finding: a text may be for people, and `hosts:` acts at create only.
 */
#ifndef EVCTL_VERIFY_NOTES_H
#define EVCTL_VERIFY_NOTES_H

#include "state/expert.h"

/*
 * [{file, line, host, message, hint}], of a view with its findings; each host once. st NULL: none
 * is declared. registered: as in verify/check.h. NULL without memory.
 */
json_t *notes_make(struct state *st, const struct expert_view *v, bool registered);

#endif

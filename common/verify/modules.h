/* The modules that an expert's code imports: those that are missing, and those that the sandbox
 * has. Pure. */
#ifndef EVCTL_VERIFY_MODULES_H
#define EVCTL_VERIFY_MODULES_H

#include "verify/reach.h"

/*
 * [{module, file, line, hint}] of what does not import, a row a module: needed true for those
 * without which a tool cannot begin, false for the others that some tool may come to.
 */
json_t *modules_missing(const struct reach *r, bool needed);
/* {TOOL: [...]} of what the sandbox has and the tool imports unguarded: what can be imported ahead.
 */
json_t *modules_used(const struct reach *r);

#endif

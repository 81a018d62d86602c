/* A run for its owner to read, from the JSON of run_show() with "egress" and "log". Pure. */
#ifndef EVCTL_STATE_RUN_TEXT_H
#define EVCTL_STATE_RUN_TEXT_H

#include "base/buf.h"
#include "base/json.h"

/* What happened, a line each, and the log. */
void run_text(const json_t *run, struct buf *b);
/* One thing to do next, for a run that failed; nothing is added where nothing is known. */
void run_mend(const json_t *run, struct buf *note);

#endif

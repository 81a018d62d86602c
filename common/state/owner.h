/*
 * Whose a run or a session is: the process that works on it, which may be in another container, or
 * on another machine, over the same state. Of such a process nothing can be asked; so it counts as
 * alive until whatever it works on must have ended by itself.
 */
#ifndef EVCTL_STATE_OWNER_H
#define EVCTL_STATE_OWNER_H

#include "base/strv.h"
#include "state/db.h"

/* What owners_find() reads after one column of text; of owner_view (views.sql). */
#define OWNER_COLUMNS "pid, pid_start, pid_space, until"

/* Whether the process is one that this program can see, kill and connect to. */
bool owner_is_here(const char *pid_space);
/* Adds the texts of the rows whose process is alive, or of those where it is not. */
int owners_find(struct query *rows, bool alive, struct strv *out, struct err *e);
/* The ids of a kind ("run", "session") whose process is gone without saying so. */
int owners_dead(struct db *db, const char *kind, struct strv *out, struct err *e);

#endif

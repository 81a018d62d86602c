/*
 * A directory that is filled under the name .NAME.evctl-partial beside its place, and renamed there
 * when all of it is on the disk. What a crash left of an earlier one is removed; a lock tells it
 * from one that another program is filling.
 */
#ifndef EVCTL_STATE_PARTIAL_H
#define EVCTL_STATE_PARTIAL_H

#include "base/err.h"

struct partial {
	int parent, dir; /* dir: the directory itself, locked */
	char *name;	 /* what it will be called, in parent */
	char *partial;	 /* what it is called until then */
	char *path;	 /* of the partial one */
};
#define PARTIAL_NONE ((struct partial){.parent = -1, .dir = -1})
#define PARTIAL_AUTO __attribute__((cleanup(partial_close))) struct partial

/* Makes parents too. ERR_CONFLICT if there is something at `to`, ERR_BUSY if one is being filled.
 */
int partial_open(struct partial *p, const char *to, struct err *e);
int partial_finish(struct partial *p, const char *to, struct err *e);
/* Removes it and all that is in it, when it was not finished. */
void partial_drop(struct partial *p);
void partial_close(struct partial *p);

#endif

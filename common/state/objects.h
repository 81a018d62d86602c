/*
 * The artifacts' bytes: STATE/objects/ab/cdef..., each file named by the SHA-256 of what it holds.
 *
 * Crash-safe: bytes are written to a temporary file and synced before anything refers to them, and
 * renamed into place inside the transaction that adds the reference. So under the write lock a file
 * that no row names is an orphan, and a sweep may remove it.
 */
#ifndef EVCTL_STATE_OBJECTS_H
#define EVCTL_STATE_OBJECTS_H

#include "state/state.h"

struct object {
	char sha256[65];
	char tmp[32];	  /* beneath objects/; "" when nothing was written */
	const void *data; /* borrowed until the commit */
	size_t n;
};

/* Hashes, and writes and syncs a temporary file unless the bytes are there already. */
int objects_stage(struct state *st, const void *p, size_t n, struct object *o, struct err *e);
/* Puts it in its place; inside the transaction that refers to it. */
int objects_place(struct state *st, struct object *o, struct err *e);
/* Forgets what was staged; harmless after objects_place(). */
void objects_drop(struct state *st, struct object *o);

/* All bytes, checked against their name; ERR_STATE where they differ. b's limit is set to fit. */
int objects_read(struct state *st, const char *sha256, size_t n, struct buf *b, struct err *e);

/* How many files no artifact refers to: what a sweep would remove. What cannot be read is none. */
int64_t objects_orphans(struct state *st);
/* How many files that artifacts refer to are gone, and one of their runs. */
int64_t objects_missing(struct state *st, char run[32]);
/*
 * Removes files that no artifact refers to, and temporary files of more than an hour ago, under the
 * write lock of a transaction of its own. *removed counts; may be NULL.
 */
int objects_sweep(struct state *st, int64_t *removed, struct err *e);

#endif

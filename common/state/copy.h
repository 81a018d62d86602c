/*
 * Copying files with proof: what was written is read again, hashed, and on the disk when a call
 * returns. Links are never followed, only regular files are taken.
 */
#ifndef EVCTL_STATE_COPY_H
#define EVCTL_STATE_COPY_H

#include "base/err.h"

#include <stdint.h>

struct copied {
	char sha256[65]; /* of the copy */
	int64_t bytes;
};

/* Makes `to`, new, 0600. ERR_NOTFOUND where there is no such source, ERR_STATE if it is no file. */
int copy_file(int from_at, const char *from, int to_at, const char *to, struct copied *out,
	struct err *e);
/* SHA-256 of a regular file as it stands; errors as above. */
int copy_hash(int at, const char *name, struct copied *out, struct err *e);
/* A directory, made if need be (0700), opened without following a link; -1 on error. */
int copy_dir(int at, const char *name, struct err *e);
/* Brings a directory's own entries to the disk. */
int copy_sync(int dir, struct err *e);

/* "ab/cdef..." of 64 lower-case hex digits, as objects/ has it; -1 if it is anything else. */
#define OBJECT_PATH_MAX 80
int object_path(const char *sha256, char out[OBJECT_PATH_MAX]);

#endif

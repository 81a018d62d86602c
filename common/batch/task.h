/*
 * What works on a batch's chunks: a process with the bundle, one warm sandbox, and a copy of the
 * bundle's state in a directory of its own. What it does is told by outcome streams in the spool.
 */
#ifndef EVCTL_BATCH_TASK_H
#define EVCTL_BATCH_TASK_H

#include "base/field.h"
#include "state/seal.h"

#include <stdint.h>

/* The only arguments of a task that a driver started: this, and the spool. */
#define TASK_DRIVER_WORD "--driver"
#define TASK_DRIVER_FD 3

struct task_order {
	const char *spool;	   /* the batch's directory */
	const struct secret *node; /* this machine's private key, where no driver is connected */
	const char *node_file;	   /* and where it is, with the homes that it trusts beside it */
	int64_t index;		   /* the chunk, where no driver is */
	int driver;		   /* a socket to the driver, or -1 */
};

/* What a driver and its task say to each other, frames (base/file.h). */
struct task_key {
	const char *key; /* BUNDLE_KEY_BYTES */
	size_t nkey;
};
struct task_chunk {
	int64_t chunk;
	const char *stream; /* the name beneath out/ */
};
extern const struct fields task_key_fields;   /* driver, first: the key to the bundle */
extern const struct fields task_chunk_fields; /* driver: work on this */
extern const struct fields task_told_fields;  /* task: the stream has more; no struct */
extern const struct fields task_done_fields;  /* task: the chunk is over; struct outcome_word */

/* 0, or -1 with the error that ended it; one that the stream could still tell is told there too. */
int task_work(const struct task_order *o, struct err *e);

#endif

/* What the parts of the driver share: prepare.c, inflow.c (streams), drive.c. */
#ifndef EVCTL_BATCH_BATCH_IN_H
#define EVCTL_BATCH_BATCH_IN_H

#include "batch/batch.h"
#include "batch/outcome.h"

#define BATCH_STREAM_MAX 64 /* bytes of a stream's name */
#define BATCH_OPEN (-1)	    /* the code of a call without an answer */

/* A batch at work. */
struct drive {
	struct state *st;
	struct batch b;
	int spool;
	const struct batch_hooks *hooks;
	struct drive_call {
		int16_t code;
		uint16_t tool; /* in tools */
		char *name;
	} * calls;
	struct strv tools;
	int64_t done, failed, lost, next; /* next: the call whose line comes now */
	bool plain, cancelling, deaf;	  /* deaf: nobody reads lines on */
	int retry;
	bool retry_status[RUN_MISSING_KEY + 1];
	int64_t max_failures; /* -1: any number */
	struct batch_lines lines;
	struct batch_chunk *waiting; /* in order of the calls */
	size_t nwaiting, waiting_room;
	int64_t next_chunk;
	int64_t begun, begun_done; /* CLOCK_MONOTONIC ms, and how many were done then */
	struct secret key;	   /* to the bundle: BUNDLE_KEY_BYTES */
	unsigned char home[SEAL_KEY_BYTES];
};

/* Names of the directories in the state directory and of the spool's parts. */
#define BATCH_DIR "batches"
int batch_dir(const struct state *st, struct err *e);
int batch_remove_spool(const struct batch *b);

/* A file that grows, of one chunk. */
struct inflow {
	char name[BATCH_STREAM_MAX];
	const struct batch_chunk *chunk;
	struct outcome_reader reader;
	int fd;
	int64_t frames, skip; /* read so far; those that were taken before */
	bool begun;	      /* its head is there: a call may have been made */
	bool final;
	char refused[256]; /* why no more is taken; "": nothing is wrong */
	struct outcome_word end;
	char node[65];
};
#define INFLOW_NONE ((struct inflow){.fd = -1})
/* Takes what is there. What cannot be believed is refused (in->refused), no error. */
int inflow_read(struct drive *d, struct inflow *in, struct err *e);
void inflow_free(struct inflow *in);
/* Answers that no stream gives. */
int inflow_lost(struct drive *d, const int64_t *calls, size_t n, const char *why, struct err *e);
/* Gives the hooks each line whose turn has come; all: what has no answer is passed over. */
int inflow_lines(struct drive *d, bool all, struct err *e);
/* A line of an error, in place of an envelope; read: the line of the calls that it is about, or 0.
 */
void inflow_error_line(const struct drive *d, int64_t call, int64_t read, const struct err *was,
	const char *kind, struct buf *line);

/* ---- drive.c ---- */

/* What is left of a chunk that is over comes again, or is lost; in a transaction of its own. */
int drive_leave_chunk(
	struct drive *d, const struct batch_chunk *c, bool begun, bool whole, struct err *e);
/* The chunk's calls without an answer; freed by the caller. */
int drive_open_calls(const struct drive *d, const struct batch_chunk *c, int64_t **calls, size_t *n,
	struct err *e);
/* 1: the next that waits; 0: none does. */
int drive_next_chunk(struct drive *d, struct batch_chunk *out, struct err *e);
bool drive_too_many(const struct drive *d); /* failed, more than may be */
/* Tasks that look find that no further call is to be made. */
void drive_tell_cancel(const struct drive *d);
/* Tells how far it is, with so many calls or chunks being made. */
void drive_progress(const struct drive *d, int64_t running);
char *drive_task_program(struct err *e);

/* ---- remote.c: engines that start tasks elsewhere ---- */

int remote_run(struct drive *d, struct err *e);

/* A chunk that is with an engine. */
struct remote_flow {
	struct batch_chunk chunk;
	struct inflow in;
	int k;	       /* which of its streams is read */
	int64_t alive; /* CLOCK_MONOTONIC ms: when the engine last had it */
	bool over;
};
struct remote {
	struct drive *d;
	struct remote_flow **v;
	size_t n, room;
	int signals;
	bool away; /* the engine does not answer */
	char *program;
};

/* ---- slurm.c ---- */

/* ERR_NOTFOUND where its commands are not here. */
int slurm_here(struct err *e);
/* Starts the tasks of flows from..to, whose chunks' numbers follow one another. */
int slurm_submit(struct remote *r, size_t from, size_t to, struct err *e);
/* Marks the flows that the engine has as alive; sets r->away. */
void slurm_look(struct remote *r);
void slurm_cancel(struct remote *r);

#endif

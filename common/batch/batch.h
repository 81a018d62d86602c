/*
 * Batches: many calls of one expert's one version, worked on by tasks (batch/task.h), here or by an
 * engine on other machines. The driver, one at a time for each batch, hands chunks out, takes in
 * what the streams tell, and alone writes the home's state. Nothing here prints.
 */
#ifndef EVCTL_BATCH_BATCH_H
#define EVCTL_BATCH_BATCH_H

#include "run/run.h"
#include "state/batch_record.h"

#include <stdio.h>

struct batch_order {
	const char *expert, *buyer; /* buyer NULL: the builder */
	int version;		    /* as in struct run_who */
	FILE *calls;		    /* a line {"tool", "input", "id"?} each */
	const char *calls_name;
	const char *engine;	  /* local, slurm, none */
	const char *const *nodes; /* whom the bundle is sealed to; not of a local one */
	size_t nnodes;
	const char *const *engine_options; /* handed to the engine as they are */
	size_t nengine_options;
	int settle_s;	   /* what an engine has not had for so long, without an end, is lost */
	const char *spool; /* NULL: in the state's directory, of a local one */
	int jobs;	   /* sessions at once */
	int chunk;	   /* calls in a chunk; 0: as many as suit */
	int timeout_s;	   /* of a call; 0: the tool's */
	int retry;	   /* how often a call that was lost is tried again */
	const char *retry_status; /* "failed,timeout,limit": these too; NULL: none */
	int64_t max_failures;	  /* stop beyond so many; -1: never */
	bool max_percent;	  /* they are hundredths of the calls */
	int expires_h;
	/* Of evctl-run --calls: lines are envelopes, and one that is no call is answered so. */
	bool plain;
};

/*
 * Checks every line, makes the spool and records the batch: 0 and its id. ERR_USAGE names the line
 * that is no call; then, and on any other error, nothing is left. Needs the private key.
 */
int batch_prepare(struct state *st, const struct batch_order *o, char id[17], struct err *e);

struct batch_progress {
	int64_t calls, done, failed, running;
	int64_t left_ms; /* -1: not known yet */
};

struct batch_hooks {
	/* An answer, in the order of the calls; false: nobody reads on, so the batch is ended. */
	bool (*line)(void *ctx, const char *line, size_t n);
	/* A run that became an answer, in the order in which they come; may be NULL. */
	void (*run)(void *ctx, const struct run_outcome *out);
	void (*progress)(void *ctx, const struct batch_progress *p);
	void (*note)(void *ctx, const char *text);
	void *ctx;
	int *signal; /* takes the one that cancelled it; may be NULL */
};

/*
 * Works on a batch, or goes on with it, until it is over or cancelled (SIGINT, SIGTERM, SIGHUP, or
 * batch_cancel() by another program). *code: the exit code. ERR_BUSY names who drives it already.
 */
int batch_drive(struct state *st, const char *id, int jobs, const struct batch_hooks *h, int *code,
	struct err *e);
/* What does chunk INDEX, put after it, of a batch whose engine is none; and how many there are. */
char *batch_command(struct state *st, const char *id, int64_t *chunks, struct err *e);
/* Ends it: where a driver is at work it is told to, and waited for. */
int batch_cancel(struct state *st, const char *id, struct err *e);
/* The answers that are there, in order; failed: only those with another code than 0. */
int batch_results(struct state *st, const char *id, bool failed,
	bool (*line)(void *ctx, const char *text, size_t n), void *ctx, int *code, struct err *e);
/* With its spool. ERR_CONFLICT while it goes on. */
int batch_forget(struct state *st, const char *id, struct err *e);

#endif

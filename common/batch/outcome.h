/*
 * Outcome streams: what became of a chunk's calls, told by the process that made them (evctl-task)
 * to the home of the batch, by a file that grows. A head, boxed from the teller's key to the
 * home's, has the key of the stream; then a message a call, and one at the end, marked as the last.
 * A stream that breaks off is worth what it holds.
 */
#ifndef EVCTL_BATCH_OUTCOME_H
#define EVCTL_BATCH_OUTCOME_H

#include "base/field.h"
#include "net/event.h"
#include "state/run_record.h"
#include "state/seal.h"

#define OUTCOME_MAX ((size_t)64 << 20) /* bytes of a message */

struct outcome_file {
	const char *name, *data;
	size_t n;
};

/* The record of a run. What a home can find out or make anew by itself is not told. */
struct outcome_run {
	int64_t started, ms;
	char id[17];
	int status;
	bool owner_only;
	const char *reason, *detail, *log, *input; /* log and input are sealed records */
	size_t nlog, ninput;
	struct outcome_file *files;
	size_t nfiles;
	struct run_withheld *withheld;
	size_t nwithheld;
	struct net_event *events;
	size_t nevents;
};

/* A call that made a run, and what its caller is told. */
struct outcome_call {
	int64_t call;
	bool cancelled, has_result, is_json;
	const char *run, *result; /* run: an outcome_run's message */
	size_t nrun, nresult;
	char **missing;
	size_t nmissing;
};

/* A call that made no run, or (call -1) how the stream ends. */
struct outcome_word {
	int64_t call;
	int code;
	char msg[2048], hint[1024];
};

extern const struct fields outcome_run_fields, outcome_call_fields, outcome_word_fields,
	outcome_end_fields;

struct outcome_head {
	char batch[17];
	int64_t chunk;
};

struct outcome_writer {
	int fd; /* borrowed */
	struct seal_stream stream;
	int64_t synced; /* CLOCK_MONOTONIC ms */
};
/* The fd is an empty file's. from: the teller's private key; to: the home's public one. */
int outcome_begin(struct outcome_writer *w, int fd, const struct outcome_head *head,
	const struct secret *from, const unsigned char to[SEAL_KEY_BYTES], struct err *e);
/* One message, written at once; it is on the disk within 2 s, the last at once. */
int outcome_add(
	struct outcome_writer *w, const struct fields *f, const void *of, bool last, struct err *e);

struct outcome_reader {
	int fd; /* borrowed */
	int64_t at;
	struct seal_stream stream;
	struct outcome_head head;
	unsigned char from[SEAL_KEY_BYTES]; /* whose box it was */
	bool open, last;
};
/* 1: the head is there; 0: not yet whole; ERR_STATE: it is none to this key. */
int outcome_open(struct outcome_reader *r, const struct secret *home, struct err *e);
/* 1: the next message, in b; 0: not yet whole, or the last was read; ERR_STATE: damaged. */
int outcome_next(struct outcome_reader *r, struct buf *b, struct err *e);

#endif

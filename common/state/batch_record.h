/*
 * Batches: many calls of one expert's one version, and how far each got. A batch's calls are cut
 * into chunks, each is worked on by some process, which tells of it in a stream; a call that is
 * left over comes again in a later chunk. Times are milliseconds since the epoch.
 */
#ifndef EVCTL_STATE_BATCH_RECORD_H
#define EVCTL_STATE_BATCH_RECORD_H

#include "state/run_record.h"

#define BATCH_CALLS_MAX 10000000

struct batch {
	char id[17];
	char *expert, *buyer; /* buyer NULL: the builder */
	int version;	      /* 0: the draft */
	char *engine, *spool;
	json_t *settings;
	unsigned char public_key[SEAL_KEY_BYTES]; /* the bundle's */
	int64_t calls, started, expires;
	char status[16];
	bool live; /* no program has ended it */
};
#define BATCH_AUTO __attribute__((cleanup(batch_free))) struct batch
void batch_free(struct batch *b);

/* A call as it comes: tool NULL, it is answered already. */
struct batch_call {
	const char *tool;
	const char *name; /* JSON, or NULL */
};

/* A run of calls that follow one another. */
struct batch_span {
	int64_t first, n;
};
struct batch_chunk {
	int64_t chunk;
	int attempt; /* from 1 */
	struct batch_span *spans;
	size_t nspans;
	char *job; /* NULL: none yet */
};
#define BATCH_CHUNK_AUTO __attribute__((cleanup(batch_chunk_free))) struct batch_chunk
void batch_chunk_free(struct batch_chunk *c);
/* Adds a call, which is above all that are there. */
int batch_chunk_add_call(struct batch_chunk *c, int64_t call, struct err *e);
bool batch_chunk_has(const struct batch_chunk *c, int64_t call);
int64_t batch_chunk_calls(const struct batch_chunk *c);

/* In the caller's transaction. */
int batch_add(struct state *st, const struct batch *b, struct err *e);
int batch_add_call(struct state *st, const char *batch, int64_t call, const struct batch_call *c,
	struct err *e);
/* status: waiting, out, done, lost. */
int batch_put_chunk(struct state *st, const char *batch, const struct batch_chunk *c,
	const char *status, struct err *e);
/* In one of its own. */
int batch_set_chunk(
	struct state *st, const char *batch, int64_t chunk, const char *status, struct err *e);
int batch_set_job(
	struct state *st, const char *batch, int64_t chunk, const char *job, struct err *e);
int batch_end(struct state *st, const char *batch, const char *status, struct err *e);
/* Goes on with one that had ended too early. */
int batch_reopen(struct state *st, const char *batch, struct err *e);
/* With all that is kept of its answers; its runs stay. */
int batch_remove(struct state *st, const char *batch, struct err *e);

int batch_find(struct state *st, const char *id, struct batch *b, struct err *e);
/* [{batch, expert, version, buyer, engine, calls, done, failed, status, started, ended}] */
json_t *batch_list(struct state *st, struct err *e);
json_t *batch_show(struct state *st, const char *id, struct err *e);
/* Ids of those that go on with the value that a credential had: for this buyer, or (NULL) the
 * builder's. */
int batch_users(struct state *st, int64_t credential, const char *expert, const char *buyer,
	struct strv *ids, struct err *e);

/* Each chunk that is not done or lost. */
int batch_each_chunk(struct state *st, const char *batch,
	int (*take)(void *ctx, struct batch_chunk *c, struct err *e), void *ctx, struct err *e);
/* Each call, in order: code -1 where it has no answer yet. */
int batch_each_call(struct state *st, const char *batch,
	int (*take)(void *ctx, int64_t call, int code, const struct batch_call *c, struct err *e),
	void *ctx, struct err *e);
int batch_next_chunk(struct state *st, const char *batch, int64_t *chunk, struct err *e);

/* A call's answer: its line, and the exit code of it. run NULL: nothing was run. */
struct batch_answer {
	int64_t call;
	int code;
	const char *line;
	size_t nline;
	const struct run_came *run;
	const struct run_end *end;
	bool hold;  /* the run is recorded, but is no answer: the call comes again */
	bool again; /* filled: the call had an answer; this one is recorded as a run */
};
struct batch_news {
	const char *batch, *stream, *node; /* stream NULL: of no stream */
	struct batch_answer *v;
	size_t n;
	int64_t frames; /* taken from the stream, these included */
	bool final;
};
/* All of them in one transaction, with one audit row. ERR_CONFLICT, ERR_STATE: none was taken. */
int batch_take(struct state *st, const struct batch_news *news, struct err *e);
/* How much of a stream was taken already; *refused is the caller's, NULL: it was not. */
int batch_stream(struct state *st, const char *batch, const char *name, int64_t *frames,
	bool *final, char **refused, struct err *e);
int batch_refuse_stream(
	struct state *st, const char *batch, const char *name, const char *why, struct err *e);

/* The lines of answers, opened with the private key, one part at a time. Zeroed at first. */
struct batch_lines {
	int64_t part; /* that is open; 0: none */
	struct secret text;
	size_t *at; /* where lines begin */
	size_t n;
};
void batch_lines_free(struct batch_lines *l);
/* The answer to a call: 1 and its line, which lives until the next; 0 there is none yet. */
int batch_line(struct state *st, const char *batch, int64_t call, struct batch_lines *l,
	const char **line, size_t *n, struct err *e);

#endif

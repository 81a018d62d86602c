/*
 * What runs leave: their rows, sealed logs and inputs, artifacts, withheld files, gate events.
 *
 * A run is begun (status 'running', with the process that answers for it) and finished once, in one
 * transaction with all that it left. A run whose process is gone is finished by run_sweep(). Times
 * are milliseconds since the epoch. JSON is owned by the caller.
 */
#ifndef EVCTL_STATE_RUN_RECORD_H
#define EVCTL_STATE_RUN_RECORD_H

#include "net/event.h"
#include "state/state.h"

enum run_status {
	RUN_RUNNING,
	RUN_OK,
	RUN_FAILED,
	RUN_TIMEOUT,
	RUN_LIMIT,
	RUN_MISSING_KEY,
};

/* "ok", "failed", ...: the only words that buyers get. */
const char *run_status_word(enum run_status s);
/* The exit code of a program that reports it: 0 or 11 to 14. */
int run_exit_code(enum run_status s);

struct run_start {
	const char *expert, *tool;
	int version;	     /* 0: the draft */
	const char *buyer;   /* NULL: the builder */
	const char *session; /* NULL: none */
};

struct run_artifact {
	const char *name; /* "a/b.png" */
	const void *data;
	size_t n;
	const char *type;
	bool inline_ok;
};

struct run_withheld {
	const char *name; /* "#3" where the name itself is withheld */
	const char *why;
};

/* All borrowed, but detail, which is taken over. */
struct run_end {
	enum run_status status;
	const char *reason; /* for the owner, NULL for none; never a value */
	json_t *detail;	    /* limits, phases, egress; names only; may be NULL */
	int64_t ms;
	const void *log, *input; /* scrubbed already */
	size_t nlog, ninput;
	const struct run_artifact *artifacts;
	size_t nartifacts;
	bool owner_only; /* the artifacts are the owner's */
	const struct run_withheld *withheld;
	size_t nwithheld;
	const struct net_event *events;
	size_t nevents;
};

/* In a transaction of its own. id: "r" and 15 characters. */
int run_begin(struct state *st, const struct run_start *s, char id[17], struct err *e);
/*
 * In a transaction of its own, with an audit row. On -1 the run has failed and has no artifacts, in
 * *end too; it is recorded as such, with its log and the reason, where that much can be written.
 */
int run_finish(struct state *st, const char *id, struct run_end *end, struct err *e);
/* A run of a batch, which was recorded elsewhere: its log and input are sealed already. */
struct run_came {
	const char *id;
	struct run_start start;
	const char *batch, *node;
	int64_t call, started;
};
/*
 * Within a transaction: 1 it is a new one, 0 it is known and the same. ERR_CONFLICT: another run
 * has that id.
 */
int run_import(
	struct state *st, const struct run_came *c, const struct run_end *end, struct err *e);
/* Nothing was run after all: as if it had never begun. */
int run_forget(struct state *st, const char *id, struct err *e);
/* Ends, with a reason, what died without doing so: runs, and then orphaned objects. */
int run_sweep(struct state *st, struct err *e);

struct run_filter {
	const char *expert, *buyer; /* NULL: any */
	int64_t limit;		    /* newest so many; 0: all */
};
/* Newest first. */
json_t *run_list(struct state *st, const struct run_filter *f, struct err *e);
/* The row with detail, artifacts, withheld and the events' count; ERR_NOTFOUND. */
json_t *run_show(struct state *st, const char *id, struct err *e);
/* ERR_NOTFOUND if there is no such run. */
json_t *run_events(struct state *st, const char *id, struct err *e);
/* [{name, why}]: the owner's to see, a buyer learns only how many. */
json_t *run_withheld(struct state *st, const char *id, struct err *e);
/* The sealed log, or input, of a run; needs state_unlock(). ERR_NOTFOUND when there is none. */
int run_open_log(struct state *st, const char *id, bool input, struct secret *out, struct err *e);
/* Logs and inputs of runs that ended before a time; with an audit row. */
int run_gc_logs(struct state *st, int64_t before, int64_t *removed, struct err *e);

/* ---- artifacts ---- */

struct artifact {
	char *run, *name, *type, *buyer; /* buyer NULL: the builder's run */
	char sha256[65];
	int64_t bytes, created, fetched; /* fetched 0: not yet */
	bool inline_ok, owner_only;
};
#define ARTIFACT_AUTO __attribute__((cleanup(artifact_free))) struct artifact

void artifact_free(struct artifact *a);
/*
 * buyer, when given, sees only artifacts of that buyer's runs that are not the owner's: the others
 * are ERR_NOTFOUND, exactly as if they were not there.
 */
int artifact_find(struct state *st, const char *run, const char *name, const char *buyer,
	struct artifact *a, struct err *e);
/* run and buyer NULL: any. Newest run first, then by name. */
json_t *artifact_list(struct state *st, const char *run, const char *buyer, struct err *e);
/* The names of one run's artifacts, as far as the buyer sees them. ERR_NOTFOUND: no such run. */
int artifact_names(
	struct state *st, const char *run, const char *buyer, struct strv *names, struct err *e);
int artifact_mark_fetched(struct state *st, const struct artifact *a, struct err *e);
/* All of a run's; *removed counts. */
int artifact_remove(struct state *st, const char *run, int64_t *removed, struct err *e);
/* Made before a time, and fetched unless `unfetched`. */
int artifact_gc(struct state *st, int64_t before, bool unfetched, int64_t *removed, struct err *e);

#endif

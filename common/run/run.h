/*
 * Running tools: from a name in the state to a recorded run. Used alike by evctl-run (once,
 * --calls,
 * --session), and the MCP server.
 *
 * A runner is one expert's one version, seen by one buyer; its code is frozen when it opens. Each
 * call takes keys, bindings and the gate's policy afresh. What a call did is recorded, durably,
 * before it is reported. Nothing here prints.
 */
#ifndef EVCTL_RUN_RUN_H
#define EVCTL_RUN_RUN_H

#include "run/room.h"
#include "state/expert.h"
#include "state/run_record.h"

/* Takes what a run came to in place of the state's record of it: -1, it could not be kept. */
struct run_sink {
	int (*keep)(void *ctx, const char *id, int64_t started, const struct run_end *end,
		struct err *e);
	void *ctx;
};

struct run_who {
	const char *expert;
	const char *buyer;   /* NULL: the builder */
	int version;	     /* N, or one of EXPERT_*; of a session: EXPERT_DEFAULT takes its own */
	const char *session; /* join this one; NULL: a sandbox of this runner's own */
	bool warm;	     /* more than one call will come (without a session) */
	const struct run_sink *sink; /* NULL: runs are recorded in the state */
};

struct run_hooks {
	/* Something to say before the call runs ("EV_KEYS['X'] will be missing: ..."); may be NULL.
	 */
	void (*note)(void *ctx, const char *text);
	/* The log as it comes, scrubbed; drafts only; may be NULL. */
	void (*log)(void *ctx, const char *p, size_t n);
	void *ctx;
};

struct run_request {
	const char *tool;
	const char *input; /* JSON text; NULL: {} */
	size_t ninput;
	int timeout_ms; /* 0: the tool's; never more than that */
	struct run_hooks hooks;
	bool fresh;    /* with nothing in /scratch of earlier calls */
	int cancel_fd; /* readable or hung up: the call is ended, as failed; 0: none */
	bool signals;  /* so do SIGINT, SIGTERM and SIGHUP, instead of ending the program; no
			  cancel_fd */
};

struct run_file {
	const char *name; /* borrowed from the outcome */
	const void *data;
	size_t n;
	const char *type;
	bool inline_ok;
};

/* What a recorded run came to, as far as the runner's buyer may know. */
struct run_outcome {
	char id[17];
	const char *expert, *tool, *session; /* the runner's, the request's */
	int version;
	enum run_status status;
	bool has_result;
	bool is_json; /* else text */
	struct buf result;
	struct run_file *files; /* none for a buyer whose run failed */
	size_t nfiles;
	struct run_withheld *withheld; /* owned strings */
	size_t nwithheld;
	struct buf strays;   /* as in struct sandbox_result; none for a buyer */
	struct strv missing; /* of RUN_MISSING_KEY: the keys to supply */
	bool cancelled;	     /* by a signal; the status is RUN_FAILED */
	int signal;	     /* which */
	int64_t ms;
	struct collected *kept; /* what files borrow from */
};
#define RUN_OUTCOME_AUTO __attribute__((cleanup(run_outcome_free))) struct run_outcome

struct runner;

int runner_open(struct runner **r, struct state *st, const struct run_who *who, struct err *e);
void runner_close(struct runner **r);
const struct expert_view *runner_view(const struct runner *r);

/*
 * 0: there is a run, recorded, whatever became of it; one that cannot be recorded has failed. Once
 * the tool has begun it is never -1. -1: no run: ERR_NOTFOUND no such tool, ERR_USAGE the
 * input does not fit (before any sandbox), ERR_SANDBOX and others as their places say.
 */
int runner_call(
	struct runner *r, const struct run_request *rq, struct run_outcome *out, struct err *e);
void run_outcome_free(struct run_outcome *o);

/*
 * The tool that is asked for, where what is asked fits it; an input that is not given becomes {}.
 * NULL: ERR_NOTFOUND, ERR_USAGE.
 */
const struct manifest_tool *run_check(
	const struct expert_view *v, struct run_request *rq, struct err *e);

/* Keys that a buyer would have to bring for a call of the tool, and has not; appended. */
int run_missing(struct state *st, struct expert_view *v, const char *buyer, const char *tool,
	struct strv *missing, struct err *e);

/* The envelope of `-o json`: one line of JSON without its newline. */
void run_envelope(const struct run_outcome *o, struct buf *b);

/*
 * What else leaves the expert's house (a broker's answer, an MCP message): is its code in there?
 * What keys the latest call had is forgotten with it, so this is about code only.
 */
bool runner_holds_source(struct runner *r, const void *p, size_t n);

#endif

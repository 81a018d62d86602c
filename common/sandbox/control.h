/*
 * The conversation with the cell about one call: the message in, the streams and the result out,
 * the deadline. The other side may be hostile from the moment that it has the message, so all that
 * it says is bounded and checked here, and who is done is only believed of the cell's own process
 * 1, or proven by death.
 */
#ifndef EVCTL_SANDBOX_CONTROL_H
#define EVCTL_SANDBOX_CONTROL_H

#include "base/buf.h"
#include "base/ends.h"
#include "base/err.h"
#include "sandbox/sandbox.h"

#include <stdint.h>

/* The supervisor's ends; all non-blocking. */
struct control {
	int call;   /* socket: messages out */
	int init;   /* socket: to and from the cell's own process */
	int out;    /* pipe: stdout */
	int log;    /* pipe: stderr */
	int result; /* pipe: frames */
	bool session;
	bool ready;	 /* the cell has said that it runs */
	uint8_t call_no; /* of the latest call, from 1 */
	int watch;	 /* hung up: nobody watches over the sandbox, so it is as good as dead */
	int cancel;	 /* readable or hung up: CONTROL_CANCELLED; 0: none */
	/* Asked a few times a second: true is CONTROL_SPENT; NULL: nobody. */
	bool (*spent)(const void *ctx);
	const void *spent_ctx;
};

#define CONTROL_NONE ((struct control){.call = -1, .init = -1, .out = -1, .log = -1, .result = -1})

/* Makes all five pairs; theirs[] are the cell's ends in that order, for the caller to close. */
int control_open(struct control *c, int theirs[5], struct err *e);
void control_close(struct control *c);

/* The message of a call, into m: zeroed but for `secret`, which keeps it locked and wiped. */
int message_make(struct buf *m, const struct sandbox_call *call, struct err *e);

enum control_end {
	CONTROL_DONE, /* the call has ended: a session's process 1 says so, or a frame is whole */
	CONTROL_GONE, /* the sandbox is dead */
	CONTROL_DEADLINE,  /* not done in time */
	CONTROL_CANCELLED, /* nobody wants it any more */
	CONTROL_SPENT,	   /* the kernel has killed some of it for its memory */
	CONTROL_CONFUSED,  /* the cell said what it never says */
};

/* What has come out of a call so far. */
struct intake {
	struct buf out, result; /* limits set by sandbox_call() */
	struct ends log;
	size_t out_total, result_total; /* bytes that came */
	bool out_cut, result_cut;
	int64_t ready_at; /* CLOCK_MONOTONIC ms; 0: not yet */
	const struct sandbox_call *call;
};

void intake_free(struct intake *in);

/* Sends the message and takes what comes until an end. pidfd tells of the sandbox's death. */
enum control_end control_run(
	struct control *c, struct intake *in, const struct buf *m, int pidfd, int64_t deadline);
/* In a session: has process 1 kill the call. Whether it did within a second. */
bool control_kill(struct control *c, struct intake *in, int pidfd);
/* After all writers are dead: takes what is left in the pipes. */
void control_drain(struct control *c, struct intake *in);

/*
 * Whether the latest call's process took the message, once drained. If not, the message may still
 * be waiting for the process after it, and the session cannot go on.
 */
bool control_accepted(const struct control *c, const struct intake *in);

/* The frame of the latest call, once drained. Kinds as the cell writes them. */
struct frame_view {
	char kind; /* 'R' ok, 'E' raised, 'V' no JSON, 'L' too long, 'M' memory, 'P' processes, 'D'
		      disk */
	const char *data;
	size_t len;
};
/* 1 a whole frame and nothing else, 0 nothing but the acceptance, -1 anything else. */
int control_frame(const struct control *c, const struct intake *in, struct frame_view *f);

#endif

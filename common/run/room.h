/*
 * Where calls happen: a sandbox with its gate, either this program's own or a session keeper's. The
 * same few verbs serve both, so a single run, `--calls`, a session and the MCP server share one
 * path.
 *
 * A room with listeners has a gate beside it; one without hosts has none. Opening returns while
 * both are still starting; the first call waits for them.
 */
#ifndef EVCTL_RUN_ROOM_H
#define EVCTL_RUN_ROOM_H

#include "base/file.h"
#include "gate/client.h"
#include "sandbox/sandbox.h"
#include "state/expert.h"

/* One call, all borrowed. Its keys are the policy's; the code gets them as it may see them. */
struct room_call {
	struct sandbox_call call;  /* without keys */
	struct gate_policy policy; /* but for keys, not looked at where there is no gate */
};

struct room_reply {
	struct sandbox_result result;
	struct gate_report report;
	bool gate_lost; /* the gate ended during the call */
	int outputs;	/* a directory; the room's, until room_done(); -1: none */
	char bounds[16];
	int64_t ready_ms; /* waited for the gate and the policy */
};

struct room;
struct room_ops {
	int (*enter)(struct room *, const struct call_keys **, struct err *);
	int (*call)(struct room *, const struct room_call *, struct room_reply *, struct err *);
	int (*done)(struct room *, struct err *);
	bool (*holds)(struct room *);
	bool (*alive)(struct room *);
	void (*close)(struct room *);
};
struct room {
	const struct room_ops *ops;
};

/*
 * Takes the turn: until room_done() nobody else's call gets in. *earlier, the room's own, is what
 * former calls had for keys, which their code may have kept. In a session: ERR_BUSY when others'
 * calls took more than 10 s, ERR_NOTFOUND when it has ended.
 */
int room_enter(struct room *r, const struct call_keys **earlier, struct err *e);
/*
 * -1 with ERR_SANDBOX: nothing was run. Whatever the tool does is a reply, as is a session
 * that ends during the call.
 */
int room_call(struct room *r, const struct room_call *c, struct room_reply *out, struct err *e);
/*
 * After the outputs have been read: whether they were that call's to the end. A keeper waits for a
 * caller only so long.
 */
bool room_holds(struct room *r);
/* The outputs have been read: they are emptied for the next call, and the turn is given up. */
int room_done(struct room *r, struct err *e);
bool room_alive(struct room *r);
void room_close(struct room **r); /* harmless on NULL */
void room_reply_free(struct room_reply *reply);

/* ---- a room of this program's own ---- */

struct room_spec {
	const struct tree *code;
	const struct bound_host *hosts;
	size_t nhosts;
	const char *const *preload;
	size_t npreload;
	bool session; /* more than one call */
	size_t memory;
	const char *share, *egress; /* base/paths.h */
};

int room_open(struct room **r, const struct room_spec *spec, struct err *e);
/* Its sandbox and its gate, for a keeper that watches them. The gate's is as gate_pidfd()'s, and -1
 * without one. */
const struct sandbox *room_sandbox(const struct room *r);
int room_gate_pidfd(const struct room *r);
bool room_gate_lost(const struct room *r);

/* ---- a session keeper's room ---- */

/*
 * dir is the state's sessions directory (state/session.h), id the session's. code (zeroed) becomes
 * what the session was started with. Waits its turn for that, as room_enter() does.
 */
int room_join(struct room **r, int dir, const char *id, struct tree *code, struct err *e);

#endif

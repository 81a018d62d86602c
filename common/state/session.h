/*
 * Sessions: one buyer's sandbox, held by a keeper process. The row says who the keeper is; its
 * socket is STATE/sessions/ID.sock, and what it has to say on ending is in STATE/sessions/ID.end.
 */
#ifndef EVCTL_STATE_SESSION_H
#define EVCTL_STATE_SESSION_H

#include "state/state.h"

#include <sys/types.h>

struct session {
	char id[17];
	char *expert, *buyer; /* buyer NULL: the builder */
	int version;	      /* 0: the draft */
	pid_t pid;
	int64_t pid_start, idle_s, started;
	bool live;
};
#define SESSION_AUTO __attribute__((cleanup(session_free))) struct session

void session_free(struct session *s);
/* In a transaction of its own, with an audit row. s->expert must exist. */
int session_add(struct state *st, const struct session *s, struct err *e);
/* ERR_NOTFOUND where there is none, or it has ended; ERR_CONFLICT where it is out of this program's
 * reach: the hint starts another. */
int session_find(struct state *st, const char *id, struct session *s, struct err *e);
/* all: those that have ended too. */
json_t *session_list(struct state *st, bool all, struct err *e);
/* Kills the keeper, waits until it is gone, and says why in the row. */
int session_end(struct state *st, const struct session *s, const char *reason, struct err *e);
/* The directory of the sockets, made if need be; a descriptor. */
int session_dir(const struct state *st, struct err *e);
/*
 * Notices keepers that are gone and ends their rows with the reason that they left, then
 * run_sweep(). Every program that shows or uses runs begins with this.
 */
int session_sweep(struct state *st, struct err *e);
/* How many sessions and runs that would end; 0 where that cannot be told. */
size_t session_dead(struct state *st);

#endif

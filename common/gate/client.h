/*
 * The supervisor's side of the gate: starts evctl-egress, hands it the listening sockets, tells it
 * each call's policy, and takes the events back. One gate a session, one call at a time; not for
 * use by two threads at once.
 *
 * Every argument is borrowed for the length of the call only. Times are milliseconds. The gate runs
 * with an empty environment; when this side closes its end, or dies, the gate exits, and with it
 * every way out. A gate that is gone or answers nonsense is ERR_SANDBOX from any function here.
 */
#ifndef EVCTL_GATE_CLIENT_H
#define EVCTL_GATE_CLIENT_H

#include "base/call_key.h"
#include "net/event.h"
#include "net/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One attached host, frozen for a call. */
struct gate_row {
	struct host host;
	const char *key; /* the credential bound here, or NULL */
};

struct gate_policy {
	const char *id;	     /* the run */
	int64_t deadline_ms; /* from now */
	const struct gate_row *rows;
	size_t nrows;
	struct call_keys keys; /* where each may go is said by the rows that name it */
};

struct gate_summary {
	uint64_t requests, refused, failed; /* failed: upstream trouble, broken transfers */
	uint64_t up, down;
	uint64_t truncated; /* requests that the list has only in counts */
};

struct gate_report {
	struct net_event *events; /* strings in text, unless it came in a greater message */
	size_t n;
	struct gate_summary summary;
	struct buf text;
};

struct gate;

/*
 * Starts egress_path beside whatever else is starting: returns without waiting for it. fds[i]
 * listens on ports[i] (a port may come twice, for v4 and v6); they stay the caller's, who may close
 * them at once. log_fd becomes the gate's stderr, -1 for none. n is at most FRAME_MAX_FDS.
 */
int gate_start(struct gate **g, const char *egress_path, const int *fds, const uint16_t *ports,
	size_t n, int log_fd, struct err *e);
/* Waits until the gate is ready (10 s); *pem is the session's CA, owned by g. */
int gate_ca(struct gate *g, const char **pem, struct err *e);
/* The policy of the next call; on return it is in force, and no connection of before lives. */
int gate_begin(struct gate *g, const struct gate_policy *p, struct err *e);
/*
 * Closes the way out again and takes the events. r is the caller's to free, also when it fails:
 * then the gate is killed, and r has what it noted down before.
 */
int gate_end(struct gate *g, struct gate_report *r, struct err *e);
bool gate_alive(const struct gate *g);
/* Readable when the gate has died, for poll(2); -1 when that is known. */
int gate_pidfd(const struct gate *g);
void gate_report_free(struct gate_report *r);
/* Kills the gate, reaps it, sets *g to NULL; harmless on NULL. */
void gate_stop(struct gate **g);

#endif

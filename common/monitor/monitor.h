/*
 * The door's monitor: it has the state and the private key, and parses nothing that comes from the
 * network but the front's framed questions, of which each has a limit. It knows tokens, starts what
 * serves a visitor, makes pages, and signs handshakes.
 */
#ifndef EVCTL_MONITOR_MONITOR_H
#define EVCTL_MONITOR_MONITOR_H

#include "door/door_message.h"
#include "monitor/foreign.h"
#include "state/state.h"

struct monitor_spec {
	struct door_rules rules;
	const struct strv *experts;	    /* those that are offered; none: all */
	const struct foreign_spec *foreign; /* an authorization server's tokens; NULL: ours alone */
	const char *cert, *key;		    /* PEM files; NULL: no TLS */
	int listener, metrics;		    /* metrics -1: none */
	/* For the log and for people; not a visitor's. */
	void (*note)(void *ctx, const char *text);
	void *ctx;
};

/*
 * Serves until SIGTERM or SIGINT (0), or until the front cannot be kept going (-1). st is open to
 * write, with its private key. Calls ready once visitors are served.
 */
int monitor_run(struct state *st, const struct monitor_spec *spec, struct err *e);

#endif

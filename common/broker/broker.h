/*
 * The broker: one call of a granted connection, from names in the state to a recorded run. Host
 * list, grant, payer and key are those of this moment, whatever was so before. Used by evctl-conn
 * and by the MCP server's `api_call`.
 *
 * A call that passes the checks of its form is a run (tool "api_call NAME") with one event, also
 * when it is denied. With `save`, a 2xx answer's body becomes that run's artifact.
 */
#ifndef EVCTL_BROKER_BROKER_H
#define EVCTL_BROKER_BROKER_H

#include "broker/transfer.h"
#include "state/conn.h"
#include "state/run_record.h"

/* All borrowed. */
struct broker_call {
	const struct expert_view *view; /* whose connection; its id, name and version count */
	const char *connection, *buyer; /* buyer NULL: the builder */
	const char *session;		/* for the run's row; NULL: none */
	const char *method, *url;
	const struct strv *headers; /* "Name: value"; NULL: none */
	const void *body;
	size_t nbody;
	bool has_body;
	const char *save; /* the artifact's name, or NULL */
	int cancel_fd;	  /* hung up: stop; -1: none */
	/* Whether the expert's code is in there; NULL: not asked. */
	bool (*holds_source)(void *ctx, const void *p, size_t n);
	void *ctx;
};

struct broker_reply {
	char run[17]; /* "" when nothing was begun */
	int status;
	json_t *headers;
	struct buf body; /* of the artifact, when saved */
	bool saved;
	size_t bytes; /* of the artifact */
	const char *type;
	bool inline_ok;
	int64_t ms;
};
#define BROKER_REPLY_AUTO __attribute__((cleanup(broker_reply_free))) struct broker_reply
void broker_reply_free(struct broker_reply *r);

/*
 * Keeps the ways out, with their open connections, from call to call. Valid when zeroed; for one
 * thread. Once a process, upstream_init() comes first.
 */
struct broker {
	struct broker_way *ways;
};
void broker_free(struct broker *b);

/*
 * Needs state_unlock(). ERR_USAGE malformed, ERR_NOTFOUND no such connection, ERR_DENIED naming the
 * host and the connection's list, ERR_MISSING_KEY naming the env var, and transfer_run()'s.
 */
int broker_call(struct broker *b, struct state *st, const struct broker_call *c,
	struct broker_reply *r, struct err *e);

/* {status, headers, body[, encoding]} or {status, headers, artifact}. Owned by the caller. */
json_t *broker_reply_json(const struct broker_reply *r, const char *save);

/*
 * One harmless request (HEAD) to each host with the builder's key, if there is one. An array of
 * {host, result: "reachable"|"unauthorised"|"refused", status, why}; *all tells whether every
 * host was reachable. ERR_USAGE for a bad path.
 */
json_t *broker_test(
	struct state *st, const struct conn *c, const char *path, bool *all, struct err *e);

#endif

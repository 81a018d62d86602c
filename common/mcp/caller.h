/*
 * tools/call: the expert's tools in one sandbox that lives as long as the server, and `api_call`
 * through the broker. All of it belongs to the one thread that calls (the sandbox dies with it).
 * Nothing is opened before the first call.
 */
#ifndef EVCTL_MCP_CALLER_H
#define EVCTL_MCP_CALLER_H

#include "base/program.h"
#include "broker/broker.h"
#include "rpc/rev.h"
#include "mcp/shelf.h"
#include "run/run.h"

struct caller {
	const struct invocation *in;
	const struct state_place *place;
	const char *expert, *buyer; /* buyer NULL: the builder */
	int version;		    /* settled when the server started */
	struct shelf *shelf;
	struct state st;
	struct runner *runner; /* NULL: not yet */
	struct broker broker;
};

/*
 * The result, or NULL with the error to answer. Whatever goes wrong with the tool, the API or their
 * input is a result with isError; unknown tools and malformed params are errors.
 */
json_t *caller_call(struct caller *c, enum mcp_rev rev, const json_t *params, int cancel_fd,
	struct mcp_error *me);
/* Tears the sandbox down. */
void caller_close(struct caller *c);

#endif

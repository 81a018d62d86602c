/*
 * The revisions of the Model Context Protocol, and what each asks of a message. Pure.
 *
 * Two eras: up to 2025-11-25 a client opens with `initialize` and the revision holds for the
 * process; from 2026-07-28 on every request says its own in `_meta`. One process serves both.
 */
#ifndef EVCTL_RPC_REV_H
#define EVCTL_RPC_REV_H

#include "base/json.h"

enum mcp_rev {
	MCP_NONE, /* not said yet */
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28,
};

enum mcp_code {
	MCP_PARSE = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_NO_RESOURCE = -32002, /* of the older era; the newer one says INVALID_PARAMS */
	MCP_HEADER_MISMATCH = -32020,
	MCP_UNSUPPORTED = -32022,
};

/* An error of the protocol, code 0: none. data is owned; mcp_error_free() forgets it. */
struct mcp_error {
	int code;
	char msg[512];
	json_t *data;
};
#define MCP_ERROR_AUTO __attribute__((cleanup(mcp_error_free))) struct mcp_error
void mcp_error_free(struct mcp_error *me);
/* Returns -1 always. data, which may be NULL, is taken over. */
int mcp_fail(struct mcp_error *me, int code, json_t *data, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

const char *mcp_rev_name(enum mcp_rev rev);
/* The revision of that name; MCP_NONE: none that is known. */
enum mcp_rev mcp_rev_named(const char *name);
/* "Unsupported protocol version", with those that are supported. Returns -1. */
int mcp_rev_unsupported(struct mcp_error *me, const char *asked);
/* The revision that a request says in its `_meta`, "" where it says none. */
const char *mcp_rev_said(const json_t *params);
/* What `initialize` settles on: the revision asked for, or the latest of that era. */
enum mcp_rev mcp_rev_initialize(const char *asked);
static inline bool mcp_stateless(enum mcp_rev rev)
{
	return rev >= MCP_2026_07_28;
}

/*
 * The revision that a request goes by: its own `_meta`, else what was settled on. -1 with the error
 * to answer: an unknown revision, `_meta` that lacks what is required, nothing settled on yet.
 */
int mcp_rev_of(const json_t *params, enum mcp_rev settled, enum mcp_rev *out, struct mcp_error *me);

/* A whole message; id NULL is null. Results get what their revision adds. All but id taken over. */
json_t *mcp_result(enum mcp_rev rev, const json_t *id, json_t *result, const char *server);
json_t *mcp_error_message(const json_t *id, const struct mcp_error *me);
json_t *mcp_notification(const char *method, json_t *params);
/* {name, version} and, where the revision knows it, a title. */
json_t *mcp_server_info(enum mcp_rev rev, const char *server);
/* How long a list may be kept, where the revision asks for it. Returns result. */
json_t *mcp_cacheable(enum mcp_rev rev, json_t *result, int ttl_ms);

#endif

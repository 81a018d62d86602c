/*
 * What Streamable HTTP asks of a POST's headers and of its body, before any of it goes on. Pure.
 * Sources: the transport's pages of the revisions 2025-03-26 to 2026-07-28, and SEP-2243.
 */
#ifndef EVCTL_FRONT_MCP_HEAD_H
#define EVCTL_FRONT_MCP_HEAD_H

#include "net/http.h"
#include "rpc/rev.h"

/* What of an answer the client can read: at least one is true where it says nothing. */
struct mcp_accept {
	bool json, stream;
};
struct mcp_accept mcp_accept_of(const struct http_head *h);
/* The body's type is JSON. */
bool mcp_is_json(const struct http_head *h);

/* A whole body, each of whose objects has each member once. NULL with PARSE or INVALID_REQUEST. */
json_t *mcp_body_parse(const char *p, size_t n, struct mcp_error *me);

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };
/* What one message is; -1 with INVALID_REQUEST: it is none. */
int mcp_kind_of(const json_t *m, enum mcp_kind *kind, struct mcp_error *me);

/*
 * The revision that a message goes by: the header's and the message's own must agree. MCP_NONE: the
 * older era, and nothing said. -1: HEADER_MISMATCH, or UNSUPPORTED.
 */
int mcp_head_rev(
	const struct http_head *h, const json_t *m, enum mcp_rev *rev, struct mcp_error *me);
/* Of the newer era: Mcp-Method and Mcp-Name say what the request does. */
int mcp_head_check(const struct http_head *h, const json_t *m, struct mcp_error *me);
/* "=?base64?...?=" decoded, else as it is; into out. -1: it is not base64, or not text. */
int mcp_head_value(struct http_text value, struct buf *out);

#endif

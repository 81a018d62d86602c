/*
 * MCP over Streamable HTTP at /mcp/E, both eras: requests become lines to a process of the
 * expert's, replies JSON or, once there is progress to tell, a stream of events.
 */
#ifndef EVCTL_FRONT_MCP_HTTP_H
#define EVCTL_FRONT_MCP_HTTP_H

#include "front/visit.h"

void mcp_http(struct visit *v, const char *expert);

#endif

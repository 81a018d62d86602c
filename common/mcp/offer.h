/*
 * What the server offers: the published tools, and `api_call` where the expert has connections.
 */
#ifndef EVCTL_MCP_OFFER_H
#define EVCTL_MCP_OFFER_H

#include "rpc/rev.h"
#include "state/expert.h"

/* The name that `api_call` goes by: another one where a tool of the expert has it. */
const char *offer_api_name(const struct manifest *m);
/* Whether a result of this tool goes into structuredContent, by this revision. */
bool offer_structured(enum mcp_rev rev, const struct manifest_tool *t);
/* {tools: [...]}; grants as conn_list_of() gives them. Owned by the caller. */
json_t *offer_list(enum mcp_rev rev, const struct expert_view *v, const json_t *grants);

#endif

#include "rpc/rev.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define META "io.modelcontextprotocol/"

static const char *const names[] = {[MCP_NONE] = "",
	[MCP_2024_11_05] = "2024-11-05",
	[MCP_2025_03_26] = "2025-03-26",
	[MCP_2025_06_18] = "2025-06-18",
	[MCP_2025_11_25] = "2025-11-25",
	[MCP_2026_07_28] = "2026-07-28"};

void mcp_error_free(struct mcp_error *me)
{
	json_decref(me->data);
	*me = (struct mcp_error){0};
}

int mcp_fail(struct mcp_error *me, int code, json_t *data, const char *fmt, ...)
{
	va_list ap;
	mcp_error_free(me);
	me->code = code;
	me->data = data;
	va_start(ap, fmt);
	vsnprintf(me->msg, sizeof me->msg, fmt, ap);
	va_end(ap);
	return -1;
}

const char *mcp_rev_name(enum mcp_rev rev)
{
	return names[rev];
}

enum mcp_rev mcp_rev_initialize(const char *asked)
{
	for (enum mcp_rev r = MCP_2024_11_05; asked && r <= MCP_2025_11_25; r++)
		if (strcmp(names[r], asked) == 0)
			return r;
	return MCP_2025_11_25;
}

static json_t *supported(const char *asked)
{
	json_t *all = json_array();
	for (enum mcp_rev r = MCP_2026_07_28; r >= MCP_2024_11_05; r--)
		json_array_append_new(all, json_string(names[r]));
	return json_pack("{s:o,s:s}", "supported", all, "requested", asked);
}

enum mcp_rev mcp_rev_named(const char *name)
{
	enum mcp_rev r = MCP_2026_07_28;
	while (r > MCP_NONE && strcmp(names[r], name) != 0)
		r--;
	return r;
}

int mcp_rev_unsupported(struct mcp_error *me, const char *asked)
{
	return mcp_fail(me, MCP_UNSUPPORTED, supported(asked), "Unsupported protocol version");
}

const char *mcp_rev_said(const json_t *params)
{
	return json_text_of(json_object_get(params, "_meta"), META "protocolVersion");
}

int mcp_rev_of(const json_t *params, enum mcp_rev settled, enum mcp_rev *out, struct mcp_error *me)
{
	const json_t *meta = json_object_get(params, "_meta");
	const json_t *version = json_object_get(meta, META "protocolVersion");
	const char *asked = json_string_value(version);
	*out = settled;
	if (!version && settled != MCP_NONE)
		return 0;
	if (!version)
		return mcp_fail(me, MCP_INVALID_PARAMS, NULL,
			"no revision: _meta lacks " META "protocolVersion, and there was no "
			"initialize");
	if (!asked)
		return mcp_fail(me, MCP_INVALID_PARAMS, NULL,
			"_meta: " META "protocolVersion is not a string");
	if (strcmp(asked, names[MCP_2026_07_28]) != 0)
		return mcp_rev_unsupported(me, asked);
	if (!json_is_object(json_object_get(meta, META "clientCapabilities")))
		return mcp_fail(
			me, MCP_INVALID_PARAMS, NULL, "_meta lacks " META "clientCapabilities");
	*out = MCP_2026_07_28;
	return 0;
}

json_t *mcp_server_info(enum mcp_rev rev, const char *server)
{
	json_t *info = json_pack("{s:s,s:s}", "name", server, "version", EVCTL_VERSION);
	if (rev >= MCP_2025_06_18)
		json_object_set_new(info, "title", json_string(server));
	return info;
}

static json_t *message(const json_t *id)
{
	json_t *m = json_pack("{s:s}", "jsonrpc", "2.0");
	json_object_set_new(m, "id", id ? json_deep_copy(id) : json_null());
	return m;
}

json_t *mcp_result(enum mcp_rev rev, const json_t *id, json_t *result, const char *server)
{
	json_t *m = message(id);
	if (mcp_stateless(rev)) {
		json_object_set_new(result, "resultType", json_string("complete"));
		json_t *meta = json_object_get(result, "_meta");
		meta = meta ? json_incref(meta) : json_object();
		json_object_set_new(meta, META "serverInfo", mcp_server_info(rev, server));
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(m, "result", result);
	return m;
}

json_t *mcp_error_message(const json_t *id, const struct mcp_error *me)
{
	json_t *m = message(id);
	json_t *error = json_pack(
		"{s:i,s:o}", "code", me->code, "message", json_text(me->msg, strlen(me->msg)));
	if (me->data)
		json_object_set(error, "data", me->data);
	json_object_set_new(m, "error", error);
	return m;
}

json_t *mcp_notification(const char *method, json_t *params)
{
	return json_pack("{s:s,s:s,s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *mcp_cacheable(enum mcp_rev rev, json_t *result, int ttl_ms)
{
	if (!mcp_stateless(rev))
		return result;
	json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
	json_object_set_new(result, "cacheScope", json_string("private"));
	return result;
}

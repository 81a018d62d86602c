#include "mcp/offer.h"

#include "base/limits.h"

#include <string.h>

const char *offer_api_name(const struct manifest *m)
{
	return manifest_tool(m, "api_call") ? "evctl.api_call" : "api_call";
}

/* Clients want an object at the root of every input, also where the manifest does not say so. */
static json_t *input_schema(const json_t *given)
{
	json_t *schema = given ? json_copy((json_t *)given) : json_object();
	const json_t *type = json_object_get(schema, "type");
	if (!json_is_string(type) || strcmp(json_string_value(type), "object") != 0)
		json_object_set_new(schema, "type", json_string("object"));
	return schema;
}

static bool is_object_schema(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type");
	return json_is_string(type) && strcmp(json_string_value(type), "object") == 0;
}

/* Until 2025-11-25 structured content is an object; later it may be anything. */
bool offer_structured(enum mcp_rev rev, const struct manifest_tool *t)
{
	if (rev < MCP_2025_06_18 || !t->output || !t->entry_func)
		return false;
	return mcp_stateless(rev) || is_object_schema(t->output);
}

/*
 * Hints, for what the sandbox guarantees: code without hosts can change nothing outside it, and
 * sees nothing but its input.
 */
static json_t *annotations(const char *title, bool open_world)
{
	json_t *a = json_pack("{s:s,s:b}", "title", title, "openWorldHint", (int)open_world);
	if (!open_world) {
		json_object_set_new(a, "readOnlyHint", json_true());
		json_object_set_new(a, "destructiveHint", json_false());
	}
	return a;
}

static json_t *tool(enum mcp_rev rev, const struct manifest_tool *t, bool open_world)
{
	json_t *j = json_pack("{s:s,s:s,s:o}", "name", t->name, "description", t->description,
		"inputSchema", input_schema(t->input));
	if (offer_structured(rev, t))
		json_object_set(j, "outputSchema", t->output);
	if (rev >= MCP_2025_06_18)
		json_object_set_new(j, "title", json_string(t->name));
	if (rev >= MCP_2025_03_26)
		json_object_set_new(j, "annotations", annotations(t->name, open_world));
	return j;
}

static void describe_hosts(const json_t *grants, struct buf *b)
{
	size_t i, k;
	json_t *g, *host;
	buf_adds(b,
		"Call an outside API over HTTPS. The key is put in on the way; do not send one. "
		"Connections and the hosts that each may reach:");
	json_array_foreach (grants, i, g) {
		buf_addf(b, "\n- %s:", json_string_value(json_object_get(g, "name")));
		json_array_foreach (json_object_get(g, "hosts"), k, host)
			buf_addf(b, "%s %s", k ? "," : "", json_string_value(host));
		if (strcmp(json_string_value(json_object_get(g, "payer")), "buyer") == 0)
			buf_addf(b, " (with your own key, %s)",
				json_string_value(json_object_get(g, "env")));
	}
}

static json_t *api_input(const json_t *grants)
{
	json_t *names = json_array(), *g;
	size_t i;
	json_array_foreach (grants, i, g)
		json_array_append(names, json_object_get(g, "name"));
	return json_pack("{s:s,s:{s:{s:s,s:o},s:{s:s,s:s},s:{s:s,s:s},s:{s:s,s:{s:s},s:s},"
			 "s:{s:s,s:s},s:{s:s,s:s}},s:[s,s,s],s:b}",
		"type", "object", "properties", "connection", "type", "string", "enum", names,
		"method", "type", "string", "description", "GET, POST, ...", "url", "type",
		"string", "description", "https://HOST/PATH?QUERY of one of the connection's hosts",
		"headers", "type", "object", "additionalProperties", "type", "string",
		"description", "headers to send; credentials among them are dropped", "body",
		"type", "string", "description",
		"the request's body, at most " LIMIT_TEXT(LIMIT_API_REQUEST_KB) " KB", "save",
		"type", "string", "description",
		"keep the answer's body, up to " LIMIT_TEXT(
			LIMIT_API_SAVE_MB) " MB, as a run artifact of this name instead of "
					   "returning it",
		"required", "connection", "method", "url", "additionalProperties", 0);
}

static json_t *api_output(void)
{
	return json_pack("{s:s,s:{s:{s:s},s:{s:s},s:{s:s},s:{s:s},s:{s:s}},s:[s,s]}", "type",
		"object", "properties", "status", "type", "integer", "headers", "type", "object",
		"body", "type", "string", "encoding", "type", "string", "artifact", "type",
		"object", "required", "status", "headers");
}

static json_t *api_tool(enum mcp_rev rev, const char *name, const json_t *grants)
{
	BUF_AUTO text = {0};
	describe_hosts(grants, &text);
	json_t *j = json_pack("{s:s,s:s,s:o}", "name", name, "description", buf_str(&text),
		"inputSchema", api_input(grants));
	if (rev >= MCP_2025_06_18) {
		json_object_set_new(j, "outputSchema", api_output());
		json_object_set_new(j, "title", json_string("Call an API"));
	}
	if (rev >= MCP_2025_03_26)
		json_object_set_new(j, "annotations", annotations("Call an API", true));
	return j;
}

json_t *offer_list(enum mcp_rev rev, const struct expert_view *v, const json_t *grants)
{
	json_t *tools = json_array();
	for (size_t i = 0; i < v->m.ntools; i++)
		json_array_append_new(tools, tool(rev, &v->m.tools[i], v->nhosts > 0));
	if (json_array_size(grants))
		json_array_append_new(tools, api_tool(rev, offer_api_name(&v->m), grants));
	return json_pack("{s:o}", "tools", tools);
}

/*
 * libFuzzer: bytes as a POST to /mcp/E, head and body. What must hold: what the door lets through
 * as the newer era's has headers that say what the body does; a body's objects have each member
 * once.
 */
#include "front/mcp_head.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

static int is_said(const struct http_head *h, const char *name, const char *value)
{
	BUF_AUTO b = {0};
	struct http_text v = http_find(h->field, h->nfields, name);
	return v.p && mcp_head_value(v, &b) == 0 && strcmp(buf_str(&b), value) == 0;
}

static void check_message(const struct http_head *h, const json_t *m)
{
	struct mcp_error me = {0};
	enum mcp_kind kind;
	enum mcp_rev rev;
	const json_t *params = json_object_get(m, "params");
	if (mcp_kind_of(m, &kind, &me) == 0 && mcp_head_rev(h, m, &rev, &me) == 0) {
		must(json_is_object(m) && (kind == MCP_RESPONSE) == !json_object_get(m, "method"));
		bool modern = rev == MCP_2026_07_28;
		const char *said = mcp_rev_said(params);
		must(!*said || strcmp(said, mcp_rev_name(rev)) == 0);
		if (modern && kind == MCP_REQUEST && mcp_head_check(h, m, &me) == 0) {
			const char *method = json_text_of(m, "method");
			must(is_said(h, "Mcp-Method", method));
			if (strcmp(method, "tools/call") == 0)
				must(is_said(h, "Mcp-Name", json_text_of(params, "name")));
		}
	}
	must(me.code == 0 || me.msg[0]);
	mcp_error_free(&me);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct http_head h;
	struct mcp_error me = {0};
	size_t from = 0;
	const char *why = "";
	char *p = malloc(n + 1);
	must(p != NULL);
	memcpy(p, data, n);
	p[n] = '\0';
	ssize_t end = http_head_end(p, n, &from);
	if (end > 0 && http_parse(p, (size_t)end, &h, &why) == 0) {
		struct mcp_accept a = mcp_accept_of(&h);
		(void)a, (void)mcp_is_json(&h);
		json_t *m = mcp_body_parse(p + end, n - (size_t)end, &me);
		must(!m == (me.code != 0));
		if (m)
			check_message(&h, m);
		json_decref(m);
		mcp_error_free(&me);
	}
	struct http_text rest = {p, n};
	char *name, *value;
	while (http_pair(&rest, &name, &value) > 0) {
		must(strlen(name) + strlen(value) <= n);
		free(name);
		free(value);
	}
	free(p);
	return 0;
}

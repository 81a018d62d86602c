#include "front/mcp_head.h"

#include "base/b64.h"
#include "base/text.h"

#include <string.h>

/* ---- how it comes, and how the answer may ---------------------------------------------------- */

static bool starts(struct http_text t, const char *word)
{
	size_t n = strlen(word);
	return t.n >= n && http_is((struct http_text){t.p, n}, word) &&
	       (t.n == n || strchr("; \t", t.p[n]));
}

bool mcp_is_json(const struct http_head *h)
{
	return starts(http_find(h->field, h->nfields, "Content-Type"), "application/json");
}

/* All fields of a name together say what one would; "q=0" excepts. */
static bool accepts(const struct http_head *h, const char *const *types)
{
	for (size_t i = 0; i < h->nfields; i++)
		for (size_t k = 0; http_is(h->field[i].name, "Accept") && types[k]; k++)
			if (http_list_has(h->field[i].value, types[k]))
				return true;
	return false;
}

struct mcp_accept mcp_accept_of(const struct http_head *h)
{
	static const char *const json[] = {"application/json", "application/*", "*/*", NULL},
				 *const stream[] = {"text/event-stream", "text/*", "*/*", NULL};
	if (!http_find(h->field, h->nfields, "Accept").p)
		return (struct mcp_accept){true, false};
	return (struct mcp_accept){accepts(h, json), accepts(h, stream)};
}

/* ---- the body -------------------------------------------------------------------------------- */

json_t *mcp_body_parse(const char *p, size_t n, struct mcp_error *me)
{
	json_error_t why;
	json_t *m =
		json_loadb(p, n, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
	if (m)
		return m;
	if (json_error_code(&why) == json_error_duplicate_key)
		mcp_fail(me, MCP_INVALID_REQUEST, NULL, "a member comes twice");
	else
		mcp_fail(me, MCP_PARSE, NULL, "Parse error");
	return NULL;
}

int mcp_kind_of(const json_t *m, enum mcp_kind *kind, struct mcp_error *me)
{
	const json_t *id = json_object_get(m, "id"), *method = json_object_get(m, "method"),
		     *params = json_object_get(m, "params");
	bool id_ok = json_is_string(id) || json_is_integer(id);
	bool answers = json_object_get(m, "result") || json_object_get(m, "error");
	const char *name = json_string_value(method);
	if (!json_is_object(m) || strcmp(json_text_of(m, "jsonrpc"), "2.0") != 0 ||
		(method && (!name || strlen(name) != json_string_length(method))) ||
		(!method && !answers) || (id && !id_ok && method))
		return mcp_fail(me, MCP_INVALID_REQUEST, NULL, "Invalid Request");
	if (params && !json_is_object(params))
		return mcp_fail(me, MCP_INVALID_REQUEST, NULL, "params is not an object");
	*kind = !method ? MCP_RESPONSE : id ? MCP_REQUEST : MCP_NOTIFICATION;
	return 0;
}

/* ---- headers that repeat it ------------------------------------------------------------------ */

/* The only field of that name; -1: there are more. p NULL: none. */
static int only(const struct http_head *h, const char *name, struct http_text *out)
{
	int n = 0;
	*out = (struct http_text){0};
	for (size_t i = 0; i < h->nfields; i++) {
		if (!http_is(h->field[i].name, name))
			continue;
		*out = h->field[i].value;
		n++;
	}
	return n > 1 ? -1 : 0;
}

int mcp_head_value(struct http_text v, struct buf *out)
{
	static const char opens[] = "=?base64?", closes[] = "?=";
	size_t before = sizeof opens - 1, after = sizeof closes - 1;
	if (v.n < before + after || memcmp(v.p, opens, before) != 0 ||
		memcmp(v.p + v.n - after, closes, after) != 0) {
		buf_add(out, v.p, v.n);
		return 0;
	}
	if (buf_reserve(out, v.n) < 0)
		return -1;
	ssize_t n = b64_decode(v.p + before, v.n - before - after, out->data + out->len);
	if (n < 0)
		return -1;
	out->len += (size_t)n;
	out->data[out->len] = '\0';
	return text_is_utf8(buf_str(out), out->len) ? 0 : -1;
}

static int mismatch(struct mcp_error *me, const char *name, const char *what)
{
	return mcp_fail(me, MCP_HEADER_MISMATCH, NULL, "Header mismatch: %s %s", name, what);
}

static bool is_text_of(const struct buf *b, const json_t *text)
{
	return json_is_string(text) && json_string_length(text) == b->len &&
	       memcmp(json_string_value(text), buf_str(b), b->len) == 0;
}

/* The header is there once and says what the body does. */
static int agrees(
	const struct http_head *h, const char *name, const json_t *said, struct mcp_error *me)
{
	struct http_text v;
	BUF_AUTO value = {0};
	if (only(h, name, &v) < 0)
		return mismatch(me, name, "comes twice");
	if (!v.p)
		return mismatch(me, name, "is missing");
	if (mcp_head_value(v, &value) < 0)
		return mismatch(me, name, "is not the base64 of text");
	return is_text_of(&value, said) ? 0 : mismatch(me, name, "differs from the body");
}

int mcp_head_rev(
	const struct http_head *h, const json_t *m, enum mcp_rev *rev, struct mcp_error *me)
{
	static const char name[] = "MCP-Protocol-Version";
	struct http_text v;
	BUF_AUTO value = {0};
	const char *said = mcp_rev_said(json_object_get(m, "params"));
	if (only(h, name, &v) < 0)
		return mismatch(me, name, "comes twice");
	buf_add(&value, v.p ? v.p : "", v.n);
	*rev = mcp_rev_named(buf_str(&value));
	bool modern = *rev == MCP_2026_07_28;
	if (v.p && *rev == MCP_NONE)
		return mcp_rev_unsupported(me, buf_str(&value));
	if (*said && strcmp(said, mcp_rev_name(*rev)) != 0)
		return mismatch(me, name, v.p ? "differs from the body" : "is missing");
	if (modern && !*said && json_object_get(m, "id") && json_object_get(m, "method"))
		return mismatch(me, name, "differs from the body, which says no revision");
	return 0;
}

int mcp_head_check(const struct http_head *h, const json_t *m, struct mcp_error *me)
{
	static const struct {
		const char *method, *member;
	} named[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
	const json_t *params = json_object_get(m, "params");
	const char *method = json_text_of(m, "method");
	if (agrees(h, "Mcp-Method", json_object_get(m, "method"), me) < 0)
		return -1;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(method, named[i].method) == 0)
			return agrees(h, "Mcp-Name", json_object_get(params, named[i].member), me);
	return 0;
}

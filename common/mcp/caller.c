#include "mcp/caller.h"
#include "base/say.h"
#include "mcp/content.h"
#include "mcp/offer.h"

#include <stdlib.h>
#include <string.h>

void caller_close(struct caller *c)
{
	runner_close(&c->runner);
	broker_free(&c->broker);
	state_close(&c->st);
}

/* Once: the state for writing, and the expert's code, which takes the private key. */
static int open_all(struct caller *c, struct err *e)
{
	const struct run_who who = {
		.expert = c->expert, .buyer = c->buyer, .version = c->version, .warm = true};
	if (c->runner)
		return 0;
	state_close(&c->st);
	c->st = (struct state){0};
	if (state_open(&c->st, c->place, STATE_WRITE, e) < 0)
		return -1;
	return runner_open(&c->runner, &c->st, &who, e);
}

/* What is not a buyer's to mend has one word for all of it. */
static const char *word_of(const struct caller *c, const struct err *e)
{
	bool ours = e->code == ERR_KEY || e->code == ERR_SANDBOX || e->code == ERR_STATE ||
		    e->code == ERR_FAIL;
	return c->buyer && ours ? "unavailable" : err_kind(e->code);
}

/* The owner's own server says on stderr what a buyer's must not. */
static json_t *not_run(struct caller *c, enum mcp_rev rev, const struct err *e)
{
	struct content out;
	if (!c->buyer)
		say_warn(c->in, "%s%s%s", e->msg, e->hint[0] ? "; " : "", e->hint);
	else if (e->code == ERR_KEY) /* no path: it may be the buyer who reads this */
		say_warn(c->in,
			"the private key is missing, locked or another's: nothing can be run; "
			"evctl doctor");
	content_open(&out, rev);
	out.is_error = true;
	content_textf(&out, "failed: nothing was run (%s)", word_of(c, e));
	return content_close(&out);
}

/* What a buyer can mend, or wait for. */
static bool is_told(enum err_code code)
{
	return code == ERR_USAGE || code == ERR_QUOTA || code == ERR_TURN;
}

static json_t *refused(enum mcp_rev rev, const char *text)
{
	struct content out;
	content_open(&out, rev);
	out.is_error = true;
	content_text(&out, text, strlen(text));
	return content_close(&out);
}

/* ---- the expert's tools -------------------------------------------------------------------- */

static void shelve(struct caller *c, const struct run_outcome *o)
{
	for (size_t i = 0; i < o->nfiles; i++)
		shelf_add(c->shelf, o->id, o->files[i].name, o->files[i].type, o->files[i].n);
}

static json_t *run_tool(
	struct caller *c, enum mcp_rev rev, const char *name, const json_t *args, int cancel_fd)
{
	RUN_OUTCOME_AUTO o = {0};
	BUF_AUTO input = {0};
	struct content out;
	struct err e = {0};
	const struct manifest_tool *t = manifest_tool(&runner_view(c->runner)->m, name);
	if (args)
		json_to_buf(args, &input);
	else
		buf_adds(&input, "{}");
	const struct run_request rq = {.tool = name,
		.input = buf_str(&input),
		.ninput = input.len,
		.fresh = mcp_stateless(rev),
		.cancel_fd = cancel_fd};
	if (runner_call(c->runner, &rq, &o, &e) < 0)
		return is_told(e.code) ? refused(rev, e.msg) : not_run(c, rev, &e);
	shelve(c, &o);
	content_open(&out, rev);
	content_outcome(&out, &o, t && offer_structured(rev, t));
	return content_close(&out);
}

/* ---- api_call ------------------------------------------------------------------------------ */

/* A member that must be text without NUL; NULL where it is neither. */
static const char *text_of(const json_t *args, const char *name)
{
	const json_t *v = json_object_get(args, name);
	const char *s = json_string_value(v);
	return s && strlen(s) == json_string_length(v) ? s : NULL;
}

static int take_headers(const json_t *headers, struct strv *out, struct err *e)
{
	const char *name;
	json_t *v;
	if (headers && !json_is_object(headers))
		return err_set(e, ERR_USAGE, "'headers' is not an object");
	json_object_foreach ((json_t *)headers, name, v) {
		const char *value = json_string_value(v);
		if (!value || strlen(value) != json_string_length(v) ||
			!http_token_ok(name, strlen(name)))
			return err_set(e, ERR_USAGE, "'headers' holds what is no header");
		strv_addf(out, "%s: %s", name, value);
	}
	return out->failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static void take_body(const json_t *body, struct broker_call *b, struct buf *keep)
{
	b->has_body = body && !json_is_null(body);
	if (json_is_string(body)) {
		b->body = json_string_value(body);
		b->nbody = json_string_length(body);
	} else if (b->has_body) {
		json_to_buf(body, keep);
		b->body = buf_str(keep);
		b->nbody = keep->len;
	}
}

static int check_members(const json_t *args, struct err *e)
{
	static const char *const known[] = {
		"connection", "method", "url", "headers", "body", "save"};
	const char *name;
	json_t *v;
	json_object_foreach ((json_t *)args, name, v) {
		bool ok = false;
		for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
			ok |= strcmp(name, known[i]) == 0;
		if (!ok)
			return err_set(e, ERR_USAGE, "unknown member '%.60s'", name);
	}
	if (!text_of(args, "connection") || !text_of(args, "method") || !text_of(args, "url"))
		return err_set(
			e, ERR_USAGE, "'connection', 'method' and 'url' are needed, as text");
	const json_t *save = json_object_get(args, "save");
	if (save && !json_is_null(save) && !text_of(args, "save"))
		return err_set(e, ERR_USAGE, "'save' is not text");
	return 0;
}

static bool holds_source(void *ctx, const void *p, size_t n)
{
	return runner_holds_source(ctx, p, n);
}

static bool is_granted(const json_t *grants, const char *name, struct strv *names)
{
	size_t i;
	json_t *g;
	json_array_foreach (grants, i, g)
		strv_add(names, json_string_value(json_object_get(g, "name")));
	return strv_has(names, name);
}

/* What a buyer may hear: not of connections that others have. */
static json_t *api_failed(enum mcp_rev rev, const json_t *grants, const char *name,
	const struct broker_reply *reply, const struct err *e)
{
	STRV_AUTO names = {0};
	struct content out;
	bool granted = is_granted(grants, name, &names);
	STR_AUTO all = strv_join(&names, ", ");
	bool told = e->code == ERR_DENIED || e->code == ERR_MISSING_KEY || e->code == ERR_USAGE ||
		    e->code == ERR_LIMIT || e->code == ERR_TIMEOUT || e->code == ERR_QUOTA ||
		    e->code == ERR_TURN || (e->code == ERR_FAIL && reply->run[0]);
	content_open(&out, rev);
	out.is_error = true;
	if (!granted)
		content_textf(&out, "denied: no connection '%.64s' here; there are: %s", name,
			all ? all : "");
	else
		content_textf(&out, "%s: %s", e->code == ERR_FAIL ? "failed" : err_kind(e->code),
			told ? e->msg : "nothing was sent");
	return content_close(&out);
}

static json_t *api_answer(
	struct caller *c, enum mcp_rev rev, const struct broker_reply *r, const char *save)
{
	BUF_AUTO text = {0};
	struct content out;
	json_t *j = broker_reply_json(r, save);
	content_open(&out, rev);
	json_to_buf(j, &text);
	content_text(&out, buf_str(&text), text.len);
	if (rev >= MCP_2025_06_18)
		out.structured = json_incref(j);
	json_decref(j);
	if (r->saved) {
		const struct run_file f = {
			save, buf_str(&r->body), r->body.len, r->type, r->inline_ok};
		shelf_add(c->shelf, r->run, save, r->type, r->bytes);
		content_file(&out, r->run, &f);
	}
	return content_close(&out);
}

static json_t *api_call(
	struct caller *c, enum mcp_rev rev, const json_t *grants, const json_t *args, int cancel_fd)
{
	STRV_AUTO headers = {0};
	BUF_AUTO body = {0};
	BROKER_REPLY_AUTO reply = {0};
	struct err e = {0};
	struct broker_call b = {.view = runner_view(c->runner),
		.connection = text_of(args, "connection"),
		.buyer = c->buyer,
		.method = text_of(args, "method"),
		.url = text_of(args, "url"),
		.headers = &headers,
		.save = text_of(args, "save"),
		.cancel_fd = cancel_fd,
		.holds_source = holds_source,
		.ctx = c->runner};
	if (check_members(args, &e) < 0 ||
		take_headers(json_object_get(args, "headers"), &headers, &e) < 0)
		return refused(rev, e.msg);
	take_body(json_object_get(args, "body"), &b, &body);
	if (state_unlock(&c->st, &e) < 0)
		return not_run(c, rev, &e);
	if (broker_call(&c->broker, &c->st, &b, &reply, &e) < 0)
		return api_failed(rev, grants, b.connection, &reply, &e);
	return api_answer(c, rev, &reply, b.save);
}

/* ---- either -------------------------------------------------------------------------------- */

static json_t *dispatch(struct caller *c, enum mcp_rev rev, const char *name, const json_t *args,
	int cancel_fd, struct mcp_error *me)
{
	const struct expert_view *v = runner_view(c->runner);
	struct err e = {0};
	if (manifest_tool(&v->m, name))
		return run_tool(c, rev, name, args, cancel_fd);
	JSON_AUTO grants =
		strcmp(name, offer_api_name(&v->m)) == 0 ? conn_list_of(&c->st, v->id, &e) : NULL;
	if (e.code)
		return not_run(c, rev, &e);
	if (json_array_size(grants))
		return api_call(c, rev, grants, args, cancel_fd);
	mcp_fail(me, MCP_INVALID_PARAMS, NULL, "Unknown tool: %.80s", name);
	return NULL;
}

json_t *caller_call(struct caller *c, enum mcp_rev rev, const json_t *params, int cancel_fd,
	struct mcp_error *me)
{
	const char *name = text_of(params, "name");
	const json_t *args = json_object_get(params, "arguments");
	struct err e = {0};
	if (json_is_null(args))
		args = NULL;
	if (!name || (args && !json_is_object(args))) {
		mcp_fail(me, MCP_INVALID_PARAMS, NULL,
			"tools/call takes a 'name' and an object of 'arguments'");
		return NULL;
	}
	if (open_all(c, &e) < 0)
		return not_run(c, rev, &e);
	return dispatch(c, rev, name, args, cancel_fd, me);
}

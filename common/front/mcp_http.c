#include "front/mcp_http.h"

#include "base/file.h"
#include "base/text.h"
#include "front/mcp_head.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 1000
#define COMMENT_MS MS(15) /* between signs of life on a stream */
#define WATCH_MS 1000	  /* between looks whether a subscription's process is still there */

/* One POST, or another method, of somebody who was let in. */
struct post {
	struct visit *v;
	const struct visitor *who;
	struct mcp_accept accept;
	enum mcp_rev rev;
	json_t *m;
	struct talk *session;
	bool streaming;
	const char *new_id; /* of a session that begins with this */
};

/* ---- answers --------------------------------------------------------------------------------- */

/* id NULL is null. */
static void refuse_rpc(struct visit *v, int status, const json_t *id, const struct mcp_error *me)
{
	JSON_AUTO m = mcp_error_message(id, me);
	visit_json(v, status, NULL, 0, m);
}

static void refuse_text(struct visit *v, int status, const json_t *id, int code, const char *text)
{
	MCP_ERROR_AUTO me = {0};
	mcp_fail(&me, code, NULL, "%s", text);
	refuse_rpc(v, status, id, &me);
}

static void accepted(struct visit *v)
{
	visit_answer(v, 202, NULL, NULL, 0, "", 0);
}

static int status_of(const struct post *p, const json_t *reply)
{
	const json_t *error = json_object_get(reply, "error");
	switch (error ? json_int_of(error, "code") : 0) {
	case MCP_PARSE:
	case MCP_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_UNSUPPORTED:
		return 400;
	case MCP_NO_METHOD:
		return mcp_stateless(p->rev) ? 404 : 200;
	default:
		return 200;
	}
}

static int begin_stream(struct post *p)
{
	const struct http_header h[] = {{"Content-Type", "text/event-stream"},
		{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"},
		{"X-Accel-Buffering", "no"}, {"Mcp-Session-Id", p->new_id}};
	if (p->streaming)
		return 0;
	p->streaming = true;
	p->v->status = 200;
	http_conn_allow(p->v->r->c, 0);
	return http_request_begin(p->v->r, 200, h, sizeof h / sizeof *h);
}

static int put_piece(struct post *p, const struct buf *b)
{
	p->v->bytes += b->len;
	http_conn_allow(p->v->r->c, b->len);
	return http_request_piece(p->v->r, buf_str(b), b->len);
}

static int put_event(struct post *p, const json_t *m)
{
	BUF_AUTO b = {0};
	buf_adds(&b, "event: message\ndata: ");
	json_to_buf(m, &b);
	buf_adds(&b, "\n\n");
	if (buf_failed(&b) || begin_stream(p) < 0)
		return -1;
	return put_piece(p, &b);
}

static int put_comment(struct post *p)
{
	BUF_AUTO b = {0};
	buf_adds(&b, ": still here\n\n");
	return put_piece(p, &b);
}

static void note_run(struct visit *v, const json_t *reply)
{
	const json_t *meta = json_object_get(json_object_get(reply, "result"), "_meta");
	const char *run = json_text_of(meta, "evctl/run");
	if (*run)
		snprintf(v->run, sizeof v->run, "%.*s", (int)sizeof v->run - 1, run);
}

/* The last of the answer. */
static void put_reply(struct post *p, const json_t *m)
{
	const struct http_header id = {"Mcp-Session-Id", p->new_id};
	note_run(p->v, m);
	if (!p->streaming && p->accept.json)
		visit_json(p->v, status_of(p, m), &id, 1, m);
	else if (put_event(p, m) == 0)
		http_request_finish(p->v->r);
}

static void put_over(struct post *p, const json_t *id)
{
	MCP_ERROR_AUTO me = {0};
	mcp_fail(&me, MCP_INTERNAL, NULL, "the session ended");
	JSON_AUTO m = mcp_error_message(id, &me);
	put_reply(p, m);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/*
 * True when the client is gone. In the newer era one that has closed its stream is, in the older
 * only one that can't be written to.
 */
static bool client_gone(const struct post *p)
{
	enum http_peer peer = http_peer(p->v->r->c->fd);
	return peer == HTTP_AWAY || (peer == HTTP_CEASED && mcp_stateless(p->rev)) ||
	       p->v->r->c->dead;
}

/* Until there is something from the process (or that is over), or nobody waits for it (false). */
static bool wait_word(struct post *p, const struct asked_for *x)
{
	int64_t comment = clock_mono_ms() + COMMENT_MS;
	short of_client = mcp_stateless(p->rev) ? POLLRDHUP : 0;
	for (;;) {
		int64_t left = comment - clock_mono_ms();
		struct pollfd w[2] = {{.fd = asked_fd(x), .events = POLLIN},
			{.fd = p->v->r->c->fd, .events = of_client}};
		if (left > 0 && poll(w, 2, (int)left) < 0)
			continue;
		if (w[0].revents)
			return true;
		if (client_gone(p))
			return false;
		if (left > 0)
			continue;
		if (p->streaming && put_comment(p) < 0)
			return false;
		comment = clock_mono_ms() + COMMENT_MS;
	}
}

/* The reply, the caller's, progress told as it comes; NULL: none, *gone: nor anybody to hear it. */
static json_t *await_reply(struct post *p, struct asked_for *x, bool *gone)
{
	json_t *m = NULL;
	*gone = false;
	for (;;) {
		switch (asked_take(x, &m)) {
		case ASKED_REPLY:
			return m;
		case ASKED_PROGRESS:
			*gone = p->accept.stream && put_event(p, m) < 0;
			json_decref(m);
			break;
		case ASKED_OVER:
			return NULL;
		case ASKED_WAIT:
			*gone = !wait_word(p, x);
			break;
		}
		if (*gone)
			return NULL;
	}
}

static void relay(struct post *p)
{
	bool gone;
	json_t *id = json_incref(json_object_get(p->m, "id"));
	struct asked_for *x = asked_open(p->session, p->m);
	json_t *m = x ? await_reply(p, x, &gone) : NULL;
	if (m && p->new_id)
		talk_settle(p->session, mcp_rev_named(json_text_of(
						json_object_get(m, "result"), "protocolVersion")));
	if (m)
		put_reply(p, m);
	else if (!x || !gone)
		put_over(p, id);
	else if (mcp_stateless(p->rev))
		asked_cancel(x);
	if (x && !m && gone)
		p->v->r->c->dead = true;
	asked_close(&x);
	json_decref(m);
	json_decref(id);
}

/* ---- the newer era --------------------------------------------------------------------------- */

/*
 * A stream of changes that never come. It has a process, which it does not keep: the stream ends
 * with it.
 */
static void listen_to(struct post *p)
{
	const json_t *id = json_object_get(p->m, "id");
	if (!json_is_object(json_object_get(json_object_get(p->m, "params"), "notifications"))) {
		refuse_text(p->v, 200, id, MCP_INVALID_PARAMS, "'notifications' is needed");
		return;
	}
	if (!p->accept.stream) {
		refuse_text(p->v, 406, id, MCP_INVALID_REQUEST, "this answers with a stream");
		return;
	}
	if (!talk_listen(p->session)) {
		refuse_text(p->v, 429, id, MCP_INVALID_REQUEST, "two streams at most are open");
		return;
	}
	JSON_AUTO ack = mcp_notification("notifications/subscriptions/acknowledged",
		json_pack("{s:{s:O},s:{}}", "_meta", "io.modelcontextprotocol/subscriptionId", id,
			"notifications"));
	bool fine = put_event(p, ack) == 0;
	int64_t comment = clock_mono_ms() + COMMENT_MS;
	while (fine && !talk_over(p->session) && !client_gone(p)) {
		struct pollfd w = {.fd = p->v->r->c->fd, .events = POLLRDHUP};
		poll(&w, 1, WATCH_MS);
		if (clock_mono_ms() < comment)
			continue;
		fine = put_comment(p) == 0;
		comment = clock_mono_ms() + COMMENT_MS;
	}
	talk_unlisten(&p->session);
	if (fine)
		http_request_finish(p->v->r);
}

static void refuse_session(struct post *p, int status)
{
	const struct http_header later = {"Retry-After", "10"};
	JSON_AUTO body = NULL;
	MCP_ERROR_AUTO me = {0};
	mcp_fail(&me, MCP_INTERNAL, NULL, "%s",
		status == 503 ? "too many sessions: try again in a moment" : "not for this token");
	body = mcp_error_message(json_object_get(p->m, "id"), &me);
	visit_json(p->v, status, &later, status == 503, body);
}

static void modern_request(struct post *p)
{
	MCP_ERROR_AUTO me = {0};
	if (mcp_head_check(&p->v->r->head, p->m, &me) < 0) {
		refuse_rpc(p->v, 400, json_object_get(p->m, "id"), &me);
		return;
	}
	int status = talk_borrow(p->v->f->sessions, p->who, &p->session);
	if (status)
		refuse_session(p, status);
	else if (strcmp(json_text_of(p->m, "method"), "subscriptions/listen") == 0)
		listen_to(p);
	else
		relay(p);
}

/* ---- the older era --------------------------------------------------------------------------- */

static void initialize(struct post *p)
{
	char id[TALK_ID_SIZE];
	int status = talk_open(p->v->f->sessions, p->who, &p->session);
	if (status) {
		refuse_session(p, status);
		return;
	}
	memcpy(id, talk_id(p->session), sizeof id);
	p->new_id = id;
	relay(p);
	p->new_id = NULL;
}

/* The session that the request names; false: refused. */
static bool find_session(struct post *p)
{
	bool twice;
	struct http_text v = visit_field(p->v, "Mcp-Session-Id", &twice);
	STR_AUTO id = v.p && !twice ? strndup(v.p, v.n) : NULL;
	const json_t *of = json_object_get(p->m, "id");
	if (!id) {
		refuse_text(p->v, 400, of, MCP_INVALID_REQUEST,
			twice ? "Mcp-Session-Id comes twice"
			      : "Mcp-Session-Id is missing: begin with initialize");
		return false;
	}
	p->session = talk_find(p->v->f->sessions, p->who, id);
	if (!p->session)
		refuse_text(p->v, 404, of, MCP_INVALID_REQUEST, "Session not found");
	return p->session != NULL;
}

static void old_message(struct post *p, enum mcp_kind kind)
{
	bool begins =
		kind == MCP_REQUEST && strcmp(json_text_of(p->m, "method"), "initialize") == 0;
	if (begins) {
		initialize(p);
		return;
	}
	if (!find_session(p))
		return;
	if (kind == MCP_REQUEST) {
		relay(p);
		return;
	}
	if (kind == MCP_NOTIFICATION)
		talk_notify(p->session, p->m);
	accepted(p->v);
}

/* ---- batches: of 2025-03-26 alone ------------------------------------------------------------ */

struct batch_replies {
	struct asked_for *x[BATCH_MAX];
	json_t *id[BATCH_MAX], *replies;
	size_t n;
};

static void batch_refuse(struct batch_replies *b, const json_t *id, const struct mcp_error *me)
{
	json_array_append_new(b->replies, mcp_error_message(id, me));
}

static void batch_send(struct post *p, struct batch_replies *b, json_t *m)
{
	MCP_ERROR_AUTO me = {0};
	enum mcp_kind kind;
	const json_t *id = json_object_get(m, "id");
	if (mcp_kind_of(m, &kind, &me) < 0) {
		batch_refuse(b, NULL, &me);
	} else if (kind == MCP_REQUEST && strcmp(json_text_of(m, "method"), "initialize") == 0) {
		mcp_fail(&me, MCP_INVALID_REQUEST, NULL, "not within a batch");
		batch_refuse(b, id, &me);
	} else if (kind == MCP_REQUEST) {
		b->id[b->n] = json_deep_copy(id);
		b->x[b->n++] = asked_open(p->session, m);
	} else if (kind == MCP_NOTIFICATION) {
		talk_notify(p->session, m);
	}
}

static void batch_collect(struct post *p, struct batch_replies *b)
{
	MCP_ERROR_AUTO me = {0};
	bool gone = false;
	mcp_fail(&me, MCP_INTERNAL, NULL, "the session ended");
	for (size_t i = 0; i < b->n; i++) {
		json_t *m = b->x[i] && !gone ? await_reply(p, b->x[i], &gone) : NULL;
		if (m)
			json_array_append_new(b->replies, m);
		else
			batch_refuse(b, b->id[i], &me);
		asked_close(&b->x[i]);
		json_decref(b->id[i]);
	}
	if (gone)
		p->v->r->c->dead = true;
	else if (json_array_size(b->replies))
		put_reply(p, b->replies);
	else
		accepted(p->v);
}

static void old_batch(struct post *p)
{
	size_t i, n = json_array_size(p->m);
	json_t *m;
	if (!find_session(p))
		return;
	if (talk_rev(p->session) != MCP_2025_03_26 || !n || n > BATCH_MAX) {
		refuse_text(p->v, 400, NULL, MCP_INVALID_REQUEST,
			n && n <= BATCH_MAX ? "no batches in this revision" : "Invalid Request");
		return;
	}
	struct batch_replies *b = calloc(1, sizeof *b);
	if (!b || !(b->replies = json_array())) {
		free(b);
		refuse_text(p->v, 503, NULL, MCP_INTERNAL, "out of memory");
		return;
	}
	json_array_foreach (p->m, i, m)
		batch_send(p, b, m);
	batch_collect(p, b);
	json_decref(b->replies);
	free(b);
}

/* ---- what was asked -------------------------------------------------------------------------- */

static void on_body(struct post *p)
{
	MCP_ERROR_AUTO me = {0};
	enum mcp_kind kind;
	const struct http_head *h = &p->v->r->head;
	const json_t *id = json_object_get(p->m, "id");
	if (mcp_head_rev(h, p->m, &p->rev, &me) < 0) {
		refuse_rpc(p->v, 400, id, &me);
	} else if (json_is_array(p->m) && !mcp_stateless(p->rev)) {
		snprintf(p->v->method, sizeof p->v->method, "batch");
		old_batch(p);
	} else if (mcp_kind_of(p->m, &kind, &me) < 0) {
		refuse_rpc(p->v, 400, json_is_string(id) || json_is_integer(id) ? id : NULL, &me);
	} else {
		snprintf(p->v->method, sizeof p->v->method, "%s",
			kind == MCP_RESPONSE ? "response" : json_text_of(p->m, "method"));
		if (!mcp_stateless(p->rev))
			old_message(p, kind);
		else if (kind == MCP_REQUEST)
			modern_request(p);
		else
			accepted(p->v);
	}
}

static void post(struct visit *v, const struct visitor *who)
{
	BUF_AUTO body = {0};
	MCP_ERROR_AUTO me = {0};
	struct post p = {.v = v, .who = who, .accept = mcp_accept_of(&v->r->head)};
	if (!p.accept.json && !p.accept.stream) {
		visit_refuse(v, 406, "usage", "Accept: application/json, text/event-stream");
		return;
	}
	if (!mcp_is_json(&v->r->head)) {
		visit_refuse(v, 415, "usage", "Content-Type: application/json");
		return;
	}
	int status = visit_body(v, MB(LIMIT_INPUT_MB), &body);
	if (status < 0)
		return;
	if (status) {
		refuse_text(v, status, NULL, MCP_INVALID_REQUEST,
			status == 413 ? "the body is over " LIMIT_TEXT(LIMIT_INPUT_MB) " MB"
				      : "the body is malformed");
		return;
	}
	p.m = mcp_body_parse(buf_str(&body), body.len, &me);
	if (p.m)
		on_body(&p);
	else
		refuse_rpc(v, 400, NULL, &me);
	talk_release(&p.session);
	json_decref(p.m);
}

/* A client that is through with its session says so. */
static void delete (struct visit *v, const struct visitor *who)
{
	bool twice;
	struct post p = {.v = v, .who = who};
	struct http_text rev = visit_field(v, "MCP-Protocol-Version", &twice);
	if (http_is(rev, mcp_rev_name(MCP_2026_07_28))) {
		const struct http_header allow = {"Allow", "POST"};
		visit_answer(v, 405, NULL, &allow, 1, "", 0);
		return;
	}
	if (!find_session(&p))
		return;
	talk_end(p.session);
	talk_release(&p.session);
	visit_answer(v, 204, NULL, NULL, 0, "", 0);
}

void mcp_http(struct visit *v, const char *expert)
{
	struct visitor who;
	STR_AUTO token = NULL;
	if (!visit_admit(v, expert, &token, &who))
		return;
	if (http_request_is(v->r, "POST") && v->f->draining)
		visit_refuse(v, 503, "busy", "the door is closing");
	else if (http_request_is(v->r, "POST"))
		post(v, &who);
	else if (http_request_is(v->r, "DELETE"))
		delete (v, &who);
	else
		visit_answer(
			v, 405, NULL, &(struct http_header){"Allow", "POST, DELETE"}, 1, "", 0);
	if (token)
		explicit_bzero(token, strlen(token));
}

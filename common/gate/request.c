#include "gate/request.h"

#include "base/file.h"
#include "gate/request_answer.h"
#include "gate/request_body.h"
#include "base/vault.h"

#include <stdio.h>
#include <string.h>

#define GRACE_MS 500 /* before the call's end: time to tell the code of a timeout */

struct request {
	struct call *call;
	struct refusal no;
	struct request_head head;
	struct request_body body;
	struct request_answer answer;
	bool probed;
	int64_t at, began; /* when the head had come in */
};

/* ---- the way out ---- */

static ssize_t on_read(void *arg, void *p, size_t n)
{
	return request_body_read(&((struct request *)arg)->body, p, n);
}

static bool on_rewind(void *arg)
{
	return request_body_rewind(&((struct request *)arg)->body);
}

static int on_head(void *arg, const struct upstream_head *h)
{
	return request_answer_head(&((struct request *)arg)->answer, h);
}

static int on_body(void *arg, const void *p, size_t n)
{
	return request_answer_body(&((struct request *)arg)->answer, p, n);
}

static int on_idle(void *arg)
{
	struct request *r = arg;
	bool waits = r->answer.head_sent && !r->answer.held;
	return r->call->over || (waits && http_conn_flush(r->head.in.c) < 0) ? -1 : 0;
}

/* Once it has ceased to send it is asked whether it still reads. */
static enum http_peer on_client(void *arg)
{
	struct request *r = arg;
	const struct http_conn *c = r->head.in.c;
	enum http_peer peer = http_peer(c->fd);
	if (peer != HTTP_CEASED || r->probed)
		return peer;
	r->probed = true;
	request_answer_probe(&r->answer);
	return c->dead ? HTTP_AWAY : http_peer(c->fd);
}

static void note_end(struct request *r, enum upstream_end end, const char *why)
{
	static const struct {
		int status;
		const char *reason;
	} as[] = {[UPSTREAM_STOPPED] = {502, "client-gone"},
		[UPSTREAM_ADDRESS] = {403, "address"},
		[UPSTREAM_UNREACHABLE] = {502, "unreachable"},
		[UPSTREAM_CERTIFICATE] = {502, "certificate"},
		[UPSTREAM_TLS] = {502, "tls"},
		[UPSTREAM_TIMEOUT] = {504, "timeout"},
		[UPSTREAM_BROKEN] = {502, "broken"}};
	const struct policy_row *row = r->head.v.row;
	bool needs_place = host_is_wildcard(&row->host) && !row->host.route.connect_to;
	if (end == UPSTREAM_ADDRESS && !row->host.route.allow_private)
		refuse_row(&r->no, as[end].status, as[end].reason, why, "evctl-host set", row,
			needs_place ? " --connect-to ADDR:PORT --allow-private yes"
				    : " --allow-private yes");
	else
		refuse(&r->no, as[end].status, as[end].reason, why, NULL);
}

static int64_t body_length(const struct http_head *h)
{
	if (h->chunked)
		return UPSTREAM_CHUNKED;
	bool usual = http_is(h->method, "POST") || http_is(h->method, "PUT") ||
		     http_is(h->method, "PATCH");
	return h->length || usual ? h->length : UPSTREAM_NO_BODY;
}

static void forward(struct request *r)
{
	const char *why;
	const struct request_head *h = &r->head;
	int64_t left = r->call->deadline - clock_mono_ms();
	struct upstream_request q = {.host = h->v.host,
		.port = h->in.c->port,
		.tls = h->in.c->tls != NULL,
		.method = h->lines.data,
		.target = h->lines.data + strlen(h->lines.data) + 1,
		.fields = h->fields,
		.length = body_length(&h->in.head),
		.streams = !h->in.body_done,
		.deadline = r->call->deadline - (left / 10 < GRACE_MS ? left / 10 : GRACE_MS),
		.wait_fd = h->in.c->fd,
		.arg = r,
		.read = on_read,
		.rewind = on_rewind,
		.head = on_head,
		.body = on_body,
		.idle = on_idle,
		.client = on_client};
	enum upstream_end end = upstream_run(h->row->up, &q, &why);
	if (end != UPSTREAM_OK)
		note_end(r, end, why);
	else
		request_answer_end(&r->answer);
}

/* Once the head is fine. */
static void serve(struct request *r)
{
	struct request_head *h = &r->head;
	r->answer.unswap.l = h->swaps ? h->row->unswap : NULL;
	if (request_head_write(h, &r->no) < 0 || request_body_guard(&r->body, h, &r->no) < 0)
		return;
	if (!call_enter(r->call)) {
		refuse(&r->no, 504, "timeout", "too many requests at once", NULL);
		return;
	}
	/* Those that left while they waited must not keep the others waiting. */
	if (on_client(r) == HTTP_AWAY)
		note_end(r, UPSTREAM_STOPPED, "");
	else
		forward(r);
	call_leave(r->call);
}

/* ---- what is written down ---- */

static void scrub_into(struct request *r, struct http_text t, char *out, size_t size)
{
	char *copy = wipe_malloc(t.n + 1);
	out[0] = '\0';
	if (!copy)
		return;
	memcpy(copy, t.p, t.n);
	copy[t.n] = '\0';
	const struct leak *scrub = call_scrub(r->call);
	if (scrub)
		leak_replace(scrub, copy, t.n);
	else
		copy[0] = '\0';
	snprintf(out, size, "%s", copy);
	wipe_free(copy);
}

static void write_event(struct request *r, struct events *events, int status)
{
	char path[EVENT_PATH_MAX] = "", host[HOST_MAX] = "", method[40] = "-";
	const struct request_head *h = &r->head;
	struct http_text p = h->in.head.target;
	const char *query = p.n ? memchr(p.p, '?', p.n) : NULL;
	if (query)
		p.n = (size_t)(query - p.p);
	if (h->v.host[0]) {
		scrub_into(r, p, path, sizeof path);
		scrub_into(r, (struct http_text){h->v.host, strlen(h->v.host)}, host, sizeof host);
		scrub_into(r, h->in.head.method, method, sizeof method);
	}
	const struct net_event e = {.at = r->at,
		.method = method,
		.host = host,
		.path = path,
		.port = h->in.c->port,
		.status = status,
		.up = h->in.got,
		.down = r->answer.got,
		.ms = clock_mono_ms() - r->began,
		.verdict = r->no.status ? r->no.reason : "allowed"};
	events_add(events, &e, r->no.status >= 500);
}

bool request_serve(struct call *call, struct events *events, struct http_conn *c, bool *clean)
{
	struct request r = {.call = call};
	struct http_request *in = &r.head.in;
	r.answer = (struct request_answer){.in = in, .no = &r.no, .left = -1};
	int rc = request_head_read(&r.head, call, c, &r.no);
	r.at = clock_real_ms();
	r.began = clock_mono_ms();
	if (rc > 0)
		serve(&r);
	*clean = !(r.no.status && r.answer.head_sent);
	bool refused = r.no.status && !r.answer.head_sent && !c->dead;
	/* Before the answer's last bytes: whoever has it whole finds it in the log, whatever dies.
	 */
	if (rc != 0)
		write_event(&r, events, refused ? r.no.status : r.answer.status);
	if (refused)
		request_answer_refuse(&r.answer);
	else if (*clean)
		http_conn_flush(c);
	if (*clean && rc != 0 && !in->body_done)
		http_conn_drain(c);
	bool more = rc != 0 && *clean && !in->close && !c->dead && in->body_done && !call->over;
	request_answer_free(&r.answer);
	request_body_free(&r.body);
	request_head_free(&r.head);
	return more;
}

#include "broker/broker.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/magic.h"
#include "base/text.h"
#include "broker/scrub.h"
#include "base/b64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ways out, kept while their rules stay the same ---------------------------------------- */

struct broker_way {
	struct upstream *up;
	int64_t connection;
	struct route route;
	struct broker_way *next;
};

static void way_free(struct broker_way *w)
{
	upstream_free(&w->up);
	route_free(&w->route);
	free(w);
}

void broker_free(struct broker *b)
{
	while (b->ways) {
		struct broker_way *w = b->ways;
		b->ways = w->next;
		way_free(w);
	}
}

static struct broker_way *way_new(const struct conn *c, struct err *e)
{
	struct broker_way *w = calloc(1, sizeof *w);
	if (!w) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	w->connection = c->id;
	if (route_copy(&w->route, &c->route, e) == 0)
		w->up = upstream_new(&w->route, e);
	if (w->up)
		return w;
	way_free(w);
	return NULL;
}

/* A kept connection is not judged again: other rules need a way of their own. */
static struct upstream *way_to(struct broker *b, const struct conn *c, struct err *e)
{
	struct broker_way **at = &b->ways;
	while (*at && (*at)->connection != c->id)
		at = &(*at)->next;
	if (*at && route_same(&(*at)->route, &c->route))
		return (*at)->up;
	struct broker_way *w = way_new(c, e);
	if (!w)
		return NULL;
	struct broker_way *old = *at;
	w->next = old ? old->next : NULL;
	*at = w;
	if (old)
		way_free(old);
	return w->up;
}

/* ---- what may be called -------------------------------------------------------------------- */

struct calling {
	const struct broker_call *c;
	struct broker_url url;
	struct conn conn;
	struct secret key;
	struct transfer_answer answer;
	struct broker_reply *reply;
	enum run_status status;
	const char *verdict; /* of the event */
	const char *reason;  /* for the owner; static */
	int64_t at;	     /* ms since the epoch */
	bool buyer_pays;     /* once the key is there */
};

static int deny(struct calling *g, const char *verdict, struct err *e, const char *what)
{
	STR_AUTO list = strv_join(&g->conn.hosts, ", ");
	g->verdict = verdict;
	return err_set(e, ERR_DENIED, "host '%s' %s of connection '%s': %s", g->url.text, what,
		g->c->connection, list ? list : "");
}

static int check_grant(struct calling *g, struct state *st, bool *buyer_pays, struct err *e)
{
	const struct broker_call *c = g->c;
	struct expert x = {.id = c->view->id, .name = c->view->name};
	bool granted;
	if (conn_granted(st, &g->conn, &x, &granted, buyer_pays, e) < 0)
		return -1;
	if (granted)
		return 0;
	STR_AUTO list = strv_join(&g->conn.hosts, ", ");
	g->verdict = "grant";
	err_set(e, ERR_DENIED,
		"host '%s' is refused: connection '%s' (%s) is not granted to expert '%s'",
		g->url.text, c->connection, list ? list : "", c->view->name);
	return err_hint(
		e, "evctl-conn grant %s %s --payer builder|buyer", c->connection, c->view->name);
}

static int check_host(struct calling *g, struct err *e)
{
	if (!strv_has(&g->conn.hosts, g->url.text) || !g->url.host[0]) {
		deny(g, "host", e, "is not on the list");
		return err_hint(e, "evctl-conn show %s", g->c->connection);
	}
	if (!g->url.https)
		return deny(g, "plain", e, "is reached by HTTPS only: it is on the list");
	return 0;
}

static int open_key(struct calling *g, struct state *st, bool buyer_pays, struct err *e)
{
	struct expert x = {.id = g->c->view->id, .name = g->c->view->name};
	g->buyer_pays = buyer_pays;
	if (conn_key(st, &g->conn, &x, buyer_pays, g->c->buyer, &g->key, e) == 0)
		return 0;
	g->verdict = e->code == ERR_MISSING_KEY ? "missing-key" : "key";
	return -1;
}

/* As for files in outputs/; nor anything that is a path to some and a name to others. */
static int check_save(const char *name, struct err *e)
{
	const char *why = strchr(name, '\\') ? "name has a backslash" : text_artifact_fault(name);
	if (!why)
		return 0;
	err_set(e, ERR_USAGE, "not a name for an artifact: %s", why);
	return err_hint(e, "a relative path such as pictures/cat.png");
}

/* Nor has an artifact's name the key in it. */
static int check_save_key(struct calling *g, struct err *e)
{
	STR_AUTO copy = g->c->save && g->key.n ? strdup(g->c->save) : NULL;
	SCRUB_AUTO scrub = {0};
	if (!copy)
		return 0;
	g->verdict = "key";
	if (scrub_make(&scrub, &g->key) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	scrub_text(&scrub, copy, strlen(copy));
	if (strcmp(copy, g->c->save) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "not a name for an artifact: it holds the connection's key");
}

/* ---- the call ------------------------------------------------------------------------------ */

static struct transfer_request request_of(const struct calling *g)
{
	const struct broker_call *c = g->c;
	return (struct transfer_request){.url = &g->url,
		.method = c->method,
		.headers = c->headers,
		.body = c->body,
		.nbody = c->nbody,
		.has_body = c->has_body,
		.auth = g->conn.auth,
		.key = &g->key,
		.answer_max = c->save ? MB(LIMIT_API_SAVE_MB) : MB(LIMIT_API_ANSWER_MB),
		.deadline = clock_mono_ms() + MS(LIMIT_API_S),
		.cancel_fd = c->cancel_fd};
}

static int holds_source(const struct calling *g, const void *p, size_t n)
{
	return g->c->holds_source && n && g->c->holds_source(g->c->ctx, p, n);
}

static int check_source(struct calling *g, struct err *e)
{
	const struct transfer_answer *a = &g->answer;
	BUF_AUTO headers = {0};
	json_to_buf(a->headers, &headers);
	if (!holds_source(g, buf_str(&a->body), a->body.len) &&
		!holds_source(g, buf_str(&headers), headers.len))
		return 0;
	g->reason = "the answer holds the expert's source";
	g->answer.verdict = "source";
	return err_set(e, ERR_FAIL, "the answer is withheld");
}

/* What would let the request through, where a flag of the connection does. */
static void hint_flags(const struct calling *g, struct err *e)
{
	const char *verdict = g->answer.verdict ? g->answer.verdict : "", *name = g->conn.name;
	if (strcmp(verdict, "address") == 0 && !g->conn.route.allow_private)
		err_hint(e, "if it is meant to: evctl-conn set %s --allow-private yes", name);
	else if (strcmp(verdict, "certificate") == 0)
		err_hint(e, "if it has a CA of its own: evctl-conn set %s --ca-file PEM", name);
	else if (strcmp(verdict, "unreachable") == 0)
		err_hint(e, "where it is looked for: evctl-conn show %s", name);
}

static int pass(struct calling *g, struct broker *b, struct state *st, struct err *e)
{
	bool buyer_pays;
	if (check_grant(g, st, &buyer_pays, e) < 0 || check_host(g, e) < 0 ||
		open_key(g, st, buyer_pays, e) < 0 || check_save_key(g, e) < 0)
		return -1;
	struct upstream *up = way_to(b, &g->conn, e);
	struct transfer_request q = request_of(g);
	g->verdict = "broken";
	if (!up)
		return -1;
	int r = transfer_run(up, &q, &g->answer, e);
	if (r == 0)
		r = check_source(g, e);
	g->verdict = g->answer.verdict;
	if (r < 0 && e->code == ERR_DENIED) {
		STR_AUTO list = strv_join(&g->conn.hosts, ", ");
		err_wrap(e, "host '%s' of connection '%s' (%s)", g->url.text, g->conn.name,
			list ? list : "");
	}
	if (r < 0)
		hint_flags(g, e);
	return r;
}

static enum run_status status_of(int r, const struct err *e)
{
	if (r == 0)
		return RUN_OK;
	return e->code == ERR_TIMEOUT	    ? RUN_TIMEOUT
	       : e->code == ERR_LIMIT	    ? RUN_LIMIT
	       : e->code == ERR_MISSING_KEY ? RUN_MISSING_KEY
					    : RUN_FAILED;
}

/* What is written down: the path without its query, and never the key. */
static char *event_path(const struct calling *g)
{
	char *path = strndup(g->url.target, strcspn(g->url.target, "?"));
	SCRUB_AUTO scrub = {0};
	if (!path || !g->key.n)
		return path;
	if (scrub_make(&scrub, &g->key) == 0) {
		scrub_text(&scrub, path, strlen(path));
		return path;
	}
	free(path);
	return NULL;
}

static void fill_input(const struct calling *g, struct buf *b)
{
	const struct broker_call *c = g->c;
	json_t *headers = json_array();
	for (size_t i = 0; c->headers && i < c->headers->n; i++)
		json_array_append_new(
			headers, json_text(c->headers->v[i], strlen(c->headers->v[i])));
	JSON_AUTO j = json_pack("{s:s,s:s,s:s,s:o,s:o,s:s?}", "connection", c->connection, "method",
		c->method, "url", c->url, "headers", headers, "body",
		c->has_body ? json_text(c->body ? c->body : "", c->nbody) : json_null(), "save",
		c->save);
	SCRUB_AUTO scrub = {0};
	json_to_buf(j, b);
	if (g->key.n && b->len && scrub_make(&scrub, &g->key) == 0)
		scrub_text(&scrub, b->data, b->len);
}

static bool saves(const struct calling *g, int r)
{
	return r == 0 && g->c->save && g->answer.status >= 200 && g->answer.status < 300;
}

/* As a tool's: what went over the wire, and whose key it took. */
static json_t *detail_of(const struct calling *g, int r)
{
	const struct transfer_answer *a = &g->answer;
	bool allowed = strcmp(g->verdict, "allowed") == 0;
	bool refused = !allowed && !a->verdict;
	json_t *keys = json_object();
	if (g->key.n)
		json_object_set_new(
			keys, g->conn.env, json_string(g->buyer_pays ? "buyer" : "builder"));
	return json_pack("{s:{s:i,s:i,s:i,s:I,s:I,s:i},s:o}", "egress", "requests", 1, "refused",
		(int)refused, "failed", (int)(r < 0 && !refused), "up", (json_int_t)a->up, "down",
		(json_int_t)a->down, "truncated", 0, "keys", keys);
}

static int record(struct calling *g, struct state *st, int r, struct err *why, struct err *e)
{
	const struct transfer_answer *a = &g->answer;
	STR_AUTO path = event_path(g);
	BUF_AUTO input = {.limit = 4 << 20};
	BUF_AUTO log = {0};
	struct magic m = magic_of(buf_str(&a->body), a->body.len);
	struct net_event event = {.at = g->at,
		.method = (char *)g->c->method,
		.host = g->url.host[0] ? g->url.host : g->url.text,
		.path = path ? path : (char *)"",
		.port = g->url.port,
		.status = a->status,
		.up = a->up,
		.down = a->down,
		.ms = a->ms,
		.verdict = (char *)g->verdict};
	struct run_artifact artifact = {
		g->c->save, buf_str(&a->body), a->body.len, m.type, m.inline_ok};
	fill_input(g, &input);
	buf_addf(&log, "%s https://%s%s: %s, status %d\n", g->c->method, g->url.text, event.path,
		g->verdict, a->status);
	struct run_end end = {.status = status_of(r, why),
		.reason = r < 0 ? (g->reason ? g->reason : why->msg) : NULL,
		.ms = clock_real_ms() - g->at,
		.log = buf_str(&log),
		.nlog = log.len,
		.input = buf_str(&input),
		.ninput = input.len,
		.artifacts = &artifact,
		.nartifacts = saves(g, r),
		.events = &event,
		.nevents = 1,
		.detail = detail_of(g, r)};
	g->reply->type = m.type;
	g->reply->inline_ok = m.inline_ok;
	g->reply->ms = end.ms;
	return run_finish(st, g->reply->run, &end, e);
}

/* The answer changes hands. An error page is an answer to be read, not a picture to be kept. */
static int hand_over(struct calling *g, struct err *e)
{
	struct broker_reply *r = g->reply;
	struct transfer_answer *a = &g->answer;
	r->status = a->status;
	r->headers = json_incref(a->headers);
	r->saved = saves(g, 0);
	r->bytes = a->body.len;
	if (!r->saved && a->body.len > MB(LIMIT_API_ANSWER_MB))
		return err_set(
			e, ERR_LIMIT, "the answer is over " LIMIT_TEXT(LIMIT_API_ANSWER_MB) " MB");
	r->body = a->body;
	a->body = (struct buf){0};
	return 0;
}

static int begin(struct calling *g, struct state *st, struct err *e)
{
	const struct broker_call *c = g->c;
	char tool[80];
	snprintf(tool, sizeof tool, "api_call %s", c->connection);
	struct run_start s = {.expert = c->view->name,
		.tool = tool,
		.version = c->view->version,
		.buyer = c->buyer,
		.session = c->session};
	g->at = clock_real_ms();
	return run_begin(st, &s, g->reply->run, e);
}

static int go(struct calling *g, struct broker *b, struct state *st, struct err *e)
{
	const struct broker_call *c = g->c;
	struct transfer_request q = request_of(g);
	struct err why = {0};
	if (transfer_check(&q, e) < 0 || (c->save && check_save(c->save, e) < 0) ||
		broker_url_parse(c->url, &g->url, e) < 0 ||
		conn_find(st, c->connection, &g->conn, e) < 0 || begin(g, st, e) < 0)
		return -1;
	int r = pass(g, b, st, &why);
	if (record(g, st, r, &why, e) < 0)
		return -1;
	if (r == 0)
		return hand_over(g, e);
	*e = why;
	return -1;
}

int broker_call(struct broker *b, struct state *st, const struct broker_call *c,
	struct broker_reply *r, struct err *e)
{
	struct calling g = {.c = c, .reply = r, .verdict = "broken"};
	*r = (struct broker_reply){0};
	int rc = go(&g, b, st, e);
	broker_url_free(&g.url);
	conn_free(&g.conn);
	secret_free(&g.key);
	transfer_answer_free(&g.answer);
	return rc;
}

void broker_reply_free(struct broker_reply *r)
{
	json_decref(r->headers);
	buf_free(&r->body);
	*r = (struct broker_reply){0};
}

json_t *broker_reply_json(const struct broker_reply *r, const char *save)
{
	json_t *j = json_pack("{s:i,s:O}", "status", r->status, "headers", r->headers);
	if (r->saved) {
		json_object_set_new(j, "artifact",
			json_pack("{s:s,s:s,s:I,s:s,s:b}", "run", r->run, "name", save, "bytes",
				(json_int_t)r->bytes, "type", r->type, "inline",
				(int)r->inline_ok));
		return j;
	}
	json_t *text = json_stringn(buf_str(&r->body), r->body.len);
	if (text) {
		json_object_set_new(j, "body", text);
		return j;
	}
	BUF_AUTO b64 = {0};
	b64_encode(r->body.data, r->body.len, &b64);
	json_object_set_new(j, "body", json_stringn(buf_str(&b64), b64.len));
	json_object_set_new(j, "encoding", json_string("base64"));
	return j;
}

/* ---- trying it out ------------------------------------------------------------------------- */

static json_t *test_host(struct upstream *up, const struct conn *c, const struct secret *key,
	const char *host, const char *path, bool *ok)
{
	BROKER_URL_AUTO url = {0};
	struct transfer_answer a = {0};
	struct err why = {0};
	STR_AUTO text = NULL;
	if (asprintf(&text, "https://%s%s", host, path) < 0)
		text = NULL;
	int r = text ? broker_url_parse(text, &url, &why) : -1;
	struct transfer_request q = {.url = &url,
		.method = "HEAD",
		.auth = c->auth,
		.key = key,
		.answer_max = MB(LIMIT_API_ANSWER_MB),
		.deadline = clock_mono_ms() + MS(LIMIT_API_S),
		.cancel_fd = -1};
	if (r == 0)
		r = transfer_run(up, &q, &a, &why);
	bool barred = r == 0 && key->n && (a.status == 401 || a.status == 403);
	*ok = r == 0 && !barred;
	json_t *row = json_pack("{s:s,s:s,s:o,s:o}", "host", host, "result",
		r < 0	 ? "refused"
		: barred ? "unauthorised"
			 : "reachable",
		"status", r == 0 ? json_integer(a.status) : json_null(), "why",
		r < 0 ? json_string(why.msg) : json_null());
	transfer_answer_free(&a);
	return row;
}

static json_t *test_all(struct broker *b, const struct conn *c, const struct secret *key,
	const char *path, bool *all, struct err *e)
{
	struct upstream *up = way_to(b, c, e);
	json_t *rows = up ? json_array() : NULL;
	*all = true;
	for (size_t i = 0; rows && i < c->hosts.n; i++) {
		bool ok;
		json_array_append_new(rows, test_host(up, c, key, c->hosts.v[i], path, &ok));
		*all = *all && ok;
	}
	return rows;
}

json_t *broker_test(
	struct state *st, const struct conn *c, const char *path, bool *all, struct err *e)
{
	SECRET_AUTO key = {0};
	struct broker b = {0};
	struct expert nobody = {0};
	BROKER_URL_AUTO url = {0};
	BUF_AUTO probe = {0};
	buf_addf(&probe, "https://x.example%s", path);
	if (path[0] != '/' || broker_url_parse(buf_str(&probe), &url, e) < 0) {
		err_set(e, ERR_USAGE, "not a path: '%.80s'", path);
		return NULL;
	}
	if (c->has_value && conn_key(st, c, &nobody, false, NULL, &key, e) < 0)
		return NULL;
	json_t *rows = test_all(&b, c, &key, path, all, e);
	broker_free(&b);
	return rows;
}

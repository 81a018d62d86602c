#include "front/front.h"

#include "base/file.h"
#include "front/front_metrics.h"
#include "front/front_page.h"
#include "front/front_tls.h"
#include "front/mcp_http.h"
#include "front/run_call.h"
#include "net/http_pool.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define RULES_MS MS(10)
#define HANDSHAKE_MS MS(10)
#define HEAD_MS MS(10)
#define IDLE_MS MS(120) /* between two requests */
#define DRAIN_MS MS(30) /* for the calls that run when all ends */
#define HEADERS_MOST 100
#define METADATA "/.well-known/oauth-protected-resource"

/* How many connections an address has. */
struct peers {
	pthread_mutex_t lock;
	struct peer {
		char network[64];
		int n;
	} * v;
	size_t n;
};

struct door_front {
	struct front f;
	struct buf rules_text; /* what f.rules points into */
	struct front_tls *tls;
	struct http_pool *pool;
	struct http_service service;
	struct peers peers;
	int control, listener, metrics, stop;
	atomic_bool ended;
};

/* ---- one request ------------------------------------------------------------------------------
 */

static bool is_loopback(struct http_text host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; i < 3; i++) {
		size_t n = strlen(names[i]);
		if (host.n >= n && http_is((struct http_text){host.p, n}, names[i]) &&
			(host.n == n || (host.p[n] == ':' && strspn(host.p + n + 1, "0123456789") >=
								     host.n - n - 1)))
			return true;
	}
	return false;
}

/* The public URL's host, with or without the port that its scheme has anyway. */
static bool is_public(const char *url, struct http_text host)
{
	const char *at = url ? strstr(url, "://") : NULL;
	if (!at)
		return false;
	at += 3;
	const char *standard = strncmp(url, "https", 5) == 0 ? ":443" : ":80";
	size_t n = strlen(at), more = strlen(standard);
	if (host.n == n + more && memcmp(host.p + n, standard, more) == 0)
		host.n = n;
	return http_is(host, at);
}

static bool is_ours(const struct front *f, struct http_text host)
{
	return is_loopback(host) || is_public(f->rules.public_url, host);
}

/* Pages of other sites ask for nothing here. */
static bool origin_fine(const struct visit *v)
{
	bool twice;
	struct http_text o = visit_field(v, "Origin", &twice);
	STR_AUTO ours = visit_origin(v);
	return !o.p || (!twice && ours && http_is(o, ours));
}

/* "/mcp/E" or "/call/E/TOOL" into their parts: names are what a page is not told of. */
static bool split(const char *path, const char *before, char *expert, const char **rest)
{
	size_t n = strlen(before);
	if (strncmp(path, before, n) != 0)
		return false;
	const char *e = path + n, *slash = strchr(e, '/');
	size_t len = slash ? (size_t)(slash - e) : strlen(e);
	*rest = slash ? slash + 1 : NULL;
	if (!len || len > DOOR_NAME_MAX)
		return false;
	memcpy(expert, e, len);
	expert[len] = '\0';
	return true;
}

/* RFC 9728, the same for each E that could be: who asks learns nothing of which there are. */
static void tell_metadata(struct visit *v, const char *rest)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *e = strncmp(rest, "/mcp/", 5) == 0 ? rest + 5 : "";
	bool fine = !*rest || (*e && strlen(e) <= DOOR_NAME_MAX && !e[strspn(e, name)]);
	const char *url = v->f->rules.public_url;
	BUF_AUTO resource = {0};
	if (!fine || (!http_request_is(v->r, "GET") && !http_request_is(v->r, "HEAD"))) {
		visit_refuse(v, fine ? 405 : 404, "not-found", "no such resource");
		return;
	}
	buf_addf(&resource, "%s%s", url, rest);
	JSON_AUTO body = json_pack("{s:s,s:[s],s:[s]}", "resource", buf_str(&resource),
		"authorization_servers", v->f->rules.issuer, "bearer_methods_supported", "header");
	visit_json(v, 200, NULL, 0, body);
}

static void route(struct visit *v, const char *path)
{
	const char *rest;
	char expert[DOOR_NAME_MAX + 1];
	bool call = split(path, "/call/", expert, &rest);
	if (call && rest && *rest && strlen(rest) <= DOOR_NAME_MAX) {
		memcpy(v->expert, expert, sizeof v->expert);
		call_http(v, expert, rest);
	} else if (strncmp(path, METADATA, sizeof METADATA - 1) == 0 && v->f->rules.issuer) {
		tell_metadata(v, path + sizeof METADATA - 1);
	} else if (strncmp(path, "/mcp/", 5) == 0) {
		/* What is no name is nobody's: it is answered as one that isn't there. */
		bool named = split(path, "/mcp/", expert, &rest) && !rest;
		memcpy(v->expert, named ? expert : "", named ? sizeof v->expert : 1);
		mcp_http(v, named ? expert : "-");
	} else {
		front_page(v, path);
	}
}

static void judge(struct visit *v)
{
	const struct http_head *h = &v->r->head;
	STR_AUTO path = http_path(h->target);
	if (h->nfields > HEADERS_MOST)
		visit_refuse(v, 431, "usage", "over 100 headers");
	else if (!h->host.p || !is_ours(v->f, h->host) ||
		 (h->authority.p && !is_ours(v->f, h->authority)))
		visit_refuse(v, 421, "usage", "not this door's name");
	else if (!path || memmem(h->target.p, h->target.n, "%00", 3))
		visit_refuse(v, 400, "usage", "not an address");
	else if (!origin_fine(v))
		visit_refuse(v, 403, "denied", "not from pages of other sites");
	else
		route(v, path);
}

static void log_visit(const struct visit *v)
{
	char at[32];
	BUF_AUTO b = {0};
	JSON_AUTO line = json_pack("{s:s,s:s*,s:s*,s:o,s:i,s:I,s:I,s:s*}", "time",
		clock_text(clock_real_ms(), at, sizeof at), "buyer", v->buyer[0] ? v->buyer : NULL,
		"expert", v->expert[0] ? v->expert : NULL, "method",
		json_text(v->method, strlen(v->method)), "status", v->status, "ms",
		(json_int_t)(clock_mono_ms() - v->began), "bytes", (json_int_t)v->bytes, "run",
		v->run[0] ? v->run : NULL);
	json_to_buf(line, &b);
	buf_addc(&b, '\n');
	if (line && !buf_failed(&b))
		(void)!write(STDERR_FILENO, buf_str(&b), b.len); /* a whole line at once */
}

static void find_peer(int fd, struct client *c)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	*c = (struct client){0};
	if (getpeername(fd, (struct sockaddr *)&sa, &len) == 0)
		client_of((struct sockaddr *)&sa, len, c);
}

/* Behind a proxy the client is the rightmost hop that isn't one of its own. */
static void find_client(const struct front *f, const struct http_request *r, struct client *c)
{
	if (!f->rules.behind) {
		find_peer(r->c->fd, c);
		return;
	}
	*c = (struct client){0};
	for (size_t i = r->head.nfields; i-- > 0;) {
		struct http_text list = r->head.field[i].value;
		if (!http_is(r->head.field[i].name, "X-Forwarded-For"))
			continue;
		while (list.n) {
			const char *comma = memrchr(list.p, ',', list.n);
			const char *hop = comma ? comma + 1 : list.p;
			char text[64];
			size_t n = list.n - (size_t)(hop - list.p);
			while (n && (*hop == ' ' || *hop == '\t'))
				hop++, n--;
			snprintf(text, sizeof text, "%.*s", (int)n, hop);
			if (client_parse(text, c) < 0)
				return;
			bool ours = false;
			for (size_t k = 0; k < f->rules.ntrusted; k++)
				ours |= strcmp(f->rules.trusted[k], c->text) == 0;
			if (!ours)
				return;
			list.n = comma ? (size_t)(comma - list.p) : 0;
		}
	}
}

static void on_request(void *arg, struct http_request *r, int bad, const char *why)
{
	struct door_front *d = arg;
	struct client client;
	find_client(&d->f, r, &client);
	struct visit v = {.f = &d->f, .r = r, .began = clock_mono_ms(), .client = &client};
	const struct http_text m = r->head.method;
	snprintf(v.method, sizeof v.method, "%.*s", m.p ? (int)m.n : 1, m.p ? m.p : "-");
	if (bad)
		visit_refuse(&v, bad, "usage", why);
	else
		judge(&v);
	front_metrics_note(d->f.metrics, &v);
	log_visit(&v);
}

/* ---- one connection ---------------------------------------------------------------------------
 */

/* False: this address has as many as it may. */
static bool peers_enter(struct peers *p, const struct client *c, int64_t most)
{
	struct peer *found = NULL, *empty = NULL;
	if (!c->network[0])
		return true;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n && !found; i++) {
		if (!p->v[i].n)
			empty = &p->v[i];
		else if (strcmp(p->v[i].network, c->network) == 0)
			found = &p->v[i];
	}
	if (!found && empty) {
		found = empty;
		memcpy(found->network, c->network, sizeof found->network);
	}
	bool room = found && found->n < most;
	if (room)
		found->n++;
	pthread_mutex_unlock(&p->lock);
	return room;
}

static void peers_leave(struct peers *p, const struct client *c)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->v[i].n || strcmp(p->v[i].network, c->network) != 0)
			continue;
		p->v[i].n--;
		break;
	}
	pthread_mutex_unlock(&p->lock);
}

/* Behind a proxy only the proxies may connect. */
static bool may_connect(const struct front *f, const struct client *c)
{
	if (!f->rules.behind || !c->text[0])
		return true;
	for (size_t i = 0; i < f->rules.ntrusted; i++)
		if (strcmp(f->rules.trusted[i], c->text) == 0)
			return true;
	return false;
}

static bool serve(struct http_conn *c, void *arg)
{
	struct door_front *d = arg;
	struct client client;
	find_peer(c->fd, &client);
	bool proxied = d->f.rules.behind;
	if (!may_connect(&d->f, &client))
		return false;
	if (!proxied && !peers_enter(&d->peers, &client, d->f.rules.connections_each))
		return false;
	c->deadline = clock_mono_ms() + HANDSHAKE_MS;
	c->shared = front_tls_shared(d->tls);
	bool fine = !d->f.rules.tls || (http_conn_sniff(c) == 1 && http_conn_handshake(c) == 0);
	fine = fine && http_serve(c, &d->service);
	if (!proxied)
		peers_leave(&d->peers, &client);
	return fine;
}

static void *accept_all(void *arg)
{
	struct door_front *d = arg;
	struct err quiet = {0};
	http_pool_run(d->pool, d->listener, d->stop, serve, d, &quiet);
	return NULL;
}

/* ---- what the monitor says --------------------------------------------------------------------
 */

static void begin_end(struct door_front *d)
{
	uint64_t one = 1;
	d->f.draining = true;
	(void)!write(d->stop, &one, sizeof one);
	d->ended = true;
}

static bool on_word(void *arg, const struct buf *b)
{
	struct door_front *d = arg;
	struct door_end ended = {0};
	struct err quiet = {0};
	if (field_is(b, &door_ended_fields)) {
		if (field_read(b, &door_ended_fields, &ended) < 0)
			return false;
		talks_ended(d->f.sessions, ended.process);
		return true;
	}
	if (field_is(b, &door_chain_fields))
		return front_tls_take(d->tls, b, &quiet) == 0;
	if (field_is(b, &door_drain_fields)) {
		begin_end(d);
		return true;
	}
	return false;
}

/* ---- from beginning to end --------------------------------------------------------------------
 */

void front_cage(struct cage *c, int64_t connections)
{
	/* A connection has a descriptor and a waker; a session three. */
	*c = (struct cage){.name = "the front",
		.files = (rlim_t)(connections * 3 + 1024),
		.memory = (rlim_t)8 << 30};
}

static void *sweep_all(void *arg)
{
	struct door_front *d = arg;
	for (;;)
		poll(NULL, 0, talks_sweep(d->f.sessions));
	return NULL;
}

static int hear_rules(struct door_front *d, int control, struct err *e)
{
	d->rules_text.limit = DOOR_MESSAGE_MAX;
	if (frame_recv(control, &d->rules_text, NULL, NULL, clock_mono_ms() + RULES_MS, e) != 1 ||
		field_read(&d->rules_text, &door_rules_fields, &d->f.rules) < 0)
		return err_set(e, ERR_FAIL, "the monitor says no rules");
	return 0;
}

static int hear_chain(struct door_front *d, int control, struct err *e)
{
	BUF_AUTO b = {.limit = DOOR_MESSAGE_MAX};
	if (!d->f.rules.tls)
		return 0;
	if (frame_recv(control, &b, NULL, NULL, clock_mono_ms() + RULES_MS, e) != 1)
		return err_set(e, ERR_FAIL, "the monitor sends no certificate");
	return front_tls_take(d->tls, &b, e);
}

static int set_up(struct door_front *d, int control, struct err *e)
{
	struct cage cage;
	if (hear_rules(d, control, e) < 0)
		return -1;
	front_cage(&cage, d->f.rules.connections);
	if (cage_enter(&cage, e) < 0)
		return -1;
	pthread_mutex_init(&d->peers.lock, NULL);
	d->peers.n = (size_t)d->f.rules.connections;
	d->peers.v = calloc(d->peers.n, sizeof *d->peers.v);
	d->f.bad = bad_tokens_new();
	d->f.link = front_link_new(control, on_word, d);
	d->f.sessions = d->f.link ? talks_new(d->f.link, &d->f.rules) : NULL;
	d->f.metrics = front_metrics_new();
	d->pool = http_pool_new(d->peers.n, e);
	d->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!d->peers.v || !d->f.bad || !d->f.sessions || !d->f.metrics || !d->pool || d->stop < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	d->tls = front_tls_new(d->f.link, e);
	d->service = (struct http_service){
		.idle_ms = IDLE_MS, .head_ms = HEAD_MS, .answer = on_request, .arg = d};
	return d->tls ? hear_chain(d, control, e) : -1;
}

static int start_threads(struct door_front *d, struct err *e)
{
	pthread_t t;
	if (pthread_create(&t, NULL, accept_all, d) || pthread_create(&t, NULL, sweep_all, d))
		return err_set(e, ERR_FAIL, "cannot start a thread");
	if (d->metrics >= 0 && front_metrics_serve(d->f.metrics, &d->f, d->metrics, e) < 0)
		return -1;
	return 0;
}

/* Once told to end: those that run get their time, then the monitor is heard no more. */
static void *drain(void *arg)
{
	struct door_front *d = arg;
	struct pollfd w = {.fd = d->stop, .events = POLLIN};
	while (poll(&w, 1, -1) < 0)
		;
	http_pool_end(d->pool, DRAIN_MS);
	shutdown(d->control, SHUT_RD);
	return NULL;
}

int front_run(int control, int listener, int metrics, struct err *e)
{
	pthread_t t;
	struct door_front *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(e, ERR_FAIL, "out of memory");
	d->control = control;
	d->listener = listener;
	d->metrics = metrics;
	if (set_up(d, control, e) < 0 || start_threads(d, e) < 0)
		return -1;
	if (pthread_create(&t, NULL, drain, d))
		return err_set(e, ERR_FAIL, "cannot start a thread");
	if (front_link_run(d->f.link, e) < 0)
		return -1;
	return d->ended ? 0 : err_set(e, ERR_FAIL, "the monitor is gone");
}

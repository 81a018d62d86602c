#include "gate/server.h"

#include "base/file.h"
#include "gate/ca.h"
#include "gate/call.h"
#include "gate/events.h"
#include "gate/request.h"
#include "net/http_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 512
#define STACK 524288
#define END_MS 5000 /* for threads to notice that the call is over */

struct server;

/* A connection that a thread has, in the server's list while it lives. */
struct client {
	struct server *s;
	struct call *call;
	struct http_conn c;
	bool idle; /* between two requests */
	struct client *prev, *next;
};

struct server {
	int control;
	struct {
		int fd;
		uint16_t port;
	} listener[FRAME_MAX_FDS];
	size_t nlisteners;
	struct ca *ca;
	struct http_tls tls;
	struct events *events;
	struct call *call; /* NULL between calls */
	pthread_attr_t attr;
	pthread_mutex_t lock;
	pthread_cond_t gone;
	struct client *clients;
	size_t nclients;
};

/* ---- connections ---- */

static void link_client(struct server *s, struct client *cl)
{
	cl->next = s->clients;
	if (s->clients)
		s->clients->prev = cl;
	s->clients = cl;
	s->nclients++;
}

static void unlink_client(struct server *s, struct client *cl)
{
	if (cl->prev)
		cl->prev->next = cl->next;
	else
		s->clients = cl->next;
	if (cl->next)
		cl->next->prev = cl->prev;
	s->nclients--;
}

static void set_idle(struct client *cl, bool idle)
{
	pthread_mutex_lock(&cl->s->lock);
	cl->idle = idle;
	pthread_mutex_unlock(&cl->s->lock);
}

/* 0 when the connection speaks what some row of this port does. */
static int open_client(struct client *cl)
{
	int tls = http_conn_sniff(&cl->c);
	if (tls < 0 || !policy_speaks(cl->call->rows, cl->call->nrows, cl->c.port, tls))
		return -1;
	return tls ? http_conn_handshake(&cl->c) : 0;
}

static bool serve_client(struct client *cl)
{
	bool clean = true, more = true;
	while (more && !cl->call->over) {
		if (cl->c.at == cl->c.len) {
			set_idle(cl, true);
			if (http_conn_fill(&cl->c, true) != HTTP_GOT)
				break;
			set_idle(cl, false);
		}
		more = request_serve(cl->call, cl->s->events, &cl->c, &clean);
	}
	return clean;
}

static void *client_main(void *arg)
{
	struct client *cl = arg;
	struct server *s = cl->s;
	bool clean = open_client(cl) == 0 && serve_client(cl);
	/* Off the list before the descriptor is closed: nobody shuts down somebody else's number.
	 */
	pthread_mutex_lock(&s->lock);
	unlink_client(s, cl);
	pthread_cond_signal(&s->gone); /* the call may be freed: what follows does not touch it */
	pthread_mutex_unlock(&s->lock);
	http_conn_close(&cl->c, clean);
	free(cl);
	return NULL;
}

/* At the limit, one that waits for nothing makes room. */
static void make_room(struct server *s)
{
	struct client *oldest = NULL;
	pthread_mutex_lock(&s->lock);
	if (s->nclients >= CONNS_MAX)
		for (struct client *cl = s->clients; cl; cl = cl->next)
			oldest = cl->idle ? cl : oldest;
	if (oldest)
		shutdown(oldest->c.fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

static bool is_full(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	bool full = s->nclients >= CONNS_MAX;
	pthread_mutex_unlock(&s->lock);
	return full;
}

static void start_client(struct server *s, int fd, uint16_t port)
{
	struct client *cl = calloc(1, sizeof *cl);
	int on = 1;
	pthread_t thread;
	if (!cl) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	cl->s = s;
	cl->call = s->call;
	cl->c = (struct http_conn){
		.fd = fd, .shared = &s->tls, .port = port, .deadline = s->call->deadline};
	pthread_mutex_lock(&s->lock);
	link_client(s, cl);
	bool ok = pthread_create(&thread, &s->attr, client_main, cl) == 0;
	if (!ok)
		unlink_client(s, cl);
	pthread_mutex_unlock(&s->lock);
	if (!ok) {
		close(fd);
		free(cl);
	}
}

static void accept_some(struct server *s, size_t i)
{
	make_room(s);
	while (!s->call || !is_full(s)) {
		int fd = accept4(s->listener[i].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (s->call)
			start_client(s, fd, s->listener[i].port);
		else
			close(fd); /* no call: the gate is shut */
	}
}

/* ---- calls ---- */

static void shut_all(struct server *s)
{
	for (struct client *cl = s->clients; cl; cl = cl->next)
		shutdown(cl->c.fd, SHUT_RDWR);
}

/* Ends the call under way: nothing of it is left when this returns 0. */
static int end_call(struct server *s, struct err *e)
{
	struct call *call = s->call;
	int rc = 0;
	struct timespec until;
	if (!call)
		return 0;
	call_end(call);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_MS / 1000;
	pthread_mutex_lock(&s->lock);
	shut_all(s);
	while (s->nclients && rc == 0)
		rc = pthread_cond_timedwait(&s->gone, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
	if (rc)
		return err_set(e, ERR_SANDBOX, "a connection does not end");
	s->call = NULL;
	/* What was still queued belongs to the call that is over. */
	for (size_t i = 0; i < s->nlisteners; i++)
		accept_some(s, i);
	call_free(&call);
	ca_forget(s->ca);
	return 0;
}

/* ---- messages ---- */

static int send_json(struct server *s, json_t *msg, struct err *e)
{
	char *text = msg ? json_dumps(msg, JSON_COMPACT) : NULL;
	json_decref(msg);
	if (!text)
		return err_set(e, ERR_FAIL, "out of memory");
	int rc = frame_send(s->control, text, strlen(text), NULL, 0, e);
	free(text);
	return rc;
}

static int take_listeners(
	struct server *s, const json_t *msg, const int *fds, size_t n, struct err *e)
{
	const json_t *list = json_object_get(msg, "listeners");
	if (!s->ca || s->nlisteners || json_array_size(list) != n)
		return err_set(e, ERR_SANDBOX, "the gate was opened in a wrong way");
	for (size_t i = 0; i < n; i++) {
		json_int_t port =
			json_integer_value(json_object_get(json_array_get(list, i), "port"));
		int flags = fcntl(fds[i], F_GETFL);
		if (port < 1 || port > 65535 || flags < 0 ||
			fcntl(fds[i], F_SETFL, flags | O_NONBLOCK) < 0)
			return err_set(e, ERR_SANDBOX, "the gate was opened in a wrong way");
		s->listener[i].fd = fds[i];
		s->listener[i].port = (uint16_t)port;
	}
	s->nlisteners = n;
	return 0;
}

static int on_open(struct server *s, const json_t *msg, const int *fds, size_t nfds, struct err *e)
{
	if (take_listeners(s, msg, fds, nfds, e) < 0)
		return -1;
	return send_json(s, json_pack("{s:s, s:s}", "op", "ready", "ca", ca_pem(s->ca)), e);
}

static int on_call(struct server *s, json_t *msg, struct err *e)
{
	if (end_call(s, e) < 0)
		return -1;
	/* What queued up while there was no call belongs to none. */
	for (size_t i = 0; i < s->nlisteners; i++)
		accept_some(s, i);
	struct err bad = {0};
	s->call = call_new(msg, &bad);
	call_wipe(msg);
	if (!s->call)
		return send_json(s, json_pack("{s:s, s:s}", "op", "error", "message", bad.msg), e);
	return send_json(s, json_pack("{s:s}", "op", "ok"), e);
}

static int on_end(struct server *s, struct err *e)
{
	if (end_call(s, e) < 0)
		return -1;
	return send_json(s, events_take(s->events), e);
}

static int on_message(struct server *s, const struct buf *b, int *fds, size_t nfds, struct err *e)
{
	json_error_t why;
	json_t *msg = json_loadb(buf_str(b), b->len, JSON_REJECT_DUPLICATES, &why);
	const char *op = json_string_value(json_object_get(msg, "op"));
	int rc = -1;
	if (op && strcmp(op, "open") == 0)
		rc = on_open(s, msg, fds, nfds, e);
	else if (op && strcmp(op, "call") == 0)
		rc = on_call(s, msg, e);
	else if (op && strcmp(op, "end") == 0)
		rc = on_end(s, e);
	else
		err_set(e, ERR_SANDBOX, "the gate was sent a message that it does not know");
	json_decref(msg);
	return rc;
}

/* 1 go on, 0 the supervisor has gone, -1. */
static int take_message(struct server *s, struct err *e)
{
	struct buf b = {.limit = (size_t)32 << 20};
	int fds[FRAME_MAX_FDS];
	size_t nfds = FRAME_MAX_FDS;
	int rc = frame_recv(s->control, &b, fds, &nfds, -1, e);
	if (rc == 1 && on_message(s, &b, fds, nfds, e) < 0)
		rc = -1;
	if (b.data)
		explicit_bzero(b.data, b.cap); /* it held the keys */
	buf_free(&b);
	return rc;
}

static int serve(struct server *s, struct err *e)
{
	for (;;) {
		struct pollfd p[1 + FRAME_MAX_FDS] = {{.fd = s->control, .events = POLLIN}};
		bool full = s->call && is_full(s);
		if (full)
			make_room(s);
		for (size_t i = 0; i < s->nlisteners; i++)
			p[1 + i] = (struct pollfd){
				.fd = full ? -1 : s->listener[i].fd, .events = POLLIN};
		if (poll(p, (nfds_t)(1 + s->nlisteners), full ? 20 : -1) < 0 && errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
		if (p[0].revents) {
			int rc = take_message(s, e);
			if (rc <= 0)
				return rc;
			continue;
		}
		for (size_t i = 0; i < s->nlisteners; i++)
			if (p[1 + i].revents)
				accept_some(s, i);
	}
}

static int set_up(struct server *s, struct err *e)
{
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&s->gone, &mono);
	pthread_mutex_init(&s->lock, NULL);
	pthread_attr_init(&s->attr);
	pthread_attr_setdetachstate(&s->attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&s->attr, STACK);
	s->events = events_new();
	s->ca = ca_new(e);
	if (!s->events || !s->ca || http_tls_init(&s->tls, ca_leaf, s->ca, e) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	return 0;
}

int server_run(int control, struct err *e)
{
	/* Never freed: threads may still be using it when the process ends. */
	struct server *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	s->control = control;
	return set_up(s, e) < 0 ? -1 : serve(s, e);
}

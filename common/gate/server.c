#include "gate/server.h"

#include "base/file.h"
#include "gate/ca.h"
#include "gate/call.h"
#include "gate/events.h"
#include "gate/message.h"
#include "gate/request.h"
#include "net/http_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 512
#define RETRY_MS 20 /* until it is looked again whether there is room */

const struct cage gate_cage = {.name = "the gate",
	.readable = cage_name_service,
	.dials = true,
	.files = 2048,
	.memory = (rlim_t)2 << 30};

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
	struct http_pool *pool;
	struct call *call; /* NULL between calls; stays while connections live */
};

/* ---- connections ---- */

/* 0 when the connection speaks what some row of this port does. */
static int open_client(const struct call *call, struct http_conn *c)
{
	int tls = http_conn_sniff(c);
	if (tls < 0 || !policy_speaks(call->rows, call->nrows, c->port, tls))
		return -1;
	return tls ? http_conn_handshake(c) : 0;
}

static bool serve_client(struct http_conn *c, void *arg)
{
	struct server *s = arg;
	struct call *call = s->call;
	bool clean = true, more = true;
	if (open_client(call, c) < 0)
		return false;
	while (more && !call->over && http_conn_await(c))
		more = request_serve(call, s->events, c, &clean);
	return clean;
}

/* False: ask again a little later. */
static bool accept_some(struct server *s, size_t i)
{
	if (!s->call) {
		int fd;
		while ((fd = accept4(s->listener[i].fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
			close(fd); /* no call: the gate is shut */
		return true;
	}
	struct http_conn like = {
		.shared = &s->tls, .port = s->listener[i].port, .deadline = s->call->deadline};
	return http_pool_accept(s->pool, s->listener[i].fd, &like, serve_client, s);
}

/* ---- calls ---- */

/* Ends the call under way: nothing of it is left when this returns 0. */
static int end_call(struct server *s, struct err *e)
{
	struct call *call = s->call;
	if (!call)
		return 0;
	call_end(call);
	if (http_pool_end(s->pool, 0) < 0)
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

static int say(struct server *s, const struct fields *f, const char *text, struct err *e)
{
	BUF_AUTO b = {0};
	const struct gate_word word = {text};
	if (field_write(&b, f, &word, e) < 0)
		return -1;
	return frame_send(s->control, b.data, b.len, NULL, 0, e);
}

static int take_listeners(struct server *s, const struct gate_opening *o, const int *fds, size_t n)
{
	if (s->nlisteners || o->n != n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int flags = fcntl(fds[i], F_GETFL);
		if (!o->ports[i] || flags < 0 || fcntl(fds[i], F_SETFL, flags | O_NONBLOCK) < 0)
			return -1;
		s->listener[i].fd = fds[i];
		s->listener[i].port = o->ports[i];
	}
	s->nlisteners = n;
	return 0;
}

static int on_open(
	struct server *s, const struct buf *b, const int *fds, size_t nfds, struct err *e)
{
	struct gate_opening o = {0};
	int r = field_read(b, &gate_open_fields, &o);
	if (r == 0)
		r = take_listeners(s, &o, fds, nfds);
	field_free(&gate_open_fields, &o);
	if (r < 0)
		return err_set(e, ERR_SANDBOX, "the gate was started with unexpected descriptors");
	return say(s, &gate_ready_fields, ca_pem(s->ca), e);
}

static int on_call(struct server *s, struct buf *b, struct err *e)
{
	if (end_call(s, e) < 0)
		return -1;
	/* What queued up while there was no call belongs to none. */
	for (size_t i = 0; i < s->nlisteners; i++)
		accept_some(s, i);
	struct err bad = {0};
	s->call = call_new(b, &bad);
	if (!s->call)
		return say(s, &gate_error_fields, bad.msg, e);
	return say(s, &gate_ok_fields, NULL, e);
}

static int on_end(struct server *s, struct err *e)
{
	BUF_AUTO b = {0};
	if (end_call(s, e) < 0 || events_take(s->events, &b, e) < 0)
		return -1;
	return frame_send(s->control, b.data, b.len, NULL, 0, e);
}

static int on_message(struct server *s, struct buf *b, int *fds, size_t nfds, struct err *e)
{
	if (field_is(b, &gate_open_fields))
		return on_open(s, b, fds, nfds, e);
	if (field_is(b, &gate_policy_fields))
		return on_call(s, b, e);
	if (field_read(b, &gate_end_fields, NULL) == 0)
		return on_end(s, e);
	return err_set(e, ERR_SANDBOX, "the gate was sent a message that it does not know");
}

/* 1 go on, 0 the supervisor has gone, -1. */
static int take_message(struct server *s, struct err *e)
{
	BUF_AUTO b = {.limit = GATE_MESSAGE_MAX, .secret = true};
	int fds[FRAME_MAX_FDS];
	size_t nfds = FRAME_MAX_FDS;
	int rc = frame_recv(s->control, &b, fds, &nfds, -1, e);
	return rc == 1 && on_message(s, &b, fds, nfds, e) < 0 ? -1 : rc;
}

static int serve(struct server *s, struct err *e)
{
	for (bool room = true;; room = !s->call || (room && http_pool_room(s->pool))) {
		struct pollfd p[1 + FRAME_MAX_FDS] = {{.fd = s->control, .events = POLLIN}};
		for (size_t i = 0; i < s->nlisteners; i++)
			p[1 + i] = (struct pollfd){
				.fd = room ? s->listener[i].fd : -1, .events = POLLIN};
		if (poll(p, (nfds_t)(1 + s->nlisteners), room ? -1 : RETRY_MS) < 0 &&
			errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
		room = true;
		if (p[0].revents) {
			int rc = take_message(s, e);
			if (rc <= 0)
				return rc;
			continue;
		}
		for (size_t i = 0; i < s->nlisteners; i++)
			if (p[1 + i].revents)
				room = accept_some(s, i) && room;
	}
}

static int set_up(struct server *s, int journal, struct err *e)
{
	s->events = events_new(journal);
	s->ca = ca_new(e);
	s->pool = http_pool_new(CONNS_MAX, e);
	if (!s->events || !s->ca || !s->pool || http_tls_init(&s->tls, ca_leaf, s->ca, e) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	return 0;
}

int server_run(int control, int journal, struct err *e)
{
	/* Never freed: threads may still be using it when the process ends. */
	struct server *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	s->control = control;
	return set_up(s, journal, e) < 0 ? -1 : serve(s, e);
}

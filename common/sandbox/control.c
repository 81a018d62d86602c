#include "sandbox/control.h"
#include "base/file.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * For a session to kill what a call left, and say so; else all of it dies. Nothing of the call runs
 * any more in most of this: it is process 1 that has to be scheduled beside 64 others, and to reap.
 */
#define KILL_MS 5000
#define MESSAGE_MAX ((size_t)256 << 20)
#define TEXT_MAX 4096
#define LOOK_MS 200
#define CHUNK 65536
/* 'A', the call's number; then kind and length of the one frame. */
#define ACCEPT_LEN 2
#define HEAD_LEN 5

static int make_pipe(int *ours, int *theirs)
{
	int p[2];
	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	*ours = p[0];
	*theirs = p[1];
	return fcntl(p[0], F_SETFL, O_NONBLOCK);
}

static int make_pair(int *ours, int *theirs)
{
	int p[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return -1;
	*ours = p[0];
	*theirs = p[1];
	return fcntl(p[0], F_SETFL, O_NONBLOCK);
}

int control_open(struct control *c, int theirs[5], struct err *e)
{
	*c = CONTROL_NONE;
	for (int i = 0; i < 5; i++)
		theirs[i] = -1;
	if (make_pair(&c->call, &theirs[0]) < 0 || make_pair(&c->init, &theirs[1]) < 0 ||
		make_pipe(&c->out, &theirs[2]) < 0 || make_pipe(&c->log, &theirs[3]) < 0 ||
		make_pipe(&c->result, &theirs[4]) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot make the sandbox's pipes");
	return 0;
}

void control_close(struct control *c)
{
	fd_close(&c->call);
	fd_close(&c->init);
	fd_close(&c->out);
	fd_close(&c->log);
	fd_close(&c->result);
}

/* ---- the message: a length of 4 bytes, then what `read_call` in the cell reads ---- */

static const struct fields key_fields = FIELDS_PART(FIELD_TEXT(struct call_key, name, TEXT_MAX),
	FIELD_BYTES(struct call_key, value, len, MESSAGE_MAX));
static const struct fields call_fields =
	FIELDS('C', 1, FIELD_TEXT(struct sandbox_call, entry_file, TEXT_MAX),
		FIELD_TEXT_OR_NULL(struct sandbox_call, entry_func, TEXT_MAX),
		FIELD_BYTES(struct sandbox_call, inputs, ninputs, MESSAGE_MAX),
		FIELD_NUMBER(struct sandbox_call, memory),
		FIELD_LIST(struct sandbox_call, keys.v, keys.n, LIMIT_KEYS, &key_fields));

int message_make(struct buf *m, const struct sandbox_call *call, struct err *e)
{
	m->limit = MESSAGE_MAX;
	if (field_frame(m, &call_fields, call, e) == 0)
		return 0;
	return e->code == ERR_USAGE ? err_wrap(e, "the input is too large") : -1;
}

/* ---- taking what comes ---- */

void intake_free(struct intake *in)
{
	buf_free(&in->out);
	ends_free(&in->log);
	buf_free(&in->result);
}

/* One read into the chunk: how much of it; 0 nothing now, -1 at the end of the stream. */
static ssize_t take_chunk(int fd, char chunk[CHUNK])
{
	ssize_t n = read(fd, chunk, CHUNK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	return n > 0 ? n : -1;
}

/* Keeps up to the limit and reads on past it, so that nobody inside blocks on a full pipe. */
static ssize_t take_some(int fd, struct buf *b, size_t *total, bool *cut)
{
	char chunk[CHUNK];
	ssize_t n = take_chunk(fd, chunk);
	size_t room = b->limit - b->len, got = n > 0 ? (size_t)n : 0;
	*cut |= got > room;
	*total += got;
	buf_add(b, chunk, got > room ? room : got);
	return n;
}

static ssize_t take_log(int fd, struct intake *in)
{
	char chunk[CHUNK];
	ssize_t n = take_chunk(fd, chunk);
	if (n <= 0)
		return n;
	ends_add(&in->log, chunk, (size_t)n);
	if (in->call->on_log)
		in->call->on_log(in->call->log_ctx, chunk, (size_t)n);
	return n;
}

/* A single sandbox is done when its frame is whole; the length is the tool's word, so bounded. */
static bool frame_whole(const struct intake *in)
{
	const unsigned char *p = (const unsigned char *)in->result.data;
	if (in->result_cut)
		return true;
	if (in->result.len < ACCEPT_LEN + HEAD_LEN)
		return false;
	size_t n = p[3] | (size_t)p[4] << 8 | (size_t)p[5] << 16 | (size_t)p[6] << 24;
	return in->result.len >= ACCEPT_LEN + HEAD_LEN + n;
}

bool control_accepted(const struct control *c, const struct intake *in)
{
	const unsigned char *p = (const unsigned char *)in->result.data;
	return in->result.len >= ACCEPT_LEN && p[0] == 'A' && p[1] == c->call_no;
}

int control_frame(const struct control *c, const struct intake *in, struct frame_view *f)
{
	const unsigned char *p = (const unsigned char *)in->result.data;
	size_t n = in->result.len;
	if (!control_accepted(c, in) || in->result_cut)
		return -1;
	if (n == ACCEPT_LEN)
		return 0;
	if (n < ACCEPT_LEN + HEAD_LEN)
		return -1;
	f->kind = (char)p[2];
	f->len = p[3] | (size_t)p[4] << 8 | (size_t)p[5] << 16 | (size_t)p[6] << 24;
	f->data = in->result.data + ACCEPT_LEN + HEAD_LEN;
	return f->len == n - ACCEPT_LEN - HEAD_LEN ? 1 : -1;
}

/* 'S' once, when the cell runs; in a session 'E' and the call's number at each end. */
static bool take_init(struct control *c, struct intake *in, bool *ended)
{
	char text[64];
	ssize_t n = read(c->init, text, sizeof text);
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == 'S' && !c->ready) {
			c->ready = true;
			in->ready_at = clock_mono_ms();
		} else if (text[i] == 'E' && c->session && c->ready && i + 1 < n &&
			   (uint8_t)text[i + 1] == c->call_no) {
			*ended = true;
			i++;
		} else {
			return false;
		}
	}
	return true;
}

struct turn {
	struct pollfd p[8];
	size_t sent;
	bool out_open, log_open, result_open, init_open;
};

enum { ON_PIDFD, ON_INIT, ON_RESULT, ON_LOG, ON_OUT, ON_CALL, ON_CANCEL, ON_WATCH };

static void prepare(struct turn *t, const struct control *c, const struct buf *m, int pidfd)
{
	t->p[ON_PIDFD] = (struct pollfd){.fd = pidfd, .events = POLLIN};
	t->p[ON_INIT] = (struct pollfd){.fd = t->init_open ? c->init : -1, .events = POLLIN};
	t->p[ON_RESULT] = (struct pollfd){.fd = t->result_open ? c->result : -1, .events = POLLIN};
	t->p[ON_LOG] = (struct pollfd){.fd = t->log_open ? c->log : -1, .events = POLLIN};
	t->p[ON_OUT] = (struct pollfd){.fd = t->out_open ? c->out : -1, .events = POLLIN};
	t->p[ON_CALL] = (struct pollfd){.fd = t->sent < m->len ? c->call : -1, .events = POLLOUT};
	t->p[ON_WATCH] = (struct pollfd){.fd = c->watch > 0 ? c->watch : -1};
	t->p[ON_CANCEL] = (struct pollfd){.fd = c->cancel > 0 ? c->cancel : -1, .events = POLLIN};
}

static void send_more(struct turn *t, const struct control *c, const struct buf *m)
{
	ssize_t n = send(c->call, m->data + t->sent, m->len - t->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		t->sent += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		t->sent = m->len; /* nobody reads any more: its death, or the deadline, is next */
}

static void take_pipes(struct turn *t, struct control *c, struct intake *in)
{
	if (t->p[ON_RESULT].revents)
		t->result_open =
			take_some(c->result, &in->result, &in->result_total, &in->result_cut) >= 0;
	if (t->p[ON_LOG].revents)
		t->log_open = take_log(c->log, in) >= 0;
	if (t->p[ON_OUT].revents)
		t->out_open = take_some(c->out, &in->out, &in->out_total, &in->out_cut) >= 0;
}

/* Milliseconds until the deadline, or until it is time to look, as poll(2) takes them. */
static int left(const struct control *c, int64_t deadline)
{
	int64_t ms = deadline - clock_mono_ms(), most = c->spent ? LOOK_MS : 1 << 30;
	return ms <= 0 ? 0 : ms > most ? (int)most : (int)ms;
}

enum control_end control_run(
	struct control *c, struct intake *in, const struct buf *m, int pidfd, int64_t deadline)
{
	struct turn t = {
		.out_open = true, .log_open = true, .result_open = true, .init_open = true};
	int64_t look = clock_mono_ms() + LOOK_MS;
	for (bool ended = false; !ended;) {
		int64_t now = clock_mono_ms();
		if (now >= deadline)
			return CONTROL_DEADLINE;
		if (c->spent && now >= look) {
			look = now + LOOK_MS;
			if (c->spent(c->spent_ctx))
				return CONTROL_SPENT;
		}
		prepare(&t, c, m, pidfd);
		if (poll(t.p, 8, left(c, deadline)) <= 0)
			continue;
		if (t.p[ON_CANCEL].revents)
			return CONTROL_CANCELLED;
		if (t.p[ON_CALL].revents)
			send_more(&t, c, m);
		take_pipes(&t, c, in);
		if (t.p[ON_INIT].revents) {
			if (!take_init(c, in, &ended))
				return CONTROL_CONFUSED;
			t.init_open = !(t.p[ON_INIT].revents & POLLHUP);
		}
		if (!c->session && frame_whole(in))
			ended = true;
		/* Of one that was stopped meanwhile, the watch has ended the sandbox. */
		if (!ended && (t.p[ON_PIDFD].revents || t.p[ON_WATCH].revents))
			return clock_mono_ms() < deadline ? CONTROL_GONE : CONTROL_DEADLINE;
	}
	return CONTROL_DONE;
}

bool control_kill(struct control *c, struct intake *in, int pidfd)
{
	const char order[2] = {'K', (char)c->call_no};
	int64_t deadline = clock_mono_ms() + KILL_MS;
	const struct buf none = {0};
	if (!c->ready || send(c->init, order, 2, MSG_NOSIGNAL | MSG_DONTWAIT) != 2)
		return false;
	return control_run(c, in, &none, pidfd, deadline) == CONTROL_DONE;
}

void control_drain(struct control *c, struct intake *in)
{
	while (take_some(c->result, &in->result, &in->result_total, &in->result_cut) > 0)
		;
	while (take_log(c->log, in) > 0)
		;
	while (take_some(c->out, &in->out, &in->out_total, &in->out_cut) > 0)
		;
}

#include "base/file.h"
#include "base/limits.h"
#include "run/room.h"
#include "run/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_SLACK_MS 60000 /* a keeper that takes longer is wedged */

struct joined {
	struct room room;
	int dir, sock;	  /* sock: -1 when it is not our turn */
	int64_t queue_ms; /* left to wait for a turn: for the look at the code and the call together
			   */
	char id[17];
	struct call_keys earlier;
	struct buf turn;  /* what the earlier keys point into */
	struct buf reply; /* what the last reply's strings point into */
};

static int has_ended(const struct joined *j, struct err *e)
{
	err_set(e, ERR_NOTFOUND, "session '%s' has ended", j->id);
	return err_hint(e, "evctl-session start EXPERT");
}

static int is_busy(const struct joined *j, struct err *e)
{
	err_clear(e);
	err_set(e, ERR_BUSY, "session '%s' is busy with other calls", j->id);
	return err_hint(e, "try again, or start another: evctl-session start EXPERT");
}

/* The directory by descriptor: its path may be too long for a socket's address. */
static int connect_to(struct joined *j, int64_t wait_ms, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t n = sizeof peer;
	const struct timeval wait = {
		.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000 + 1};
	snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s.sock", j->dir, j->id);
	FD_AUTO fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		return errno == EAGAIN ? is_busy(j, e) : has_ended(j, e);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){0}, sizeof wait);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != geteuid())
		return err_set(e, ERR_FAIL, "the process of session '%s' is not its keeper", j->id);
	j->sock = fd;
	fd = -1;
	return 0;
}

static void forget_turn(struct joined *j)
{
	field_free(&wire_turn, &j->earlier);
	buf_free(&j->turn);
}

/* Waits for the turn. code gets the descriptor of what the session was started with. */
static int take_turn(struct joined *j, int *code, struct err *e)
{
	int64_t begun = clock_mono_ms(), deadline = begun + j->queue_ms;
	size_t nfds = 1;
	forget_turn(j);
	if (connect_to(j, j->queue_ms, e) < 0)
		return -1;
	int got = frame_recv(j->sock, &j->turn, code, &nfds, deadline, e);
	j->queue_ms -= clock_mono_ms() - begun;
	j->queue_ms = j->queue_ms > 0 ? j->queue_ms : 0;
	if (nfds == 0)
		*code = -1;
	if (got < 0 && e->code == ERR_TIMEOUT) {
		is_busy(j, e);
	} else if (got <= 0 || field_read(&j->turn, &wire_turn, &j->earlier) < 0) {
		/* A keeper that ends resets whoever is still in its queue. */
		err_clear(e);
		got = has_ended(j, e);
	}
	if (got >= 0)
		return 0;
	fd_close(&j->sock);
	return -1;
}

static int joined_enter(struct room *r, const struct call_keys **earlier, struct err *e)
{
	struct joined *j = (struct joined *)r;
	FD_AUTO code = -1;
	if (take_turn(j, &code, e) < 0)
		return -1;
	*earlier = &j->earlier;
	return 0;
}

/* ---- the call ------------------------------------------------------------------------------ */

/* What the code did until then is lost with its session, and so is what became of it. */
static int was_lost(struct room_reply *out, const char *why)
{
	out->result.status = SANDBOX_FAILED;
	out->result.why = why;
	return 0;
}

static bool pass_log(const struct sandbox_call *c, int pipe)
{
	char piece[4096];
	ssize_t n = read(pipe, piece, sizeof piece);
	if (n > 0 && c->on_log)
		c->on_log(c->log_ctx, piece, (size_t)n);
	return n > 0;
}

/* Waits for the reply, passing the log on; 1 it is there, 0 not in time, -1 the caller cancels. */
static int wait_reply(int sock, const struct sandbox_call *c, int pipe, int64_t deadline)
{
	for (;;) {
		struct pollfd p[3] = {{.fd = sock, .events = POLLIN},
			{.fd = pipe, .events = POLLIN},
			{.fd = c->cancel_fd > 0 ? c->cancel_fd : -1, .events = POLLIN}};
		int64_t left = deadline - clock_mono_ms();
		int n = poll(p, 3, left > 0 ? (int)left : 0); /* it may have been stopped */
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (p[1].revents && !pass_log(c, pipe))
			pipe = -1;
		if (p[2].revents)
			return -1;
		if (p[0].revents)
			break;
	}
	while (pipe >= 0 && pass_log(c, pipe))
		;
	return 1;
}

static int read_reply(struct joined *j, struct room_reply *out, struct err *e)
{
	size_t nfds = 1;
	struct err gone = {0};
	buf_free(&j->reply);
	int got = frame_recv(
		j->sock, &j->reply, &out->outputs, &nfds, clock_mono_ms() + REPLY_SLACK_MS, &gone);
	if (nfds == 0)
		out->outputs = -1;
	if (got <= 0)
		return was_lost(out, "the session ended during the call");
	if (field_is(&j->reply, &wire_error))
		return wire_error_read(&j->reply, e);
	if (wire_read(&j->reply, &wire_reply, out, &gone) < 0)
		return was_lost(out, "the session's keeper sent a malformed message");
	out->result.status =
		out->result.status <= SANDBOX_LIMIT ? out->result.status : SANDBOX_FAILED;
	return 0;
}

static int joined_call(
	struct room *r, const struct room_call *c, struct room_reply *out, struct err *e)
{
	struct joined *j = (struct joined *)r;
	int ends[2] = {-1, -1};
	struct err gone = {0};
	if (c->call.on_log && pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a pipe");
	FD_AUTO log = ends[0];
	int sent = wire_send(j->sock, &wire_call, c, &ends[1], ends[1] >= 0, &gone);
	fd_close(&ends[1]);
	if (sent < 0) {
		err_set(e, ERR_BUSY, "the turn in session '%s' has passed", j->id);
		return err_hint(e, "try again");
	}
	int64_t deadline = clock_mono_ms() + c->call.timeout_ms + REPLY_SLACK_MS;
	int there = wait_reply(j->sock, &c->call, log, deadline);
	if (there == 1)
		return read_reply(j, out, e);
	fd_close(&j->sock); /* which ends the call */
	return was_lost(out,
		there < 0 ? "the caller ended the call" : "the session's keeper does not answer");
}

/* Hanging up says that the outputs have been read. */
static int joined_done(struct room *r, struct err *e)
{
	struct joined *j = (struct joined *)r;
	(void)e;
	fd_close(&j->sock);
	j->queue_ms = MS(LIMIT_QUEUE_S);
	return 0;
}

/* The keeper hangs up before it empties the outputs for the next call. */
static bool joined_holds(struct room *r)
{
	char c;
	int sock = ((struct joined *)r)->sock;
	return sock >= 0 && recv(sock, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool joined_alive(struct room *r)
{
	(void)r;
	return true;
}

static void joined_close(struct room *r)
{
	struct joined *j = (struct joined *)r;
	fd_close(&j->sock);
	fd_close(&j->dir);
	forget_turn(j);
	buf_free(&j->reply);
	free(j);
}

static const struct room_ops joined_ops = {
	joined_enter, joined_call, joined_done, joined_holds, joined_alive, joined_close};

/* ---- joining ------------------------------------------------------------------------------- */

static int read_code(int fd, struct tree *code, struct err *e)
{
	struct stat sb;
	if (fd < 0 || fstat(fd, &sb) < 0 || sb.st_size <= 0)
		return err_set(e, ERR_FAIL, "the session's keeper gave no code");
	size_t n = (size_t)sb.st_size;
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_FAIL, "cannot read the session's code");
	int r = snapshot_unpack(p, n, code, e);
	munmap(p, n);
	return r;
}

int room_join(struct room **r, int dir, const char *id, struct tree *code, struct err *e)
{
	struct joined *j = calloc(1, sizeof *j);
	*r = NULL;
	if (!j)
		return err_set(e, ERR_FAIL, "out of memory");
	j->room.ops = &joined_ops;
	j->sock = -1;
	j->turn = j->reply = (struct buf){.limit = WIRE_MAX, .secret = true};
	j->queue_ms = MS(LIMIT_QUEUE_S);
	j->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	snprintf(j->id, sizeof j->id, "%s", id);
	FD_AUTO fd = -1;
	int done = j->dir < 0 ? err_errno(e, ERR_FAIL, "cannot copy a descriptor")
			      : take_turn(j, &fd, e);
	if (done == 0)
		done = read_code(fd, code, e);
	/* The turn is for calls; this was only to see. */
	fd_close(&j->sock);
	if (done < 0)
		joined_close(&j->room);
	else
		*r = &j->room;
	return done;
}

#include "run/keeper.h"

#include "base/file.h"
#include "base/limits.h"
#include "run/keeper_in.h"
#include "run/room.h"
#include "run/wire.h"
#include "state/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CALL_WAIT_MS 5000     /* from the turn to the call: callers have it ready */
#define COLLECT_WAIT_MS 15000 /* from the reply to the caller's hanging up */
#define BACKLOG 64

struct keeper {
	struct keeper_spec spec;
	struct buf order; /* what the spec points into */
	struct room *room;
	int control, dir, code, listener;
	int term;		    /* readable when SIGTERM has come */
	int64_t life_end, idle_end; /* CLOCK_MONOTONIC ms */
	const char *reason;	    /* why it ends */
	bool recorded;		    /* there is a session to give the reason of */
};

/* ---- one caller ---------------------------------------------------------------------------- */

static bool is_ours(int conn)
{
	struct ucred peer;
	socklen_t n = sizeof peer;
	return getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

/* The whole log goes with the reply: a reader too slow for the pipe just misses some of this. */
static void stream_log(void *ctx, const char *p, size_t n)
{
	(void)!write(*(int *)ctx, p, n);
}

static int make_call(struct keeper *k, int conn, struct room_call *c, int *log, struct err *e)
{
	struct room_reply reply = {.outputs = -1};
	struct err gone = {0};
	if (*log >= 0) {
		fcntl(*log, F_SETFL, O_NONBLOCK);
		c->call.on_log = stream_log;
		c->call.log_ctx = log;
	}
	/* Two reasons to end a call: its caller hangs up, or the session is to end. */
	FD_AUTO cancel = fd_any((const int[]){conn, k->term}, 2);
	c->call.cancel_fd = cancel;
	int done = cancel < 0 ? err_errno(e, ERR_FAIL, "cannot watch the caller")
			      : room_call(k->room, c, &reply, e);
	fd_close(log); /* whose reader waits for its end before it looks at the reply */
	if (done < 0) {
		wire_send(conn, &wire_error, e, NULL, 0, &gone);
		room_reply_free(&reply);
		return -1;
	}
	int sent = wire_send(conn, &wire_reply, &reply, &reply.outputs, reply.outputs >= 0, &gone);
	room_reply_free(&reply);
	return sent;
}

/* A caller that is still there then is told so: what it reads from here on is another call's. */
static void await_hang_up(int conn)
{
	int64_t deadline = clock_mono_ms() + COLLECT_WAIT_MS;
	struct buf b = {.limit = 1};
	struct err e = {0};
	frame_recv(conn, &b, NULL, NULL, deadline, &e);
	buf_free(&b);
	shutdown(conn, SHUT_RDWR);
}

static void serve_call(struct keeper *k, int conn, const struct buf *message, int *log)
{
	struct room_call c = {0};
	struct err e = {0};
	if (wire_read(message, &wire_call, &c, &e) < 0)
		return;
	if (make_call(k, conn, &c, log, &e) == 0)
		await_hang_up(conn);
	field_free(&wire_call, &c);
	if (room_done(k->room, &e) < 0)
		k->reason = "its outputs could not be removed";
	k->idle_end = clock_mono_ms() + k->spec.idle_s * 1000;
}

static void serve(struct keeper *k, int conn)
{
	const struct call_keys *earlier;
	BUF_AUTO message = {.limit = WIRE_MAX, .secret = true};
	struct err e = {0};
	size_t nfds = 1;
	int log = -1;
	if (!is_ours(conn) || room_enter(k->room, &earlier, &e) < 0 ||
		wire_send(conn, &wire_turn, earlier, &k->code, 1, &e) < 0)
		return;
	int got = frame_recv(conn, &message, &log, &nfds, clock_mono_ms() + CALL_WAIT_MS, &e);
	if (nfds == 0)
		log = -1;
	if (got > 0)
		serve_call(k, conn, &message, &log);
	fd_close(&log);
}

/* ---- its life ------------------------------------------------------------------------------ */

static int64_t nearest_end(const struct keeper *k)
{
	return k->idle_end < k->life_end ? k->idle_end : k->life_end;
}

static void wait_once(struct keeper *k)
{
	struct pollfd p[4] = {{.fd = k->listener, .events = POLLIN},
		{.fd = sandbox_pidfd(room_sandbox(k->room)), .events = POLLIN},
		{.fd = k->term, .events = POLLIN},
		{.fd = room_gate_pidfd(k->room), .events = POLLIN}};
	int64_t left = nearest_end(k) - clock_mono_ms();
	int n = poll(p, 4, left > 0 ? (int)(left > 1 << 30 ? 1 << 30 : left) : 0);
	if (n < 0 && errno != EINTR)
		k->reason = "its keeper could not wait";
	if (n > 0 && p[1].revents)
		k->reason = "its sandbox died";
	if (n > 0 && p[3].revents)
		k->reason = "its gate died";
	if (n > 0 && p[2].revents)
		k->reason = "it was told to end";
	if (n > 0 && p[0].revents && !k->reason) {
		FD_AUTO conn = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);
		if (conn >= 0)
			serve(k, conn);
		seal_wipe_stack();
	}
	if (!k->reason && !room_alive(k->room))
		k->reason = room_gate_lost(k->room) ? "its gate died"
						    : "its sandbox was ended by a call";
}

static void live(struct keeper *k)
{
	while (!k->reason) {
		wait_once(k);
		int64_t now = clock_mono_ms();
		if (!k->reason && now >= k->life_end)
			k->reason = "its time was up";
		if (!k->reason && now >= k->idle_end)
			k->reason = "it was idle";
	}
}

static void leave_reason(const struct keeper *k)
{
	char name[32];
	snprintf(name, sizeof name, "%s.end", k->spec.id);
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	FD_AUTO fd = k->recorded ? openat(k->dir, name, flags, 0600) : -1;
	if (fd >= 0)
		(void)!write(fd, k->reason, strlen(k->reason));
	snprintf(name, sizeof name, "%s.sock", k->spec.id);
	unlinkat(k->dir, name, 0);
}

static int listen_at(struct keeper *k, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	k->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	umask(0177);
	/* The directory by descriptor: its path may be too long for a socket's address. */
	snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s.sock", k->dir, k->spec.id);
	if (k->listener < 0 || bind(k->listener, (struct sockaddr *)&a, sizeof a) < 0 ||
		listen(k->listener, BACKLOG) < 0)
		return err_errno(e, ERR_FAIL, "cannot listen for session '%s'", k->spec.id);
	return 0;
}

static int open_all(struct keeper *k, struct err *e)
{
	TREE_AUTO code = {0};
	struct stat sb;
	if (fstat(k->code, &sb) < 0)
		return err_errno(e, ERR_FAIL, "cannot read the session's code");
	size_t n = (size_t)sb.st_size;
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, k->code, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_FAIL, "cannot read the session's code");
	int r = snapshot_unpack(p, n, &code, e);
	munmap(p, n);
	k->spec.room.code = &code;
	if (r == 0)
		r = room_open(&k->room, &k->spec.room, e);
	k->spec.room.code = NULL;
	return r == 0 ? listen_at(k, e) : -1;
}

/* Only now: what was forked before must not find SIGTERM blocked. */
static int watch_signal(struct keeper *k, struct err *e)
{
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &term, NULL) == 0)
		k->term = signalfd(-1, &term, SFD_CLOEXEC);
	return k->term >= 0 ? 0 : err_errno(e, ERR_FAIL, "cannot watch for signals");
}

/* With who starts it: what to do, whether it could, and the word to begin. */
static int begin(struct keeper *k, struct err *e)
{
	int fds[2] = {-1, -1};
	size_t nfds = 2;
	int64_t deadline = clock_mono_ms() + CALL_WAIT_MS;
	int got = frame_recv(k->control, &k->order, fds, &nfds, deadline, e);
	if (got <= 0 || nfds != 2)
		return -1;
	k->code = fds[0];
	k->dir = fds[1];
	if (field_read(&k->order, &wire_order, &k->spec) < 0)
		return err_set(e, ERR_FAIL, "the session's keeper was given a malformed order");
	k->spec.room.session = true;
	return open_all(k, e) == 0 ? watch_signal(k, e) : -1;
}

static int await_go(struct keeper *k)
{
	BUF_AUTO b = {.limit = 16};
	struct err e = {0};
	if (wire_send(k->control, &wire_ready, NULL, NULL, 0, &e) < 0)
		return -1;
	/* Until it is recorded it must not outlive who starts it; that may wait for the state's
	 * lock. */
	int got = frame_recv(k->control, &b, NULL, NULL, clock_mono_ms() + COLLECT_WAIT_MS, &e);
	fd_close(&k->control);
	return got > 0 ? field_read(&b, &wire_go, NULL) : -1;
}

static int run(struct keeper *k, struct err *e)
{
	struct err gone = {0};
	if (seal_process(e) < 0 || begin(k, e) < 0) {
		wire_send(k->control, &wire_error, e, NULL, 0, &gone);
		return -1;
	}
	k->recorded = await_go(k) == 0;
	if (!k->recorded)
		k->reason = "it was never recorded";
	k->life_end = clock_mono_ms() + LIMIT_LIFE_S * (int64_t)1000;
	k->idle_end = clock_mono_ms() + k->spec.idle_s * 1000;
	live(k);
	return 0;
}

int keeper_main(void)
{
	struct keeper k = {.control = KEEPER_CONTROL,
		.order = {.limit = WIRE_MAX},
		.dir = -1,
		.code = -1,
		.listener = -1,
		.term = -1};
	struct err e = {0};
	fcntl(k.control, F_SETFD, FD_CLOEXEC);
	int r = run(&k, &e);
	room_close(&k.room);
	if (k.dir >= 0 && k.reason)
		leave_reason(&k);
	field_free(&wire_order, &k.spec);
	buf_free(&k.order);
	return r == 0 ? 0 : ERR_FAIL;
}

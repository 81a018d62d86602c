#include "run/keeper.h"

#include "base/child.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/proc.h"
#include "run/keeper_in.h"
#include "run/runner_in.h"
#include "run/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_WAIT_MS 30000

/* ---- starting ------------------------------------------------------------------------------ */

static int send_order(
	int sock, const struct keeper_spec *k, const struct tree *code, int dir, struct err *e)
{
	BUF_AUTO packed = {.limit = (size_t)256 << 20};
	if (snapshot_pack(code, &packed, e) < 0)
		return -1;
	FD_AUTO fd = fd_from_bytes("code", packed.data, packed.len);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot hand the code over");
	return wire_send(sock, &wire_order, k, (int[]){fd, dir}, 2, e);
}

static int await_ready(int sock, struct err *e)
{
	BUF_AUTO b = {0};
	int got = frame_recv(sock, &b, NULL, NULL, clock_mono_ms() + READY_WAIT_MS, e);
	if (got > 0 && field_read(&b, &wire_ready, NULL) == 0)
		return 0;
	if (got > 0 && field_is(&b, &wire_error))
		return wire_error_read(&b, e);
	return err_set(e, ERR_SANDBOX, "the session's keeper did not start");
}

static int spawn(struct child *c, int sock, struct err *e)
{
	STR_AUTO self = paths_self(e);
	if (!self)
		return -1;
	const char *const argv[] = {self, KEEPER_WORD, NULL};
	const int fds[KEEPER_CONTROL + 1] = {-1, -1, -1, sock};
	const struct child_spec spec = {.argv = argv,
		.fds = fds,
		.nfds = KEEPER_CONTROL + 1,
		.cwd = "/",
		.new_session = true};
	return child_start(c, &spec, e);
}

static int record(struct state *st, const struct child *c, struct session *s, struct err *e)
{
	s->pid = c->pid;
	s->pid_start = proc_start(c->pid);
	s->started = clock_real_ms();
	s->live = true;
	return session_add(st, s, e);
}

static int start_with(struct state *st, const struct keeper_spec *k, const struct tree *code,
	struct session *s, struct err *e)
{
	int pair[2];
	struct child c = CHILD_NONE;
	FD_AUTO dir = session_dir(st, e);
	if (dir < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	FD_AUTO mine = pair[0];
	int r = spawn(&c, pair[1], e);
	fd_close(&pair[1]);
	if (r == 0 && (send_order(mine, k, code, dir, e) < 0 || await_ready(mine, e) < 0 ||
			      record(st, &c, s, e) < 0 ||
			      wire_send(mine, &wire_go, NULL, NULL, 0, e) < 0))
		r = -1;
	if (r < 0)
		child_kill(&c);
	fd_close(&c.pidfd);
	return r;
}

static int fill(
	struct session *s, const struct keeper_order *o, const struct expert_view *v, struct err *e)
{
	seal_random_id(s->id, 's');
	s->expert = strdup(v->name);
	s->buyer = o->buyer ? strdup(o->buyer) : NULL;
	s->version = v->version;
	s->idle_s = o->idle_s;
	return s->expert && (s->buyer || !o->buyer) ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

int keeper_start(struct state *st, const struct keeper_order *o, struct session *s, struct err *e)
{
	EXPERT_VIEW_AUTO v = {0};
	STRV_AUTO preload = {0};
	STR_AUTO share = paths_share(e);
	STR_AUTO egress = share ? paths_helper("evctl-egress", e) : NULL;
	int version = o->buyer && o->version == EXPERT_DEFAULT ? EXPERT_PUBLISHED : o->version;
	if (!egress || (o->buyer && name_check("buyer", o->buyer, e) < 0) ||
		expert_load(st, o->expert, version, &v, e) < 0 || fill(s, o, &v, e) < 0)
		return -1;
	secret_free(&st->private_key);
	runner_preload(&v, &preload);
	struct keeper_spec k = {.idle_s = o->idle_s,
		.room = {.hosts = v.hosts,
			.nhosts = v.nhosts,
			.preload = (const char *const *)preload.v,
			.npreload = preload.n,
			.memory = manifest_most_memory(&v.m),
			.share = share,
			.egress = egress}};
	memcpy(k.id, s->id, sizeof k.id);
	return start_with(st, &k, &v.t, s, e);
}

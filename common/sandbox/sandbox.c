#include "sandbox/sandbox.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/result.h"
#include "base/strv.h"
#include "base/text.h"
#include "sandbox/cgroup.h"
#include "sandbox/control.h"
#include "sandbox/inodes.h"
#include "sandbox/launch.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"
#include "sandbox/seccomp.h"
#include "sandbox/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* bwrap, either its init or the cell's process 1, and who watches over them count too. */
#define OWN_PROCESSES 3
#define CLOCK_COARSE_MS 20 /* a file's time may be that much behind */
/* Past a call's time, for what this process does then itself if nobody has stopped it. */
#define WATCH_SLACK_MS 6000
/*
 * Over the limit of a process, so that Python has a MemoryError to raise before the group's limit
 * kills it: the interpreter's own pages, /scratch and outputs/ are charged to the group.
 */
#define GROUP_SLACK ((size_t)64 << 20)
/* Room for a file over the cap to be seen and named rather than fail the tool. */
#define OUTPUTS_BYTES ((size_t)32 << 20)
#define OUTPUTS_INODES 2048
#define WORK_INODES 16384
#define MAX_SOCKETS 1024 /* of TCP: both ends of each connection, and the gate's */

struct sandbox {
	struct launch launch;
	struct cgroup cgroup;
	struct control control;
	struct inodes inodes;
	struct sandbox_limits limits;
	char *share;
	size_t group_memory; /* what the control group's limit was last set for */
	bool used, dead;
};

static size_t or_default(size_t n, size_t d)
{
	return n ? n : d;
}

static void take_limits(struct sandbox_limits *l, const struct sandbox_limits *want)
{
	l->memory = or_default(want->memory, GIB(LIMIT_MEMORY_GIB));
	l->scratch = or_default(want->scratch, MB(LIMIT_SCRATCH_MB));
	l->result = or_default(want->result, MB(LIMIT_RESULT_MB));
	l->log = or_default(want->log, MB(LIMIT_LOG_MB));
	l->processes = want->processes ? want->processes : 64;
}

/* theirs[] is in control_open()'s order. */
static void name_fds(int fds[PLAN_FDS], int null, const int theirs[5], int args, int seccomp)
{
	fds[PLAN_FD_NULL] = null;
	fds[PLAN_FD_CALL] = theirs[0];
	fds[PLAN_FD_INIT] = theirs[1];
	fds[PLAN_FD_OUT] = theirs[2];
	fds[PLAN_FD_LOG] = theirs[3];
	fds[PLAN_FD_RESULT] = theirs[4];
	fds[PLAN_FD_ARGS] = args;
	fds[PLAN_FD_SECCOMP] = seccomp;
}

/* The filter takes half a millisecond to make, so it is made while the helper works. */
static int start(struct sandbox *sb, const struct sandbox_spec *spec, const struct mounts *m,
	struct launch_spec *ls, int theirs[5], struct err *e)
{
	STRV_AUTO argv = {0};
	BUF_AUTO args = {0};
	const struct plan plan = {.mounts = m, .session = spec->session};
	if (plan_bwrap(&plan, &argv, &args, e) < 0)
		return -1;
	FD_AUTO null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	FD_AUTO args_fd = fd_from_bytes("args", args.data, args.len);
	FD_AUTO filter = memfd_create("filter", MFD_CLOEXEC);
	if (null < 0 || args_fd < 0 || filter < 0)
		return err_errno(e, ERR_SANDBOX, "cannot prepare the sandbox");
	ls->mounts = m;
	ls->argv = (const char *const *)argv.v;
	name_fds(ls->fds, null, theirs, args_fd, filter);
	if (launch_start(&sb->launch, ls, &sb->cgroup, e) < 0)
		return -1;
	/* So that they can be opened by name: /dev/stdout, /dev/stderr. */
	(void)!fchown(theirs[2], sb->launch.uid, sb->launch.uid);
	(void)!fchown(theirs[3], sb->launch.uid, sb->launch.uid);
	return seccomp_write(filter, e);
}

static int finish_open(
	struct sandbox *sb, const struct sandbox_spec *spec, const struct mounts *m, struct err *e)
{
	if (stage_fill(sb->launch.stage, sb->launch.tmp, sb->launch.uid, spec, m, e) < 0)
		return -1;
	/* What is emptied between calls; descriptors may be few. */
	if (!spec->session)
		fd_close(&sb->launch.shm);
	sb->control.session = spec->session;
	return launch_go(&sb->launch, e);
}

static int open_with(
	struct sandbox *sb, const struct sandbox_spec *spec, const struct mounts *m, struct err *e)
{
	const struct sandbox_limits *l = &sb->limits;
	struct launch_spec ls = {
		.ports = spec->ports,
		.nports = spec->nports,
		.work_bytes = l->scratch,
		.work_inodes = WORK_INODES,
		.outputs_bytes = OUTPUTS_BYTES,
		.outputs_inodes = OUTPUTS_INODES,
		.memory = l->memory,
		.file = l->scratch,
		.processes = l->processes + OWN_PROCESSES,
	};
	int theirs[5];
	if (stage_measure(spec, &ls.stage_bytes, &ls.stage_inodes, e) < 0 ||
		inodes_hold(&sb->inodes, e) < 0)
		return -1;
	cgroup_open(&sb->cgroup, l->memory + GROUP_SLACK, ls.processes);
	sb->group_memory = l->memory;
	int failed =
		control_open(&sb->control, theirs, e) < 0 || start(sb, spec, m, &ls, theirs, e) < 0;
	for (int i = 0; i < 5; i++)
		fd_close(&theirs[i]);
	return failed ? -1 : finish_open(sb, spec, m, e);
}

int sandbox_open(struct sandbox **out, const struct sandbox_spec *spec, struct err *e)
{
	struct mounts m;
	*out = NULL;
	STR_AUTO cell = path_join(spec->share_dir, "cell");
	if (!cell || mounts_find(&m, cell, e) < 0)
		return err_set(e, ERR_SANDBOX, "out of memory");
	struct sandbox *sb = calloc(1, sizeof *sb);
	if (!sb) {
		mounts_free(&m);
		return err_set(e, ERR_SANDBOX, "out of memory");
	}
	sb->share = strdup(spec->share_dir);
	sb->launch = LAUNCH_NONE;
	sb->control = CONTROL_NONE;
	sb->cgroup = CGROUP_INIT;
	sb->inodes = INODES_NONE;
	take_limits(&sb->limits, &spec->limits);
	int failed =
		sb->share ? open_with(sb, spec, &m, e) : err_set(e, ERR_SANDBOX, "out of memory");
	mounts_free(&m);
	if (failed) {
		sandbox_close(&sb);
		return -1;
	}
	*out = sb;
	return 0;
}

size_t sandbox_listeners(const struct sandbox *sb, int *fds, uint16_t *ports, size_t room)
{
	const struct launch *l = &sb->launch;
	for (size_t i = 0; i < l->nlisteners && i < room; i++) {
		fds[i] = l->listeners[i];
		ports[i] = l->ports[i];
	}
	return l->nlisteners;
}

void sandbox_drop_listeners(struct sandbox *sb)
{
	launch_drop_listeners(&sb->launch);
}

int sandbox_set_ca(struct sandbox *sb, const char *pem, size_t n, struct err *e)
{
	return stage_set_ca(sb->launch.stage, sb->launch.uid, pem, n, e);
}

/* ---- one call ---- */

/* The sandbox died before it ran anything: bwrap's own words are all there is in the log. */
static int never_came_up(struct sandbox *sb, const struct intake *in, struct err *e)
{
	launch_why(&sb->launch, e);
	if (e->code != ERR_NONE)
		return -1;
	const char *text = buf_str(&in->log.head);
	int n = (int)strcspn(text, "\n");
	err_set(e, ERR_SANDBOX, "the sandbox did not start%s%.*s", n ? ": " : "", n > 500 ? 500 : n,
		text);
	return err_hint(e, "see what this machine allows: evctl doctor");
}

static void fail(
	struct sandbox_result *r, enum sandbox_status status, const char *limit, const char *why)
{
	r->status = status;
	r->limit = limit;
	r->why = why;
}

static void fail_long(struct sandbox_result *r, size_t n)
{
	fail(r, SANDBOX_LIMIT, "result", "the result is too long");
	r->too_long = n;
}

/* A number that the cell wrote; 0 where it is none. */
static size_t number_of(const struct frame_view *f)
{
	char digits[16] = "";
	if (f->len < sizeof digits)
		memcpy(digits, f->data, f->len);
	return strtoul(digits, NULL, 10);
}

static void judge_ok(const struct sandbox *sb, const struct sandbox_call *call, struct intake *in,
	const struct frame_view *f, struct sandbox_result *r)
{
	if (call->entry_func) {
		const char *why = f->len > sb->limits.result ? NULL : result_json(f->data, f->len);
		if (f->len > sb->limits.result)
			return fail_long(r, f->len);
		if (why)
			return fail(r, SANDBOX_FAILED, NULL, why);
		buf_add(&r->result, f->data, f->len);
	} else {
		if (in->out_cut)
			return fail_long(r, in->out_total);
		if (!text_is_utf8(in->out.data, in->out.len))
			return fail(r, SANDBOX_FAILED, NULL, "the result is not UTF-8");
		buf_add(&r->result, in->out.data, in->out.len);
	}
	if (buf_failed(&r->result))
		fail(r, SANDBOX_FAILED, NULL, "out of memory");
}

/* What the cell says is only a kind of failure, never more; the kernel's counters come first. */
static void judge_failed(char kind, const struct frame_view *f, const struct cgroup_events *before,
	const struct cgroup_events *after, struct sandbox_result *r)
{
	if (kind == 'M' || after->oom_kills > before->oom_kills)
		return fail(r, SANDBOX_LIMIT, "memory", "out of memory");
	/* Whose process it was is not told; a tool that could still say something was not it. */
	if (!kind && after->outer_kills > before->outer_kills)
		return fail(r, SANDBOX_LIMIT, "memory",
			"out of memory: of what the control group around evctl may have");
	if (kind == 'P' || after->pids_denied > before->pids_denied)
		return fail(r, SANDBOX_LIMIT, "processes", "too many processes or threads");
	if (kind == 'D')
		return fail(r, SANDBOX_LIMIT, "disk", "no space left to write");
	if (kind == 'L')
		return fail_long(r, number_of(f));
	if (kind == 'V')
		return fail(r, SANDBOX_FAILED, NULL, "the result is not JSON");
	fail(r, SANDBOX_FAILED, NULL, kind ? "the tool raised an error" : "the tool ended early");
}

static void judge(const struct sandbox *sb, const struct sandbox_call *call, struct intake *in,
	const struct cgroup_events *before, struct sandbox_result *r)
{
	struct frame_view f = {0};
	struct cgroup_events after = cgroup_events(&sb->cgroup);
	int got = control_frame(&sb->control, in, &f);
	if (got == 1 && f.kind == 'R')
		return judge_ok(sb, call, in, &f, r);
	judge_failed(got > 0 ? f.kind : '\0', &f, before, &after, r);
	if (got < 0 && r->status == SANDBOX_FAILED)
		r->why = "what came back is no result";
}

static void kill_all(struct sandbox *sb)
{
	launch_kill(&sb->launch);
	sb->dead = true;
}

/* Ends the call for good, however it stands. */
static void finish(struct sandbox *sb, struct intake *in, enum control_end end, int64_t since_ns,
	struct buf *strays)
{
	bool over = end == CONTROL_DONE && sb->control.session;
	bool cut = end == CONTROL_DEADLINE || end == CONTROL_CANCELLED || end == CONTROL_SPENT;
	if (cut && sb->control.session)
		over = control_kill(&sb->control, in, sb->launch.pidfd);
	if (!over)
		kill_all(sb);
	control_drain(&sb->control, in);
	if (over && !control_accepted(&sb->control, in))
		kill_all(sb);
	stage_strays(sb->launch.scratch, sb->launch.tmp, sb->launch.uid, since_ns, strays);
	if (!sb->dead && stage_renew(sb->launch.tmp, sb->launch.shm, sb->launch.uid, sb->share) < 0)
		kill_all(sb);
}

/* What a session's calls have left in /scratch, which is on the file system that /tmp was on. */
static void measure_scratch(const struct sandbox *sb, struct sandbox_result *r)
{
	struct statvfs v;
	if (sb->dead || fstatvfs(sb->launch.tmp, &v) < 0)
		return;
	r->scratch = (size_t)(v.f_blocks - v.f_bfree) * v.f_frsize;
	/* Files count too, many small ones as much as few large ones. */
	size_t files = v.f_files - v.f_ffree;
	size_t by_files = v.f_files ? files * sb->limits.scratch / v.f_files : 0;
	r->scratch = by_files > r->scratch ? by_files : r->scratch;
	if (r->limit && strcmp(r->limit, "disk") == 0 && r->scratch > sb->limits.scratch / 2)
		r->why = "no space left to write: what earlier calls of the session left in "
			 "/scratch takes most of it";
}

/*
 * What nothing else ends. When the group is out of memory the kernel kills one process of it, and
 * others may wait for that one for ever. And connections that wait to be accepted, or to be sent to
 * their end, have buffers and no descriptor.
 */
struct spending {
	const struct sandbox *sb;
	struct cgroup_events before;
};

static bool has_too_many_sockets(const struct sandbox *sb)
{
	return launch_sockets(&sb->launch) > MAX_SOCKETS;
}

static bool is_spent(const void *ctx)
{
	const struct spending *s = ctx;
	return cgroup_events(&s->sb->cgroup).oom_kills > s->before.oom_kills ||
	       has_too_many_sockets(s->sb);
}

static int run_call(struct sandbox *sb, const struct sandbox_call *call, const struct buf *m,
	struct intake *in, struct sandbox_result *r, struct err *e)
{
	int64_t begun = clock_mono_ms(), since_ns;
	since_ns = (clock_real_ms() - CLOCK_COARSE_MS) * INT64_C(1000000);
	int timeout = call->timeout_ms > 0 ? call->timeout_ms : MS(LIMIT_CALL_S);
	const struct spending spending = {sb, cgroup_events(&sb->cgroup)};
	bool was_ready = sb->control.ready;
	sb->used = true;
	sb->control.call_no++;
	sb->control.watch = sb->launch.go;
	sb->control.cancel = call->cancel_fd;
	sb->control.spent_ctx = &spending;
	sb->control.spent = is_spent;
	launch_watch(&sb->launch, timeout + WATCH_SLACK_MS);
	enum control_end end = control_run(&sb->control, in, m, sb->launch.pidfd, begun + timeout);
	sb->control.cancel = 0; /* neither must cut the killing short */
	sb->control.spent = NULL;
	bool sockets = end == CONTROL_SPENT && has_too_many_sockets(sb);
	finish(sb, in, end, since_ns, &r->strays);
	launch_watch(&sb->launch, -1);
	r->ms = (int)(clock_mono_ms() - begun);
	r->start_ms = was_ready ? 0 : in->ready_at ? (int)(in->ready_at - begun) : r->ms;
	if (end == CONTROL_GONE && !control_accepted(&sb->control, in))
		return never_came_up(sb, in, e);
	if (end == CONTROL_DEADLINE)
		fail(r, SANDBOX_TIMEOUT, NULL, "out of time");
	else if (end == CONTROL_CANCELLED)
		fail(r, SANDBOX_FAILED, NULL, "cancelled");
	else if (sockets)
		fail(r, SANDBOX_LIMIT, "memory", "too many connections at once");
	else if (end == CONTROL_CONFUSED)
		fail(r, SANDBOX_FAILED, NULL,
			"the process in the sandbox sent an unexpected message");
	else
		judge(sb, call, in, &spending.before, r);
	measure_scratch(sb, r);
	return 0;
}

int sandbox_call(struct sandbox *sb, const struct sandbox_call *call, struct sandbox_result *r,
	struct err *e)
{
	BUF_AUTO m = {.secret = true};
	struct sandbox_call own = *call;
	if (!sandbox_alive(sb))
		return err_set(e, ERR_SANDBOX, "the sandbox is gone");
	if (own.fresh && stage_clear_scratch(sb->launch.stage, sb->launch.uid) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot empty the sandbox's files");
	sandbox_result_free(r);
	if (own.memory == 0 || own.memory > sb->limits.memory)
		own.memory = sb->limits.memory;
	if (own.memory != sb->group_memory &&
		cgroup_set_memory(&sb->cgroup, own.memory + GROUP_SLACK) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot set the sandbox's memory limit");
	sb->group_memory = own.memory;
	if (message_make(&m, &own, e) < 0)
		return -1;
	struct intake in = {.call = &own};
	in.out.limit = sb->limits.result;
	in.log.limit = sb->limits.log;
	in.result.limit = sb->limits.result + 64;
	r->result.limit = sb->limits.result;
	int done = run_call(sb, &own, &m, &in, r, e);
	buf_free(&m);
	if (r->status != SANDBOX_OK)
		buf_clear(&r->result);
	ends_join(&in.log, &r->log);
	r->log_truncated = ends_cut(&in.log);
	intake_free(&in);
	return done;
}

void sandbox_result_free(struct sandbox_result *r)
{
	buf_free(&r->result);
	buf_free(&r->log);
	buf_free(&r->strays);
	memset(r, 0, sizeof *r);
}

/* ---- outputs, life and death ---- */

int sandbox_outputs(const struct sandbox *sb)
{
	return sb->launch.outputs;
}

int sandbox_reset_outputs(struct sandbox *sb)
{
	return stage_empty(sb->launch.outputs, sb->launch.uid);
}

bool sandbox_alive(const struct sandbox *sb)
{
	if (sb->dead || (sb->used && !sb->control.session))
		return false;
	return !launch_ended(&sb->launch) || !sb->control.ready;
}

int sandbox_pidfd(const struct sandbox *sb)
{
	return sb->launch.pidfd;
}

const char *sandbox_bounds(const struct sandbox *sb)
{
	static const char *const names[] = {
		[CGROUP_NONE] = "rlimit", [CGROUP_V1] = "cgroup1", [CGROUP_V2] = "cgroup2"};
	return names[sb->cgroup.mode];
}

void sandbox_close(struct sandbox **sb)
{
	if (!*sb)
		return;
	launch_close(&(*sb)->launch);
	control_close(&(*sb)->control);
	cgroup_close(&(*sb)->cgroup);
	inodes_release(&(*sb)->inodes);
	free((*sb)->share);
	free(*sb);
	*sb = NULL;
}

#include "batch/task.h"

#include "base/file.h"
#include "base/limits.h"
#include "batch/bundle_file.h"
#include "batch/chunk_file.h"
#include "batch/outcome.h"
#include "run/run.h"
#include "state/node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MOST 64
#define OLD_S 60 /* younger directories are left alone: their owner may be about to lock them */

const struct fields task_key_fields =
	FIELDS('K', 1, FIELD_BYTES(struct task_key, key, nkey, BUNDLE_KEY_BYTES));
const struct fields task_chunk_fields = FIELDS('O', 1, FIELD_NUMBER(struct task_chunk, chunk),
	FIELD_TEXT(struct task_chunk, stream, NAME_MOST));
const struct fields task_told_fields = FIELDS_NONE('P', 1);
const struct fields task_done_fields = FIELDS('D', 1, FIELD_NUMBER(struct outcome_word, call),
	FIELD_NUMBER(struct outcome_word, code), FIELD_CHARS(struct outcome_word, msg),
	FIELD_CHARS(struct outcome_word, hint));

struct task {
	const struct task_order *order;
	int spool;
	struct buf message; /* the bundle's */
	struct bundle bundle;
	struct secret key; /* BUNDLE_KEY_BYTES */
	char *dir;	   /* its own; removed at the end */
	int lock;
	struct state st;
	struct runner *runner;
	struct run_sink sink;
	struct outcome_writer out;
	struct buf run; /* the present call's record */
	const struct chunk_call *call;
};

/* ---- a directory of its own ---------------------------------------------------------------- */

static const char *scratch_place(void)
{
	const char *dir = getenv("TMPDIR");
	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* Left by a task that was killed: nobody holds its lock. */
static void sweep_one(int at, const char *name)
{
	struct stat st;
	FD_AUTO fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		st.st_mtime + OLD_S < clock_real_ms() / 1000 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		file_remove_tree(at, name);
}

static void sweep(const char *place, const char *prefix)
{
	DIR *d = opendir(place);
	struct dirent *de;
	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, prefix, strlen(prefix)) == 0)
			sweep_one(dirfd(d), de->d_name);
	if (d)
		closedir(d);
}

static int make_dir(struct task *t, struct err *e)
{
	const char *place = scratch_place();
	char prefix[64];
	snprintf(prefix, sizeof prefix, "evctl-task.%lu.", (unsigned long)geteuid());
	sweep(place, prefix);
	if (asprintf(&t->dir, "%s/%sXXXXXX", place, prefix) < 0) {
		t->dir = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	if (!mkdtemp(t->dir)) {
		err_errno(e, ERR_FAIL, "cannot make a directory in '%s'", place);
		free(t->dir);
		t->dir = NULL;
		return err_hint(e, "name a place on this machine's disk by TMPDIR");
	}
	t->lock = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->lock < 0 || flock(t->lock, LOCK_EX) < 0)
		return err_errno(e, ERR_FAIL, "cannot lock '%s'", t->dir);
	return 0;
}

/* ---- the bundle ---------------------------------------------------------------------------- */

static int read_bundle(struct task *t, struct err *e)
{
	FD_AUTO fd = openat(t->spool, "bundle", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	t->message.limit = (size_t)256 << 20;
	if (fd < 0 || fd_read_all(fd, &t->message) < 0) {
		err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot read the bundle in '%s'", t->order->spool);
		return err_hint(e, "the batch may be over, or the spool not be what home sees");
	}
	return bundle_read(&t->message, &t->bundle, e);
}

static int take_key(struct task *t, struct err *e)
{
	BUF_AUTO b = {.secret = true, .limit = 4096};
	struct task_key k = {0};
	const unsigned char *home = (const unsigned char *)t->bundle.home;
	if (t->order->driver < 0 && node_trusts(t->order->node_file, home, e) < 0)
		return -1;
	if (t->order->driver < 0)
		return bundle_key_find(&t->bundle, t->order->node, &t->key, e);
	int got = frame_recv(t->order->driver, &b, NULL, NULL, -1, e);
	if (got < 0)
		return -1;
	if (got == 0 || field_read(&b, &task_key_fields, &k) < 0)
		return err_set(e, ERR_FAIL, "the driver is gone");
	return secret_set(&t->key, k.key, k.nkey, e);
}

static struct secret half_of(const struct task *t)
{
	return (struct secret){t->key.data, SEAL_KEY_BYTES};
}

static int open_state(struct task *t, struct err *e)
{
	SECRET_AUTO bytes = {0};
	PLACE_AUTO place = {0};
	const struct place_options where = {t->dir, NULL, -1, -1};
	if (bundle_state_open(&t->bundle, &t->key, &bytes, e) < 0)
		return -1;
	FD_AUTO fd = openat(t->lock, "state.db", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, bytes.data, bytes.n) < 0)
		return err_errno(e, ERR_FAIL, "cannot write in '%s'", t->dir);
	fd_close(&fd);
	if (state_place_find(&place, &where, e) < 0 ||
		state_open(&t->st, &place, STATE_WRITE, e) < 0)
		return -1;
	return secret_set(&t->st.private_key, t->key.data, SEAL_KEY_BYTES, e);
}

/* ---- a call -------------------------------------------------------------------------------- */

static int seal_both(const struct task *t, const char *id, const struct run_end *end,
	struct buf *log, struct buf *input, struct err *e)
{
	const unsigned char *home = (const unsigned char *)t->bundle.home;
	if (seal_record(home, &(struct seal_id){"logs", 0, id, 1}, end->log, end->nlog, log, e) < 0)
		return -1;
	return seal_record(
		home, &(struct seal_id){"inputs", 0, id, 1}, end->input, end->ninput, input, e);
}

static int write_run(struct task *t, const char *id, int64_t started, const struct run_end *end,
	struct outcome_file *files, struct err *e)
{
	BUF_AUTO log = {0};
	BUF_AUTO input = {0};
	BUF_AUTO detail = {0};
	if (seal_both(t, id, end, &log, &input, e) < 0)
		return -1;
	if (end->detail)
		json_to_buf(end->detail, &detail);
	for (size_t i = 0; i < end->nartifacts; i++)
		files[i] = (struct outcome_file){
			end->artifacts[i].name, end->artifacts[i].data, end->artifacts[i].n};
	struct outcome_run run = {.started = started,
		.ms = end->ms,
		.status = (int)end->status,
		.owner_only = end->owner_only,
		.reason = end->reason,
		.detail = end->detail ? buf_str(&detail) : NULL,
		.log = log.data,
		.nlog = log.len,
		.input = input.data,
		.ninput = input.len,
		.files = files,
		.nfiles = end->nartifacts,
		.withheld = (struct run_withheld *)end->withheld,
		.nwithheld = end->nwithheld,
		.events = (struct net_event *)end->events,
		.nevents = end->nevents};
	snprintf(run.id, sizeof run.id, "%s", id);
	buf_clear(&t->run);
	return field_write(&t->run, &outcome_run_fields, &run, e);
}

static int keep(
	void *ctx, const char *id, int64_t started, const struct run_end *end, struct err *e)
{
	struct outcome_file *files = calloc(end->nartifacts + 1, sizeof *files);
	int r = files ? write_run(ctx, id, started, end, files, e)
		      : err_set(e, ERR_FAIL, "out of memory");
	free(files);
	return r;
}

/* Its run could not be kept whole: what is told is the failure, by its id. */
static int write_bare(struct task *t, const struct run_outcome *out, struct err *e)
{
	const struct run_end end = {.status = RUN_FAILED,
		.reason = "could not be recorded where it ran",
		.ms = out->ms,
		.log = "",
		.input = t->call->input,
		.ninput = t->call->ninput};
	return write_run(t, out->id, clock_real_ms() - out->ms, &end, NULL, e);
}

static int tell_run(struct task *t, const struct run_outcome *out, struct err *e)
{
	if (!t->run.len && write_bare(t, out, e) < 0)
		return -1;
	const struct outcome_call call = {.call = t->call->call,
		.cancelled = out->cancelled,
		.has_result = out->has_result,
		.is_json = out->is_json,
		.result = out->result.data,
		.nresult = out->result.len,
		.run = t->run.data,
		.nrun = t->run.len,
		.missing = out->missing.v,
		.nmissing = out->missing.n};
	return outcome_add(&t->out, &outcome_call_fields, &call, false, e);
}

static int tell_error(struct task *t, const struct err *was, struct err *e)
{
	struct outcome_word word = {.call = t->call->call, .code = (int)was->code};
	snprintf(word.msg, sizeof word.msg, "%s", was->msg);
	snprintf(word.hint, sizeof word.hint, "%s", was->hint);
	return outcome_add(&t->out, &outcome_word_fields, &word, false, e);
}

/* What is no fault of the call ends the chunk. */
static bool ends_chunk(const struct err *was)
{
	return was->code == ERR_SANDBOX || was->code == ERR_STATE || was->code == ERR_KEY;
}

static int work_call(struct task *t, struct err *e)
{
	RUN_OUTCOME_AUTO out = {0};
	struct err was = {0};
	const struct run_request rq = {.tool = t->call->tool,
		.input = t->call->input,
		.ninput = t->call->ninput,
		.timeout_ms = t->bundle.timeout_ms,
		.signals = true};
	buf_clear(&t->run);
	t->run.limit = OUTCOME_MAX;
	if (runner_call(t->runner, &rq, &out, &was) == 0) {
		if (tell_run(t, &out, e) < 0)
			return -1;
		return out.cancelled ? err_set(e, ERR_CANCELLED, "interrupted") : 0;
	}
	if (ends_chunk(&was)) {
		*e = was;
		return -1;
	}
	return tell_error(t, &was, e);
}

/* ---- a chunk ------------------------------------------------------------------------------- */

static int may_go_on(const struct task *t, struct err *e)
{
	struct pollfd p = {.fd = t->order->driver, .events = POLLRDHUP};
	if (faccessat(t->spool, "cancel", F_OK, 0) == 0)
		return err_set(e, ERR_CANCELLED, "the batch is cancelled");
	if (t->order->driver >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP)))
		return err_set(e, ERR_CANCELLED, "the driver is gone");
	if (clock_real_ms() < t->bundle.expires)
		return 0;
	return err_set(e, ERR_DENIED, "the bundle has expired");
}

static int tell_driver(const struct task *t, const struct fields *f, const void *of, struct err *e)
{
	BUF_AUTO b = {0};
	if (t->order->driver < 0)
		return 0;
	return field_write(&b, f, of, e) < 0
		       ? -1
		       : frame_send(t->order->driver, b.data, b.len, NULL, 0, e);
}

static int work_calls(struct task *t, const struct chunk_calls *c, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		t->call = &c->v[i];
		if (may_go_on(t, e) < 0)
			return -1;
		int r = work_call(t, e);
		if (r < 0)
			return -1;
		if (tell_driver(t, &task_told_fields, NULL, e) < 0)
			return -1;
	}
	return 0;
}

/* An end that is none of the calls' is told, as the last message unless it is an interruption. */
static int end_stream(struct task *t, int r, struct err *e)
{
	struct outcome_word word = {.call = -1, .code = r < 0 ? (int)e->code : 0};
	struct err quiet = {0};
	if (r < 0 && e->code == ERR_CANCELLED)
		return -1;
	if (r == 0)
		return outcome_add(&t->out, &outcome_end_fields, &word, true, e);
	snprintf(word.msg, sizeof word.msg, "%s", e->msg);
	snprintf(word.hint, sizeof word.hint, "%s", e->hint);
	outcome_add(&t->out, &outcome_end_fields, &word, true, &quiet);
	return -1;
}

static int open_runner(struct task *t, struct err *e)
{
	t->sink = (struct run_sink){keep, t};
	const struct run_who who = {.expert = t->bundle.expert,
		.buyer = t->bundle.buyer,
		.version = t->bundle.version,
		.warm = true,
		.sink = &t->sink};
	return t->runner ? 0 : runner_open(&t->runner, &t->st, &who, e);
}

static int work_stream(struct task *t, int64_t chunk, struct err *e)
{
	SECRET_AUTO text = {0};
	struct chunk_calls c = {0};
	const struct secret half = half_of(t);
	int r = open_runner(t, e);
	if (r == 0)
		r = chunk_read(t->spool, t->bundle.batch, chunk, &half, &c, &text, e);
	if (r == 0)
		r = work_calls(t, &c, e);
	chunk_free(&c);
	return end_stream(t, r, e);
}

static int work_chunk(struct task *t, int64_t chunk, const char *stream, struct err *e)
{
	char path[NAME_MOST + 8];
	struct outcome_head head = {.chunk = chunk};
	const struct secret half = half_of(t);
	snprintf(path, sizeof path, "out/%s", stream);
	snprintf(head.batch, sizeof head.batch, "%s", t->bundle.batch);
	FD_AUTO fd =
		openat(t->spool, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, errno == EEXIST ? ERR_CONFLICT : ERR_FAIL,
			"cannot write '%s' in the spool", path);
	if (outcome_begin(&t->out, fd, &head, t->order->node ? t->order->node : &half,
		    (const unsigned char *)t->bundle.home, e) < 0)
		return -1;
	int r = work_stream(t, chunk, e);
	seal_stream_wipe(&t->out.stream);
	return r;
}

/* An engine may start an index again: each time is a stream of its own. */
static int work_index(struct task *t, struct err *e)
{
	char name[NAME_MOST];
	for (int n = 1; n < 1000; n++) {
		snprintf(name, sizeof name, "%06lld.%d", (long long)t->order->index, n);
		int r = work_chunk(t, t->order->index, name, e);
		if (r == 0 || e->code != ERR_CONFLICT)
			return r;
		err_clear(e);
	}
	return err_set(e, ERR_FAIL, "chunk %lld was begun too often", (long long)t->order->index);
}

static int next_order(const struct task *t, struct task_chunk *c, struct buf *b, struct err *e)
{
	int got = frame_recv(t->order->driver, b, NULL, NULL, -1, e);
	if (got > 0 && field_read(b, &task_chunk_fields, c) < 0)
		return err_set(e, ERR_FAIL, "the driver sent a malformed message");
	return got;
}

static int tell_done(const struct task *t, int r, const struct err *was, struct err *e)
{
	struct outcome_word word = {.call = -1, .code = r < 0 ? (int)was->code : 0};
	snprintf(word.msg, sizeof word.msg, "%s", was->msg);
	snprintf(word.hint, sizeof word.hint, "%s", was->hint);
	return tell_driver(t, &task_done_fields, &word, e);
}

static int work_orders(struct task *t, struct err *e)
{
	BUF_AUTO b = {.limit = 65536};
	struct task_chunk c = {0};
	int got;
	while ((got = next_order(t, &c, &b, e)) > 0)
		if (work_chunk(t, c.chunk, c.stream, e) < 0 || tell_done(t, 0, e, e) < 0)
			return -1;
	return got;
}

static int work(struct task *t, struct err *e)
{
	t->spool = open(t->order->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->spool < 0)
		return err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot open the spool '%s'", t->order->spool);
	if (read_bundle(t, e) < 0 || take_key(t, e) < 0 ||
		bundle_check(&t->bundle, &t->key, e) < 0 || make_dir(t, e) < 0 ||
		open_state(t, e) < 0)
		return -1;
	return t->order->driver < 0 ? work_index(t, e) : work_orders(t, e);
}

int task_work(const struct task_order *o, struct err *e)
{
	struct task t = {.order = o, .spool = -1, .lock = -1};
	int r = seal_process(e);
	if (r == 0)
		r = work(&t, e);
	struct err quiet = {0};
	if (r < 0)
		tell_done(&t, r, e, &quiet);
	runner_close(&t.runner);
	state_close(&t.st);
	secret_free(&t.key);
	buf_free(&t.message);
	buf_free(&t.run);
	if (t.dir)
		file_remove_tree(AT_FDCWD, t.dir);
	free(t.dir);
	fd_close(&t.lock);
	fd_close(&t.spool);
	return r;
}

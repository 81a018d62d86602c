#include "batch/batch_in.h"

#include "base/child.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/options.h"
#include "base/paths.h"
#include "batch/bundle_file.h"
#include "batch/chunk_file.h"
#include "batch/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 100    /* what is told is taken in at least that far apart */
#define LOOK_MS 1000   /* and a cancellation by others is looked for that often */
#define LEAVE_MS 10000 /* a task that is not over by then is killed */
#define LOSSES_MAX 20  /* tasks that end before they begin, one after another */

/* One task of this machine's. */
struct hand {
	struct child child;
	int sock;
	bool has_chunk, told, done, over; /* told, done: said so since it was looked at */
	struct batch_chunk chunk;
	struct inflow in;
	struct outcome_word end; /* why it ended; code 0: it did not say */
};

/* The local engine at work. */
struct local {
	struct drive *d;
	struct hand *hands;
	size_t n, limit; /* limit: at once */
	int signals, losses;
	struct outcome_word fatal; /* code 0: none */
	char *program;
};

/* ---- the lock ------------------------------------------------------------------------------ */

/* Held while the descriptor is open. ERR_BUSY names who holds it. */
static int take_lock(struct state *st, const char *id, struct err *e)
{
	char name[40], who[32] = "";
	FD_AUTO dir = batch_dir(st, e);
	snprintf(name, sizeof name, "%.16s.lock", id);
	FD_AUTO fd =
		dir < 0 ? -1 : openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot lock batch '%s'", id);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t n = pread(fd, who, sizeof who - 1, 0);
		err_set(e, ERR_BUSY, "batch '%s' is driven by process %.*s", id,
			n > 0 ? (int)strcspn(who, "\n") : 1, n > 0 ? who : "?");
		return err_hint(e, "evctl-batch show %s", id);
	}
	int n = snprintf(who, sizeof who, "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, who, (size_t)n, 0) < 0)
		return err_errno(e, ERR_FAIL, "cannot lock batch '%s'", id);
	int kept = fd;
	fd = -1;
	return kept;
}

static void drop_lock(struct state *st, const char *id, int *fd)
{
	struct err quiet = {0};
	char name[40];
	FD_AUTO dir = batch_dir(st, &quiet);
	snprintf(name, sizeof name, "%.16s.lock", id);
	if (dir >= 0 && *fd >= 0)
		unlinkat(dir, name, 0);
	fd_close(fd);
}

/* ---- what is known of a batch -------------------------------------------------------------- */

static int tool_number(struct drive *d, const char *tool)
{
	for (size_t i = 0; i < d->tools.n; i++)
		if (strcmp(d->tools.v[i], tool) == 0)
			return (int)i;
	strv_add(&d->tools, tool);
	return (int)d->tools.n - 1;
}

static int know_call(void *ctx, int64_t call, int code, const struct batch_call *c, struct err *e)
{
	struct drive *d = ctx;
	if (call < 0 || call >= d->b.calls)
		return err_set(e, ERR_STATE, "batch '%s' has a call too many", d->b.id);
	struct drive_call *k = &d->calls[call];
	k->code = (int16_t)code;
	k->tool = c->tool ? (uint16_t)tool_number(d, c->tool) : 0;
	k->name = c->name ? strdup(c->name) : NULL;
	if (code != BATCH_OPEN) {
		d->done++;
		d->failed += code != 0;
		d->lost += code == ERR_FAIL;
	}
	return d->tools.failed || (c->name && !k->name) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static int queue(struct drive *d, struct batch_chunk *c, struct err *e)
{
	struct batch_chunk *v = grow(d->waiting, d->nwaiting, &d->waiting_room, sizeof *d->waiting);
	if (!v)
		return err_set(e, ERR_FAIL, "out of memory");
	d->waiting = v;
	d->waiting[d->nwaiting++] = *c;
	*c = (struct batch_chunk){0};
	return 0;
}

static int know_chunk(void *ctx, struct batch_chunk *c, struct err *e)
{
	return queue(ctx, c, e);
}

/* The words of --retry-status. */
static void know_statuses(struct drive *d, const char *words)
{
	for (int s = RUN_FAILED; s <= RUN_LIMIT; s++)
		d->retry_status[s] =
			words && option_chosen(run_status_word((enum run_status)s), words);
}

static int know_settings(struct drive *d, struct err *e)
{
	const json_t *s = d->b.settings;
	BUF_AUTO words = {0};
	for (const char *p = json_text_of(s, "retry_status"); *p; p++)
		buf_addc(&words, *p == ',' ? '|' : *p);
	d->retry = (int)json_int_of(s, "retry");
	d->max_failures = json_int_of(s, "max_failures");
	d->plain = json_is_true(json_object_get(s, "plain"));
	know_statuses(d, words.len ? buf_str(&words) : NULL);
	return buf_failed(&words) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

/* The key to the bundle, by home's entry. */
static int know_key(struct drive *d, struct err *e)
{
	BUF_AUTO message = {.limit = (size_t)256 << 20};
	struct bundle b;
	FD_AUTO fd = openat(d->spool, "bundle", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, &message) < 0)
		return err_errno(e, ERR_FAIL, "cannot read the bundle in '%s'", d->b.spool);
	if (bundle_read(&message, &b, e) < 0 ||
		bundle_key_find(&b, &d->st->private_key, &d->key, e) < 0)
		return -1;
	return bundle_check(&b, &d->key, e);
}

static int know(struct drive *d, const char *id, struct err *e)
{
	if (batch_find(d->st, id, &d->b, e) < 0 || know_settings(d, e) < 0 ||
		state_unlock(d->st, e) < 0)
		return -1;
	d->calls = calloc((size_t)d->b.calls + 1, sizeof *d->calls);
	if (!d->calls)
		return err_set(e, ERR_FAIL, "out of memory");
	for (int64_t i = 0; i < d->b.calls; i++)
		d->calls[i].code = BATCH_OPEN;
	return batch_each_call(d->st, id, know_call, d, e);
}

static int know_work(struct drive *d, struct err *e)
{
	d->spool = open(d->b.spool, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->spool < 0)
		return err_errno(e, ERR_FAIL, "cannot open the spool '%s'", d->b.spool);
	d->begun = clock_mono_ms();
	d->begun_done = d->done;
	if (know_key(d, e) < 0)
		return -1;
	return batch_next_chunk(d->st, d->b.id, &d->next_chunk, e) < 0
		       ? -1
		       : batch_each_chunk(d->st, d->b.id, know_chunk, d, e);
}

static void drive_free(struct drive *d)
{
	for (int64_t i = 0; d->calls && i < d->b.calls; i++)
		free(d->calls[i].name);
	free(d->calls);
	strv_free(&d->tools);
	for (size_t i = 0; i < d->nwaiting; i++)
		batch_chunk_free(&d->waiting[i]);
	free(d->waiting);
	batch_lines_free(&d->lines);
	secret_free(&d->key);
	fd_close(&d->spool);
	batch_free(&d->b);
}

/* ---- what is left of a chunk --------------------------------------------------------------- */

/* Copies the calls of old that new has from the one's file into the other's. */
static int write_again(struct drive *d, const struct batch_chunk *old,
	const struct batch_chunk *new, struct err *e)
{
	SECRET_AUTO text = {0};
	struct chunk_calls c = {0};
	const struct secret half = {d->key.data, SEAL_KEY_BYTES};
	if (chunk_read(d->spool, d->b.id, old->chunk, &half, &c, &text, e) < 0)
		return -1;
	struct chunk_calls some = {.v = calloc(c.n + 1, sizeof *some.v)};
	for (size_t i = 0; some.v && i < c.n; i++)
		if (batch_chunk_has(new, c.v[i].call))
			some.v[some.n++] = c.v[i];
	int r = some.v ? chunk_write(d->spool, d->b.id, new->chunk, d->b.public_key, &some, e)
		       : err_set(e, ERR_FAIL, "out of memory");
	free(some.v);
	chunk_free(&c);
	return r;
}

static int again(struct drive *d, const struct batch_chunk *old, const int64_t *calls, size_t n,
	int attempt, struct err *e)
{
	BATCH_CHUNK_AUTO c = {.chunk = d->next_chunk, .attempt = attempt};
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (batch_chunk_add_call(&c, calls[i], e) < 0)
			return -1;
	if (write_again(d, old, &c, e) < 0 || batch_put_chunk(d->st, d->b.id, &c, "waiting", e) < 0)
		return -1;
	d->next_chunk++;
	return queue(d, &c, e);
}

int drive_open_calls(const struct drive *d, const struct batch_chunk *c, int64_t **calls, size_t *n,
	struct err *e)
{
	*n = 0;
	*calls = calloc((size_t)batch_chunk_calls(c) + 1, sizeof **calls);
	if (!*calls)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < c->nspans; i++)
		for (int64_t k = 0; k < c->spans[i].n; k++)
			if (d->calls[c->spans[i].first + k].code == BATCH_OPEN)
				(*calls)[(*n)++] = c->spans[i].first + k;
	return 0;
}

/*
 * What a chunk left without an answer comes again. Calls are made in order, so it is the first of
 * them at which its task was lost: that one is tried so often and no more, from the second time on
 * alone. A task that did not even begin its stream made none of them.
 */
static int leave_calls(
	struct drive *d, const struct batch_chunk *c, bool begun, bool whole, struct err *e)
{
	int64_t *calls = NULL;
	size_t n;
	int r = drive_open_calls(d, c, &calls, &n, e);
	bool over = c->attempt > d->retry;
	if (r == 0 && n && (whole || (!over && (c->attempt == 1 || !begun)))) {
		r = again(d, c, calls, n, c->attempt + 1, e);
	} else if (r == 0 && n) {
		size_t first = begun ? 1 : n;
		r = over ? inflow_lost(d, calls, first,
				   "its task was lost, and it is not tried again", e)
			 : again(d, c, calls, first, c->attempt + 1, e);
		if (r == 0)
			r = again(d, c, calls + first, n - first, c->attempt, e);
	}
	free(calls);
	if (r == 0)
		r = batch_set_chunk(d->st, d->b.id, c->chunk, whole ? "done" : "lost", e);
	return r;
}

/* At once: a driver that is killed meanwhile must not leave its calls in two chunks. */
int drive_leave_chunk(
	struct drive *d, const struct batch_chunk *c, bool begun, bool whole, struct err *e)
{
	if (state_begin(d->st, e) < 0)
		return -1;
	if (leave_calls(d, c, begun, whole, e) == 0)
		return state_commit(d->st, e);
	state_rollback(d->st);
	return -1;
}

/* ---- tasks of this machine ----------------------------------------------------------------- */

static int send_to(const struct hand *h, const struct fields *f, const void *of, struct err *e)
{
	BUF_AUTO b = {.limit = 65536, .secret = true};
	if (field_write(&b, f, of, e) < 0)
		return -1;
	return frame_send(h->sock, b.data, b.len, NULL, 0, e);
}

static int start_hand(struct local *l, struct hand *h, struct err *e)
{
	const struct drive *d = l->d;
	int pair[2];
	const char *place = getenv("TMPDIR");
	STR_AUTO tmp = NULL;
	if (place && asprintf(&tmp, "TMPDIR=%s", place) < 0) {
		tmp = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	const char *const argv[] = {l->program, TASK_DRIVER_WORD, d->b.spool, NULL};
	const char *const envp[] = {"LC_ALL=C.UTF-8", tmp, NULL};
	const int fds[TASK_DRIVER_FD + 1] = {-1, -1, STDERR_FILENO, pair[1]};
	const struct child_spec spec = {.argv = argv,
		.envp = envp,
		.fds = fds,
		.nfds = TASK_DRIVER_FD + 1,
		.new_session = true,
		.die_with_parent = true};
	*h = (struct hand){.child = CHILD_NONE, .sock = pair[0], .in = INFLOW_NONE};
	int r = child_start(&h->child, &spec, e);
	fd_close(&pair[1]);
	const struct task_key k = {d->key.data, d->key.n};
	return r < 0 ? -1 : send_to(h, &task_key_fields, &k, e);
}

/* Without its driver a task ends, and takes its directory with it. */
static void drop_hand(struct hand *h)
{
	fd_close(&h->sock);
	child_wait(&h->child, NULL, clock_mono_ms() + LEAVE_MS);
	child_kill(&h->child);
	batch_chunk_free(&h->chunk);
	inflow_free(&h->in);
	*h = (struct hand){.child = CHILD_NONE, .sock = -1, .in = INFLOW_NONE};
}

/* The next of the chunks that wait; those whose calls have all been answered are passed over. */
int drive_next_chunk(struct drive *d, struct batch_chunk *out, struct err *e)
{
	while (d->nwaiting) {
		size_t first = 0, n;
		int64_t *calls = NULL;
		for (size_t i = 1; i < d->nwaiting; i++)
			if (d->waiting[i].spans[0].first < d->waiting[first].spans[0].first)
				first = i;
		*out = d->waiting[first];
		d->waiting[first] = d->waiting[--d->nwaiting];
		int r = drive_open_calls(d, out, &calls, &n, e);
		free(calls);
		if (r < 0 || n)
			return r < 0 ? -1 : 1;
		if (batch_set_chunk(d->st, d->b.id, out->chunk, "done", e) < 0)
			return -1;
		batch_chunk_free(out);
	}
	return 0;
}

/* A name that no stream of the chunk has yet: another driver may have begun one. */
static void name_stream(const struct drive *d, const struct batch_chunk *c, char *name)
{
	for (int n = 1; n < 1000; n++) {
		char path[BATCH_STREAM_MAX + 8];
		snprintf(name, BATCH_STREAM_MAX, "%06lld.%d", (long long)c->chunk, n);
		snprintf(path, sizeof path, "out/%.50s", name);
		if (faccessat(d->spool, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return;
	}
}

static int give_chunk(struct local *l, struct hand *h, struct err *e)
{
	struct drive *d = l->d;
	struct err gone = {0};
	int r = drive_next_chunk(d, &h->chunk, e);
	if (r <= 0)
		return r;
	h->in.chunk = &h->chunk;
	name_stream(d, &h->chunk, h->in.name);
	h->has_chunk = true;
	const struct task_chunk order = {h->chunk.chunk, h->in.name};
	/* One that is gone is noticed by its socket. */
	send_to(h, &task_chunk_fields, &order, &gone);
	return batch_set_chunk(d->st, d->b.id, h->chunk.chunk, "out", e);
}

static int hand_out(struct local *l, struct err *e)
{
	struct drive *d = l->d;
	if (d->cancelling || l->fatal.code)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (!l->hands[i].has_chunk && !l->hands[i].over && d->nwaiting &&
			give_chunk(l, &l->hands[i], e) < 0)
			return -1;
	while (l->n < l->limit && d->nwaiting) {
		if (start_hand(l, &l->hands[l->n], e) < 0) {
			drop_hand(&l->hands[l->n]);
			return -1;
		}
		l->n++;
		if (give_chunk(l, &l->hands[l->n - 1], e) < 0)
			return -1;
	}
	return 0;
}

/* What a task says: that its stream has more, or that its chunk is over. */
static void hear(struct hand *h)
{
	BUF_AUTO b = {.limit = 65536};
	struct pollfd p = {.fd = h->sock, .events = POLLIN};
	while (!h->over && poll(&p, 1, 0) > 0) {
		struct err quiet = {0};
		h->told = true;
		if (frame_recv(h->sock, &b, NULL, NULL, clock_mono_ms() + MS(10), &quiet) <= 0) {
			h->over = true;
		} else if (field_is(&b, &task_done_fields)) {
			h->done = true;
			if (field_read(&b, &task_done_fields, &h->end) < 0 || h->end.code)
				h->over = true;
			return;
		}
	}
}

/* Nothing of this kind gets better by trying again. */
static bool is_fatal(int code)
{
	return code == ERR_SANDBOX || code == ERR_DENIED || code == ERR_KEY || code == ERR_STATE ||
	       code == ERR_USAGE || code == ERR_NOTFOUND;
}

static int end_chunk(struct local *l, struct hand *h, struct err *e)
{
	struct inflow *in = &h->in;
	const struct outcome_word *why = in->final && in->end.code ? &in->end : &h->end;
	bool whole = in->final && !in->end.code && !in->refused[0];
	if (in->refused[0] && l->d->hooks->note)
		l->d->hooks->note(l->d->hooks->ctx, in->refused);
	if (whole || in->begun)
		l->losses = 0;
	else
		l->losses++;
	if (is_fatal(why->code) || (!whole && l->losses >= LOSSES_MAX))
		l->fatal = why->code ? *why
				     : (struct outcome_word){.code = ERR_FAIL,
					       .msg = "tasks end before they begin"};
	h->has_chunk = false;
	int r = l->fatal.code || (l->d->cancelling && !whole)
			? batch_set_chunk(l->d->st, l->d->b.id, h->chunk.chunk, "waiting", e)
			: drive_leave_chunk(l->d, &h->chunk, in->begun, whole, e);
	batch_chunk_free(&h->chunk);
	inflow_free(in);
	h->end = (struct outcome_word){0};
	return r;
}

static bool chunk_is_over(const struct hand *h)
{
	return h->has_chunk && (h->over || h->in.final);
}

/* One at a time, as each may change what the others are. */
static int take_in(struct local *l, struct err *e)
{
	for (size_t i = 0; i < l->n; i++) {
		struct hand *h = &l->hands[i];
		if (!h->told)
			continue;
		h->told = h->done = false;
		if (h->has_chunk && inflow_read(l->d, &h->in, e) < 0)
			return -1;
		if (h->in.refused[0])
			h->over = true;
		if (chunk_is_over(h) && end_chunk(l, h, e) < 0)
			return -1;
	}
	for (size_t i = l->n; i-- > 0;)
		if (l->hands[i].over) {
			drop_hand(&l->hands[i]);
			l->hands[i] = l->hands[--l->n];
			/* It moved, and what it reads for with it. */
			l->hands[i].in.chunk = &l->hands[i].chunk;
		}
	return inflow_lines(l->d, false, e);
}

/* ---- waiting ------------------------------------------------------------------------------- */

void drive_tell_cancel(const struct drive *d)
{
	int fd = openat(d->spool, "cancel", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	fd_close(&fd);
}

static void begin_cancel(struct local *l)
{
	struct drive *d = l->d;
	if (d->cancelling)
		return;
	d->cancelling = true;
	drive_tell_cancel(d);
	for (size_t i = 0; i < l->n; i++)
		if (l->hands[i].child.pid > 0)
			kill(l->hands[i].child.pid, SIGTERM);
}

static void look_for_cancel(struct local *l)
{
	struct signalfd_siginfo info;
	while (read(l->signals, &info, sizeof info) == sizeof info) {
		if (l->d->hooks->signal)
			*l->d->hooks->signal = (int)info.ssi_signo;
		begin_cancel(l);
	}
	if (faccessat(l->d->spool, "cancel", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		begin_cancel(l);
}

static void wait_for_news(struct local *l, int64_t until)
{
	int64_t now;
	while ((now = clock_mono_ms()) < until) {
		struct pollfd *p = calloc(l->n + 1, sizeof *p);
		bool told = false, done = false;
		if (!p)
			return;
		for (size_t i = 0; i < l->n; i++)
			p[i] = (struct pollfd){.fd = l->hands[i].sock, .events = POLLIN};
		p[l->n] = (struct pollfd){.fd = l->signals, .events = POLLIN};
		int got = poll(p, l->n + 1, (int)(until - now));
		bool signalled = p[l->n].revents;
		for (size_t i = 0; got > 0 && i < l->n; i++)
			if (p[i].revents) {
				hear(&l->hands[i]);
				told |= l->hands[i].told;
				done |= l->hands[i].over || l->hands[i].done;
			}
		free(p);
		if (signalled || done)
			return;
		/* The first word is waited for; those that come soon after go with it. */
		if (told && until > now + TICK_MS)
			until = now + TICK_MS;
	}
}

void drive_progress(const struct drive *d, int64_t running)
{
	int64_t spent = clock_mono_ms() - d->begun, made = d->done - d->begun_done;
	const struct batch_progress p = {.calls = d->b.calls,
		.done = d->done,
		.failed = d->failed,
		.running = running,
		.left_ms = made > 0 ? spent * (d->b.calls - d->done) / made : -1};
	if (d->hooks->progress)
		d->hooks->progress(d->hooks->ctx, &p);
}

static int64_t running(const struct local *l)
{
	int64_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->hands[i].has_chunk;
	return n;
}

bool drive_too_many(const struct drive *d)
{
	return d->max_failures >= 0 && d->failed > d->max_failures;
}

static int loop(struct local *l, struct err *e)
{
	struct drive *d = l->d;
	look_for_cancel(l);
	if (inflow_lines(d, false, e) < 0 || hand_out(l, e) < 0)
		return -1;
	while (running(l)) {
		wait_for_news(l, clock_mono_ms() + LOOK_MS);
		look_for_cancel(l);
		if (take_in(l, e) < 0 || (!drive_too_many(d) && hand_out(l, e) < 0))
			return -1;
		if (drive_too_many(d) || d->deaf)
			begin_cancel(l);
		drive_progress(d, running(l));
	}
	return 0;
}

/* A task finds its own parts beside itself: it is where this program's are. */
char *drive_task_program(struct err *e)
{
	char *there = paths_beside("evctl-task", e);
	if (!there)
		there = paths_beside("../libexec/evctl/evctl-task", e);
	if (!there)
		err_set(e, ERR_SANDBOX, "evctl-task is not where this program was installed");
	return there;
}

/* Streams of a driver that was killed: what they hold counts, and what they lack comes again. */
static int take_old(struct drive *d, struct err *e)
{
	struct batch_chunk *old = d->waiting;
	size_t n = d->nwaiting;
	d->waiting = NULL;
	d->nwaiting = d->waiting_room = 0;
	int r = 0;
	for (size_t i = 0; i < n; i++) {
		bool any = false;
		for (int k = 1; r == 0 && k < 1000; k++) {
			struct inflow in = INFLOW_NONE;
			in.chunk = &old[i];
			snprintf(in.name, sizeof in.name, "%06lld.%d", (long long)old[i].chunk, k);
			r = inflow_read(d, &in, e);
			bool there = in.fd >= 0;
			any |= in.begun;
			inflow_free(&in);
			if (!there)
				break;
		}
		if (r == 0)
			r = any ? drive_leave_chunk(d, &old[i], true, false, e)
				: queue(d, &old[i], e);
		batch_chunk_free(&old[i]);
	}
	free(old);
	return r;
}

static int run_local(struct drive *d, int jobs, struct err *e)
{
	struct local l = {.d = d, .signals = -1, .limit = jobs > 0 ? (size_t)jobs : 1};
	sigset_t old;
	l.program = drive_task_program(e);
	l.hands = calloc(l.limit, sizeof *l.hands);
	int r = l.program && l.hands ? 0 : err_set(e, ERR_FAIL, "out of memory");
	l.signals = r == 0 ? proc_end_signals(&old) : -1;
	if (r == 0)
		r = take_old(d, e);
	if (r == 0)
		r = loop(&l, e);
	for (size_t i = 0; i < l.n; i++)
		fd_close(&l.hands[i].sock);
	for (size_t i = 0; i < l.n; i++)
		drop_hand(&l.hands[i]);
	free(l.hands);
	free(l.program);
	if (l.signals >= 0)
		sigprocmask(SIG_SETMASK, &old, NULL);
	fd_close(&l.signals);
	if (r == 0 && l.fatal.code) {
		err_set(e, (enum err_code)l.fatal.code, "%s", l.fatal.msg);
		r = l.fatal.hint[0] ? err_hint(e, "%s", l.fatal.hint) : -1;
	}
	return r;
}

/* ---- all of it ----------------------------------------------------------------------------- */

char *batch_command(struct state *st, const char *id, int64_t *chunks, struct err *e)
{
	BATCH_AUTO b = {0};
	BUF_AUTO line = {0};
	STR_AUTO program = drive_task_program(e);
	if (!program || batch_find(st, id, &b, e) < 0 || batch_next_chunk(st, id, chunks, e) < 0)
		return NULL;
	buf_addword(&line, program);
	buf_addc(&line, ' ');
	buf_addword(&line, b.spool);
	char *out = buf_detach(&line);
	if (!out)
		err_set(e, ERR_FAIL, "out of memory");
	return out;
}

static int code_of(const struct drive *d)
{
	if (d->lost)
		return ERR_FAIL;
	for (int64_t i = 0; i < d->b.calls; i++)
		if (d->calls[i].code > 0)
			return d->calls[i].code;
	return 0;
}

/* Nothing that a batch needed outlives it. */
static int conclude(struct drive *d, const char *status, struct err *e)
{
	if (batch_end(d->st, d->b.id, status, e) < 0)
		return -1;
	batch_remove_spool(&d->b);
	return inflow_lines(d, true, e);
}

static int drive(struct drive *d, int jobs, int *code, struct err *e)
{
	if (!d->b.live) {
		*code = strcmp(d->b.status, "cancelled") == 0 ? ERR_CANCELLED
			: strcmp(d->b.status, "stopped") == 0 ? ERR_FAIL
							      : code_of(d);
		return inflow_lines(d, true, e);
	}
	if (know_work(d, e) < 0)
		return -1;
	bool local = strcmp(d->b.engine, "local") == 0;
	if ((local ? run_local(d, jobs, e) : remote_run(d, e)) < 0)
		return -1;
	*code = code_of(d);
	if (d->done == d->b.calls)
		return conclude(d, *code ? "failed" : "ok", e);
	*code = drive_too_many(d) ? ERR_FAIL : ERR_CANCELLED;
	return conclude(d, drive_too_many(d) ? "stopped" : "cancelled", e);
}

int batch_drive(struct state *st, const char *id, int jobs, const struct batch_hooks *h, int *code,
	struct err *e)
{
	struct drive d = {.st = st, .hooks = h, .spool = -1};
	int r = know(&d, id, e);
	int lock = r == 0 ? take_lock(st, d.b.id, e) : -1;
	if (r == 0)
		r = lock < 0 ? -1 : drive(&d, jobs, code, e);
	if (lock >= 0)
		drop_lock(st, d.b.id, &lock);
	drive_free(&d);
	return r;
}

int batch_results(struct state *st, const char *id, bool failed,
	bool (*line)(void *ctx, const char *text, size_t n), void *ctx, int *code, struct err *e)
{
	const struct batch_hooks h = {.line = line, .ctx = ctx};
	struct drive d = {.st = st, .hooks = &h, .spool = -1};
	int r = know(&d, id, e);
	for (int64_t i = 0; r == 0 && failed && i < d.b.calls; i++)
		if (d.calls[i].code == 0)
			d.calls[i].code = BATCH_OPEN;
	if (r == 0)
		r = inflow_lines(&d, true, e);
	*code = r == 0 ? code_of(&d) : 0;
	drive_free(&d);
	return r;
}

int batch_forget(struct state *st, const char *id, struct err *e)
{
	BATCH_AUTO b = {0};
	if (batch_find(st, id, &b, e) < 0)
		return -1;
	if (b.live) {
		err_set(e, ERR_CONFLICT, "batch '%s' goes on", id);
		return err_hint(e, "evctl-batch cancel %s", id);
	}
	return batch_remove(st, id, e);
}

static int ask_to_cancel(const struct batch *b, struct err *e)
{
	STR_AUTO path = path_join(b->spool, "cancel");
	FD_AUTO fd = path ? open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd >= 0)
		return 0;
	return err_errno(e, ERR_FAIL, "cannot write in the spool '%s'", b->spool);
}

static bool no_line(void *ctx, const char *line, size_t n)
{
	(void)ctx, (void)line, (void)n;
	return true;
}

/* Whoever drives it ends it; nobody does: this program does, with nothing handed out any more. */
int batch_cancel(struct state *st, const char *id, struct err *e)
{
	const struct batch_hooks h = {.line = no_line};
	BATCH_AUTO b = {0};
	int code;
	if (batch_find(st, id, &b, e) < 0)
		return -1;
	if (!b.live) {
		err_set(e, ERR_CONFLICT, "batch '%s' is over: %s", id, b.status);
		return err_hint(e, "evctl-batch results %s", id);
	}
	if (ask_to_cancel(&b, e) < 0)
		return -1;
	for (;;) {
		struct err busy = {0};
		struct timespec pause = {.tv_nsec = 50000000};
		if (batch_drive(st, id, 1, &h, &code, &busy) == 0)
			return 0;
		if (busy.code != ERR_BUSY) {
			*e = busy;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
}

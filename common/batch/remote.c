#include "batch/batch_in.h"

#include "base/file.h"
#include "base/proc.h"
#include "base/grow.h"
#include "base/limits.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS 500	  /* streams are read that often while something comes */
#define LOOK_MOST_MS 5000 /* and that often while nothing does */
#define ENGINE_MS 2000	  /* the engine is asked that often */
#define CANCEL_MS 30000	  /* what has not ended by then is given up */
#define SETTLE_S 60	  /* without the engine's word and without an end: lost */

static bool by_hand(const struct drive *d)
{
	return strcmp(d->b.engine, "none") == 0;
}

static int64_t settle_ms(const struct drive *d)
{
	int64_t s = json_int_of(d->b.settings, "settle");
	return MS(s ? s : SETTLE_S);
}

static void flow_free(struct remote_flow *f)
{
	batch_chunk_free(&f->chunk);
	inflow_free(&f->in);
	free(f);
}

static void name_flow(struct remote_flow *f)
{
	inflow_free(&f->in);
	f->in.chunk = &f->chunk;
	snprintf(f->in.name, sizeof f->in.name, "%06lld.%d", (long long)f->chunk.chunk, f->k);
}

static int add_flow(struct remote *r, struct batch_chunk *c, struct err *e)
{
	struct remote_flow **v = grow(r->v, r->n, &r->room, sizeof *r->v);
	struct remote_flow *f = v ? calloc(1, sizeof *f) : NULL;
	if (v)
		r->v = v;
	if (!f)
		return err_set(e, ERR_FAIL, "out of memory");
	*f = (struct remote_flow){.chunk = *c, .in = INFLOW_NONE, .k = 1, .alive = clock_mono_ms()};
	*c = (struct batch_chunk){0};
	name_flow(f);
	r->v[r->n++] = f;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A task that an engine started again tells in another stream. */
static bool next_stream(const struct remote *r, struct remote_flow *f)
{
	char path[BATCH_STREAM_MAX + 8];
	snprintf(path, sizeof path, "out/%06lld.%d", (long long)f->chunk.chunk, f->k + 1);
	if (faccessat(r->d->spool, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	f->k++;
	name_flow(f);
	return true;
}

/* Nothing of this kind gets better by trying again. */
static int ended_badly(const struct remote_flow *f, struct err *e)
{
	const struct outcome_word *w = &f->in.end;
	err_set(e,
		(enum err_code)(w->code >= ERR_FAIL && w->code <= ERR_DENIED ? w->code : ERR_FAIL),
		"node '%s': %s", f->in.node, w->msg);
	return w->hint[0] ? err_hint(e, "%s", w->hint) : -1;
}

static void note(const struct remote *r, const char *text)
{
	if (r->d->hooks->note)
		r->d->hooks->note(r->d->hooks->ctx, text);
}

static int read_flow(struct remote *r, struct remote_flow *f, struct err *e)
{
	struct drive *d = r->d;
	do {
		if (inflow_read(d, &f->in, e) < 0)
			return -1;
	} while (!f->in.final && next_stream(r, f));
	if (f->in.refused[0])
		note(r, f->in.refused);
	bool whole = f->in.final && !f->in.end.code;
	if (!f->in.final && !f->in.refused[0])
		return 0;
	f->over = true;
	if (f->in.final && f->in.end.code && (by_hand(d) || f->chunk.attempt > d->retry))
		return ended_badly(f, e);
	return drive_leave_chunk(d, &f->chunk, f->in.begun && !f->in.end.code, whole, e);
}

static int lose_flow(struct remote *r, struct remote_flow *f, struct err *e)
{
	f->over = true;
	return drive_leave_chunk(r->d, &f->chunk, f->in.begun, false, e);
}

static void drop_over(struct remote *r)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i]->over)
			flow_free(r->v[i]);
		else
			r->v[kept++] = r->v[i];
	r->n = kept;
}

static int read_flows(struct remote *r, struct err *e)
{
	for (size_t i = 0; i < r->n; i++)
		if (read_flow(r, r->v[i], e) < 0)
			return -1;
	drop_over(r);
	return inflow_lines(r->d, false, e);
}

/* ---- the engine ---------------------------------------------------------------------------- */

/* Chunks that wait; those that an engine has already are followed only. */
static int submit(struct remote *r, struct err *e)
{
	struct drive *d = r->d;
	struct batch_chunk c = {0};
	size_t first = r->n;
	int got = 0;
	while (!d->cancelling && (got = drive_next_chunk(d, &c, e)) > 0)
		if (add_flow(r, &c, e) < 0)
			return -1;
	for (size_t from = first; got == 0 && !by_hand(d) && from < r->n;) {
		size_t to = from + 1;
		if (r->v[from]->chunk.job) {
			from = to;
			continue;
		}
		while (to < r->n && !r->v[to]->chunk.job &&
			r->v[to]->chunk.chunk == r->v[to - 1]->chunk.chunk + 1)
			to++;
		if (slurm_submit(r, from, to, e) < 0)
			return -1;
		from = to;
	}
	return got;
}

static int ask_engine(struct remote *r, struct err *e)
{
	bool was_away = r->away;
	if (by_hand(r->d))
		return 0;
	slurm_look(r);
	if (r->away && !was_away)
		note(r, "the engine does not answer; nothing is lost, it is waited for");
	int64_t now = clock_mono_ms();
	for (size_t i = 0; i < r->n; i++) {
		struct remote_flow *f = r->v[i];
		if (r->away)
			f->alive = now;
		else if (now - f->alive > settle_ms(r->d) && lose_flow(r, f, e) < 0)
			return -1;
	}
	drop_over(r);
	return 0;
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void look_for_cancel(struct remote *r)
{
	struct signalfd_siginfo info;
	struct drive *d = r->d;
	bool asked = faccessat(d->spool, "cancel", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	while (read(r->signals, &info, sizeof info) == sizeof info)
		asked = true;
	if (d->cancelling || (!asked && !drive_too_many(d) && !d->deaf))
		return;
	d->cancelling = true;
	drive_tell_cancel(d);
	if (!by_hand(d))
		slurm_cancel(r);
}

static int64_t running(const struct remote *r)
{
	int64_t n = 0;
	for (size_t i = 0; i < r->n; i++)
		n += r->v[i]->in.begun;
	return n;
}

static int check_time(const struct remote *r, struct err *e)
{
	if (clock_real_ms() < r->d->b.expires)
		return 0;
	err_set(e, ERR_DENIED, "batch '%s' has expired", r->d->b.id);
	return err_hint(e, "evctl-batch cancel %s keeps what is done", r->d->b.id);
}

static int loop(struct remote *r, struct err *e)
{
	struct drive *d = r->d;
	int64_t asked = 0, cancelled = 0, pause = LOOK_MS;
	while (d->done < d->b.calls) {
		int64_t before = d->done;
		if (submit(r, e) < 0 || read_flows(r, e) < 0)
			return -1;
		int64_t now = clock_mono_ms();
		if (now - asked >= ENGINE_MS) {
			asked = now;
			if (ask_engine(r, e) < 0)
				return -1;
		}
		look_for_cancel(r);
		drive_progress(d, running(r));
		if (d->cancelling) {
			cancelled = cancelled ? cancelled : now;
			if (!r->n || by_hand(d) || now - cancelled > CANCEL_MS)
				return read_flows(r, e);
		} else if (check_time(r, e) < 0) {
			return -1;
		}
		pause = d->done != before	   ? LOOK_MS
			: pause * 2 > LOOK_MOST_MS ? LOOK_MOST_MS
						   : pause * 2;
		struct pollfd p = {.fd = r->signals, .events = POLLIN};
		if (d->done < d->b.calls && poll(&p, 1, (int)pause) > 0)
			look_for_cancel(r);
	}
	return 0;
}

int remote_run(struct drive *d, struct err *e)
{
	struct remote r = {.d = d, .signals = -1};
	sigset_t old;
	r.program = drive_task_program(e);
	r.signals = r.program ? proc_end_signals(&old) : -1;
	int done = r.program ? loop(&r, e) : -1;
	for (size_t i = 0; i < r.n; i++)
		flow_free(r.v[i]);
	free(r.v);
	free(r.program);
	if (r.signals >= 0)
		sigprocmask(SIG_SETMASK, &old, NULL);
	fd_close(&r.signals);
	return done;
}

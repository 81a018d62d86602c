#include "batch/batch_in.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/magic.h"
#include "base/result.h"
#include "base/text.h"
#include "run/asked.h"
#include "state/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER 500			  /* answers in a transaction */
#define TOGETHER_BYTES ((size_t)16 << 20) /* of their messages */
#define DAY_MS ((int64_t)86400000)

/* ---- lines --------------------------------------------------------------------------------- */

/* What goes before an envelope's members; a buyer's have neither where nor how often. */
static void begin_line(const struct drive *d, const struct inflow *in, int64_t call, struct buf *b)
{
	const char *name = d->calls[call].name;
	buf_addf(b, "{\"call\":%lld", (long long)call);
	if (name)
		buf_addf(b, ",\"id\":%s", name);
	if (in && !d->b.buyer)
		buf_addf(b, ",\"attempt\":%d,\"node\":\"%s\"", in->chunk->attempt, in->node);
}

static void outcome_line(const struct drive *d, const struct inflow *in, int64_t call,
	const struct run_outcome *o, struct buf *b)
{
	BUF_AUTO envelope = {0};
	b->limit = OUTCOME_MAX;
	if (d->plain) {
		run_envelope(o, b);
		return;
	}
	begin_line(d, in, call, b);
	run_envelope(o, &envelope);
	if (envelope.len) {
		buf_addc(b, ',');
		buf_add(b, envelope.data + 1, envelope.len - 1);
	}
}

void inflow_error_line(const struct drive *d, int64_t call, int64_t read, const struct err *was,
	const char *kind, struct buf *line)
{
	JSON_AUTO error = json_error_in(was, read);
	BUF_AUTO text = {0};
	if (kind)
		json_object_set_new(json_object_get(error, "error"), "kind", json_string(kind));
	json_to_buf(error, &text);
	if (d->plain) {
		buf_adds(line, buf_str(&text));
		return;
	}
	begin_line(d, NULL, call, line);
	buf_addc(line, ',');
	buf_adds(line, buf_str(&text) + (text.len ? 1 : 0));
}

int inflow_lines(struct drive *d, bool all, struct err *e)
{
	const char *line;
	size_t n;
	for (; !d->deaf && d->next < d->b.calls; d->next++) {
		if (d->calls[d->next].code == BATCH_OPEN) {
			if (!all)
				return 0;
			continue;
		}
		int r = batch_line(d->st, d->b.id, d->next, &d->lines, &line, &n, e);
		if (r < 0)
			return -1;
		if (r)
			d->deaf = !d->hooks->line(d->hooks->ctx, line, n);
	}
	return 0;
}

/* ---- what a message says ------------------------------------------------------------------- */

/* A message and what is made of it; addresses within must not change. */
struct inflow_item {
	struct buf message, line;
	struct outcome_call call;
	struct outcome_run run;
	struct outcome_word word;
	struct run_outcome out;
	struct run_came came;
	struct run_end end;
	struct run_artifact *artifacts;
	struct run_file *files;
	bool is_run;
};

static void item_free(struct inflow_item *it)
{
	field_free(&outcome_call_fields, &it->call);
	field_free(&outcome_run_fields, &it->run);
	json_decref(it->end.detail);
	free(it->artifacts);
	free(it->files);
	buf_free(&it->line);
	buf_free(&it->message);
	free(it);
}

static int bad(struct err *e, const char *what)
{
	return err_set(e, ERR_STATE, "a stream tells of %s", what);
}

static bool is_run_id(const char *id)
{
	return id[0] == 'r' && strlen(id) == 16 &&
	       strspn(id + 1, "abcdefghijklmnopqrstuvwxyz0123456789") == 15;
}

static int check_run(const struct drive *d, const struct outcome_run *r, struct err *e)
{
	if (!is_run_id(r->id))
		return bad(e, "a run whose id is none");
	if (r->status < RUN_OK || r->status > RUN_MISSING_KEY)
		return bad(e, "a status that is none");
	if (r->ms < 0 || r->ms > DAY_MS || r->started < d->b.started - DAY_MS ||
		r->started > clock_real_ms() + DAY_MS)
		return bad(e, "a time that cannot be");
	for (size_t i = 0; i < r->nfiles; i++)
		if (text_artifact_fault(r->files[i].name) ||
			(i && strcmp(r->files[i - 1].name, r->files[i].name) >= 0))
			return bad(e, "an artifact whose name is none");
	for (size_t i = 0; i < r->nwithheld; i++)
		if (!text_is_clean(r->withheld[i].name, strlen(r->withheld[i].name), false) ||
			!text_is_clean(r->withheld[i].why, strlen(r->withheld[i].why), false))
			return bad(e, "a withheld file whose name is none");
	return 0;
}

static int check_call(const struct outcome_call *c, struct err *e)
{
	if (c->nresult > MB(LIMIT_RESULT_MB) * 2)
		return bad(e, "a result that is too large");
	if (c->has_result && c->is_json &&
		(result_json(c->result ? c->result : "", c->nresult) ||
			memchr(c->result, '\n', c->nresult)))
		return bad(e, "a result that is none");
	return 0;
}

/* Types, and whether a page may show a file, are found out here. */
static int take_files(struct inflow_item *it, struct err *e)
{
	const struct outcome_run *r = &it->run;
	it->artifacts = calloc(r->nfiles + 1, sizeof *it->artifacts);
	it->files = calloc(r->nfiles + 1, sizeof *it->files);
	if (!it->artifacts || !it->files)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct outcome_file *f = &r->files[i];
		struct magic m = magic_of(f->data ? f->data : "", f->n);
		it->artifacts[i] =
			(struct run_artifact){f->name, f->data, f->n, m.type, m.inline_ok};
		it->files[i] = (struct run_file){f->name, f->data, f->n, m.type, m.inline_ok};
	}
	return 0;
}

static void make_end(struct inflow_item *it)
{
	const struct outcome_run *r = &it->run;
	struct err quiet = {0};
	it->end = (struct run_end){.status = (enum run_status)r->status,
		.reason = r->reason,
		.detail = r->detail ? json_parse("detail", r->detail, strlen(r->detail), &quiet)
				    : NULL,
		.ms = r->ms,
		.log = r->log ? r->log : "",
		.nlog = r->nlog,
		.input = r->input ? r->input : "",
		.ninput = r->ninput,
		.artifacts = it->artifacts,
		.nartifacts = r->nfiles,
		.owner_only = r->owner_only,
		.withheld = r->withheld,
		.nwithheld = r->nwithheld,
		.events = r->events,
		.nevents = r->nevents};
}

/* What a failure left is the owner's: a buyer is not told of it. */
static void make_outcome(const struct drive *d, struct inflow_item *it, const char *tool)
{
	const struct outcome_run *r = &it->run;
	const struct outcome_call *c = &it->call;
	bool told = c->has_result || !d->b.buyer;
	it->out = (struct run_outcome){.expert = d->b.expert,
		.tool = tool,
		.version = d->b.version,
		.status = (enum run_status)r->status,
		.has_result = c->has_result,
		.is_json = c->is_json,
		.result = {.data = (char *)(c->result ? c->result : ""), .len = c->nresult},
		.files = it->files,
		.nfiles = told ? r->nfiles : 0,
		.withheld = r->withheld,
		.nwithheld = told ? r->nwithheld : 0,
		.missing = {.v = c->missing, .n = c->nmissing},
		.cancelled = c->cancelled,
		.ms = r->ms};
	memcpy(it->out.id, r->id, sizeof it->out.id);
}

static int read_run(
	const struct drive *d, const struct inflow *in, struct inflow_item *it, struct err *e)
{
	if (field_read(&it->message, &outcome_call_fields, &it->call) < 0)
		return bad(e, "a call in a message that is none");
	const struct buf run = {.data = (char *)it->call.run, .len = it->call.nrun};
	if (!it->call.run || field_read(&run, &outcome_run_fields, &it->run) < 0)
		return bad(e, "a run in a message that is none");
	if (check_call(&it->call, e) < 0 || check_run(d, &it->run, e) < 0 || take_files(it, e) < 0)
		return -1;
	if (!batch_chunk_has(in->chunk, it->call.call))
		return bad(e, "a call of another chunk");
	const char *tool = d->tools.v[d->calls[it->call.call].tool];
	it->is_run = true;
	make_end(it);
	make_outcome(d, it, tool);
	it->came = (struct run_came){.id = it->run.id,
		.start = {.expert = d->b.expert,
			.tool = tool,
			.version = d->b.version,
			.buyer = d->b.buyer},
		.batch = d->b.id,
		.node = in->node,
		.call = it->call.call,
		.started = it->run.started};
	outcome_line(d, in, it->call.call, &it->out, &it->line);
	return buf_failed(&it->line) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static int read_word(
	const struct drive *d, const struct inflow *in, struct inflow_item *it, struct err *e)
{
	struct err was = {0};
	if (field_read(&it->message, &outcome_word_fields, &it->word) < 0)
		return bad(e, "a call in a message that is none");
	if (!batch_chunk_has(in->chunk, it->word.call))
		return bad(e, "a call of another chunk");
	if (it->word.code < ERR_FAIL || it->word.code > ERR_DENIED)
		it->word.code = ERR_FAIL;
	err_set(&was, (enum err_code)it->word.code, "%s", it->word.msg);
	if (it->word.hint[0])
		err_hint(&was, "%s", it->word.hint);
	inflow_error_line(d, it->word.call, 0, &was, NULL, &it->line);
	return 0;
}

/* ---- taking them in ------------------------------------------------------------------------ */

struct heap {
	struct inflow_item *v[TOGETHER];
	size_t n, bytes;
};

static void heap_free(struct heap *h)
{
	for (size_t i = 0; i < h->n; i++)
		item_free(h->v[i]);
	h->n = h->bytes = 0;
}

/* An answer that is tried again is recorded as a run, and that is all. */
static bool holds_back(const struct drive *d, const struct inflow *in, const struct inflow_item *it)
{
	if (!it->is_run)
		return false;
	if (it->call.cancelled)
		return !d->cancelling && d->retry > 0;
	return d->retry_status[it->run.status] && in->chunk->attempt <= d->retry;
}

static int take_heap(struct drive *d, struct inflow *in, struct heap *h, struct err *e)
{
	struct batch_answer *v = calloc(h->n + 1, sizeof *v);
	if (!v)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < h->n; i++) {
		const struct inflow_item *it = h->v[i];
		v[i] = (struct batch_answer){.call = it->is_run ? it->call.call : it->word.call,
			.code = it->is_run ? asked_code(&it->out) : it->word.code,
			.line = buf_str(&it->line),
			.nline = it->line.len,
			.run = it->is_run ? &it->came : NULL,
			.end = it->is_run ? &it->end : NULL,
			.hold = holds_back(d, in, it)};
	}
	const struct batch_news news = {
		d->b.id, in->name, in->node, v, h->n, in->frames, in->final};
	int r = batch_take(d->st, &news, e);
	for (size_t i = 0; r == 0 && i < h->n; i++) {
		if (v[i].again || v[i].hold)
			continue;
		d->calls[v[i].call].code = (int16_t)v[i].code;
		d->done++;
		d->failed += v[i].code != 0;
		if (h->v[i]->is_run && d->hooks->run)
			d->hooks->run(d->hooks->ctx, &h->v[i]->out);
	}
	free(v);
	return r;
}

static int take_message(struct drive *d, struct inflow *in, struct inflow_item *it, struct err *e)
{
	if (field_is(&it->message, &outcome_end_fields)) {
		if (field_read(&it->message, &outcome_end_fields, &in->end) < 0)
			return bad(e, "an end in a message that is none");
		if (!in->reader.last)
			return bad(e, "an end that is none");
		in->final = true;
		return 0;
	}
	if (in->reader.last)
		return bad(e, "a call at its end");
	if (field_is(&it->message, &outcome_word_fields))
		return read_word(d, in, it, e);
	return read_run(d, in, it, e);
}

/* 1: one more is in the heap, or was known before; 0: no more. */
static int next_item(struct drive *d, struct inflow *in, struct heap *h, struct err *e)
{
	struct inflow_item *it = calloc(1, sizeof *it);
	if (!it)
		return err_set(e, ERR_FAIL, "out of memory");
	int r = outcome_next(&in->reader, &it->message, e);
	if (r > 0) {
		if (take_message(d, in, it, e) < 0)
			r = -1;
		else if (++in->frames > in->skip && !in->final) {
			h->bytes += it->message.len;
			h->v[h->n++] = it;
			return 1;
		}
	}
	item_free(it);
	return r;
}

static int check_head(const struct drive *d, struct inflow *in, struct err *e)
{
	const struct outcome_head *head = &in->reader.head;
	if (strcmp(head->batch, d->b.id) != 0 || head->chunk != in->chunk->chunk)
		return bad(e, "another batch or chunk");
	bool local = strcmp(d->b.engine, "local") == 0;
	if (!local && node_of_key(d->st, in->reader.from, in->node, e) < 0)
		return -1;
	if (local ? memcmp(in->reader.from, d->b.public_key, SEAL_KEY_BYTES) != 0
		  : !json_array_has(json_object_get(d->b.settings, "nodes"), in->node))
		return bad(e, "a machine that is none of this batch's");
	if (local)
		strncpy(in->node, "local", sizeof in->node - 1);
	return 0;
}

/* 1: it is open. */
static int open_stream(struct drive *d, struct inflow *in, struct err *e)
{
	char path[BATCH_STREAM_MAX + 8];
	char *refused = NULL;
	bool final;
	if (in->reader.open)
		return 1;
	if (in->fd < 0) {
		snprintf(path, sizeof path, "out/%s", in->name);
		in->fd = openat(d->spool, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (in->fd < 0)
			return errno == ENOENT ? 0
					       : err_errno(e, ERR_FAIL, "cannot open '%s'", path);
		if (batch_stream(d->st, d->b.id, in->name, &in->skip, &final, &refused, e) < 0)
			return -1;
		if (refused)
			snprintf(in->refused, sizeof in->refused, "%s", refused);
		free(refused);
		in->reader.fd = in->fd;
	}
	int r = in->refused[0] ? 0 : outcome_open(&in->reader, &d->st->private_key, e);
	in->begun = r > 0;
	return r > 0 && check_head(d, in, e) < 0 ? -1 : r;
}

/* What could be read before what cannot be believed stays. */
static int read_all(struct drive *d, struct inflow *in, struct err *e)
{
	struct heap *h = calloc(1, sizeof *h);
	if (!h)
		return err_set(e, ERR_FAIL, "out of memory");
	int more = open_stream(d, in, e);
	while (more > 0) {
		while (h->n < TOGETHER && h->bytes < TOGETHER_BYTES &&
			(more = next_item(d, in, h, e)) > 0)
			;
		struct err take = {0};
		bool news = h->n || (in->final && in->frames > in->skip);
		if (news && take_heap(d, in, h, &take) < 0) {
			if (more >= 0)
				*e = take;
			more = -1;
		}
		in->skip = in->frames > in->skip ? in->frames : in->skip;
		heap_free(h);
	}
	heap_free(h);
	free(h);
	return more;
}

int inflow_read(struct drive *d, struct inflow *in, struct err *e)
{
	struct err was = {0};
	if (in->refused[0] || in->final || read_all(d, in, &was) == 0)
		return 0;
	if (was.code != ERR_STATE && was.code != ERR_CONFLICT) {
		*e = was;
		return -1;
	}
	snprintf(in->refused, sizeof in->refused, "%.255s", was.msg);
	return batch_refuse_stream(d->st, d->b.id, in->name, in->refused, e);
}

void inflow_free(struct inflow *in)
{
	fd_close(&in->fd);
	seal_stream_wipe(&in->reader.stream);
	*in = INFLOW_NONE;
}

int inflow_lost(struct drive *d, const int64_t *calls, size_t n, const char *why, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		BUF_AUTO line = {0};
		struct err was = {0};
		err_set(&was, ERR_FAIL, "%s", why);
		inflow_error_line(d, calls[i], 0, &was, "lost", &line);
		struct batch_answer a = {.call = calls[i],
			.code = ERR_FAIL,
			.line = buf_str(&line),
			.nline = line.len};
		const struct batch_news news = {.batch = d->b.id, .v = &a, .n = 1};
		if (batch_take(d->st, &news, e) < 0)
			return -1;
		d->calls[calls[i]].code = ERR_FAIL;
		d->done++;
		d->failed++;
		d->lost++;
	}
	return 0;
}

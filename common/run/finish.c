#include "run/runner_in.h"

#include "base/limits.h"
#include "base/result.h"
#include "manifest/schema.h"
#include "sandbox/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void run_outcome_free(struct run_outcome *o)
{
	buf_free(&o->strays);
	if (o->result.data)
		explicit_bzero(o->result.data, o->result.len);
	buf_free(&o->result);
	for (size_t i = 0; i < o->nwithheld; i++) {
		free((char *)o->withheld[i].name);
		free((char *)o->withheld[i].why);
	}
	free(o->withheld);
	free(o->files);
	if (o->kept) {
		collected_free(o->kept);
		free(o->kept);
	}
	strv_free(&o->missing);
	*o = (struct run_outcome){0};
}

/* What the call left, on its way from the collector to the record. */
struct yield {
	struct run_artifact *artifacts;
	size_t nartifacts;
	struct run_withheld *withheld; /* strings owned; handed to the outcome */
	size_t nwithheld;
	bool *by_name; /* withheld[i] is so because of its name */
	char reason[512];
	enum run_status status;
	bool outputs_over; /* too much in outputs/: the result stands nevertheless */
};

static void fail(struct yield *y, enum run_status status, const char *reason)
{
	if (y->status != RUN_OK)
		return; /* the first cause is the one to tell */
	y->status = status;
	snprintf(y->reason, sizeof y->reason, "%s", reason ? reason : "");
}

/* The tool has begun, so there is a run to be told of: but what it left cannot be handed over. */
static void give_up(struct yield *y, const char *reason)
{
	y->status = RUN_OK;
	fail(y, RUN_FAILED, reason);
	y->outputs_over = false;
	y->nartifacts = 0;
}

static void judge(const struct going *g, struct yield *y)
{
	static const enum run_status map[] = {[SANDBOX_OK] = RUN_OK,
		[SANDBOX_FAILED] = RUN_FAILED,
		[SANDBOX_TIMEOUT] = RUN_TIMEOUT,
		[SANDBOX_LIMIT] = RUN_LIMIT};
	const struct sandbox_result *r = &g->reply.result;
	y->status = RUN_OK;
	if (g->out->cancelled)
		fail(y, RUN_FAILED, "its caller was interrupted");
	if (g->reply.gate_lost)
		fail(y, RUN_FAILED, "the gate ended during the call");
	BUF_AUTO why = {0};
	buf_adds(&why, r->why ? r->why : "");
	if (r->too_long)
		buf_addf(&why, ": %zu bytes, and at most %zu may be", r->too_long,
			MB(LIMIT_RESULT_MB));
	if (r->status != SANDBOX_OK)
		fail(y, map[r->status], buf_str(&why));
}

/* ---- the result ---------------------------------------------------------------------------- */

static void check_output(const struct going *g, struct yield *y)
{
	const struct buf *b = &g->reply.result.result;
	struct err bad = {0};
	if (y->status != RUN_OK || !g->tool->output || !g->tool->entry_func)
		return;
	JSON_AUTO value = json_parse("result", buf_str(b), b->len, &bad);
	if (value && schema_validate_as("result", g->tool->output, value, &bad) == 0)
		return;
	/* Names of members come from the tool, and may hold anything. */
	guard_scrub(&g->guard, bad.msg, strlen(bad.msg));
	fail(y, RUN_FAILED, bad.msg);
}

static void check_result(struct going *g, struct yield *y)
{
	struct buf *b = &g->reply.result.result;
	check_output(g, y);
	if (y->status == RUN_OK && runner_holds_source(g->r, buf_str(b), b->len))
		fail(y, RUN_FAILED, "the result holds the expert's code");
}

/* Blanks keys in the result; where that leaves no JSON (a key among numbers), all of it goes. */
static int blank_result(struct going *g)
{
	struct buf *b = &g->reply.result.result;
	STRV_AUTO names = {0};
	bool json = g->tool->entry_func != NULL;
	b->limit = 0;
	if (!b->len || leak_empty(g->guard.found))
		return 0;
	if (guard_blank(&g->guard, g->r->buyer != NULL, b, &names) < 0)
		return -1;
	if (json && names.n && result_json(buf_str(b), b->len)) {
		buf_clear(b);
		if (g->r->buyer)
			buf_adds(b, "\"[withheld]\"");
		else
			buf_addf(b, "\"[EV_KEYS:%s]\"", names.v[0]);
	}
	for (size_t i = 0; i < names.n; i++)
		strv_addf(&g->leaks, "the result held the value of EV_KEYS['%s']", names.v[i]);
	return buf_failed(b) || names.failed ? -1 : 0;
}

/* ---- artifacts ----------------------------------------------------------------------------- */

static int hold_back(struct yield *y, const char *name, const char *why, bool by_name)
{
	struct run_withheld *w = &y->withheld[y->nwithheld];
	*w = (struct run_withheld){strdup(name), strdup(why)};
	y->by_name[y->nwithheld++] = by_name;
	return w->name && w->why ? 0 : -1;
}

static int sort_file(struct going *g, struct yield *y, const struct collected_file *f)
{
	const char *key = guard_find(&g->guard, f->name, strlen(f->name));
	bool by_name = key != NULL;
	if (!key)
		key = guard_find_file(&g->guard, f->data, f->size);
	if (key) {
		strv_addf(&g->leaks, "an artifact%s held the value of EV_KEYS['%s']",
			by_name ? "'s name" : "", key);
		return hold_back(y, f->name, "key", by_name);
	}
	if (runner_holds_source(g->r, f->name, strlen(f->name)) ||
		runner_holds_source(g->r, f->data, f->size)) {
		fail(y, RUN_FAILED, "an artifact holds the expert's code");
		return hold_back(y, f->name, "code", false);
	}
	y->artifacts[y->nartifacts++] =
		(struct run_artifact){f->name, f->data, f->size, f->type, f->inline_ok};
	return 0;
}

/* In byte order of the names; those whose names are withheld too become their places. */
static int order_withheld(struct yield *y)
{
	for (size_t i = 1; i < y->nwithheld; i++)
		for (size_t j = i; j && strcmp(y->withheld[j].name, y->withheld[j - 1].name) < 0;
			j--) {
			struct run_withheld w = y->withheld[j];
			bool b = y->by_name[j];
			y->withheld[j] = y->withheld[j - 1];
			y->by_name[j] = y->by_name[j - 1];
			y->withheld[j - 1] = w;
			y->by_name[j - 1] = b;
		}
	for (size_t i = 0; i < y->nwithheld; i++) {
		char *place;
		if (!y->by_name[i])
			continue;
		if (asprintf(&place, "#%zu", i + 1) < 0)
			return -1;
		free((char *)y->withheld[i].name);
		y->withheld[i].name = place;
	}
	return 0;
}

static int sort_all(struct going *g, struct yield *y, const struct collected *c)
{
	size_t room = c->nfiles + c->nwithheld + 1;
	y->artifacts = calloc(room, sizeof *y->artifacts);
	y->withheld = calloc(room, sizeof *y->withheld);
	y->by_name = calloc(room, sizeof *y->by_name);
	if (!y->artifacts || !y->withheld || !y->by_name)
		return -1;
	for (size_t i = 0; i < c->nfiles; i++)
		if (sort_file(g, y, &c->files[i]) < 0)
			return -1;
	for (size_t i = 0; i < c->nwithheld; i++) {
		const struct withheld_file *w = &c->withheld[i];
		bool by_name = guard_find(&g->guard, w->whole, strlen(w->whole)) != NULL;
		if (hold_back(y, w->name, w->why, by_name) < 0)
			return -1;
	}
	if (order_withheld(y) < 0)
		return -1;
	char more[40];
	snprintf(more, sizeof more, "and %zu more", c->more_withheld);
	return c->more_withheld ? hold_back(y, more, "too many", false) : 0;
}

/*
 * Before anything is searched: the room may be gone when a search is over, and how long that takes
 * is up to the code and to what the buyer asks for.
 */
static int read_outputs(struct going *g, struct yield *y)
{
	struct err bad = {0};
	g->out->kept = calloc(1, sizeof *g->out->kept);
	if (!g->out->kept)
		return -1;
	if (g->reply.outputs < 0 || collect_outputs(g->reply.outputs, g->out->kept, NULL, &bad) < 0)
		fail(y, RUN_FAILED, "the outputs cannot be read");
	if (g->reply.outputs >= 0 && !room_holds(g->r->room)) {
		collected_free(g->out->kept);
		fail(y, RUN_FAILED, "the outputs were read too late");
	}
	return 0;
}

static int take_outputs(struct going *g, struct yield *y)
{
	g->out->files = calloc(g->out->kept->nfiles + 1, sizeof *g->out->files);
	if (!g->out->files || sort_all(g, y, g->out->kept) < 0)
		return -1;
	if (g->out->kept->over_cap && y->status == RUN_OK) {
		fail(y, RUN_LIMIT, "too much in outputs/");
		y->outputs_over = true;
	}
	return 0;
}

/* ---- the record ---------------------------------------------------------------------------- */

static json_t *egress_json(const struct gate_summary *s)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "requests", (json_int_t)s->requests,
		"refused", (json_int_t)s->refused, "failed", (json_int_t)s->failed, "up",
		(json_int_t)s->up, "down", (json_int_t)s->down, "truncated",
		(json_int_t)s->truncated);
}

/* {NAME: whose it was} of the keys that the call got. */
static json_t *keys_json(const struct key_plan *p)
{
	json_t *keys = json_object();
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].there)
			json_object_set_new(keys, p->v[i].name,
				json_string(p->v[i].buyer_pays ? "buyer" : "builder"));
	return keys;
}

static json_t *detail_json(const struct going *g, const struct yield *y)
{
	const struct sandbox_result *r = &g->reply.result;
	const char *limit = y->outputs_over ? "outputs" : r->limit;
	json_t *detail = json_pack("{s:{s:i,s:I,s:s},s:s?,s:{s:I,s:I,s:i,s:i,s:I},s:o,s:b,s:I,s:o}",
		"limits", "timeout_ms", g->timeout_ms, "memory", (json_int_t)g->tool->memory,
		"bounds", g->reply.bounds, "limit", limit, "phases", "open",
		(json_int_t)(g->opened - g->begun), "gate", (json_int_t)g->reply.ready_ms, "start",
		r->start_ms, "tool", r->ms - r->start_ms, "collect",
		(json_int_t)(clock_mono_ms() - g->over), "egress",
		egress_json(&g->reply.report.summary), "log_truncated", (int)r->log_truncated,
		"scratch", (json_int_t)r->scratch, "leaks", json_texts(&g->leaks));
	json_object_set_new(detail, "keys", keys_json(&g->plan));
	return detail;
}

/* Of /scratch: from here on its owner should know. */
#define SCRATCH_TELL (MB(LIMIT_SCRATCH_MB) / 2)

static void finish_log(struct going *g)
{
	struct buf *log = &g->reply.result.log;
	guard_scrub(&g->guard, log->data, log->len);
	/* The sandbox's limit is for what the tool says. */
	log->limit = 0;
	bool more = g->leaks.n || g->reply.result.scratch > SCRATCH_TELL;
	if (more && log->len && log->data[log->len - 1] != '\n')
		buf_addc(log, '\n');
	if (g->reply.result.scratch > SCRATCH_TELL)
		buf_addf(log,
			"evctl: the calls of this session have left %zu of %zu MB in /scratch, "
			"which stays until a call removes it\n",
			g->reply.result.scratch / 1000000, MB(LIMIT_SCRATCH_MB) / 1000000);
	for (size_t i = 0; i < g->leaks.n; i++)
		buf_addf(log, "evctl: %s\n", g->leaks.v[i]);
}

static int keep(struct going *g, struct run_end *end, struct err *e)
{
	const struct run_sink *to = g->r->sink;
	if (!to)
		return run_finish(g->r->st, g->out->id, end, e);
	int r = to->keep(to->ctx, g->out->id, g->started, end, e);
	json_decref(end->detail);
	end->detail = NULL;
	if (r < 0)
		end->status = RUN_FAILED;
	return r;
}

/* What cannot be recorded has failed, whatever it was: it is reported by its id and no more. */
static int record(struct going *g, struct run_end *end)
{
	const struct run_hooks *h = &g->rq->hooks;
	struct err e = {0};
	BUF_AUTO text = {0};
	int r = keep(g, end, &e);
	if (r < 0 && h->note && !g->r->buyer) {
		buf_addf(&text, "run %s could not be recorded: %s", g->out->id, e.msg);
		h->note(h->ctx, buf_str(&text));
	}
	g->out->status = end->status;
	return r;
}

static void record_all(struct going *g, struct yield *y)
{
	struct buf *log = &g->reply.result.log;
	finish_log(g);
	g->out->ms = clock_mono_ms() - g->begun;
	struct run_end end = {.status = y->status,
		.reason = y->reason[0] ? y->reason : NULL,
		.detail = detail_json(g, y),
		.ms = g->out->ms,
		.log = buf_str(log),
		.nlog = log->len,
		.input = g->input,
		.ninput = g->ninput,
		.artifacts = y->artifacts,
		.nartifacts = y->nartifacts,
		.owner_only = y->status != RUN_OK && !y->outputs_over,
		.withheld = y->withheld,
		.nwithheld = y->nwithheld,
		.events = g->reply.report.events,
		.nevents = g->reply.report.n};
	if (record(g, &end) < 0)
		give_up(y, "");
}

/* ---- what is told -------------------------------------------------------------------------- */

static void tell(struct going *g, struct yield *y)
{
	struct run_outcome *o = g->out;
	bool good = y->status == RUN_OK || y->outputs_over;
	o->is_json = g->tool->entry_func != NULL;
	o->has_result = good;
	if (good) {
		o->result = g->reply.result.result;
		g->reply.result.result = (struct buf){0};
	}
	/* What a failure left, and what of it was withheld, is the owner's: it may show what the
	 * code is. */
	if (!good && g->r->buyer)
		return;
	if (!g->r->buyer) {
		guard_scrub(&g->guard, g->reply.result.strays.data, g->reply.result.strays.len);
		o->strays = g->reply.result.strays;
		g->reply.result.strays = (struct buf){0};
	}
	o->withheld = y->withheld;
	o->nwithheld = y->nwithheld;
	y->withheld = NULL;
	y->nwithheld = 0;
	for (size_t i = 0; i < y->nartifacts; i++) {
		const struct run_artifact *a = &y->artifacts[i];
		o->files[o->nfiles++] =
			(struct run_file){a->name, a->data, a->n, a->type, a->inline_ok};
	}
}

static void yield_free(struct yield *y)
{
	for (size_t i = 0; i < y->nwithheld; i++) {
		free((char *)y->withheld[i].name);
		free((char *)y->withheld[i].why);
	}
	free(y->withheld);
	free(y->artifacts);
	free(y->by_name);
}

void finish_call(struct going *g)
{
	struct yield y = {0};
	judge(g, &y);
	bool read = read_outputs(g, &y) == 0;
	check_result(g, &y);
	if (!read || take_outputs(g, &y) < 0 || blank_result(g) < 0)
		give_up(&y, "out of memory");
	record_all(g, &y);
	tell(g, &y);
	yield_free(&y);
}

void finish_missing(struct going *g)
{
	STR_AUTO names = strv_join(&g->out->missing, ", ");
	BUF_AUTO reason = {0};
	buf_addf(&reason, "the buyer has not supplied %s", names ? names : "");
	g->out->ms = clock_mono_ms() - g->begun;
	struct run_end end = {.status = RUN_MISSING_KEY,
		.reason = buf_str(&reason),
		.detail = json_pack("{s:o}", "missing", json_texts(&g->out->missing)),
		.ms = g->out->ms,
		.log = "",
		.input = g->input,
		.ninput = g->ninput};
	record(g, &end);
}

/* ---- the envelope -------------------------------------------------------------------------- */

static void add_member(struct buf *b, const char *name, json_t *value)
{
	buf_addf(b, "%s\"%s\":", b->len > 1 ? "," : "", name);
	json_to_buf(value, b);
	json_decref(value);
}

static json_t *files_json(const struct run_outcome *o)
{
	json_t *a = json_array();
	for (size_t i = 0; i < o->nfiles; i++)
		json_array_append_new(
			a, json_pack("{s:s,s:I,s:s,s:b}", "name", o->files[i].name, "bytes",
				   (json_int_t)o->files[i].n, "type", o->files[i].type, "inline",
				   (int)o->files[i].inline_ok));
	return a;
}

static json_t *withheld_json(const struct run_outcome *o)
{
	json_t *a = json_array();
	for (size_t i = 0; i < o->nwithheld; i++)
		json_array_append_new(a, json_pack("{s:s,s:s}", "name", o->withheld[i].name, "why",
						 o->withheld[i].why));
	return a;
}

/* The result goes in as the tool gave it: to parse it and write it anew would change its numbers.
 */
static void add_result(struct buf *b, const struct run_outcome *o)
{
	if (o->has_result && o->is_json) {
		buf_adds(b, ",\"result\":");
		buf_add(b, buf_str(&o->result), o->result.len);
		return;
	}
	add_member(b, "result",
		o->has_result ? json_text(buf_str(&o->result), o->result.len) : json_null());
}

void run_envelope(const struct run_outcome *o, struct buf *b)
{
	buf_addc(b, '{');
	add_member(b, "run", json_string(o->id));
	add_member(b, "expert", json_string(o->expert));
	add_member(b, "version", o->version ? json_integer(o->version) : json_string("draft"));
	add_member(b, "tool", json_string(o->tool));
	add_member(b, "session", json_text_or_null(o->session));
	add_member(b, "status", json_string(run_status_word(o->status)));
	add_result(b, o);
	add_member(b, "artifacts", files_json(o));
	add_member(b, "withheld", withheld_json(o));
	if (o->missing.n)
		add_member(b, "missing", json_texts(&o->missing));
	add_member(b, "ms", json_integer(o->ms));
	buf_addc(b, '}');
}

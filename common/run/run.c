#include "run/run.h"

#include "base/limits.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "manifest/derive.h"
#include "manifest/schema.h"
#include "run/runner_in.h"
#include "state/session.h"

#include "state/cred_day.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- the runner ---------------------------------------------------------------------------- */

static char *dup_or_null(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* A buyer never gets a draft by default. */
static int version_of(const struct run_who *who)
{
	return who->buyer && who->version == EXPERT_DEFAULT ? EXPERT_PUBLISHED : who->version;
}

static int other_session(const struct session *s, const char *what, struct err *e)
{
	err_set(e, ERR_CONFLICT, "session '%s' is of another %s", s->id, what);
	return err_hint(e, "evctl-session list");
}

static int check_session(const struct session *s, const struct run_who *who, struct err *e)
{
	if (strcmp(s->expert, who->expert) != 0)
		return other_session(s, "expert", e);
	if (!s->buyer != !who->buyer || (s->buyer && strcmp(s->buyer, who->buyer) != 0))
		return other_session(s, "buyer", e);
	if (who->version >= 0 && who->version != s->version)
		return other_session(s, "version", e);
	return 0;
}

/* The row and hosts of what the session runs; the code and its manifest are the session's own. */
static int load_row(struct runner *r, const struct session *s, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (s->version != EXPERT_DRAFT)
		return expert_load_meta(r->st, s->expert, s->version, &r->view, e);
	if (expert_find(r->st, s->expert, &x, e) < 0)
		return -1;
	r->view.id = x.id;
	r->view.name = strdup(x.name);
	return r->view.name ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

/* A version's manifest is frozen with it, a draft's is what the session was started with. */
static int read_joined(struct runner *r, struct err *e)
{
	const struct tree_file *f = tree_find(&r->view.t, MANIFEST_FILE);
	if (r->view.version != EXPERT_DRAFT)
		return 0;
	if (!f)
		return err_set(e, ERR_STATE, "the session has no %s", MANIFEST_FILE);
	if (manifest_parse(&r->view.m, MANIFEST_FILE, f->data, f->n, e) < 0)
		return -1;
	return derive_from_tree(&r->view.m, &r->view.t, e);
}

static int join_session(struct runner *r, const struct run_who *who, struct err *e)
{
	SESSION_AUTO s = {0};
	if (session_find(r->st, who->session, &s, e) < 0 || check_session(&s, who, e) < 0 ||
		load_row(r, &s, e) < 0)
		return -1;
	FD_AUTO dir = session_dir(r->st, e);
	if (dir < 0 || room_join(&r->room, dir, s.id, &r->view.t, e) < 0)
		return -1;
	return read_joined(r, e);
}

static int open_view(struct runner *r, const struct run_who *who, struct err *e)
{
	if (who->buyer && name_check("buyer", who->buyer, e) < 0)
		return -1;
	if (who->session)
		return join_session(r, who, e);
	return expert_load(r->st, who->expert, version_of(who), &r->view, e);
}

int runner_open(struct runner **out, struct state *st, const struct run_who *who, struct err *e)
{
	struct runner *r = calloc(1, sizeof *r);
	*out = NULL;
	if (!r)
		return err_set(e, ERR_FAIL, "out of memory");
	r->st = st;
	r->warm = who->warm;
	r->sink = who->sink;
	r->buyer = dup_or_null(who->buyer);
	r->session = dup_or_null(who->session);
	if (open_view(r, who, e) < 0 || !(r->share = paths_share(e)) ||
		!(r->egress = paths_helper("evctl-egress", e))) {
		runner_close(&r);
		return -1;
	}
	*out = r;
	return 0;
}

void runner_close(struct runner **out)
{
	struct runner *r = *out;
	*out = NULL;
	if (!r)
		return;
	room_close(&r->room);
	source_free(r->source);
	expert_view_free(&r->view);
	free(r->buyer);
	free(r->session);
	free(r->share);
	free(r->egress);
	free(r);
}

const struct expert_view *runner_view(const struct runner *r)
{
	return &r->view;
}

static const struct source *runner_source(struct runner *r)
{
	if (!r->source)
		r->source = source_new(&r->view.t, &r->view.m.private);
	return r->source;
}

bool runner_holds_source(struct runner *r, const void *p, size_t n)
{
	const struct source *s = runner_source(r);
	return !s || source_find(s, p, n);
}

/* ---- before the call ----------------------------------------------------------------------- */

static const struct manifest_tool *find_tool(
	const struct expert_view *v, const char *name, struct err *e)
{
	const struct manifest *m = &v->m;
	const struct manifest_tool *t = manifest_tool(m, name);
	STRV_AUTO names = {0};
	for (size_t i = 0; !t && i < m->ntools; i++)
		strv_add(&names, m->tools[i].name);
	if (t || !names.n)
		return t;
	const char *near = nearest_word(name, (const char *const *)names.v);
	STR_AUTO all = strv_join(&names, ", ");
	int version = v->version;
	err_set(e, ERR_NOTFOUND, "expert '%s' has no tool '%.64s'", v->name, name);
	if (near)
		err_hint(e, "did you mean '%s'?", near);
	else if (version == EXPERT_DRAFT)
		err_hint(e, "its tools are: %s", all ? all : "");
	else
		err_hint(e, "version %d has: %s; a newer draft runs by --draft, or once published",
			version, all ? all : "");
	return NULL;
}

static int check_input(const struct expert_view *v, const struct manifest_tool *tool,
	const char *input, size_t n, struct err *e)
{
	if (n > MB(LIMIT_INPUT_MB))
		return err_set(e, ERR_USAGE, "the input is over %zu bytes", MB(LIMIT_INPUT_MB));
	JSON_AUTO value = json_parse("input", input, n, e);
	if (!value)
		return err_hint(e, "give one JSON object, such as '{\"month\": \"2026-01\"}'");
	if (!json_is_object(value)) {
		err_set(e, ERR_USAGE, "the input is not a JSON object");
		return err_hint(e, "give one JSON object, such as '{\"month\": \"2026-01\"}'");
	}
	if (!tool->input || schema_validate(tool->input, value, e) == 0)
		return 0;
	return err_hint(e, "what '%s' takes: evctl-expert listing %s", tool->name, v->name);
}

const struct manifest_tool *run_check(
	const struct expert_view *v, struct run_request *rq, struct err *e)
{
	const struct manifest_tool *t = find_tool(v, rq->tool, e);
	if (!rq->input) {
		rq->input = "{}";
		rq->ninput = 2;
	}
	return t && check_input(v, t, rq->input, rq->ninput, e) == 0 ? t : NULL;
}

/* Bindings and payers are those of this moment, also in a session's later calls. */
static int hosts_now(struct going *g, struct expert_view *fresh, struct err *e)
{
	struct runner *r = g->r;
	*fresh = (struct expert_view){
		.id = r->view.id, .snapshot = r->view.snapshot, .version = r->view.version};
	if (expert_load_hosts(r->st, fresh, e) < 0)
		return -1;
	g->hosts = fresh->hosts;
	g->nhosts = fresh->nhosts;
	return key_plan_make(r->st, fresh, r->buyer, &g->plan, e);
}

/* What the scanner knows of a tool; nothing where it had to give up: the call itself will tell. */
static void find_needs(struct expert_view *v, const char *tool, struct verify_needs *needs)
{
	struct err quiet = {0};
	verify_reads_for_tool(v, tool, needs, &quiet);
}

static bool is_there(const struct key_plan *plan, const char *name)
{
	const struct key_want *w = key_plan_find(plan, name);
	return w && w->there;
}

/* Whether a key that is needed is there, or the one is for want of which it would be. */
static bool is_met(const struct key_plan *plan, const struct verify_needs *needs, size_t i)
{
	return is_there(plan, needs->required.v[i]) || is_there(plan, needs->instead.v[i]);
}

/* Keys that a buyer was to bring and that this tool cannot do without, into missing. */
static void find_missing(
	struct expert_view *v, const struct key_plan *plan, const char *tool, struct strv *missing)
{
	VERIFY_NEEDS_AUTO needs = {0};
	bool any = false;
	for (size_t i = 0; i < plan->n; i++)
		any |= plan->v[i].buyer_pays && !plan->v[i].there;
	if (any)
		find_needs(v, tool, &needs);
	for (size_t i = 0; i < needs.required.n; i++) {
		const struct key_want *w = key_plan_find(plan, needs.required.v[i]);
		if (w && w->buyer_pays && !is_met(plan, &needs, i))
			strv_add(missing, w->name);
	}
	strv_sort(missing);
}

int run_missing(struct state *st, struct expert_view *v, const char *buyer, const char *tool,
	struct strv *missing, struct err *e)
{
	KEY_PLAN_AUTO plan = {0};
	if (key_plan_make(st, v, buyer, &plan, e) < 0)
		return -1;
	find_missing(v, &plan, tool, missing);
	return missing->failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

/* What the builder should know before the code fails over it; buyers are told no names. */
static void note_unsupplied(struct going *g)
{
	const struct run_hooks *h = &g->rq->hooks;
	VERIFY_NEEDS_AUTO needs = {0};
	if (!h->note || g->r->buyer)
		return;
	find_needs(&g->r->view, g->tool->name, &needs);
	for (size_t i = 0; i < needs.required.n; i++) {
		const struct key_want *w = key_plan_find(&g->plan, needs.required.v[i]);
		BUF_AUTO text = {0};
		if (is_met(&g->plan, &needs, i))
			continue;
		buf_addf(&text, "EV_KEYS['%s'] will be missing: %s", needs.required.v[i],
			w ? "the credential has no value" : "no attached host supplies it");
		h->note(h->ctx, buf_str(&text));
	}
}

/* A key that is past its day works as ever, and may fail where it goes. */
static void note_due(struct going *g)
{
	const struct run_hooks *h = &g->rq->hooks;
	struct err none = {0};
	JSON_AUTO due = json_array();
	size_t i;
	json_t *text;
	if (!h->note || g->r->buyer)
		return;
	for (i = 0; i < g->plan.n; i++)
		if (g->plan.v[i].there)
			cred_day_due(g->r->st, g->plan.v[i].credential, false, due, &none);
	json_array_foreach (due, i, text)
		h->note(h->ctx, json_string_value(text));
}

/* ---- the call ------------------------------------------------------------------------------ */

void runner_preload(struct expert_view *v, struct strv *modules)
{
	for (size_t t = 0; t < v->m.ntools; t++) {
		VERIFY_NEEDS_AUTO needs = {0};
		find_needs(v, v->m.tools[t].name, &needs);
		for (size_t i = 0; i < needs.modules.n; i++)
			if (!strv_has(modules, needs.modules.v[i]))
				strv_add(modules, needs.modules.v[i]);
	}
}

static int open_room(struct going *g, struct err *e)
{
	struct runner *r = g->r;
	STRV_AUTO preload = {0};
	if (r->session || (r->room && room_alive(r->room)))
		return 0;
	room_close(&r->room);
	if (r->warm)
		runner_preload(&r->view, &preload);
	const struct room_spec spec = {.code = &r->view.t,
		.hosts = g->hosts,
		.nhosts = g->nhosts,
		.preload = (const char *const *)preload.v,
		.npreload = preload.n,
		.session = r->warm,
		.memory = r->warm ? manifest_most_memory(&r->view.m) : g->tool->memory,
		.share = r->share,
		.egress = r->egress};
	return room_open(&r->room, &spec, e);
}

/* After the sandbox and the gate were forked, so that neither ever had the keys in its memory. */
static int open_keys(struct going *g, struct err *e)
{
	struct runner *r = g->r;
	if (key_plan_any(&g->plan) && state_unlock(r->st, e) < 0)
		return -1;
	if (call_keys_open(r->st, &g->plan, &g->keys, e) < 0)
		return -1;
	return guard_make(&g->guard, &g->keys, g->earlier, e);
}

static void pass_log(struct going *g, struct buf *b)
{
	if (b->len)
		g->rq->hooks.log(g->rq->hooks.ctx, b->data, b->len);
}

static void stream_log(void *ctx, const char *p, size_t n)
{
	struct going *g = ctx;
	BUF_AUTO out = {0};
	if (leak_push(&g->live, p, n, &out) == 0)
		pass_log(g, &out);
}

static void end_stream(struct going *g)
{
	BUF_AUTO out = {0};
	if (g->live.l && leak_flush(&g->live, &out) == 0)
		pass_log(g, &out);
	leak_stream_end(&g->live);
}

static void signals_that_end(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/*
 * Who stops it (Ctrl-Z) while the code runs stops it: the sandbox's own watch keeps the deadline.
 * But not while its record is made, which others' would wait for.
 */
static void signals_that_stop(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTSTP);
	sigaddset(set, SIGTTIN);
	sigaddset(set, SIGTTOU);
}

static void hold_stops(const struct going *g, int how)
{
	sigset_t set;
	signals_that_stop(&set);
	if (g->rq->signals)
		sigprocmask(how, &set, NULL);
}

/* While the code runs they end the call, so that the run gets its record; -1: as ever. */
static int catch_signals(const struct going *g)
{
	sigset_t set;
	signals_that_end(&set);
	if (!g->rq->signals || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void release_signals(struct going *g, int fd)
{
	struct signalfd_siginfo info;
	sigset_t set;
	if (!g->rq->signals)
		return;
	while (fd >= 0 && read(fd, &info, sizeof info) == sizeof info) {
		g->out->cancelled = true;
		g->out->signal = (int)info.ssi_signo;
	}
	signals_that_end(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int make_call(struct going *g, struct err *e)
{
	struct room_call c;
	if (policy_make(&c, g, e) < 0)
		return -1;
	FD_AUTO signals = catch_signals(g);
	if (signals >= 0)
		c.call.cancel_fd = signals;
	if (g->rq->hooks.log && g->r->view.version == EXPERT_DRAFT) {
		g->live.l = g->guard.logs;
		c.call.on_log = stream_log;
		c.call.log_ctx = g;
	}
	g->called = clock_mono_ms();
	int done = room_call(g->r->room, &c, &g->reply, e);
	g->over = clock_mono_ms();
	hold_stops(g, SIG_BLOCK);
	release_signals(g, signals);
	end_stream(g);
	policy_free(&c);
	return done;
}

static int begin(struct going *g, struct err *e)
{
	const struct run_start start = {.expert = g->r->view.name,
		.tool = g->tool->name,
		.version = g->r->view.version,
		.buyer = g->r->buyer,
		.session = g->r->session};
	if (g->r->sink) {
		seal_random_id(g->out->id, 'r');
		g->started = clock_real_ms();
		return 0;
	}
	return run_begin(g->r->st, &start, g->out->id, e);
}

/* Up to the point from which there is a run to be told of; before it, the row goes again. */
static int carry_out(struct going *g, struct err *e)
{
	struct err quiet = {0};
	/* Whoever has to be asked for a passphrase must not hold up the others of a session; and
	 * nothing is forked for one any more. */
	if (g->r->session && key_plan_any(&g->plan) && state_unlock(g->r->st, e) < 0)
		return -1;
	/* The record is made while Python starts: if that fails there is nothing to record. */
	if (open_room(g, e) < 0 || room_enter(g->r->room, &g->earlier, e) < 0)
		return -1;
	g->opened = clock_mono_ms();
	if (begin(g, e) < 0)
		return -1;
	note_unsupplied(g);
	note_due(g);
	int done = open_keys(g, e);
	if (done == 0)
		done = make_call(g, e);
	if (done == 0)
		finish_call(g);
	else if (!g->r->sink)
		run_forget(g->r->st, g->out->id, &quiet);
	return done;
}

/* A sandbox for one call is used up; one for more is made ready, or else given up. */
static void leave_room(struct runner *r)
{
	struct err quiet = {0};
	if (!r->room || !(r->warm || r->session))
		return;
	if (room_done(r->room, &quiet) < 0 && !r->session)
		room_close(&r->room);
}

static void going_free(struct going *g)
{
	key_plan_free(&g->plan);
	call_keys_free(&g->keys);
	guard_free(&g->guard);
	room_reply_free(&g->reply);
	strv_free(&g->leaks);
}

static int call_with(struct going *g, struct err *e)
{
	EXPERT_VIEW_AUTO fresh = {0};
	if (hosts_now(g, &fresh, e) < 0)
		return -1;
	find_missing(&g->r->view, &g->plan, g->tool->name, &g->out->missing);
	if (g->out->missing.n) {
		if (begin(g, e) < 0)
			return -1;
		finish_missing(g);
		return 0;
	}
	int done = carry_out(g, e);
	leave_room(g->r);
	return done;
}

int runner_call(
	struct runner *r, const struct run_request *rq, struct run_outcome *out, struct err *e)
{
	struct going g = {.r = r, .rq = rq, .out = out, .begun = clock_mono_ms()};
	*out = (struct run_outcome){.expert = r->view.name,
		.tool = rq->tool,
		.session = r->session,
		.version = r->view.version};
	g.reply.outputs = -1;
	struct run_request asked = *rq;
	g.tool = run_check(&r->view, &asked, e);
	if (!g.tool)
		return -1;
	g.input = asked.input;
	g.ninput = asked.ninput;
	bool shorter = rq->timeout_ms > 0 && rq->timeout_ms < g.tool->timeout_ms;
	g.timeout_ms = shorter ? rq->timeout_ms : g.tool->timeout_ms;
	int done = call_with(&g, e);
	hold_stops(&g, SIG_UNBLOCK);
	going_free(&g);
	seal_wipe_stack();
	if (done < 0)
		run_outcome_free(out);
	return done;
}

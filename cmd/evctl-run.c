/* evctl-run: runs an expert's tools in the sealed sandbox. */
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "batch/batch.h"
#include "cli/cli.h"
#include "run/asked.h"
#include "run/deliver.h"
#include "run/watch.h"
#include "run/examples.h"
#include "state/livenames.h"
#include "verify/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is asked ------------------------------------------------------------------------- */

#define DAY_H 24

struct run_order {
	const char *input, *input_file, *calls, *buyer, *session, *outputs;
	struct strv args;
	int version, timeout, jobs;
	bool draft, debug, examples, overwrite, watch;
};

/* What only the examples' report can be written as. */
static bool is_report(const struct invocation *in)
{
	return in->common.output && option_chosen(in->common.output, "tap|junit");
}

static int check_combination(const struct invocation *in, struct err *e)
{
	const struct run_order *o = in->options;
	const struct {
		bool both;
		const char *one, *other;
	} pairs[] = {
		{o->input && o->input_file, "input", "input-file"},
		{o->input && o->args.n, "input", "arg"},
		{o->input_file && o->args.n, "input-file", "arg"},
		{o->draft && o->version != EXPERT_DEFAULT, "draft", "version"},
		{o->calls && o->input, "calls", "input"},
		{o->calls && o->input_file, "calls", "input-file"},
		{o->calls && o->args.n, "calls", "arg"},
		{o->jobs && o->session, "jobs", "session"},
		{o->examples && o->calls, "examples", "calls"},
		{o->examples && o->input, "examples", "input"},
		{o->examples && o->input_file, "examples", "input-file"},
		{o->examples && o->args.n, "examples", "arg"},
		{o->examples && o->outputs, "examples", "outputs"},
		{o->jobs && o->debug, "jobs", "debug"},
		{o->watch && o->version != EXPERT_DEFAULT, "watch", "version"},
		{o->watch && o->buyer, "watch", "buyer"},
		{o->watch && o->session, "watch", "session"},
		{o->watch && o->calls, "watch", "calls"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		if (!pairs[i].both)
			continue;
		err_set(e, ERR_USAGE, "'--%s' and '--%s' do not go together", pairs[i].one,
			pairs[i].other);
		return err_hint(e, "give one of them");
	}
	if (o->jobs && !o->calls) {
		err_set(e, ERR_USAGE, "'--jobs' is for '--calls'");
		return err_hint(e, "evctl-run E --calls F -j %d", o->jobs);
	}
	if (!o->examples && is_report(in)) {
		err_set(e, ERR_USAGE, "'-o %s' is for '--examples'", in->common.output);
		return err_hint(e, "evctl-run E --examples -o %s", in->common.output);
	}
	if (o->watch && o->input_file && strcmp(o->input_file, "-") == 0) {
		err_set(e, ERR_USAGE, "standard input can be read once, and '--watch' runs often");
		return err_hint(e, "give --input-file FILE, or --input JSON");
	}
	if (o->examples || (o->calls != NULL) != (arg(in, 1) != NULL))
		return 0;
	if (arg(in, 1)) {
		err_set(e, ERR_USAGE, "with '--calls' each line names its tool");
		return err_hint(e, "evctl-run E --calls F");
	}
	err_set(e, ERR_USAGE, "missing argument: TOOL");
	return err_hint(e, "its tools: evctl-expert listing %s", arg(in, 0));
}

static int read_input(
	const struct run_order *o, const struct manifest_tool *t, struct buf *b, struct err *e)
{
	if (o->input_file)
		return cli_read(o->input_file, "the input", MB(LIMIT_INPUT_MB), b, e);
	if (!o->input)
		return asked_args(t, &o->args, b, e);
	buf_adds(b, o->input);
	return 0;
}

/* ---- what is said -------------------------------------------------------------------------- */

/* What the hooks write to. */
struct live {
	const struct invocation *in;
	struct output_held held;
};

static void note(void *ctx, const char *text)
{
	say_note(((struct live *)ctx)->in, "%s", text);
}

static void put_log(void *ctx, const char *p, size_t n)
{
	output_piece(stderr, &((struct live *)ctx)->held, p, n);
	fflush(stderr);
}

static void print_envelope(const struct run_outcome *o)
{
	BUF_AUTO b = {0};
	run_envelope(o, &b);
	output_json_text(stdout, buf_str(&b), b.len);
	fflush(stdout);
}

/* A function that prints what it should return: easily done, and not seen in a bare null. */
static bool returned_nothing(const struct run_outcome *o)
{
	return o->is_json && strcmp(buf_str(&o->result), "null") == 0;
}

static void print_text(const struct invocation *in, const struct run_outcome *o)
{
	const struct run_order *given = in->options;
	if (o->has_result) {
		output_text(stdout, buf_str(&o->result), o->result.len);
		if (o->is_json)
			output_text(stdout, "\n", 1);
	}
	fflush(stdout);
	if (o->has_result && returned_nothing(o) && !given->buyer)
		say_note(in, "the function returned nothing; what it printed: evctl-log show %s",
			o->id);
	for (size_t i = 0; i < o->nfiles; i++) {
		const char *name = o->files[i].name;
		BUF_AUTO word = {.limit = 8192};
		buf_addword(&word, name);
		say_note(in, "%s available as a run artifact (evctl-artifact get %s %s%s)", name,
			o->id, name[0] == '-' ? "-- " : "", buf_str(&word));
	}
	for (size_t i = 0; i < o->nwithheld; i++)
		say_note(in, "%s withheld: %s", o->withheld[i].name, o->withheld[i].why);
	if (o->strays.len && !o->nfiles && !o->nwithheld && !given->buyer)
		say_note(in, "no artifact, as these were written outside outputs/: %s",
			buf_str(&o->strays));
}

static bool may_overwrite(const struct invocation *in)
{
	const struct run_order *o = in->options;
	return o->overwrite || in->common.yes;
}

/* The run is as good as it was: what could not be copied is still there to be got. */
static void copy_outputs(const struct invocation *in, const struct run_outcome *out)
{
	const struct run_order *o = in->options;
	struct err e = {0};
	/* What --watch finds there later is its own. */
	bool overwrite = may_overwrite(in) || o->watch;
	if (o->outputs && deliver_files(o->outputs, out, overwrite, &e) < 0)
		say_warn(in, "%s; to get them: evctl-artifact get %s --to DIR", e.msg, out->id);
}

/* Whoever has it run in a loop, by a shell, means the loop by Ctrl-C too. */
static void note_signal(struct invocation *in, int sig)
{
	if (sig == SIGINT)
		in->dies_by = sig;
}

/* The draft is what its builder has before the eyes. Once, where a person reads it. */
static void note_draft(const struct invocation *in, struct state *st, const struct runner *r)
{
	const struct run_order *o = in->options;
	const struct expert_view *v = runner_view(r);
	BUF_AUTO parts = {0};
	struct err none = {0};
	if (v->version != EXPERT_DRAFT && o->version == EXPERT_DEFAULT && !o->buyer &&
		!o->session && in->output == OUTPUT_TEXT && isatty(STDERR_FILENO) &&
		diff_draft(st, v->name, &parts, &none) == 0 && parts.len)
		say_note(in,
			"version %d ran, from which the draft differs: %s (evctl-expert show %s "
			"--diff; --draft runs it)",
			v->version, buf_str(&parts), v->name);
}

static int report(struct invocation *in, const struct run_outcome *o, struct err *e)
{
	if (in->output == OUTPUT_JSON)
		print_envelope(o);
	else if (in->output == OUTPUT_NAME)
		printf("%s\n", o->id);
	else
		print_text(in, o);
	const struct run_order *given = in->options;
	in->exit_code = asked_code(o);
	note_signal(in, o->signal);
	copy_outputs(in, o);
	return in->output == OUTPUT_JSON ? 0 : asked_failure(o, given->buyer, e);
}

/* ---- one call, or many --------------------------------------------------------------------- */

static int hooks_of(struct live *to, const struct runner *r, struct run_hooks *h, struct err *e)
{
	const struct run_order *o = to->in->options;
	*h = (struct run_hooks){.note = note, .ctx = to};
	if (!o->debug)
		return 0;
	if (runner_view(r)->version != EXPERT_DRAFT) {
		err_set(e, ERR_USAGE, "'--debug' is for drafts");
		return err_hint(e, "add --draft, or see evctl-log show RUN afterwards");
	}
	h->log = put_log;
	return 0;
}

static int call(
	struct runner *r, const struct run_request *rq, struct run_outcome *out, struct err *e)
{
	int done = runner_call(r, rq, out, e);
	put_log(rq->hooks.ctx, "", 0);
	return done;
}

static int run_one(struct invocation *in, struct runner *r, struct err *e)
{
	const struct run_order *o = in->options;
	struct live to = {.in = in};
	RUN_OUTCOME_AUTO out = {0};
	BUF_AUTO input = {.limit = MB(LIMIT_INPUT_MB)};
	struct run_request rq = {.tool = arg(in, 1), .signals = true};
	if (hooks_of(&to, r, &rq.hooks, e) < 0 ||
		read_input(o, manifest_tool(&runner_view(r)->m, rq.tool), &input, e) < 0)
		return -1;
	rq.input = buf_str(&input);
	rq.ninput = input.len;
	rq.timeout_ms = (int)MS(o->timeout);
	return call(r, &rq, &out, e) < 0 ? -1 : report(in, &out, e);
}

/* The exit code of a line; a line that is no call is answered by an error, and the next is read. */
static int one_line(struct invocation *in, struct runner *r, const struct run_request *like,
	const char *line, size_t n, int64_t number)
{
	RUN_OUTCOME_AUTO out = {0};
	BUF_AUTO input = {.limit = MB(LIMIT_INPUT_MB)};
	JSON_AUTO asked = NULL;
	struct run_request rq = *like;
	struct err e = {0};
	if (asked_line(line, n, &asked, &rq, &input, &e) < 0 || call(r, &rq, &out, &e) < 0) {
		JSON_AUTO error = json_error_in(&e, number);
		output_json_line(stdout, error, JSON_COMPACT);
		fflush(stdout);
		return ERR_EXIT_CODE(e.code);
	}
	print_envelope(&out);
	note_signal(in, out.signal);
	int code = asked_code(&out);
	copy_outputs(in, &out);
	return code;
}

static int run_lines(struct invocation *in, struct runner *r, FILE *f, struct err *e)
{
	const struct run_order *o = in->options;
	struct live to = {.in = in};
	struct run_request like = {.signals = true};
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int first = 0, code = 0;
	int64_t number = 0;
	if (hooks_of(&to, r, &like.hooks, e) < 0)
		return -1;
	like.timeout_ms = (int)MS(o->timeout);
	while (code != ERR_CANCELLED && !ferror(stdout) && (n = getline(&line, &room, f)) > 0) {
		number++;
		if (strspn(line, " \t\r\n") == (size_t)n)
			continue;
		code = one_line(in, r, &like, line, (size_t)n, number);
		if (!first || code == ERR_CANCELLED)
			first = code;
	}
	free(line);
	in->exit_code = first;
	if (in->dies_by)
		return err_set(e, ERR_CANCELLED, "interrupted");
	return ferror(f) ? err_errno(e, ERR_FAIL, "cannot read '%s'", o->calls) : 0;
}

static int run_calls(struct invocation *in, struct runner *r, struct err *e)
{
	const struct run_order *o = in->options;
	FILE *f = cli_open(o->calls, e);
	if (!f)
		return -1;
	int done = run_lines(in, r, f, e);
	fclose(f);
	return done;
}

/* ---- the examples -------------------------------------------------------------------------- */

static int run_examples(struct invocation *in, struct runner *r, struct err *e)
{
	const char *word = in->common.output;
	BUF_AUTO text = {0};
	struct live to = {.in = in};
	struct run_hooks hooks;
	if (hooks_of(&to, r, &hooks, e) < 0)
		return -1;
	JSON_AUTO results = examples_run(r, arg(in, 1), &hooks, e);
	put_log(&to, "", 0);
	if (!results)
		return -1;
	in->exit_code = examples_failed(results) ? ERR_FINDINGS : 0;
	if (in->output != OUTPUT_TEXT) {
		static const struct column columns[] = {{"RUN", "run"}, {NULL}};
		return output_list(in, columns, json_incref(results), e);
	}
	if (word && strcmp(word, "junit") == 0)
		examples_junit(results, arg(in, 0), &text);
	else
		examples_tap(results, &text);
	output_text(stdout, buf_str(&text), text.len);
	return 0;
}

/* ---- many calls in many sandboxes ---------------------------------------------------------- */

static bool spread_line(void *ctx, const char *line, size_t n)
{
	(void)ctx;
	output_json_text(stdout, line, n);
	return fflush(stdout) == 0;
}

static void spread_run(void *ctx, const struct run_outcome *out)
{
	copy_outputs(ctx, out);
}

static void spread_note(void *ctx, const char *text)
{
	say_note(ctx, "%s", text);
}

static int run_spread(
	struct invocation *in, struct state *st, const struct run_who *who, struct err *e)
{
	const struct run_order *o = in->options;
	int sig = 0;
	const struct batch_hooks h = {.line = spread_line,
		.run = spread_run,
		.note = spread_note,
		.ctx = in,
		.signal = &sig};
	struct batch_order order = {.expert = who->expert,
		.buyer = who->buyer,
		.version = who->version,
		.calls_name = o->calls,
		.engine = "local",
		.jobs = o->jobs,
		.timeout_s = o->timeout,
		.max_failures = -1,
		.expires_h = DAY_H,
		.plain = true};
	char id[17];
	int code = 0;
	if (o->outputs && deliver_ready(o->outputs, may_overwrite(in), e) < 0)
		return -1;
	order.calls = cli_open(o->calls, e);
	int r = order.calls ? batch_prepare(st, &order, id, e) : -1;
	if (order.calls)
		fclose(order.calls);
	if (r < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	r = batch_drive(st, id, o->jobs, &h, &code, e);
	struct err quiet = {0};
	if (r < 0)
		batch_cancel(st, id, &quiet);
	if (batch_forget(st, id, r < 0 ? &quiet : e) < 0)
		r = -1;
	in->exit_code = code;
	note_signal(in, sig);
	return r == 0 && in->dies_by ? err_set(e, ERR_CANCELLED, "interrupted") : r;
}

/* ---- again and again ----------------------------------------------------------------------- */

static int run_draft(
	struct invocation *in, struct state *st, const struct run_who *who, struct err *e)
{
	const struct run_order *o = in->options;
	struct runner *r = NULL;
	if (runner_open(&r, st, who, e) < 0)
		return -1;
	int done = o->examples ? run_examples(in, r, e) : run_one(in, r, e);
	runner_close(&r);
	return done;
}

/* A draft that cannot be run now is told of, and waited for like one that can. */
static int watch_draft(struct invocation *in, struct state *st, const struct run_who *who,
	struct watch *w, struct err *e)
{
	for (;;) {
		struct err why = {0};
		BUF_AUTO names = {0};
		in->exit_code = 0;
		int done = run_draft(in, st, who, &why);
		if (done < 0)
			say_error(in, &why);
		fflush(stdout);
		if (in->exit_code == ERR_CANCELLED || ferror(stdout)) {
			in->silent = done < 0;
			return done < 0 ? err_set(e, why.code, "%s", why.msg) : 0;
		}
		if (watch_wait(w, &names, e) < 0)
			return -1;
		say_note(in, "changed: %s", buf_str(&names));
	}
}

static int run_watch(
	struct invocation *in, struct state *st, const struct run_who *who, struct err *e)
{
	const struct run_order *o = in->options;
	EXPERT_AUTO x = {0};
	struct watch *w = NULL;
	if (expert_find(st, who->expert, &x, e) < 0 ||
		(o->outputs && deliver_ready(o->outputs, may_overwrite(in), e) < 0))
		return -1;
	int done = watch_open(&w, x.dir, o->outputs, e);
	if (done == 0) {
		say_note(in, "runs when a file in %s changes; Ctrl-C ends it", x.dir);
		done = watch_draft(in, st, who, w, e);
	}
	watch_close(&w);
	return done;
}

static int run(struct invocation *in, struct err *e)
{
	const struct run_order *o = in->options;
	STATE_AUTO st = {0};
	struct run_who who = {.expert = arg(in, 0),
		.buyer = o->buyer,
		.version = o->draft || o->watch ? EXPERT_DRAFT : o->version,
		.session = o->session,
		.warm = o->calls != NULL};
	struct runner *r = NULL;
	if (check_combination(in, e) < 0 || cli_state_swept(&st, in, e) < 0)
		return -1;
	if (o->jobs)
		return run_spread(in, &st, &who, e);
	if (o->watch)
		return run_watch(in, &st, &who, e);
	if (runner_open(&r, &st, &who, e) < 0)
		return -1;
	if (runner_view(r)->version == EXPERT_DRAFT && !o->draft && !who.session &&
		expert_first_draft(&st, who.expert))
		say_note(in, "'%s' was never published: this runs its draft", who.expert);
	/* Seen before the run: what it made would be kept, but not where it was asked for. */
	int done = -1;
	if (!o->outputs || deliver_ready(o->outputs, may_overwrite(in), e) == 0)
		done = o->examples ? run_examples(in, r, e)
		       : who.warm  ? run_calls(in, r, e)
				   : run_one(in, r, e);
	if (!o->examples && (done == 0 || in->exit_code))
		note_draft(in, &st, r);
	runner_close(&r);
	return done;
}

static const struct arg_spec args[] = {
	{"E", NAME_EXPERT}, {"TOOL", NAME_TOOL, .optional = true}, {NULL}};
static const struct option_spec options[] = {
	OPT_STR(struct run_order, input, "input", "JSON", "the tool's input, one JSON object"),
	OPT_STR(struct run_order, input_file, "input-file", "FILE",
		"read the input from FILE ('-': stdin)", .kind = NAME_FILE),
	OPT_LIST(struct run_order, args, "arg", "K=V",
		"one member of the input; text, or JSON where the schema is not string",
		.members = true),
	OPT_STR(struct run_order, calls, "calls", "FILE",
		"many calls in one sandbox: a line {\"tool\", \"input\"} each ('-': stdin)",
		.kind = NAME_FILE),
	OPT_INT(struct run_order, jobs, "jobs", "N", "with --calls: in so many sandboxes at once",
		0, 1, LIMIT_JOBS, .letter = 'j'),
	OPT_STR(struct run_order, buyer, "buyer", "B", "for this buyer", .kind = NAME_BUYER),
	OPT_STR(struct run_order, session, "session", "ID",
		"in a session that evctl-session started", .kind = NAME_SESSION),
	OPT_FLAG(struct run_order, draft, "draft", "run the draft"),
	OPT_INT(struct run_order, version, "version", "N", "run this published version",
		EXPERT_DEFAULT, 1, EXPERT_VERSION_MAX, .kind = NAME_VERSION),
	OPT_INT(struct run_order, timeout, "timeout", "S",
		"at most so many seconds (and the tool's own)", 0, 1, LIMIT_CALL_S),
	OPT_STR(struct run_order, outputs, "outputs", "DIR",
		"copy the artifacts there too, where nothing is yet", .kind = NAME_DIR),
	OPT_FLAG(struct run_order, overwrite, "overwrite",
		"with --outputs: DIR may hold files; those of the same names are replaced"),
	OPT_FLAG(struct run_order, examples, "examples",
		"run the examples in expert.yaml, of TOOL or of all; 7 where one fails"),
	OPT_FLAG(struct run_order, watch, "watch",
		"run the draft, and again whenever its files change"),
	OPT_FLAG(struct run_order, debug, "debug", "show the log as it comes (drafts only)"),
	OPT_END(struct run_order)};

static const struct verb verbs[] = {{NULL, NULL, args, options, NULL, run, "tap|junit"}, {NULL}};

static const struct program program = {.name = "evctl-run",
	.summary = "run an expert's tool in the sealed sandbox",
	.examples = "  evctl-run crm-helper count-leads --arg month=2026-01\n"
		    "  evctl-run crm-helper chart --input '{\"month\": \"2026-01\"}' -o json\n"
		    "  evctl-run crm-helper chart --input-file - --outputs ./out < in.json\n"
		    "  evctl-run crm-helper count-leads --buyer acme --version 2\n"
		    "  evctl-run crm-helper count-leads --arg month=2026-01 --watch\n"
		    "  evctl-run crm-helper --calls calls.jsonl\n"
		    "  evctl-run crm-helper --draft --examples -o junit > report.xml\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

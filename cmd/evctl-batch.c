/* evctl-batch: many calls of a published expert, over all processors. */
#include "base/file.h"
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "base/terminal.h"
#include "batch/batch.h"
#include "cli/cli.h"
#include "run/deliver.h"
#include "state/livenames.h"
#include "state/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

#define MINUTE_MS 60000
#define SECOND_MS 1000

static const struct column list_columns[] = {{"BATCH", "batch"}, {"EXPERT", "expert"},
	{"VERSION", "version", 4}, {"BUYER", "buyer", 5}, {"ENGINE", "engine", 6},
	{"CALLS", "calls", 1}, {"DONE", "done"}, {"FAILED", "failed"}, {"STATUS", "status"},
	{"STARTED", "started", 2}, {"ENDED", "ended", 7}, {NULL}};
static const struct column show_columns[] = {{"BATCH", "batch"}, {"EXPERT", "expert"},
	{"VERSION", "version"}, {"BUYER", "buyer"}, {"ENGINE", "engine"}, {"CALLS", "calls"},
	{"DONE", "done"}, {"FAILED", "failed"}, {"STATUS", "status"}, {"STARTED", "started"},
	{"EXPIRES", "expires"}, {"ENDED", "ended"}, {"SPOOL", "spool"}, {NULL}};

/* ---- following one ------------------------------------------------------------------------- */

/* What the hooks write to. */
struct follow {
	const struct invocation *in;
	FILE *results;
	const char *outputs; /* NULL: artifacts are not copied */
	int64_t told;	     /* CLOCK_MONOTONIC ms */
	bool shown;	     /* a line of progress stands on the terminal */
	int bad;	     /* the code of the first artifact that could not be copied */
};

static void clear_progress(struct follow *f)
{
	if (f->shown)
		fputs("\r\033[K", stderr);
	f->shown = false;
}

static bool put_line(void *ctx, const char *line, size_t n)
{
	struct follow *f = ctx;
	clear_progress(f);
	output_json_text(f->results, line, n);
	fflush(f->results);
	return true; /* the answers are kept */
}

static void put_run(void *ctx, const struct run_outcome *out)
{
	struct follow *f = ctx;
	struct err e = {0};
	if (!f->outputs || deliver_files(f->outputs, out, f->in->common.yes, &e) == 0)
		return;
	clear_progress(f);
	say_warn(f->in, "run %s: %s", out->id, e.msg);
	if (!f->bad)
		f->bad = ERR_EXIT_CODE(e.code);
}

static void put_note(void *ctx, const char *text)
{
	struct follow *f = ctx;
	clear_progress(f);
	say_note(f->in, "%s", text);
}

static void left_text(int64_t ms, char out[32])
{
	int64_t s = ms / SECOND_MS;
	if (ms < 0)
		out[0] = '\0';
	else if (s < 100)
		snprintf(out, 32, "  %lld s left", (long long)s);
	else if (s < 6000)
		snprintf(out, 32, "  %lld m left", (long long)(s / 60));
	else
		snprintf(out, 32, "  %lld h left", (long long)(s / 3600));
}

/* "4,312" */
static const char *grouped(int64_t n, char out[32])
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)n), to = 0;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[to++] = ',';
		out[to++] = digits[i];
	}
	out[to] = '\0';
	return out;
}

/* On a terminal one line that changes; elsewhere a line a minute; with JSON on stderr, none. */
static void put_progress(void *ctx, const struct batch_progress *p)
{
	struct follow *f = ctx;
	if (f->in->output == OUTPUT_JSON)
		return;
	bool terminal = isatty(STDERR_FILENO);
	int64_t now = clock_mono_ms();
	char done[32], calls[32], left[32];
	if (now - f->told < (terminal ? SECOND_MS / 4 : MINUTE_MS))
		return;
	f->told = now;
	left_text(p->left_ms, left);
	fprintf(stderr, "%s%s of %s  %lld failed  %lld running%s%s", terminal ? "\r\033[K" : "",
		grouped(p->done, done), grouped(p->calls, calls), (long long)p->failed,
		(long long)p->running, left, terminal ? "" : "\n");
	f->shown = terminal;
	fflush(stderr);
}

static int open_results(const char *path, FILE **out, struct err *e)
{
	*out = stdout;
	if (!path || strcmp(path, "-") == 0)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	*out = fd < 0 ? NULL : fdopen(fd, "w");
	return *out ? 0 : err_errno(e, ERR_FAIL, "cannot write '%s'", path);
}

static int close_results(FILE *f, const char *path, struct err *e)
{
	bool failed = ferror(f) || fflush(f) != 0;
	if (f != stdout && fclose(f) != 0)
		failed = true;
	return failed ? err_errno(e, ERR_FAIL, "cannot write '%s'", path ? path : "-") : 0;
}

static int processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int follow(struct invocation *in, struct state *st, const char *id, int jobs,
	const char *outputs, FILE *results, struct err *e)
{
	struct follow f = {
		.in = in, .outputs = outputs, .results = results, .told = clock_mono_ms()};
	const struct batch_hooks h = {put_line, put_run, put_progress, put_note, &f};
	int code = 0;
	int r = batch_drive(st, id, jobs ? jobs : processors(), &h, &code, e);
	clear_progress(&f);
	in->exit_code = code ? code : f.bad;
	return r;
}

/* ---- verbs --------------------------------------------------------------------------------- */

struct batch_start {
	const char *calls, *results, *buyer, *engine, *spool, *outputs, *retry_status,
		*max_failures;
	struct strv node;
	int version, jobs, chunk, timeout, retry, expires, settle;
	bool detach;
};

/* "N", or "P%" of the calls: *percent says which. */
static int read_most(const char *text, int64_t *n, bool *percent, struct err *e)
{
	char *end;
	*n = -1;
	*percent = false;
	if (!text)
		return 0;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	*percent = strcmp(end, "%") == 0;
	if (end == text || (*end && !*percent) || errno || v < 0 || v > BATCH_CALLS_MAX ||
		(*percent && v > 100)) {
		err_set(e, ERR_USAGE, "'--max-failures' takes a number, or a number and '%%'");
		return err_hint(e, "--max-failures 100, or --max-failures 5%%");
	}
	*n = v;
	return 0;
}

static int check_statuses(const char *text, struct err *e)
{
	while (text && *text) {
		size_t n = strcspn(text, ",");
		char word[16] = "";
		if (n < sizeof word)
			memcpy(word, text, n);
		if (!option_chosen(word, "failed|timeout|limit")) {
			err_set(e, ERR_USAGE,
				"'--retry-status' takes words of failed, timeout, limit");
			return err_hint(e, "--retry-status timeout,limit");
		}
		text += n + (text[n] == ',');
	}
	return 0;
}

static int prepare(struct invocation *in, struct state *st, char id[17], struct err *e)
{
	const struct batch_start *o = in->options;
	const char *engine = o->engine ? o->engine : "local";
	STRV_AUTO all = {0};
	bool named = o->node.n || strcmp(engine, "slurm") != 0;
	if (!named && node_names(st, &all, e) < 0)
		return -1;
	const struct strv *nodes = named ? &o->node : &all;
	struct batch_order order = {.expert = arg(in, 0),
		.buyer = o->buyer,
		.version = o->version,
		.calls_name = o->calls,
		.engine = engine,
		.nodes = (const char *const *)nodes->v,
		.nnodes = nodes->n,
		.engine_options = (const char *const *)in->args.v + 1,
		.nengine_options = in->args.n - 1,
		.settle_s = o->settle,
		.spool = o->spool,
		.jobs = o->jobs ? o->jobs : processors(),
		.chunk = o->chunk,
		.timeout_s = o->timeout,
		.retry = o->retry,
		.retry_status = o->retry_status,
		.expires_h = o->expires};
	if (read_most(o->max_failures, &order.max_failures, &order.max_percent, e) < 0 ||
		check_statuses(o->retry_status, e) < 0 || !(order.calls = cli_open(o->calls, e)))
		return -1;
	int r = batch_prepare(st, &order, id, e);
	fclose(order.calls);
	return r;
}

static const struct column end_columns[] = {{"BATCH", "batch"}, {NULL}};

/* Whoever starts the tasks of an engine that is none is told how. */
static int left_alone(struct invocation *in, struct state *st, const char *id, struct err *e)
{
	int64_t chunks;
	STR_AUTO command = batch_command(st, id, &chunks, e);
	if (!command)
		return -1;
	say_note(in, "on the nodes, for INDEX 0 to %lld: %s INDEX; then: evctl-batch wait %s",
		(long long)chunks - 1, command, id);
	return output_done(in, end_columns,
		json_pack("{s:s,s:I,s:s}", "batch", id, "chunks", (json_int_t)chunks, "command",
			command),
		e, "%s", id);
}

static int do_start(struct invocation *in, struct err *e)
{
	const struct batch_start *o = in->options;
	STATE_AUTO st = {0};
	FILE *results = NULL;
	char id[17];
	if (!o->calls) {
		err_set(e, ERR_USAGE, "no calls are given");
		return err_hint(e, "evctl-batch start %s --calls FILE", arg(in, 0));
	}
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	FD_AUTO outputs = o->outputs ? deliver_dir(o->outputs, true, e) : -1;
	if (o->outputs && outputs < 0)
		return -1;
	if (prepare(in, &st, id, e) < 0 || open_results(o->results, &results, e) < 0)
		return -1;
	if (o->detach || (o->engine && strcmp(o->engine, "none") == 0))
		return left_alone(in, &st, id, e);
	say_note(in, "batch %s", id);
	int r = follow(in, &st, id, o->jobs, o->outputs, results, e);
	return close_results(results, o->results, e) < 0 ? -1 : r;
}

struct batch_wait {
	const char *results, *outputs;
	int jobs;
};

static int do_wait(struct invocation *in, struct err *e)
{
	const struct batch_wait *o = in->options;
	STATE_AUTO st = {0};
	BATCH_AUTO b = {0};
	FILE *results = NULL;
	if (cli_state_swept(&st, in, e) < 0 || batch_find(&st, arg(in, 0), &b, e) < 0 ||
		open_results(o->results, &results, e) < 0)
		return -1;
	int r = follow(in, &st, b.id, o->jobs ? o->jobs : (int)json_int_of(b.settings, "jobs"),
		o->outputs, results, e);
	return close_results(results, o->results, e) < 0 ? -1 : r;
}

static int do_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	return output_list(in, list_columns, batch_list(&st, e), e);
}

static int do_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	return output_object(in, show_columns, batch_show(&st, arg(in, 0), e), e);
}

struct batch_answers {
	bool failed;
};

static bool print_line(void *ctx, const char *line, size_t n)
{
	output_json_text(ctx, line, n);
	return !ferror(ctx);
}

static int do_results(struct invocation *in, struct err *e)
{
	const struct batch_answers *o = in->options;
	STATE_AUTO st = {0};
	int code;
	if (cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	return batch_results(&st, arg(in, 0), o->failed, print_line, stdout, &code, e);
}

static int do_cancel(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0 || batch_cancel(&st, arg(in, 0), e) < 0)
		return -1;
	return output_done(in, end_columns, json_pack("{s:s}", "batch", arg(in, 0)), e,
		"cancelled %s", arg(in, 0));
}

static int do_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BATCH_AUTO b = {0};
	if (cli_state_swept(&st, in, e) < 0 || batch_find(&st, arg(in, 0), &b, e) < 0 ||
		say_confirm(in, e, "remove the answers of batch '%s'? (its runs stay)", b.id) < 0 ||
		batch_forget(&st, b.id, e) < 0)
		return -1;
	return output_done(
		in, end_columns, json_pack("{s:s}", "batch", b.id), e, "removed %s", b.id);
}

static const struct arg_spec start_args[] = {
	{"E", NAME_EXPERT}, {"OPTION", NAME_NONE, .optional = true, .repeats = true}, {NULL}};
static const struct arg_spec batch_args[] = {{"B", NAME_BATCH}, {NULL}};
static const struct option_spec start_options[] = {
	OPT_STR(struct batch_start, calls, "calls", "FILE",
		"a line {\"tool\", \"input\", \"id\"} each ('-': stdin)", .kind = NAME_FILE),
	OPT_STR(struct batch_start, results, "results", "FILE",
		"write the results there ('-': stdout)", .kind = NAME_FILE),
	OPT_STR(struct batch_start, buyer, "buyer", "B", "for this buyer", .kind = NAME_BUYER),
	OPT_INT(struct batch_start, version, "version", "N", "run this published version",
		EXPERT_DEFAULT, 1, EXPERT_VERSION_MAX, .kind = NAME_VERSION),
	OPT_WORD(struct batch_start, engine, "engine", "WORD", "who starts its tasks (local)",
		"local|slurm|none"),
	OPT_INT(struct batch_start, jobs, "jobs", "N",
		"so many sandboxes at once (as many as processors)", 0, 1, LIMIT_JOBS,
		.letter = 'j'),
	OPT_STR(struct batch_start, spool, "spool", "DIR", "where its files are while it goes on",
		.kind = NAME_DIR),
	OPT_LIST(struct batch_start, node, "node", "NAME",
		"seal it to this node (slurm: all of them)"),
	OPT_FLAG(struct batch_start, detach, "detach", "only prepare it: evctl-batch wait goes on"),
	OPT_INT(struct batch_start, settle, "settle", "S",
		"what the engine has not had for so long is lost (60)", 60, 1, 86400),
	OPT_INT(struct batch_start, chunk, "chunk", "N", "hand out so many calls at a time", 0, 1,
		100000),
	OPT_INT(struct batch_start, timeout, "timeout", "S",
		"a call at most so many seconds (and the tool's own)", 0, 1, LIMIT_CALL_S),
	OPT_INT(struct batch_start, retry, "retry", "N",
		"try a call that was lost so many times more (2)", 2, 0, 100),
	OPT_STR(struct batch_start, retry_status, "retry-status", "LIST",
		"and one that came to this: failed,timeout,limit"),
	OPT_STR(struct batch_start, max_failures, "max-failures", "N",
		"stop once more than so many calls failed (N, or P%)"),
	OPT_INT(struct batch_start, expires, "expires", "HOURS", "end it after so long (24)", 24, 1,
		8760),
	OPT_STR(struct batch_start, outputs, "outputs", "DIR", "copy the artifacts there too",
		.kind = NAME_DIR),
	OPT_END(struct batch_start)};
static const struct option_spec wait_options[] = {
	OPT_STR(struct batch_wait, results, "results", "FILE",
		"write the results there ('-': stdout)", .kind = NAME_FILE),
	OPT_INT(struct batch_wait, jobs, "jobs", "N",
		"so many sandboxes at once (as it was started)", 0, 1, LIMIT_JOBS, .letter = 'j'),
	OPT_STR(struct batch_wait, outputs, "outputs", "DIR", "copy the artifacts there too",
		.kind = NAME_DIR),
	OPT_END(struct batch_wait)};
static const struct option_spec results_options[] = {
	OPT_FLAG(struct batch_answers, failed, "failed", "only those that are not ok"),
	OPT_END(struct batch_answers)};

static const struct verb verbs[] = {
	{"start", "make many calls, and print what each came to", start_args, start_options,
		"  evctl-batch start crm-helper --calls calls.jsonl --results results.jsonl\n"
		"  evctl-batch start crm-helper --calls - -j 8 --max-failures 5% < calls.jsonl\n",
		do_start},
	{"wait", "go on with one, and print what each call came to", batch_args, wait_options, NULL,
		do_wait},
	{"list", "list batches", NULL, NULL, NULL, do_list},
	{"show", "show one", batch_args, NULL, NULL, do_show},
	{"results", "print what its calls came to", batch_args, results_options, NULL, do_results},
	{"cancel", "end one; what is done stays", batch_args, NULL, NULL, do_cancel},
	{"rm", "forget one that is over; its runs stay", batch_args, NULL, NULL, do_rm}, {NULL}};

static const struct program program = {.name = "evctl-batch",
	.summary = "many calls of a published expert",
	.examples = "  evctl-batch start crm-helper --calls calls.jsonl > results.jsonl\n"
		    "  evctl-batch list\n"
		    "  evctl-batch wait babc123\n"
		    "  evctl-batch results babc123 --failed\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

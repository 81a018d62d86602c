/* evctl-log: what runs did, for the owner; and the audit trail. */
#include "base/file.h"
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "state/logexport.h"
#include "state/run_record.h"
#include "state/run_text.h"
#include "state/usage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_TEXT_MAX ((size_t)64 << 20)

static const struct column run_columns[] = {{"RUN", "run"}, {"EXPERT", "expert"},
	{"VERSION", "version", 4}, {"TOOL", "tool"}, {"BUYER", "buyer", 2},
	{"SESSION", "session", 6}, {"STATUS", "status"}, {"STARTED", "started", 1}, {"MS", "ms", 3},
	{"ARTIFACTS", "artifacts", 5}, {NULL}};
static const struct column event_columns[] = {{"AT", "at"}, {"METHOD", "method"}, {"HOST", "host"},
	{"PORT", "port", 3}, {"PATH", "path"}, {"STATUS", "status"}, {"UP", "up", 6},
	{"DOWN", "down", 6}, {"MS", "ms", 5}, {"VERDICT", "verdict"}, {"COUNTED", "counted", 7},
	{NULL}};
static const struct column audit_columns[] = {{"SEQ", "seq"}, {"AT", "at"}, {"ACTOR", "actor", 3},
	{"ACTION", "action"}, {"OBJECT", "object"}, {"DETAIL", "detail", 2}, {NULL}};

struct runs {
	const char *expert, *buyer;
	int limit;
};

static int do_runs(struct invocation *in, struct err *e)
{
	const struct runs *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	const struct run_filter f = {.expert = o->expert, .buyer = o->buyer, .limit = o->limit};
	return output_list(in, run_columns, run_list(&st, &f, e), e);
}

/* ---- show ---------------------------------------------------------------------------------- */

static int print_run(struct invocation *in, json_t *run, struct err *e)
{
	BUF_AUTO text = {.limit = RUN_TEXT_MAX};
	BUF_AUTO mend = {0};
	if (in->output != OUTPUT_TEXT)
		return output_object(in, run_columns, json_incref(run), e);
	run_text(run, &text);
	run_mend(run, &mend);
	if (buf_failed(&text))
		return err_set(e, ERR_FAIL, "what there is of this run is over 64 MB: add -o json");
	output_text(stdout, buf_str(&text), text.len);
	if (mend.len)
		say_note(in, "%s", buf_str(&mend));
	return 0;
}

static bool has_ended(const json_t *run)
{
	return strcmp(json_text_of(run, "status"), "running") != 0;
}

/* A log that was removed, or is yet to come, is no reason not to tell the rest. */
static int add_sealed(struct state *st, json_t *run, const char *id, bool input, struct err *e)
{
	SECRET_AUTO text = {0};
	struct err none = {0};
	if (run_open_log(st, id, input, &text, &none) < 0 && none.code != ERR_NOTFOUND) {
		*e = none;
		return -1;
	}
	json_object_set_new(run, input ? "input" : "log",
		none.code ? json_null() : json_text(text.data ? text.data : "", text.n));
	return 0;
}

static int show_input(struct state *st, const char *id, struct err *e)
{
	SECRET_AUTO text = {0};
	if (run_open_log(st, id, true, &text, e) < 0)
		return -1;
	output_text(stdout, text.data, text.n);
	putchar('\n');
	return 0;
}

/* What is not listed one by one. */
static void note_counted(const struct invocation *in, const json_t *rows)
{
	json_int_t counted = 0;
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row) {
		counted += json_integer_value(json_object_get(row, "counted"));
	}
	if (counted)
		say_note(in,
			"the list was cut: %lld requests after the first %d are only counted, by "
			"method, host and shape of path",
			(long long)counted, LIMIT_EVENTS);
}

struct log_show {
	bool input;
};

static int do_show(struct invocation *in, struct err *e)
{
	const struct log_show *o = in->options;
	STATE_AUTO st = {0};
	const char *id = arg(in, 0);
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	JSON_AUTO run = run_show(&st, id, e);
	if (!run || state_unlock(&st, e) < 0)
		return -1;
	if (o->input && in->output == OUTPUT_TEXT)
		return show_input(&st, id, e);
	json_t *events = run_events(&st, id, e);
	if (!events)
		return -1;
	json_object_set_new(run, "egress", events);
	note_counted(in, events);
	if (has_ended(run) && add_sealed(&st, run, id, false, e) < 0)
		return -1;
	if (o->input && add_sealed(&st, run, id, true, e) < 0)
		return -1;
	return print_run(in, run, e);
}

/* ---- the others ---------------------------------------------------------------------------- */

static int do_egress(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	json_t *rows = run_events(&st, arg(in, 0), e);
	note_counted(in, rows);
	return output_list(in, event_columns, rows, e);
}

struct usage {
	const char *buyer, *expert, *since, *until, *by;
};

static bool is_csv(const struct invocation *in)
{
	return in->common.output && strcmp(in->common.output, "csv") == 0;
}

/* A member of RFC 4180: in quotes where it must be. */
static void csv_cell(struct buf *b, const json_t *v)
{
	const char *s = json_string_value(v);
	if (!s) {
		json_to_buf(v, b);
		return;
	}
	if (!strpbrk(s, ",\"\r\n")) {
		buf_adds(b, s);
		return;
	}
	buf_addc(b, '"');
	for (; *s; s++)
		buf_addf(b, *s == '"' ? "\"\"" : "%c", *s);
	buf_addc(b, '"');
}

static int print_csv(const struct column *cols, json_t *rows, struct err *e)
{
	BUF_AUTO b = {0};
	size_t i;
	json_t *row;
	for (const struct column *c = cols; c->title; c++)
		buf_addf(&b, "%s%s", c == cols ? "" : ",", c->key);
	buf_adds(&b, "\r\n");
	json_array_foreach (rows, i, row) {
		for (const struct column *c = cols; c->title; c++) {
			buf_adds(&b, c == cols ? "" : ",");
			csv_cell(&b, json_object_get(row, c->key));
		}
		buf_adds(&b, "\r\n");
	}
	json_decref(rows);
	output_text(stdout, buf_str(&b), b.len);
	return buf_failed(&b) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

/* The state says them as text, which a table takes as it is. */
static void seconds_numbers(json_t *rows)
{
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row)
		json_object_set_new(
			row, "seconds", json_real(strtod(json_text_of(row, "seconds"), NULL)));
}

static int do_usage(struct invocation *in, struct err *e)
{
	const struct usage *o = in->options;
	STATE_AUTO st = {0};
	struct usage_filter f = {
		.buyer = o->buyer, .expert = o->expert, .by = o->by ? o->by : "day"};
	const struct column cols[] = {{"BY", f.by}, {"PAYER", "payer"}, {"CALLS", "calls"},
		{"OK", "ok"}, {"FAILED", "failed"}, {"SECONDS", "seconds"},
		{"REQUESTS", "requests"}, {"BYTES", "bytes"}, {"BROKER", "broker_calls"},
		{"ARTIFACTS", "artifacts"}, {"BYTES", "artifact_bytes"}, {NULL}};
	if ((o->since && logexport_time(o->since, &f.since, e) < 0) ||
		(o->until && logexport_time(o->until, &f.until, e) < 0) ||
		cli_state_swept(&st, in, e) < 0)
		return -1;
	json_t *rows = usage_list(&st, &f, e);
	if (in->output == OUTPUT_JSON && !is_csv(in))
		seconds_numbers(rows);
	return rows && is_csv(in) ? print_csv(cols, rows, e) : output_list(in, cols, rows, e);
}

static const struct column verified_columns[] = {{"ROWS", "rows"}, {"OK", "ok"}, {NULL}};

static int verify_audit(struct invocation *in, struct state *st, struct err *e)
{
	int64_t rows;
	if (audit_verify(st, &rows, e) < 0)
		return -1;
	return output_done(in, verified_columns,
		json_pack("{s:I,s:b}", "rows", (json_int_t)rows, "ok", 1), e,
		"%lld rows, and the chain holds", (long long)rows);
}

struct audit {
	bool verify;
};

static int do_audit(struct invocation *in, struct err *e)
{
	const struct audit *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	if (o->verify)
		return verify_audit(in, &st, e);
	return output_list(in, audit_columns, audit_list(&st, e), e);
}

/* A reader that is gone ends it. */
static int print_line(void *ctx, const json_t *line)
{
	(void)ctx;
	output_json_line(stdout, line, JSON_COMPACT);
	return ferror(stdout) ? -1 : 0;
}

struct export
{
	const char *since;
	struct strv kinds;
};

static int do_export(struct invocation *in, struct err *e)
{
	const struct export *o = in->options;
	STATE_AUTO st = {0};
	struct logexport x = {.line = print_line};
	x.runs = !o->kinds.n || strv_has(&o->kinds, "run");
	x.egress = !o->kinds.n || strv_has(&o->kinds, "egress");
	x.audit = !o->kinds.n || strv_has(&o->kinds, "audit");
	if ((o->since && logexport_time(o->since, &x.since, e) < 0) ||
		cli_state_swept(&st, in, e) < 0)
		return -1;
	return logexport(&st, &x, e);
}

static const struct column removed_columns[] = {{"REMOVED", "removed"}, {NULL}};

struct log_gc {
	int older;
};

static int do_gc(struct invocation *in, struct err *e)
{
	const struct log_gc *o = in->options;
	STATE_AUTO st = {0};
	int64_t removed, before;
	if (cli_days_ago(in, o->older, &before, e) < 0 || cli_state_swept(&st, in, e) < 0 ||
		say_confirm(in, e, "remove logs and inputs of runs older than %d day%s", o->older,
			o->older == 1 ? "" : "s") < 0 ||
		run_gc_logs(&st, before, &removed, e) < 0)
		return -1;
	return output_done(in, removed_columns, json_pack("{s:I}", "removed", (json_int_t)removed),
		e, "removed %lld", (long long)removed);
}

static const struct arg_spec run_args[] = {{"RUN", NAME_RUN}, {NULL}};
static const struct option_spec runs_options[] = {
	OPT_STR(struct runs, expert, "expert", "E", "only of this expert", .kind = NAME_EXPERT),
	OPT_STR(struct runs, buyer, "buyer", "B", "only of this buyer", .kind = NAME_BUYER),
	OPT_INT(struct runs, limit, "limit", "N", "only the newest N", 0, 1, 1000000000),
	OPT_END(struct runs)};
static const struct option_spec show_options[] = {
	OPT_FLAG(struct log_show, input, "input", "show what the tool was given"),
	OPT_END(struct log_show)};
static const struct option_spec audit_options[] = {
	OPT_FLAG(struct audit, verify, "verify", "check that the chain holds"),
	OPT_END(struct audit)};
static const struct option_spec export_options[] = {
	OPT_LIST(struct export, kinds, "kind", "KIND", "only these; may be given again",
		.kind = NAME_WORD, .choices = "run|egress|audit"),
	OPT_STR(struct export, since, "since", "TIME",
		"of this time (UTC) and later: 2026-01-31[T12:00:05Z]"),
	OPT_END(struct export)};
static const struct option_spec usage_options[] = {
	OPT_STR(struct usage, buyer, "buyer", "B", "only this one's; 'builder': your own",
		.kind = NAME_BUYER),
	OPT_STR(struct usage, expert, "expert", "E", "only of this expert", .kind = NAME_EXPERT),
	OPT_STR(struct usage, since, "since", "TIME", "from this time (UTC) on: 2026-01-31"),
	OPT_STR(struct usage, until, "until", "TIME", "until before this time (UTC)"),
	OPT_WORD(struct usage, by, "by", "WORD", "a row for each (day)",
		"day|month|buyer|expert|tool|credential"),
	OPT_END(struct usage)};
static const struct option_spec gc_options[] = {
	OPT_INT(struct log_gc, older, "older", "DAYS",
		"of runs that ended so many days ago or before", -1, 0, 36500),
	OPT_END(struct log_gc)};

static const struct verb verbs[] = {
	{"runs", "list runs, newest first", NULL, runs_options,
		"  evctl-log runs --expert crm-helper --limit 20\n", do_runs},
	{"show", "show a run: verdict, limits, time, egress, log", run_args, show_options,
		"  evctl-log show rabc123\n  evctl-log show rabc123 --input\n", do_show},
	{"egress", "list the requests of a run", run_args, NULL, NULL, do_egress},
	{"usage", "count what was used, by whom, and whose keys it took", NULL, usage_options,
		"  evctl-log usage --by buyer --since 2026-01-01\n"
		"  evctl-log usage --buyer acme --by month -o csv\n",
		do_usage, "csv"},
	{"audit", "list who changed what", NULL, audit_options, "  evctl-log audit --verify\n",
		do_audit},
	{"export", "write runs, requests and changes as JSON lines, for a log shipper", NULL,
		export_options, "  evctl-log export --since 2026-01-31 --kind egress\n", do_export},
	{"gc", "remove the logs and inputs of old runs", NULL, gc_options,
		"  evctl-log gc --older 30 --yes\n", do_gc},
	{NULL}};

static const struct program program = {.name = "evctl-log",
	.summary = "what runs did, and the audit trail",
	.examples = "  evctl-log runs\n"
		    "  evctl-log show rabc123\n"
		    "  evctl-log egress rabc123 -o json\n"
		    "  evctl-log audit --verify\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

/* evctl-verify: is every key that the code reads supplied? */
#include "base/file.h"
#include "base/output.h"
#include "base/terminal.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "verify/judge.h"
#include "verify/verdict_text.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

struct judging {
	const char *root;
	bool published, strict;
};

static void print_text(const struct judge *js, const char *root)
{
	bool several = js->n > 1, first = true;
	for (size_t i = 0; i < js->n; i++) {
		const struct judged *j = &js->v[i];
		STR_AUTO prefix = judged_shown(j, root);
		BUF_AUTO out = {0};
		if (!j->verdict)
			continue;
		if (several)
			printf("%s%s:\n", first ? "" : "\n", j->v.name);
		first = false;
		report_text(j->verdict,
			&(struct report_style){terminal_color(stdout), prefix ? prefix : ""}, &out);
		fwrite(buf_str(&out), 1, out.len, stdout);
	}
}

/* All that is known of each argument, for CI: what is broken is a finding too. */
struct reported {
	struct report_of *v;
	json_t *failures;
	json_t *broken; /* verdicts */
	struct strv prefixes;
	size_t n;
};

static void report_free(struct reported *r)
{
	free(r->v);
	json_decref(r->failures);
	json_decref(r->broken);
	strv_free(&r->prefixes);
}

static int report_collect(
	struct reported *r, const struct judge *js, const char *root, struct err *e)
{
	*r = (struct reported){calloc(js->n + 1, sizeof *r->v), json_array(), json_array(), {0}, 0};
	if (!r->v || !r->failures || !r->broken)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < js->n; i++) {
		const struct judged *j = &js->v[i];
		STR_AUTO prefix = judged_prefix(j, root);
		json_t *broken = judged_broken(j);
		if (broken)
			json_array_append_new(r->broken, broken);
		else if (!j->verdict)
			json_array_append_new(r->failures, json_text_or_null(j->e.msg));
		if (!broken && !j->verdict)
			continue;
		strv_add(&r->prefixes, prefix ? prefix : "");
		r->v[r->n++].verdict = broken ? broken : j->verdict;
	}
	for (size_t i = 0; i < r->n && !r->prefixes.failed; i++)
		r->v[i].prefix = r->prefixes.v[i];
	return r->prefixes.failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

/* What stands in for text, and is for programs: a report even where nothing could be judged. */
static bool is_report(const struct invocation *in)
{
	return in->common.output && option_chosen(in->common.output, "sarif|github|gitlab");
}

static int print_report(
	const struct invocation *in, const struct judge *js, const char *root, struct err *e)
{
	__attribute__((cleanup(report_free))) struct reported r = {0};
	const char *word = in->common.output;
	BUF_AUTO lines = {0};
	if (report_collect(&r, js, root, e) < 0)
		return -1;
	if (strcmp(word, "github") == 0) {
		report_github(r.v, r.n, &lines);
		output_text(stdout, buf_str(&lines), lines.len);
		return 0;
	}
	JSON_AUTO report = strcmp(word, "sarif") == 0 ? report_sarif(r.v, r.n, r.failures)
						      : report_gitlab(r.v, r.n);
	output_json_line(stdout, report, JSON_INDENT(1));
	return 0;
}

static int print_json(const struct invocation *in, const struct judge *js, struct err *e)
{
	static const struct column names[] = {{"EXPERT", "expert"}, {NULL}};
	if (js->n == 1)
		return js->v[0].verdict ? output_object(in, names, json_incref(js->v[0].verdict), e)
					: 0;
	json_t *rows = json_array();
	for (size_t i = 0; i < js->n; i++)
		if (js->v[i].verdict)
			json_array_append(rows, js->v[i].verdict);
	return output_list(in, names, rows, e);
}

static int print(
	const struct invocation *in, const struct judge *js, const char *root, struct err *e)
{
	if (in->output != OUTPUT_TEXT)
		return print_json(in, js, e);
	if (is_report(in))
		return print_report(in, js, root, e);
	print_text(js, root);
	return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* NULL: all are directories. */
static const char *first_name(const struct invocation *in)
{
	for (size_t i = 0; i < in->args.n; i++)
		if (!judge_is_dir(in->args.v[i]))
			return in->args.v[i];
	return NULL;
}

/* Directories alone can be judged without a state, and then nothing is bound. */
static int open_state(
	const struct invocation *in, struct judge *js, struct state *st, struct err *e)
{
	struct err quiet = {0};
	const char *name = first_name(in);
	if (cli_place(in, &js->place, e) < 0)
		return -1;
	STR_AUTO path = state_place_path(&js->place, "state.db", &quiet);
	bool none = !path || !file_exists(path);
	if (!name && none) {
		if (in->common.state)
			say_note(in, "there is no state in '%s': no host supplies anything",
				in->common.state);
		return 0;
	}
	if (state_open(st, &js->place, STATE_READ, e) < 0) {
		if (name && none)
			judge_hint_path(name, e);
		return -1;
	}
	js->st = st;
	return 0;
}

static int find_root(const char *given, char **root, struct err *e)
{
	if (!given)
		return 0;
	*root = realpath(given, NULL);
	return *root ? 0 : err_errno(e, ERR_NOTFOUND, "cannot open the directory '%s'", given);
}

static int run_verify(struct invocation *in, struct err *e)
{
	const struct judging *o = in->options;
	STATE_AUTO st = {0};
	JUDGE_AUTO js = {0};
	STR_AUTO root = NULL;
	if (find_root(o->root, &root, e) < 0 || open_state(in, &js, &st, e) < 0 ||
		judge_all(&js, &in->args, o->published, e) < 0)
		return -1;
	for (size_t i = 0; i < js.notes.n; i++)
		say_note(in, "%s", js.notes.v[i]);
	in->exit_code = (int)judge_code(&js, o->strict);
	if (js.n == 1 && js.v[0].e.code && !is_report(in))
		return judge_error(&js, e);
	return print(in, &js, root, e) < 0 ? -1 : judge_error(&js, e);
}

static const struct arg_spec args[] = {{"EXPERT|DIR", NAME_EXPERT, .repeats = true}, {NULL}};
static const struct option_spec options[] = {
	OPT_FLAG(struct judging, published, "published", "judge what is published, not the draft"),
	OPT_STR(struct judging, root, "root", "DIR",
		"name files from here (default: the top of the git work tree that they are in)",
		.kind = NAME_DIR),
	OPT_FLAG(struct judging, strict, "strict", "amber counts as a finding too"),
	OPT_END(struct judging)};

static const struct verb verbs[] = {
	{NULL, "judge experts: is every key that their code reads supplied?", args, options, NULL,
		run_verify, "sarif|github|gitlab"},
	{NULL}};

static const struct program program = {.name = "evctl-verify",
	.summary = "find every key that code reads, and what is missing, without running it",
	.examples = "  evctl-verify crm-helper\n"
		    "  evctl-verify ./crm-helper --strict       # a directory has a '/' or is '.'\n"
		    "  evctl-verify experts/*/ -o sarif > evctl.sarif\n"
		    "  evctl-verify experts/*/ -o gitlab > gl-code-quality-report.json\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

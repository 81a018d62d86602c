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

static void print_text(const struct judge *js)
{
	bool several = js->n > 1, first = true;
	for (size_t i = 0; i < js->n; i++) {
		const struct judged *j = &js->v[i];
		STR_AUTO prefix = judged_shown(j);
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

static void print_sarif(const struct judge *js)
{
	STRV_AUTO prefixes = {0};
	json_t **verdicts = calloc(js->n, sizeof *verdicts);
	size_t n = 0;
	for (size_t i = 0; verdicts && i < js->n; i++) {
		STR_AUTO prefix = judged_prefix(&js->v[i]);
		if (!js->v[i].verdict)
			continue;
		verdicts[n++] = js->v[i].verdict;
		strv_add(&prefixes, prefix ? prefix : "");
	}
	JSON_AUTO sarif = report_sarif(verdicts, (const char *const *)prefixes.v, n);
	output_json_line(stdout, sarif, JSON_INDENT(1));
	free(verdicts);
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

static int print(const struct invocation *in, const struct judge *js, struct err *e)
{
	const char *word = in->common.output;
	if (in->output != OUTPUT_TEXT)
		return print_json(in, js, e);
	if (word && strcmp(word, "sarif") == 0)
		print_sarif(js);
	else
		print_text(js);
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

struct judging {
	bool published, strict;
};

static int run_verify(struct invocation *in, struct err *e)
{
	const struct judging *o = in->options;
	STATE_AUTO st = {0};
	JUDGE_AUTO js = {0};
	if (open_state(in, &js, &st, e) < 0 || judge_all(&js, &in->args, o->published, e) < 0)
		return -1;
	for (size_t i = 0; i < js.notes.n; i++)
		say_note(in, "%s", js.notes.v[i]);
	in->exit_code = (int)judge_code(&js, o->strict);
	if (js.n == 1 && js.v[0].e.code)
		return judge_error(&js, e);
	return print(in, &js, e) < 0 ? -1 : judge_error(&js, e);
}

static const struct arg_spec args[] = {{"EXPERT|DIR", NAME_EXPERT, .repeats = true}, {NULL}};
static const struct option_spec options[] = {
	OPT_FLAG(struct judging, published, "published", "judge what is published, not the draft"),
	OPT_FLAG(struct judging, strict, "strict", "amber counts as a finding too"),
	OPT_END(struct judging)};

static const struct verb verbs[] = {
	{NULL, "judge experts: is every key that their code reads supplied?", args, options, NULL,
		run_verify, "sarif"},
	{NULL}};

static const struct program program = {.name = "evctl-verify",
	.summary = "find every key that code reads, and what is missing, without running it",
	.examples = "  evctl-verify crm-helper\n"
		    "  evctl-verify ./crm-helper --strict       # a directory has a '/' or is '.'\n"
		    "  evctl-verify experts/*/ -o sarif > evctl.sarif\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

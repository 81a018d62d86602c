/* evctl-doctor: what this machine can enforce, how the state is, and the mend for the rest. */
#include "base/output.h"
#include "cli/cli.h"
#include "doctor/health.h"
#include "state/livenames.h"

#include <stdio.h>
#include <unistd.h>

static void print_row(const struct invocation *in, const json_t *row)
{
	bool ok = json_is_true(json_object_get(row, "ok"));
	bool required = json_is_true(json_object_get(row, "required"));
	const char *word = ok ? "ok" : required ? "missing" : "weaker";
	const char *check = json_text_of(row, "check"), *is = json_text_of(row, "is");
	const char *mend = json_text_of(row, "mend");
	if (!isatty(STDOUT_FILENO)) {
		output_say(in, "%s\t%s\t%s\t%s", word, check, is, mend);
		return;
	}
	if (in->output != OUTPUT_TEXT)
		return;
	output_paint(in, ok ? "32" : required ? "31" : "33");
	printf("%-7s", word);
	output_paint(in, "0");
	output_say(in, " %-17s %s", check, is);
	if (!ok)
		output_say(in, "        mend: %s", mend);
}

static void print_report(
	const struct invocation *in, const json_t *rows, const json_t *fixed, size_t findings)
{
	size_t i;
	json_t *row, *word;
	if (in->output == OUTPUT_JSON)
		output_json(json_pack("{s:b,s:I,s:O,s:O}", "ok", (int)(findings == 0), "findings",
			(json_int_t)findings, "checks", rows, "fixed", fixed));
	json_array_foreach (rows, i, row) {
		if (in->output == OUTPUT_NAME && !json_is_true(json_object_get(row, "ok")))
			printf("%s\n", json_text_of(row, "check"));
		print_row(in, row);
	}
	json_array_foreach (fixed, i, word)
		output_say(in, "fixed%s%s", isatty(STDOUT_FILENO) ? "   " : "\t",
			json_string_value(word));
}

struct doctor_check {
	bool fix;
};

static int run(struct invocation *in, struct err *e)
{
	const struct doctor_check *o = in->options;
	JSON_AUTO rows = json_array();
	JSON_AUTO fixed = json_array();
	PLACE_AUTO place = {0};
	size_t i, findings = 0;
	json_t *row;
	if (cli_place(in, &place, e) < 0 || health_machine(rows, e) < 0 ||
		health_state(&place, o->fix, rows, fixed, e) < 0)
		return -1;
	json_array_foreach (rows, i, row)
		findings += !json_is_true(json_object_get(row, "ok"));
	print_report(in, rows, fixed, findings);
	in->exit_code = findings ? ERR_FINDINGS : 0;
	return 0;
}

static const struct option_spec options[] = {
	OPT_FLAG(struct doctor_check, fix, "fix", "mend what is safe to mend"),
	OPT_END(struct doctor_check)};
static const struct verb verbs[] = {{NULL, "", NULL, options, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl-doctor",
	.summary = "what this machine can enforce, how the state is, and the mend for the rest",
	.examples = "  evctl doctor\n"
		    "  evctl doctor --fix\n"
		    "  evctl doctor -o json\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

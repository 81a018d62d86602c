/* evctl-doctor: what this machine can enforce, how the state is, and the mend for the rest. */
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "doctor/health.h"
#include "state/livenames.h"

#include <stdio.h>
#include <unistd.h>

static bool is_ok(const json_t *row)
{
	return json_is_true(json_object_get(row, "ok"));
}

static bool is_broken(const json_t *row)
{
	return !is_ok(row) && json_is_true(json_object_get(row, "required"));
}

static void print_row(const struct invocation *in, const json_t *row)
{
	const char *word = json_text_of(row, "level");
	const char *check = json_text_of(row, "check"), *is = json_text_of(row, "is");
	const char *mend = json_text_of(row, "mend");
	if (!isatty(STDOUT_FILENO)) {
		output_say(in, "%s\t%s\t%s\t%s", word, check, is, mend);
		return;
	}
	if (in->output != OUTPUT_TEXT)
		return;
	output_paint(in, is_ok(row) ? "32" : is_broken(row) ? "31" : "33");
	printf("%-7s", word);
	output_paint(in, "0");
	output_say(in, " %-17s %s", check, is);
	if (!is_ok(row))
		output_say(in, "        mend: %s", mend);
}

struct tally {
	size_t findings, broken;
	struct strv fixable;
};

static void count(const json_t *rows, struct tally *t)
{
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row) {
		t->findings += !is_ok(row);
		t->broken += is_broken(row);
		if (json_is_true(json_object_get(row, "fixable")))
			strv_add(&t->fixable, json_text_of(row, "check"));
	}
}

static void print_report(
	const struct invocation *in, const json_t *rows, const json_t *fixed, const struct tally *t)
{
	size_t i, weaker = t->findings - t->broken;
	json_t *row, *word;
	if (in->output == OUTPUT_JSON)
		output_json(json_pack("{s:b,s:I,s:I,s:I,s:O,s:O}", "ok", (int)(t->broken == 0),
			"findings", (json_int_t)t->findings, "broken", (json_int_t)t->broken,
			"weaker", (json_int_t)weaker, "checks", rows, "fixed", fixed));
	json_array_foreach (rows, i, row) {
		if (in->output == OUTPUT_NAME && !is_ok(row))
			printf("%s\n", json_text_of(row, "check"));
		print_row(in, row);
	}
	json_array_foreach (fixed, i, word)
		output_say(in, "fixed%s%s", isatty(STDOUT_FILENO) ? "   " : "\t",
			json_string_value(word));
	if (in->output != OUTPUT_TEXT)
		return;
	if (t->findings && isatty(STDOUT_FILENO))
		output_say(in, "%zu broken, %zu weaker than they could be", t->broken, weaker);
	STR_AUTO names = strv_join(&t->fixable, ", ");
	if (t->fixable.n)
		say_note(in, "evctl doctor --fix mends: %s", names ? names : "");
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
	struct tally t = {0};
	if (cli_place(in, &place, e) < 0 || health_machine(rows, e) < 0 ||
		health_state(&place, o->fix, rows, fixed, e) < 0)
		return -1;
	count(rows, &t);
	print_report(in, rows, fixed, &t);
	in->exit_code = t.broken ? ERR_FINDINGS : 0;
	strv_free(&t.fixable);
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

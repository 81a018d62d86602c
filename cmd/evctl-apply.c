/* evctl-apply: one YAML file of hosts, experts, connections and grants, made true. */
#include "apply/apply.h"
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/livenames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT_MAX ((size_t)64 << 20)

static const char *text_of(const json_t *o, const char *key)
{
	return json_text_of(o, key);
}

static void print_changes(const struct invocation *in, const json_t *changes)
{
	size_t i;
	json_t *c;
	json_array_foreach (changes, i, c) {
		const char *op = text_of(c, "op"), *detail = text_of(c, "detail");
		const char *paint = *op == '+' ? "32" : *op == '-' ? "31" : "33";
		if (in->output == OUTPUT_NAME)
			printf("%s/%s\n", text_of(c, "kind"), text_of(c, "name"));
		output_paint(in, paint);
		output_say(in, "%s %s %s%s%s%s", op, text_of(c, "kind"), text_of(c, "name"),
			*detail ? " (" : "", detail, *detail ? ")" : "");
		output_paint(in, "0");
	}
}

static void print_missing(const struct invocation *in, const json_t *missing)
{
	size_t i;
	json_t *m;
	json_array_foreach (missing, i, m)
		output_say(in, "? %s %s (line %d): %s", text_of(m, "kind"), text_of(m, "name"),
			(int)json_integer_value(json_object_get(m, "line")), text_of(m, "hint"));
}

/*
 * What is missing is a report, and so printed, with the rest of a plan; after any other failure
 * there is none.
 */
static int report_failure(
	struct invocation *in, const struct apply_result *r, bool dry, const struct err *e)
{
	if (e->code != ERR_FINDINGS || !json_array_size(r->missing))
		return -1;
	if (in->output == OUTPUT_JSON) {
		in->silent = true;
		output_json(json_pack("{s:b,s:b,s:O,s:O}", "applied", 0, "dry_run", (int)dry,
			"changes", r->changes, "missing", r->missing));
		return -1;
	}
	print_missing(in, r->missing);
	print_changes(in, r->changes);
	return -1;
}

static int report(const struct invocation *in, const struct apply_result *r, bool dry)
{
	if (in->output == OUTPUT_JSON) {
		output_json(json_pack("{s:b,s:b,s:O,s:O}", "applied", (int)!dry, "dry_run",
			(int)dry, "changes", r->changes, "missing", r->missing));
		return 0;
	}
	print_changes(in, r->changes);
	if (!json_array_size(r->changes))
		output_say(in, "nothing to change");
	else if (dry)
		output_say(in, "nothing was changed (-n)");
	return 0;
}

static void note_wildcards(const struct invocation *in, struct state *st, const json_t *changes)
{
	size_t i;
	json_t *c;
	json_array_foreach (changes, i, c)
		if (strcmp(text_of(c, "kind"), "host") == 0 && *text_of(c, "op") == '+')
			cli_note_wildcard(in, st, text_of(c, "name"));
}

static int export_state(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BUF_AUTO out = {.limit = EXPORT_MAX};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	json_t *all = apply_export(&st, e);
	if (!all)
		return -1;
	if (in->output == OUTPUT_JSON) {
		output_json(all);
		return 0;
	}
	int r = apply_yaml(all, &out, e);
	if (r == 0)
		output_text(stdout, out.data, out.len);
	json_decref(all);
	return r;
}

struct apply_order {
	const char *file;
	bool dry_run, prune, export;
};

static int run(struct invocation *in, struct err *e)
{
	const struct apply_order *given = in->options;
	STATE_AUTO st = {0};
	BUF_AUTO text = {0};
	APPLYFILE_AUTO a = {0};
	APPLY_RESULT_AUTO r = {0};
	struct apply_options o = {
		.file = given->file, .dry = given->dry_run, .prune = given->prune};
	if (given->export)
		return export_state(in, e);
	if (!o.file) {
		err_set(e, ERR_USAGE, "no file given");
		return err_hint(e, "evctl-apply -f FILE, or evctl-apply --export > FILE");
	}
	if (cli_read(o.file, "the file", APPLYFILE_MAX_BYTES, &text, e) < 0 ||
		applyfile_parse(&a, o.file, text.data, text.len, e) < 0 ||
		cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	if (o.prune && !o.dry && say_confirm(in, e, "remove what '%s' does not name", o.file) < 0)
		return -1;
	if (apply_file(&st, &a, &o, &r, e) < 0)
		return report_failure(in, &r, o.dry, e);
	note_wildcards(in, &st, r.changes);
	return report(in, &r, o.dry);
}

static const struct option_spec options[] = {
	OPT_STR(struct apply_order, file, "file", "FILE", "the YAML file ('-': stdin)",
		.kind = NAME_FILE, .letter = 'f'),
	OPT_FLAG(struct apply_order, dry_run, "dry-run",
		"say what would change, and change nothing", .letter = 'n'),
	OPT_FLAG(struct apply_order, prune, "prune", "remove what the file's sections lack"),
	OPT_FLAG(struct apply_order, export, "export", "write the present state as such a file"),
	OPT_END(struct apply_order)};
static const struct verb verbs[] = {{NULL, "", NULL, options, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl-apply",
	.summary = "hosts, bindings, experts, connections and grants from one YAML file",
	.examples = "  evctl-apply -f evctl.yaml -n      # the plan\n"
		    "  evctl-apply -f evctl.yaml         # all of it, or nothing\n"
		    "  evctl-apply --export > evctl.yaml\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

#include "base/help.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"

static void print_args(FILE *f, const struct arg_spec *a)
{
	for (; a && a->name; a++)
		fprintf(f, a->optional ? " [%s%s]" : " %s%s", a->name, a->repeats ? "..." : "");
}

static size_t help_columns(FILE *f)
{
	return isatty(fileno(f)) ? terminal_columns() : SIZE_MAX;
}

/* A left part, and its help beside it, or below where the terminal is narrow. */
static void print_pair(FILE *f, const char *left, size_t indent, const char *help)
{
	size_t columns = help_columns(f), n = strlen(left);
	if (columns < 60 || (n >= indent && columns < SIZE_MAX))
		fprintf(f, "%s\n%*s", left, (int)(indent = 8), "");
	else
		fprintf(f, "%s%*s", left, n < indent ? (int)(indent - n) : 1, "");
	terminal_wrapped(f, help, indent, columns);
}

static void print_options(FILE *f, const struct option_spec *o)
{
	for (; o && o->name; o++) {
		char left[80], letter[8] = "    ";
		if (o->letter)
			snprintf(letter, sizeof letter, "-%c, ", o->letter);
		snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
			o->arg ? o->arg : "");
		print_pair(f, left, 33, o->help);
	}
}

/* A verb's options below it, in the list of all verbs. */
static void print_verb_options(FILE *f, const struct option_spec *o)
{
	for (; o && o->name; o++) {
		char left[80];
		snprintf(left, sizeof left, "      --%s%s%s", o->name, o->arg ? " " : "",
			o->arg ? o->arg : "");
		print_pair(f, left, strlen(left) + 2, o->help);
	}
}

/* What -o takes besides, by verb; the row of the option is every program's. */
static void print_outputs(FILE *f, const struct program *p, const struct verb *only)
{
	for (const struct verb *v = p->verbs; v && v->run; v++) {
		char line[160];
		size_t n;
		if ((only && v != only) || !v->outputs)
			continue;
		n = (size_t)snprintf(line, sizeof line,
			"%s%s-o takes also: ", v->name ? v->name : "", v->name ? " " : "");
		for (const char *at = v->outputs; *at && n + 3 < sizeof line; at++)
			n += (size_t)snprintf(
				line + n, sizeof line - n, *at == '|' ? ", " : "%c", *at);
		fprintf(f, "      ");
		terminal_wrapped(f, line, 6, help_columns(f));
	}
}

void help_print(FILE *f, const struct program *p, const struct verb *only)
{
	const char *examples = only && only->examples ? only->examples : p->examples;
	fprintf(f, "%s: %s\n\n", p->name, only && only->name ? only->help : p->summary);
	if (examples)
		fprintf(f, "Examples:\n%s\n", examples);
	fprintf(f, "Usage:\n");
	bool has_verbs = p->verbs && p->verbs[0].name;
	for (const struct verb *v = p->verbs; v && v->run; v++) {
		if (only && v != only)
			continue;
		fprintf(f, "  %s%s%s", p->name, v->name ? " " : "", v->name ? v->name : "");
		print_args(f, v->args);
		if (v->options && v->options->name)
			fprintf(f, " [options]");
		fprintf(f, "\n");
		if (!only && has_verbs) {
			fprintf(f, "      ");
			terminal_wrapped(f, v->help, 6, help_columns(f));
		}
		if (v->options && (only || !has_verbs)) {
			fprintf(f, "\nOptions:\n");
			print_options(f, v->options);
		} else {
			print_verb_options(f, v->options);
		}
	}
	fprintf(f, "\nCommon options:\n");
	print_options(f, common_options);
	print_outputs(f, p, only);
	fprintf(f, "\nSee also: man %s, man evctl-contract\n", p->name);
}

int help_helper(int argc, char **argv, const char *name, const char *text)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", name, EVCTL_VERSION);
		return 0;
	}
	bool asked = argc == 2 && strcmp(argv[1], "--help") == 0;
	fputs(text, asked ? stdout : stderr);
	return asked ? 0 : ERR_USAGE;
}

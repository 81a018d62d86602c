#include "base/program.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/complete.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"

const struct option_spec common_options[] = {
	{"state", 0, "DIR", "the state directory", NAME_DIR, NULL, false},
	{"key-file", 0, "FILE", "the private key's file", NAME_FILE, NULL, false},
	{"key-fd", 0, "N", "a descriptor to read the private key from", NAME_NONE, NULL, false},
	{"passphrase-fd", 0, "N", "a descriptor to read the key's passphrase from", NAME_NONE, NULL,
		false},
	{"output", 'o', "FORMAT", "text, json or name", NAME_WORD, NULL, false},
	{"yes", 'y', NULL, "do not ask", NAME_NONE, NULL, false},
	{"help", 'h', NULL, "show this help", NAME_NONE, NULL, false},
	{"version", 0, NULL, "show the version", NAME_NONE, NULL, false},
	{NULL, 0, NULL, NULL, NAME_NONE, NULL, false},
};

/* Levenshtein distance with adjacent swaps, for short words. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 48 };
	size_t la = strlen(a), lb = strlen(b);
	if (la >= MAX || lb >= MAX)
		return MAX;
	size_t d[MAX][MAX];
	for (size_t i = 0; i <= la; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[la][lb];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *best = NULL;
	size_t len = strlen(word), least = len < 4 ? 1 : 2;
	for (; *words; words++) {
		size_t d = distance(word, *words);
		size_t n = strlen(*words);
		if (strncmp(word, *words, len < n ? len : n) == 0 && len >= 3 && n >= 4)
			d = 1; /* an abbreviation, or the word for it */
		if (d <= least && (!best || d < distance(word, best)))
			best = *words;
	}
	return best;
}

static bool in_choices(const char *word, const char *choices)
{
	size_t n = strlen(word);
	for (const char *s = choices; *s;) {
		size_t len = strcspn(s, "|");
		if (len == n && memcmp(s, word, n) == 0)
			return true;
		s += len;
		s += *s == '|';
	}
	return false;
}

/* ---- help ---------------------------------------------------------------------------------- */

static void print_args(FILE *f, const struct arg_spec *a)
{
	for (; a && a->name; a++)
		fprintf(f, a->optional ? " [%s%s]" : " %s%s", a->name, a->repeats ? "..." : "");
}

static size_t help_columns(FILE *f)
{
	return isatty(fileno(f)) ? output_columns() : SIZE_MAX;
}

/* A left part, and its help beside it, or below where the terminal is narrow. */
static void print_pair(FILE *f, const char *left, size_t indent, const char *help)
{
	size_t columns = help_columns(f), n = strlen(left);
	if (columns < 60 || (n >= indent && columns < SIZE_MAX))
		fprintf(f, "%s\n%*s", left, (int)(indent = 8), "");
	else
		fprintf(f, "%s%*s", left, n < indent ? (int)(indent - n) : 1, "");
	output_wrapped(f, help, indent, columns);
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

static void print_help(FILE *f, const struct program *p, const struct verb *only)
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
			output_wrapped(f, v->help, 6, help_columns(f));
		}
		if (v->options && (only || !has_verbs)) {
			fprintf(f, "\nOptions:\n");
			print_options(f, v->options);
		} else {
			print_verb_options(f, v->options);
		}
	}
	if (p->options) {
		fprintf(f, "\nOptions:\n");
		print_options(f, p->options);
	}
	fprintf(f, "\nCommon options:\n");
	print_options(f, common_options);
	fprintf(f, "\nSee also: man %s, man evctl-contract\n", p->name);
}

/* ---- parsing ------------------------------------------------------------------------------- */

static const struct option_spec *find_in(const struct option_spec *o, const char *name, size_t n)
{
	for (; o && o->name; o++)
		if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
			return o;
	return NULL;
}

static const struct option_spec *find_letter(const struct option_spec *o, char c)
{
	for (; o && o->name; o++)
		if (o->letter == c)
			return o;
	return NULL;
}

static void option_tables(const struct invocation *in, const struct option_spec *t[3])
{
	t[0] = in->verb ? in->verb->options : NULL;
	t[1] = in->program->options;
	t[2] = common_options;
}

/* Any verb's option of that name: options may stand before the verb. */
static const struct option_spec *find_anywhere(const struct program *p, const char *name, size_t n)
{
	for (const struct verb *v = p->verbs; v && v->run; v++) {
		const struct option_spec *o = find_in(v->options, name, n);
		if (o)
			return o;
	}
	return NULL;
}

static int see_help(const struct invocation *in, struct err *e)
{
	const char *verb = in->verb && in->verb->name ? in->verb->name : "";
	return err_hint(e, "%s%s%s --help", in->program->name, *verb ? " " : "", verb);
}

static int unknown_option(const struct invocation *in, const char *name, struct err *e)
{
	const struct option_spec *t[3];
	const char *words[128];
	size_t n = 0;
	option_tables(in, t);
	for (int i = 0; i < 3; i++)
		for (const struct option_spec *o = t[i]; o && o->name && n < 127; o++)
			words[n++] = o->name;
	words[n] = NULL;
	const char *near = nearest_word(name, words);
	err_set(e, ERR_USAGE, "unknown option '--%s'", name);
	return near ? err_hint(e, "did you mean '--%s'?", near) : see_help(in, e);
}

static int record(
	struct invocation *in, const struct option_spec *o, const char *value, struct err *e)
{
	if (!o->repeats)
		for (size_t i = 0; i < in->ngiven; i++)
			if (in->given[i].spec == o && o->arg &&
				strcmp(in->given[i].value, value) != 0) {
				err_set(e, ERR_USAGE, "option '--%s' is given twice", o->name);
				return err_hint(e, "give '--%s' once", o->name);
			}
	struct given *g = realloc(in->given, (in->ngiven + 1) * sizeof *g);
	if (!g)
		return err_set(e, ERR_FAIL, "out of memory");
	in->given = g;
	g[in->ngiven++] = (struct given){o, value};
	return 0;
}

struct parser {
	struct invocation *in;
	int argc, at;
	char **argv;
	bool ended; /* "--" was seen */
};

static int take_long(struct parser *ps, const char *word, struct err *e)
{
	struct invocation *in = ps->in;
	size_t n = strcspn(word, "=");
	const struct option_spec *t[3], *o = NULL;
	option_tables(in, t);
	for (int i = 0; i < 3 && !o; i++)
		o = find_in(t[i], word, n);
	if (!o && !in->verb)
		o = find_anywhere(in->program, word, n);
	if (!o) {
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)(n > 60 ? 60 : n), word);
		return unknown_option(in, name, e);
	}
	if (!o->arg && word[n] == '=') {
		err_set(e, ERR_USAGE, "option '--%s' takes no value", o->name);
		return err_hint(e, "give '--%s' alone", o->name);
	}
	if (!o->arg)
		return record(in, o, "", e);
	if (word[n] == '=')
		return record(in, o, word + n + 1, e);
	const struct option_spec *plain = find_in(common_options, o->name, strlen(o->name));
	if (ps->at >= ps->argc && plain && !plain->arg)
		return record(in, plain, "", e);
	if (ps->at >= ps->argc) {
		err_set(e, ERR_USAGE, "option '--%s' needs a value: %s", o->name, o->arg);
		return see_help(in, e);
	}
	return record(in, o, ps->argv[ps->at++], e);
}

static int take_short(struct parser *ps, const char *word, struct err *e)
{
	struct invocation *in = ps->in;
	for (; *word; word++) {
		const struct option_spec *t[3], *o = NULL;
		option_tables(in, t);
		for (int i = 0; i < 3 && !o; i++)
			o = find_letter(t[i], *word);
		if (!o && !in->verb)
			for (const struct verb *v = in->program->verbs; v && v->run && !o; v++)
				o = find_letter(v->options, *word);
		if (!o) {
			err_set(e, ERR_USAGE, "unknown option '-%c'", *word);
			return err_hint(e, "%s --help", in->program->name);
		}
		if (!o->arg) {
			if (record(in, o, "", e) < 0)
				return -1;
			continue;
		}
		if (word[1])
			return record(in, o, word[1] == '=' ? word + 2 : word + 1, e);
		if (ps->at >= ps->argc) {
			err_set(e, ERR_USAGE, "option '-%c' needs a value: %s", *word, o->arg);
			return see_help(in, e);
		}
		return record(in, o, ps->argv[ps->at++], e);
	}
	return 0;
}

static int take_verb(struct invocation *in, const char *word, struct err *e)
{
	const char *words[64];
	size_t n = 0;
	for (const struct verb *v = in->program->verbs; v->run; v++) {
		if (strcmp(v->name, word) == 0) {
			in->verb = v;
			return 0;
		}
		if (n < 63)
			words[n++] = v->name;
	}
	words[n] = NULL;
	const char *near = nearest_word(word, words);
	err_set(e, ERR_USAGE, "unknown verb '%.60s'", word);
	if (near)
		return err_hint(e, "did you mean '%s %s'?", in->program->name, near);
	return err_hint(e, "%s --help", in->program->name);
}

static int take_word(struct parser *ps, const char *word, struct err *e)
{
	struct invocation *in = ps->in;
	if (!in->verb)
		return take_verb(in, word, e);
	strv_add(&in->args, word);
	if (in->program->rest_is_command)
		ps->ended = true;
	return 0;
}

static int parse(struct invocation *in, int argc, char **argv, struct err *e)
{
	struct parser ps = {.in = in, .argc = argc, .argv = argv, .at = 1};
	if (!in->program->verbs[0].name)
		in->verb = &in->program->verbs[0];
	while (ps.at < argc) {
		const char *word = argv[ps.at++];
		int r;
		if (ps.ended || word[0] != '-' || !word[1])
			r = take_word(&ps, word, e);
		else if (strcmp(word, "--") == 0)
			r = (ps.ended = true, 0);
		else if (word[1] == '-')
			r = take_long(&ps, word + 2, e);
		else
			r = take_short(&ps, word + 1, e);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int check_options(const struct invocation *in, struct err *e)
{
	for (size_t i = 0; i < in->ngiven; i++) {
		const struct option_spec *o = in->given[i].spec, *t[3];
		bool mine = false;
		option_tables(in, t);
		for (int k = 0; k < 3; k++)
			for (const struct option_spec *s = t[k]; s && s->name; s++)
				mine |= s == o;
		if (!mine && in->verb)
			return unknown_option(in, o->name, e);
		/* As of a script's variable that is not set: never the current directory. */
		if (o->arg && (o->kind == NAME_FILE || o->kind == NAME_DIR) &&
			!in->given[i].value[0]) {
			err_set(e, ERR_USAGE, "'--%s' is given an empty name", o->name);
			return see_help(in, e);
		}
		if (o->choices && !in_choices(in->given[i].value, o->choices)) {
			err_set(e, ERR_USAGE, "'--%s' takes %s, not '%.60s'", o->name, o->choices,
				in->given[i].value);
			return see_help(in, e);
		}
	}
	return 0;
}

static int check_args(const struct invocation *in, struct err *e)
{
	size_t n = 0;
	const struct arg_spec *a = in->verb->args;
	for (; a && a->name; a++) {
		if (n >= in->args.n && !a->optional) {
			err_set(e, ERR_USAGE, "missing argument: %s", a->name);
			return see_help(in, e);
		}
		if (n < in->args.n && a->choices && !in_choices(in->args.v[n], a->choices)) {
			err_set(e, ERR_USAGE, "expected %s, not '%.60s'", a->choices,
				in->args.v[n]);
			return see_help(in, e);
		}
		n = a->repeats ? in->args.n : n + 1;
	}
	if (in->args.n > n) {
		/* Not echoed: it may be a secret that somebody gave as an argument. */
		err_set(e, ERR_USAGE, "too many arguments: %zu given, %zu taken", in->args.n, n);
		if (find_in(in->verb->options, "from-file", strlen("from-file")))
			return err_hint(e, "a secret is never an argument: leave it out and be "
					   "asked, or give --from-file FILE");
		return see_help(in, e);
	}
	return 0;
}

static int choose_output(struct invocation *in, struct err *e)
{
	const char *word = in->output_word = opt(in, "output");
	/* The front door's errors are as the command behind it would give them. */
	if (!word && in->program->rest_is_command)
		return 0;
	if (!word || strcmp(word, "text") == 0)
		in->output = OUTPUT_TEXT;
	else if (strcmp(word, "json") == 0)
		in->output = OUTPUT_JSON;
	else if (strcmp(word, "name") == 0)
		in->output = OUTPUT_NAME;
	else if (!in->verb || !in->verb->outputs || !in_choices(word, in->verb->outputs)) {
		err_set(e, ERR_USAGE, "'--output' takes text, json or name, not '%.60s'", word);
		return err_hint(e, "give '-o json'");
	}
	return 0;
}

/* ---- what verbs ask ------------------------------------------------------------------------ */

const char *arg(const struct invocation *in, size_t n)
{
	return n < in->args.n ? in->args.v[n] : NULL;
}

const char *opt(const struct invocation *in, const char *name)
{
	for (size_t i = in->ngiven; i-- > 0;)
		if (strcmp(in->given[i].spec->name, name) == 0)
			return in->given[i].value;
	return NULL;
}

bool opt_flag(const struct invocation *in, const char *name)
{
	return opt(in, name) != NULL;
}

void opt_all(const struct invocation *in, const char *name, struct strv *sv)
{
	for (size_t i = 0; i < in->ngiven; i++)
		if (strcmp(in->given[i].spec->name, name) == 0)
			strv_add(sv, in->given[i].value);
}

int opt_int(const struct invocation *in, const char *name, long dflt, long min, long max, long *out,
	struct err *e)
{
	const char *s = opt(in, name);
	*out = dflt;
	if (!s)
		return 0;
	char *end;
	errno = 0;
	long v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < min || v > max) {
		err_set(e, ERR_USAGE, "'--%s' takes a whole number from %ld to %ld, not '%.60s'",
			name, min, max, s);
		return err_hint(e, "give '--%s %ld'", name, dflt > min ? dflt : min);
	}
	*out = v;
	return 0;
}

/* Whatever a name or a path holds, a message is one line, and commands no terminal. */
static void put_line(const char *text)
{
	BUF_AUTO b = {0};
	text_add_visible(&b, text, strlen(text), false);
	fprintf(stderr, "%s\n", buf_str(&b));
}

static void say(const struct invocation *in, const char *kind, const char *fmt, va_list ap)
{
	BUF_AUTO b = {0};
	buf_vaddf(&b, fmt, ap);
	fflush(stdout);
	fprintf(stderr, "%s: %s: ", in->program->name, kind);
	put_line(buf_str(&b));
}

void program_note(const struct invocation *in, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(in, "note", fmt, ap);
	va_end(ap);
}

void program_warn(const struct invocation *in, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(in, "warning", fmt, ap);
	va_end(ap);
}

int program_confirm(const struct invocation *in, struct err *e, const char *fmt, ...)
{
	if (opt_flag(in, "yes"))
		return 0;
	BUF_AUTO q = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&q, fmt, ap);
	va_end(ap);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		err_set(e, ERR_USAGE, "%s: not confirmed", buf_str(&q));
		return err_hint(e, "add --yes");
	}
	output_text(stderr, buf_str(&q), q.len);
	fputs("? [y/N] ", stderr);
	char line[16] = "";
	if (fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return 0;
	err_set(e, ERR_CANCELLED, "cancelled");
	return err_hint(e, "add --yes to go on without being asked");
}

bool program_color(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* ---- the one main -------------------------------------------------------------------------- */

static void print_error(const struct invocation *in, const struct err *e)
{
	fflush(stdout);
	if (in->output == OUTPUT_JSON) {
		json_t *o = json_pack("{s:{s:i,s:s,s:o,s:o}}", "error", "code", (int)e->code,
			"kind", err_kind(e->code), "message", json_text_or_null(e->msg), "hint",
			json_text_or_null(e->hint[0] ? e->hint : NULL));
		output_json_line(stderr, o, JSON_COMPACT);
		json_decref(o);
		return;
	}
	bool color = program_color(stderr);
	fprintf(stderr, "%s: %serror:%s ", in->program->name, color ? "\033[1;31m" : "",
		color ? "\033[0m" : "");
	put_line(e->msg);
	if (!e->hint[0])
		return;
	fprintf(stderr, "%s: hint: ", in->program->name);
	put_line(e->hint);
}

/* Where whoever found the fault knew no mend, these know more. */
static void hint_at_least(const struct invocation *in, struct err *e)
{
	const char *verb = in->verb && in->verb->name ? in->verb->name : "";
	if (e->hint[0] || strcmp(in->program->name, "evctl-doctor") == 0)
		return;
	if (e->code == ERR_STATE || e->code == ERR_KEY)
		err_hint(e, "evctl doctor");
	else if (e->code == ERR_USAGE)
		err_hint(e, "%s%s%s --help", in->program->name, *verb ? " " : "", verb);
}

static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *a = argv[i];
		if (strcmp(a, "-ojson") == 0 || strcmp(a, "--output=json") == 0 ||
			strcmp(a, "-o=json") == 0)
			return true;
		if ((strcmp(a, "-o") == 0 || strcmp(a, "--output") == 0) && i + 1 < argc &&
			strcmp(argv[i + 1], "json") == 0)
			return true;
	}
	return false;
}

static int missing_verb(const struct invocation *in, struct err *e)
{
	err_set(e, ERR_USAGE, "no verb given");
	return err_hint(e, "%s --help", in->program->name);
}

/* The common option of that name, not a verb's own: `--version` shows, `--version 3` chooses. */
static bool common_flag(const struct invocation *in, const char *name)
{
	const struct option_spec *o = find_in(common_options, name, strlen(name));
	for (size_t i = 0; i < in->ngiven; i++)
		if (in->given[i].spec == o)
			return true;
	return false;
}

static int work(struct invocation *in, int argc, char **argv, struct err *e)
{
	if (parse(in, argc, argv, e) < 0)
		return -1;
	if (opt_flag(in, "help")) {
		print_help(stdout, in->program, in->verb);
		return 0;
	}
	if (common_flag(in, "version")) {
		printf("%s %s\n", in->program->name, EVCTL_VERSION);
		return 0;
	}
	if (choose_output(in, e) < 0)
		return -1;
	if (!in->verb)
		return missing_verb(in, e);
	if (check_options(in, e) < 0 || check_args(in, e) < 0)
		return -1;
	return in->verb->run(in, e);
}

/*
 * A closed 0, 1 or 2 would be the number of the next file that is opened, and what is printed would
 * go into it. The stand-ins can be neither read nor written, so that a closed output is noticed.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		int got = open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (got != fd)
			_exit(ERR_FAIL);
		fcntl(fd, F_SETFD, 0);
	}
}

int program_main(const struct program *p, int argc, char **argv)
{
	struct err e = {0};
	struct invocation in = {.program = p};
	occupy_standard_descriptors();
	signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error to tell of */
	if (argc == 2 && strcmp(argv[1], "--dump-spec") == 0) {
		program_dump_spec(p, stdout);
		return 0;
	}
	if (argc >= 2 && strcmp(argv[1], "--complete") == 0) {
		complete_print(p, argc - 2, argv + 2);
		return 0;
	}
	if (wants_json(argc, argv))
		in.output = OUTPUT_JSON;
	int r = work(&in, argc, argv, &e);
	if (r < 0 && e.code == ERR_USAGE && !e.hint[0])
		err_hint(&e, "%s%s%s --help", p->name, in.verb && in.verb->name ? " " : "",
			in.verb && in.verb->name ? in.verb->name : "");
	int code = r < 0 ? (int)e.code : in.exit_code;
	if (r < 0 && !in.silent) {
		hint_at_least(&in, &e);
		print_error(&in, &e);
	}
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
		struct err out = {0};
		err_errno(&out, ERR_FAIL, "cannot write the output");
		err_hint(&out, "check the disk and where the output goes");
		print_error(&in, &out);
		code = ERR_FAIL;
	}
	strv_free(&in.args);
	free(in.given);
	return code;
}

static json_t *options_json(const struct option_spec *o)
{
	json_t *a = json_array();
	for (; o && o->name; o++)
		json_array_append_new(
			a, json_pack("{s:s,s:s,s:s?,s:s,s:i,s:s?,s:b}", "name", o->name, "letter",
				   o->letter ? (char[]){o->letter, 0} : "", "arg", o->arg, "help",
				   o->help, "kind", (int)o->kind, "choices", o->choices, "repeats",
				   (int)o->repeats));
	return a;
}

void program_dump_spec(const struct program *p, FILE *f)
{
	json_t *verbs = json_array();
	for (const struct verb *v = p->verbs; v && v->run; v++) {
		json_t *args = json_array();
		for (const struct arg_spec *a = v->args; a && a->name; a++)
			json_array_append_new(
				args, json_pack("{s:s,s:i,s:s?,s:b,s:b}", "name", a->name, "kind",
					      (int)a->kind, "choices", a->choices, "optional",
					      (int)a->optional, "repeats", (int)a->repeats));
		json_array_append_new(
			verbs, json_pack("{s:s?,s:s,s:o,s:o,s:s?}", "name", v->name, "help",
				       v->help ? v->help : "", "args", args, "options",
				       options_json(v->options), "outputs", v->outputs));
	}
	json_t *o = json_pack("{s:s,s:s,s:s?,s:o,s:o,s:o}", "name", p->name, "summary", p->summary,
		"examples", p->examples, "options", options_json(p->options), "common",
		options_json(common_options), "verbs", verbs);
	json_dumpf(o, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(o);
}

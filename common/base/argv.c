#include "base/argv.h"
#include "base/buf.h"
#include "base/nearest.h"
#include "base/synonym.h"

#include <stdlib.h>
#include <string.h>

const struct option_spec common_options[] = {OPT_STR(struct common_options, state, "state", "DIR",
						     "the state directory", .kind = NAME_DIR),
	OPT_STR(struct common_options, key_file, "key-file", "FILE", "the private key's file",
		.kind = NAME_FILE),
	OPT_INT(struct common_options, key_fd, "key-fd", "N",
		"a descriptor to read the private key from", -1, 0, OPTION_FD_MAX),
	OPT_INT(struct common_options, passphrase_fd, "passphrase-fd", "N",
		"a descriptor to read the key's passphrase from", -1, 0, OPTION_FD_MAX),
	OPT_STR(struct common_options, output, "output", "FORMAT", "text, json or name",
		.kind = NAME_WORD, .letter = 'o'),
	OPT_FLAG(struct common_options, yes, "yes", "do not ask", .letter = 'y'),
	OPT_FLAG(struct common_options, wide, "wide", "all columns of a list, however wide"),
	OPT_FLAG(struct common_options, help, "help", "show this help", .letter = 'h'),
	OPT_FLAG(struct common_options, version, "version", "show the version"),
	OPT_END(struct common_options)};

/* ---- reading the words --------------------------------------------------------------------- */

static const struct option_spec *row_of(
	const struct option_spec *table, const char *name, size_t n, char letter)
{
	const struct option_spec *o = option_named(table, name, n);
	return o || !letter ? o : option_lettered(table, letter);
}

const struct option_spec *argv_option(
	const struct program *p, const struct verb *verb, const char *name, size_t n, char letter)
{
	const struct option_spec *o = row_of(verb ? verb->options : NULL, name, n, letter);
	if (!o)
		o = row_of(common_options, name, n, letter);
	for (const struct verb *v = verb ? NULL : p->verbs; !o && v && v->run; v++)
		o = row_of(v->options, name, n, letter);
	return o;
}

static int see_help(const struct invocation *in, struct err *e)
{
	const char *verb = in->verb && in->verb->name ? in->verb->name : "";
	return err_hint(e, "%s%s%s --help", in->program->name, *verb ? " " : "", verb);
}

static int unknown_option(const struct invocation *in, const char *name, struct err *e)
{
	const struct option_spec *t[] = {in->verb ? in->verb->options : NULL, common_options};
	const char *words[128];
	size_t n = 0;
	for (size_t i = 0; i < 2; i++)
		for (const struct option_spec *o = t[i]; o && o->name && n < 127; o++)
			words[n++] = o->name;
	words[n] = NULL;
	const char *near = synonym_option(name, words);
	if (!near)
		near = nearest_word(name, words);
	err_set(e, ERR_USAGE, "unknown option '--%s'", name);
	if (near && strcmp(name, "json") == 0 && strcmp(near, "output") == 0)
		return err_hint(e, "did you mean '-o json'?");
	return near ? err_hint(e, "did you mean '--%s'?", near) : see_help(in, e);
}

static bool has_row(const struct option_spec *table, const struct option_spec *row)
{
	for (; table && table->name; table++)
		if (table == row)
			return true;
	return false;
}

static int record(
	struct invocation *in, const struct option_spec *o, const char *value, struct err *e)
{
	if (o->type != OPTION_LIST)
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
	const struct option_spec *o = argv_option(in->program, in->verb, word, n, 0);
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
	/* `--version 3` chooses one, `--version` at the end shows the program's. */
	const struct option_spec *plain = option_named(common_options, word, n);
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
		const struct option_spec *o = argv_option(in->program, in->verb, "", 0, *word);
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

/* What is no verb of this program may be an option, or another program's. */
static int no_such_verb(const struct program *p, const char *word, struct err *e)
{
	const char *other = synonym_command(p->name, word, false);
	if (strcmp(word, "version") == 0 || strcmp(word, "help") == 0)
		return err_hint(e, "did you mean '%s --%s'?", p->name, word);
	return other ? err_hint(e, "did you mean '%s'?", other) : err_hint(e, "%s --help", p->name);
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
	const char *other = synonym_command(in->program->name, word, true);
	const char *near = synonym_word(word, words);
	if (!near)
		near = nearest_word(word, words);
	err_set(e, ERR_USAGE, "unknown verb '%.60s'", word);
	if (other)
		return err_hint(e, "did you mean '%s'?", other);
	if (near)
		return err_hint(e, "did you mean '%s %s'?", in->program->name, near);
	return no_such_verb(in->program, word, e);
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

static int take(struct parser *ps, const char *word, struct err *e)
{
	if (ps->ended || word[0] != '-' || !word[1])
		return take_word(ps, word, e);
	if (strcmp(word, "--") == 0) {
		ps->ended = true;
		return 0;
	}
	return word[1] == '-' ? take_long(ps, word + 2, e) : take_short(ps, word + 1, e);
}

int argv_read(struct invocation *in, int argc, char **argv, struct err *e)
{
	struct parser ps = {.in = in, .argc = argc, .argv = argv, .at = 1};
	if (!in->program->verbs[0].name)
		in->verb = &in->program->verbs[0];
	while (ps.at < argc)
		if (take(&ps, argv[ps.at++], e) < 0)
			return -1;
	/* --help and -o are heard even where a number is wrong, which argv_check() tells of. */
	struct err later = {0};
	in->common.key_fd = in->common.passphrase_fd = -1;
	for (size_t i = 0; i < in->ngiven; i++)
		if (has_row(common_options, in->given[i].spec))
			option_land(in->given[i].spec, in->given[i].value, &in->common, &later);
	return 0;
}

/* ---- checking them ------------------------------------------------------------------------- */

static int check_options(const struct invocation *in, struct err *e)
{
	for (size_t i = 0; i < in->ngiven; i++) {
		const struct option_spec *o = in->given[i].spec;
		if (!has_row(in->verb->options, o) && !has_row(common_options, o))
			return unknown_option(in, o->name, e);
		if (option_check(o, in->given[i].value, e) < 0)
			return e->hint[0] ? -1 : see_help(in, e);
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
		if (n < in->args.n && a->choices && !option_chosen(in->args.v[n], a->choices)) {
			err_set(e, ERR_USAGE, "expected %s, not '%.60s'", a->choices,
				in->args.v[n]);
			return see_help(in, e);
		}
		n = a->repeats ? in->args.n : n + 1;
	}
	if (in->args.n > n) {
		/* Not echoed: it may be a secret that somebody gave as an argument. */
		err_set(e, ERR_USAGE, "too many arguments: %zu given, %zu taken", in->args.n, n);
		if (option_named(in->verb->options, "from-file", strlen("from-file")))
			return err_hint(e, "a secret is never an argument: leave it out and be "
					   "asked, or give --from-file FILE");
		return see_help(in, e);
	}
	return 0;
}

int argv_check(struct invocation *in, struct err *e)
{
	if (check_options(in, e) < 0 || check_args(in, e) < 0)
		return -1;
	in->options = options_new(in->verb->options);
	if (in->verb->options && !in->options)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < in->ngiven; i++) {
		const struct option_spec *o = in->given[i].spec;
		bool mine = has_row(in->verb->options, o);
		void *into = mine ? in->options : &in->common;
		if (option_land(o, in->given[i].value, into, e) < 0)
			return -1;
	}
	return 0;
}

/* "text, json, name or sarif": what -o takes here. */
static int refuse_format(const struct invocation *in, const char *word, struct err *e)
{
	STRV_AUTO all = {0};
	BUF_AUTO text = {0};
	const char *more = in->verb && in->verb->outputs ? in->verb->outputs : "";
	strv_add(&all, "text");
	strv_add(&all, "json");
	strv_add(&all, "name");
	for (size_t n; *more; more += n + (more[n] == '|')) {
		n = strcspn(more, "|");
		strv_addf(&all, "%.*s", (int)n, more);
	}
	for (size_t i = 0; i < all.n; i++)
		buf_addf(&text, "%s%s", !i ? "" : i + 1 < all.n ? ", " : " or ", all.v[i]);
	err_set(e, ERR_USAGE, "'--output' takes %s, not '%.60s'", buf_str(&text), word);
	const char *near = all.failed ? NULL : nearest_word(word, (const char *const *)all.v);
	return err_hint(e, "give '-o %s'", near && *near == *word ? near : "json");
}

int argv_output(struct invocation *in, struct err *e)
{
	const char *word = in->common.output;
	/* The front door's errors are as the command behind it would give them. */
	if (!word && in->program->rest_is_command)
		return 0;
	if (!word || strcmp(word, "text") == 0)
		in->output = OUTPUT_TEXT;
	else if (strcmp(word, "json") == 0)
		in->output = OUTPUT_JSON;
	else if (strcmp(word, "name") == 0)
		in->output = OUTPUT_NAME;
	else if (!in->verb || !in->verb->outputs || !option_chosen(word, in->verb->outputs))
		return refuse_format(in, word, e);
	return 0;
}

void argv_free(struct invocation *in)
{
	options_free(in->verb ? in->verb->options : NULL, in->options);
	strv_free(&in->args);
	free(in->given);
}

const char *arg(const struct invocation *in, size_t n)
{
	return n < in->args.n ? in->args.v[n] : NULL;
}

#include "base/complete.h"

#include <stdio.h>
#include <string.h>

#include "base/argv.h"

struct reading {
	const struct program *p;
	const struct verb *verb;
	const struct option_spec *pending; /* the option whose value comes next */
	const char *state_dir, *expert, *run, *tool;
	size_t nargs;
	bool draft; /* --draft was given */
	bool ended;
	bool lost; /* there is no such verb */
};

static const struct option_spec *find_option(const struct reading *r, const char *name, size_t n)
{
	return argv_option(r->p, r->verb, name, n, n == 1 ? name[0] : 0);
}

static void note_name(struct reading *r, enum name_kind kind, const char *name)
{
	if (kind == NAME_EXPERT)
		r->expert = name;
	if (kind == NAME_TOOL)
		r->tool = name;
	if (kind == NAME_RUN)
		r->run = name;
}

static void take_value(struct reading *r, const struct option_spec *o, const char *value)
{
	if (strcmp(o->name, "state") == 0)
		r->state_dir = value;
	note_name(r, o->kind, value);
}

/* What stands at the n-th place after the verb, or NULL. */
static const struct arg_spec *arg_at(const struct reading *r, size_t n)
{
	const struct arg_spec *a = r->verb->args;
	for (size_t i = 0; a && a->name; a++, i++)
		if (i == n || (a->repeats && i <= n))
			return a;
	return NULL;
}

static void take_plain(struct reading *r, const char *word)
{
	if (!r->verb) {
		for (const struct verb *v = r->p->verbs; v->run; v++)
			if (strcmp(v->name, word) == 0)
				r->verb = v;
		r->lost = !r->verb;
		return;
	}
	const struct arg_spec *a = arg_at(r, r->nargs++);
	if (a)
		note_name(r, a->kind, word);
}

static void take_word(struct reading *r, const char *word)
{
	if (r->pending) {
		take_value(r, r->pending, word);
		r->pending = NULL;
		return;
	}
	if (r->ended || word[0] != '-' || !word[1]) {
		take_plain(r, word);
		return;
	}
	if (strcmp(word, "--") == 0) {
		r->ended = true;
		return;
	}
	const char *name = word + (word[1] == '-' ? 2 : 1);
	size_t n = strcspn(name, "=");
	const struct option_spec *o = find_option(r, name, n);
	if (o && strcmp(o->name, "draft") == 0)
		r->draft = true;
	if (o && o->arg && name[n] == '=')
		take_value(r, o, name + n + 1);
	else if (o && o->arg)
		r->pending = o;
}

static void offer(const char *word, const char *prefix, const char *lead, const char *help)
{
	if (strncmp(word, prefix, strlen(prefix)) != 0)
		return;
	printf("%s%s%s%s\n", lead, word, help ? "\t" : "", help ? help : "");
}

static void offer_choices(const char *choices, const char *prefix, const char *lead)
{
	char word[64];
	for (const char *s = choices; *s;) {
		size_t n = strcspn(s, "|");
		snprintf(word, sizeof word, "%.*s", (int)n, s);
		offer(word, prefix, lead, NULL);
		s += n;
		s += *s == '|';
	}
}

static const char *name_before(const struct reading *r, enum name_kind kind)
{
	return kind == NAME_ARTIFACT ? r->run : r->expert;
}

static void offer_asked(const struct reading *r, const struct name_request *q, const char *lead)
{
	STRV_AUTO names = {0};
	if (!r->p->names)
		return;
	r->p->names(q, &names);
	for (size_t i = 0; i < names.n; i++)
		printf("%s%s\n", lead, names.v[i]);
}

static void offer_names(
	const struct reading *r, enum name_kind kind, const char *prefix, const char *lead)
{
	const struct name_request q = {.kind = kind,
		.prefix = prefix,
		.before = name_before(r, kind),
		.state_dir = r->state_dir};
	offer_asked(r, &q, lead);
}

static void offer_members(const struct reading *r, const char *prefix, const char *lead)
{
	const struct name_request q = {.prefix = prefix,
		.before = r->expert,
		.state_dir = r->state_dir,
		.tool = r->tool,
		.members = true,
		.draft = r->draft};
	if (r->expert && r->tool)
		offer_asked(r, &q, lead);
}

static void offer_kind(const struct reading *r, enum name_kind kind, const char *choices,
	const char *prefix, const char *lead)
{
	if (choices)
		offer_choices(choices, prefix, lead);
	else if (kind == NAME_FILE)
		printf(":file\n");
	/* Where an expert is named, a directory may be too (evctl-verify), told by its '/'. */
	else if (kind == NAME_DIR || (kind == NAME_EXPERT && strchr("./~", *prefix) && *prefix))
		printf(":dir\n");
	else if (kind != NAME_NONE && kind != NAME_WORD)
		offer_names(r, kind, prefix, lead);
}

static void offer_value(
	const struct reading *r, const struct option_spec *o, const char *prefix, const char *lead)
{
	if (o->members) {
		offer_members(r, prefix, lead);
		return;
	}
	if (o != option_lettered(common_options, 'o')) {
		offer_kind(r, o->kind, o->choices, prefix, lead);
		return;
	}
	offer_choices("text|json|name", prefix, lead);
	if (r->verb && r->verb->outputs)
		offer_choices(r->verb->outputs, prefix, lead);
}

static void offer_options(const struct reading *r, const char *prefix)
{
	const struct option_spec *tables[] = {r->verb ? r->verb->options : NULL, common_options};
	char word[80];
	for (size_t i = 0; i < 2; i++)
		for (const struct option_spec *o = tables[i]; o && o->name; o++) {
			snprintf(word, sizeof word, "--%s", o->name);
			offer(word, prefix, "", o->help);
		}
}

static void offer_argument(const struct reading *r, const char *prefix)
{
	const struct arg_spec *a = arg_at(r, r->nargs);
	if (a)
		offer_kind(r, a->kind, a->choices, prefix, "");
}

void complete_print(const struct program *p, int nwords, char **words)
{
	struct reading r = {.p = p};
	const char *now = nwords ? words[nwords - 1] : "";
	if (!p->verbs[0].name)
		r.verb = &p->verbs[0];
	for (int i = 0; i + 1 < nwords; i++)
		take_word(&r, words[i]);
	if (r.lost)
		return;
	size_t n = strcspn(now, "=");
	if (r.pending) {
		offer_value(&r, r.pending, now, "");
	} else if (!r.ended && strncmp(now, "--", 2) == 0 && now[n] == '=') {
		char lead[80];
		const struct option_spec *o = find_option(&r, now + 2, n - 2);
		snprintf(lead, sizeof lead, "%.*s", (int)n + 1, now);
		if (o && o->arg)
			offer_value(&r, o, now + n + 1, lead);
	} else if (!r.ended && now[0] == '-') {
		offer_options(&r, now);
	} else if (!r.verb) {
		for (const struct verb *v = p->verbs; v->run; v++)
			offer(v->name, now, "", v->help);
	} else {
		offer_argument(&r, now);
	}
}

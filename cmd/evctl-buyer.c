/* evctl-buyer: whom the door lets in, by which tokens, to what, and how much of it. */
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/buyer.h"
#include "state/livenames.h"
#include "state/quota.h"
#include "state/buyer_token.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS ((int64_t)86400000)
#define DAYS 90 /* of a token, where nothing else is said */

static const struct column columns[] = {{"BUYER", "buyer"}, {"EXPERTS", "experts", 1},
	{"TOKENS", "tokens", 4}, {"LAST USED", "last_used", 3}, {"NOTE", "note", 2}, {NULL}};
static const struct column show_columns[] = {{"BUYER", "buyer"}, {"NOTE", "note"},
	{"ADDED", "added"}, {"EXPERTS", "experts"}, {"TOKENS", "tokens"},
	{"LAST USED", "last_used"}, {"SUBJECTS", "subjects"}, {"QUOTAS", "quotas"}, {NULL}};
static const struct column grant_columns[] = {
	{"BUYER", "buyer"}, {"EXPERT", "expert"}, {"CHANGED", "changed"}, {NULL}};
static const struct column token_columns[] = {{"TOKEN", "token"}, {"BUYER", "buyer"},
	{"LABEL", "label"}, {"ONLY", "only"}, {"EXPERTS", "experts"}, {"EXPIRES", "expires"},
	{"LAST USED", "last_used"}, {"WITHDRAWN", "withdrawn"}, {NULL}};
static const struct column request_columns[] = {
	{"BUYER", "buyer"}, {"EXPERT", "expert"}, {"ASKED", "asked"}, {NULL}};
static const struct column quota_columns[] = {{"BUYER", "buyer"}, {"EXPERT", "expert"},
	{"CALLS A DAY", "calls_a_day"}, {"LEFT", "calls_left"}, {"SECONDS A DAY", "seconds_a_day"},
	{"LEFT", "seconds_left"}, {"AT ONCE", "at_once"}, {NULL}};

static const struct cli_noun buyer = {show_columns, buyer_show, false};

/* ---- buyers --------------------------------------------------------------------------------- */

struct buyer_new {
	const char *note;
};

static int do_add(struct invocation *in, struct err *e)
{
	const struct buyer_new *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_WRITE, e) < 0 ||
		buyer_add(&st, arg(in, 0), o->note ? o->note : "", e) < 0)
		return -1;
	return cli_report(in, &st, &buyer, arg(in, 0), e, "added buyer %s", arg(in, 0));
}

static int do_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, columns, buyer_list(&st, e), e);
}

/* Quotas as texts, for a table. */
static void quota_texts(json_t *row)
{
	json_t *texts = json_array(), *q;
	size_t i;
	json_array_foreach (json_object_get(row, "quotas"), i, q) {
		BUF_AUTO b = {0};
		static const char *const members[] = {"calls_a_day", "seconds_a_day", "at_once"};
		buf_adds(&b, json_text_of(q, "expert"));
		for (size_t k = 0; k < 3; k++)
			if (json_is_integer(json_object_get(q, members[k])))
				buf_addf(&b, " %s=%lld", members[k],
					(long long)json_int_of(q, members[k]));
		json_array_append_new(texts, json_string(buf_str(&b)));
	}
	json_object_set_new(row, "quotas", texts);
}

static int do_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	json_t *row = buyer_show(&st, arg(in, 0), e);
	if (row && in->output == OUTPUT_TEXT)
		quota_texts(row);
	return output_object(in, show_columns, row, e);
}

static int grant_or_revoke(struct invocation *in, bool grant, struct err *e)
{
	STATE_AUTO st = {0};
	size_t i;
	json_t *row;
	if (cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	json_t *done = buyer_grant(&st, arg(in, 0), in->args.v + 1, in->args.n - 1, grant, e);
	if (!done || in->output != OUTPUT_TEXT)
		return output_list(in, grant_columns, done, e);
	json_array_foreach (done, i, row) {
		output_say(in, "%s %s%s", arg(in, 0), grant ? "may use " : "may not use ",
			json_text_of(row, "expert"));
	}
	json_decref(done);
	return 0;
}

static int do_grant(struct invocation *in, struct err *e)
{
	return grant_or_revoke(in, true, e);
}

static int do_revoke(struct invocation *in, struct err *e)
{
	return grant_or_revoke(in, false, e);
}

struct buyer_rm {
	bool purge;
};

static int confirm_rm(const struct invocation *in, struct state *st, bool purge, struct err *e)
{
	JSON_AUTO w = buyer_weigh(st, arg(in, 0), e);
	if (!w)
		return -1;
	return say_confirm(in, e,
		"remove buyer '%s': %lld tokens, %lld grants, %lld supplied values%s (%lld runs %s)",
		arg(in, 0), (long long)json_int_of(w, "tokens"),
		(long long)json_int_of(w, "grants"), (long long)json_int_of(w, "values"),
		purge ? ", and all artifacts" : "", (long long)json_int_of(w, "runs"),
		purge ? "lose the name" : "stay");
}

static int do_rm(struct invocation *in, struct err *e)
{
	const struct buyer_rm *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0 || (!o->purge && buyer_check(&st, arg(in, 0), e) < 0) ||
		confirm_rm(in, &st, o->purge, e) < 0 ||
		buyer_remove(&st, arg(in, 0), o->purge, e) < 0)
		return -1;
	return output_done(in, columns, json_pack("{s:s}", "buyer", arg(in, 0)), e,
		o->purge ? "removed buyer %s and all traces"
			 : "removed buyer %s; the name stays taken until: rm --purge",
		arg(in, 0));
}

/* ---- tokens --------------------------------------------------------------------------------- */

struct buyer_token {
	const char *expires, *label, *only;
	struct strv experts;
};

static int expiry(const char *text, int64_t *ms, struct err *e)
{
	char *end = NULL;
	*ms = 0;
	if (text && strcmp(text, "never") == 0)
		return 0;
	long days = text ? strtol(text, &end, 10) : DAYS;
	if (text && (end == text || *end || days < 1 || days > 36500)) {
		err_set(e, ERR_USAGE, "'%s' is no number of days", text);
		return err_hint(e, "--expires 90, or --expires never");
	}
	*ms = clock_real_ms() + days * DAY_MS;
	return 0;
}

/* The token alone is on stdout, and nowhere else: what it is is said on stderr. */
static int print_token(struct invocation *in, const char *text, const char *id,
	const struct token_spec *spec, struct err *e)
{
	char until[32];
	const char *when = spec->expires ? clock_text(spec->expires, until, sizeof until) : "never";
	if (in->output == OUTPUT_JSON) {
		output_json(json_pack("{s:s,s:s,s:s,s:s?}", "token", text, "id", id, "buyer",
			arg(in, 0), "expires", spec->expires ? when : NULL));
		return 0;
	}
	say_note(in, "token %s of %s, expires: %s. It is shown this once.", id, arg(in, 0), when);
	output_text(stdout, text, strlen(text));
	output_text(stdout, "\n", 1);
	return fflush(stdout) == 0 ? 0 : err_errno(e, ERR_FAIL, "cannot write the token");
}

static int do_token(struct invocation *in, struct err *e)
{
	const struct buyer_token *o = in->options;
	STATE_AUTO st = {0};
	char text[TOKEN_TEXT_SIZE], id[TOKEN_ID_SIZE];
	struct token_spec spec = {.label = o->label ? o->label : "",
		.only = o->only ? o->only : "",
		.experts = o->experts.v,
		.nexperts = o->experts.n};
	if (expiry(o->expires, &spec.expires, e) < 0 || cli_state(&st, in, STATE_WRITE, e) < 0 ||
		token_add(&st, arg(in, 0), &spec, text, id, e) < 0)
		return -1;
	int r = print_token(in, text, id, &spec, e);
	explicit_bzero(text, sizeof text);
	return r;
}

static int do_tokens(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, token_columns, token_list(&st, arg(in, 0), e), e);
}

static int do_withdraw(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_WRITE, e) < 0 ||
		token_withdraw(&st, in->args.v, in->args.n, e) < 0)
		return -1;
	STR_AUTO all = strv_join(&in->args, ", ");
	return output_done(in, token_columns, json_pack("{s:s}", "token", all ? all : ""), e,
		"withdrawn: %s", all ? all : "");
}

/* ---- how much ------------------------------------------------------------------------------- */

struct buyer_limit {
	int calls_a_day, seconds_a_day, at_once;
	bool none;
};

static int do_limit(struct invocation *in, struct err *e)
{
	const struct buyer_limit *o = in->options;
	STATE_AUTO st = {0};
	const struct quota q = {o->none ? -1 : o->calls_a_day, o->none ? -1 : o->seconds_a_day,
		o->none ? -1 : o->at_once};
	bool change = o->none || o->calls_a_day != -2 || o->seconds_a_day != -2 || o->at_once != -2;
	if (o->none && (o->calls_a_day != -2 || o->seconds_a_day != -2 || o->at_once != -2))
		return err_set(e, ERR_USAGE, "--none goes with no other limit"),
		       err_hint(e, "evctl-buyer limit B E --none");
	EXPERT_AUTO x = {0};
	if (cli_state(&st, in, change ? STATE_WRITE : STATE_READ, e) < 0 ||
		buyer_check(&st, arg(in, 0), e) < 0 || expert_find(&st, arg(in, 1), &x, e) < 0 ||
		(change && quota_set(&st, arg(in, 0), arg(in, 1), &q, e) < 0))
		return -1;
	json_t *left = quota_left(&st, arg(in, 0), arg(in, 1), e);
	if (left) {
		json_object_set_new(left, "buyer", json_string(arg(in, 0)));
		json_object_set_new(left, "expert", json_string(arg(in, 1)));
	}
	return output_object(in, quota_columns, left, e);
}

/* ---- others --------------------------------------------------------------------------------- */

static int do_requests(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, request_columns, buyer_requests(&st, e), e);
}

struct buyer_of {
	const char *issuer;
};

static int do_subject(struct invocation *in, struct err *e)
{
	const struct buyer_of *o = in->options;
	STATE_AUTO st = {0};
	if (!o->issuer) {
		err_set(e, ERR_USAGE, "whose subject it is is not said");
		return err_hint(e, "--issuer URL, as the authorization server calls itself");
	}
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || state_begin(&st, e) < 0)
		return -1;
	for (size_t i = 1; i < in->args.n; i++)
		if (buyer_subject(&st, arg(in, 0), o->issuer, arg(in, i), e) < 0)
			return -1;
	if (state_commit(&st, e) < 0)
		return -1;
	return cli_report(in, &st, &buyer, arg(in, 0), e, "tied to %s", arg(in, 0));
}

static const struct arg_spec new_args[] = {{"B"}, {NULL}};
static const struct arg_spec buyer_args[] = {{"B", NAME_BUYER}, {NULL}};
static const struct arg_spec maybe_args[] = {{"B", NAME_BUYER, .optional = true}, {NULL}};
static const struct arg_spec grant_args[] = {
	{"B", NAME_BUYER}, {"E", NAME_EXPERT, .repeats = true}, {NULL}};
static const struct arg_spec limit_args[] = {{"B", NAME_BUYER}, {"E", NAME_EXPERT}, {NULL}};
static const struct arg_spec token_args[] = {
	{"TOKEN-ID", NAME_BUYER_TOKEN, .repeats = true}, {NULL}};
static const struct arg_spec subject_args[] = {
	{"B", NAME_BUYER}, {"VALUE", .repeats = true}, {NULL}};
static const struct option_spec add_options[] = {
	OPT_STR(struct buyer_new, note, "note", "TEXT", "for you to know who that is"),
	OPT_END(struct buyer_new)};
static const struct option_spec rm_options[] = {
	OPT_FLAG(struct buyer_rm, purge, "purge",
		"the artifacts too; runs lose the name, which is free then"),
	OPT_END(struct buyer_rm)};
static const struct option_spec token_options[] = {
	OPT_STR(struct buyer_token, expires, "expires", "DAYS|never",
		"after so many days it is no good (90)"),
	OPT_STR(struct buyer_token, label, "label", "TEXT", "for you to know it by"),
	OPT_WORD(struct buyer_token, only, "only", "mcp|pages", "for nothing else", "mcp|pages"),
	OPT_LIST(struct buyer_token, experts, "expert", "E",
		"for no other expert; may be given again", .kind = NAME_EXPERT),
	OPT_END(struct buyer_token)};
static const struct option_spec limit_options[] = {
	OPT_INT(struct buyer_limit, calls_a_day, "calls-a-day", "N", "so many calls a day (UTC)",
		-2, 0, 2000000000),
	OPT_INT(struct buyer_limit, seconds_a_day, "seconds-a-day", "N",
		"no new call once tools have run for so long", -2, 0, 2000000000),
	OPT_INT(struct buyer_limit, at_once, "at-once", "N",
		"so many at once; others wait for up to 10 s", -2, 1, 100000),
	OPT_FLAG(struct buyer_limit, none, "none", "without any limit again"),
	OPT_END(struct buyer_limit)};
static const struct option_spec subject_options[] = {
	OPT_STR(struct buyer_of, issuer, "issuer", "URL", "the authorization server's name"),
	OPT_END(struct buyer_of)};

static const struct verb verbs[] = {
	{"add", "register a buyer", new_args, add_options,
		"  evctl-buyer add acme --note 'contract 2026-17'\n", do_add},
	{"list", "list buyers", NULL, NULL, NULL, do_list},
	{"show", "show one", buyer_args, NULL, NULL, do_show},
	{"grant", "let a buyer use experts", grant_args, NULL,
		"  evctl-buyer grant acme crm-helper\n", do_grant},
	{"revoke", "not any more", grant_args, NULL, NULL, do_revoke},
	{"token", "make a token, and print it this once", buyer_args, token_options,
		"  evctl-buyer token acme --label laptop > acme.token\n", do_token},
	{"tokens", "list tokens, without what they are", maybe_args, NULL, NULL, do_tokens},
	{"withdraw", "make tokens no good", token_args, NULL, NULL, do_withdraw},
	{"limit", "say how much of an expert a buyer may use, or what is left", limit_args,
		limit_options,
		"  evctl-buyer limit acme crm-helper --calls-a-day 100 --at-once 2\n", do_limit},
	{"requests", "list who asks for which listed expert", NULL, NULL, NULL, do_requests},
	{"subject", "say whom an authorization server means by a buyer", subject_args,
		subject_options,
		"  evctl-buyer subject acme --issuer https://login.example ada@acme.example\n",
		do_subject},
	{"rm", "remove a buyer: tokens, grants and values go, runs stay", buyer_args, rm_options,
		NULL, do_rm},
	{NULL}};

static const struct program program = {.name = "evctl-buyer",
	.summary = "whom the door lets in, to what, and how much of it",
	.examples = "  evctl-buyer add acme\n"
		    "  evctl-buyer grant acme crm-helper\n"
		    "  evctl-buyer token acme            # prints it once\n"
		    "  evctl-buyer limit acme crm-helper --calls-a-day 100\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

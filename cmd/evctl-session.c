/* evctl-session: one buyer's sandbox, kept for many runs. */
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "run/keeper.h"
#include "run/run.h"
#include "state/livenames.h"

#include <string.h>

static const struct column columns[] = {{"SESSION", "session"}, {"EXPERT", "expert"},
	{"VERSION", "version", 4}, {"BUYER", "buyer", 3}, {"IDLE", "idle", 6}, {"RUNS", "runs", 5},
	{"STARTED", "started", 1}, {"ENDED", "ended", 2}, {"REASON", "reason", 7}, {NULL}};
static const struct column start_columns[] = {{"SESSION", "session"}, {"EXPERT", "expert"},
	{"VERSION", "version"}, {"BUYER", "buyer"}, {"IDLE", "idle"}, {NULL}};

struct start {
	const char *buyer;
	int idle, version;
	bool draft;
};

static int do_start(struct invocation *in, struct err *e)
{
	const struct start *o = in->options;
	STATE_AUTO st = {0};
	SESSION_AUTO s = {0};
	if (o->draft && o->version != EXPERT_DEFAULT) {
		err_set(e, ERR_USAGE, "'--draft' and '--version' do not go together");
		return err_hint(e, "give one of them");
	}
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	const struct keeper_order order = {.expert = arg(in, 0),
		.buyer = o->buyer,
		.version = o->draft ? EXPERT_DRAFT : o->version,
		.idle_s = o->idle};
	if (keeper_start(&st, &order, &s, e) < 0)
		return -1;
	if (s.version == EXPERT_DRAFT && !o->draft && expert_first_draft(&st, order.expert))
		say_note(in, "'%s' was never published: this runs its draft", order.expert);
	return output_done(in, start_columns,
		json_pack("{s:s,s:s,s:o,s:s?,s:I}", "session", s.id, "expert", s.expert, "version",
			s.version ? json_integer(s.version) : json_string("draft"), "buyer",
			s.buyer, "idle", (json_int_t)s.idle_s),
		e, "%s", s.id);
}

struct session_list {
	bool all;
};

static int do_list(struct invocation *in, struct err *e)
{
	const struct session_list *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state_swept(&st, in, e) < 0)
		return -1;
	return output_list(in, columns, session_list(&st, o->all, e), e);
}

static const struct column end_columns[] = {{"SESSION", "session"}, {"REASON", "reason"}, {NULL}};

static int do_end(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	SESSION_AUTO s = {0};
	static const char reason[] = "it was ended";
	if (cli_state_swept(&st, in, e) < 0 || session_find(&st, arg(in, 0), &s, e) < 0 ||
		session_end(&st, &s, reason, e) < 0)
		return -1;
	return output_done(in, end_columns,
		json_pack("{s:s,s:s}", "session", s.id, "reason", reason), e, "ended %s", s.id);
}

static const struct arg_spec start_args[] = {{"E", NAME_EXPERT}, {NULL}};
static const struct arg_spec end_args[] = {{"ID", NAME_SESSION}, {NULL}};
static const struct option_spec start_options[] = {
	OPT_STR(struct start, buyer, "buyer", "B", "for this buyer", .kind = NAME_BUYER),
	OPT_INT(struct start, idle, "idle", "S",
		"end it after so many seconds without a call (" LIMIT_TEXT(LIMIT_IDLE_S) ")",
		LIMIT_IDLE_S, 1, LIMIT_LIFE_S),
	OPT_FLAG(struct start, draft, "draft", "of the draft"),
	OPT_INT(struct start, version, "version", "N", "of this published version", EXPERT_DEFAULT,
		1, EXPERT_VERSION_MAX, .kind = NAME_VERSION),
	OPT_END(struct start)};
static const struct option_spec list_options[] = {
	OPT_FLAG(struct session_list, all, "all", "those that have ended, too"),
	OPT_END(struct session_list)};

static const struct verb verbs[] = {
	{"start", "start a session and print its id", start_args, start_options,
		"  id=$(evctl-session start crm-helper --buyer acme)\n"
		"  evctl-run crm-helper count-leads --buyer acme --session $id\n",
		do_start},
	{"list", "list live sessions", NULL, list_options, NULL, do_list},
	{"end", "end one, and its sandbox with it", end_args, NULL, NULL, do_end}, {NULL}};

static const struct program program = {.name = "evctl-session",
	.summary = "one buyer's sandbox, kept for many runs",
	.examples = "  evctl-session start crm-helper --buyer acme --idle 600\n"
		    "  evctl-session list\n"
		    "  evctl-session end sabc123\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], KEEPER_WORD) == 0)
		return keeper_main();
	return program_main(&program, argc, argv);
}

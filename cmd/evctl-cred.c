/* evctl-cred: credentials, the builder's own and what buyers supply. */
#include "base/output.h"
#include "base/say.h"
#include "batch/batch.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "state/cred.h"
#include "state/cred_day.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {{"NAME", "name"}, {"PAYER", "payer", 4},
	{"VALUE", "hint", 3}, {"FLAGS", "flags"}, {"HOSTS", "hosts", 5}, {"NOTE", "note", 7},
	{"AGE", "days", 2}, {"LAST USED", "last_used", 6}, {"EXPIRES", "expires", 1}, {NULL}};
static const struct column details[] = {{"NAME", "name"}, {"PAYER", "payer"}, {"VALUE", "hint"},
	{"FLAGS", "flags"}, {"HOSTS", "hosts"}, {"NOTE", "note"}, {"VERSION", "version"},
	{"CREATED", "created"}, {"CHANGED", "changed"}, {"LAST USED", "last_used"},
	{"EXPIRES", "expires"}, {"EXPERTS", "experts"}, {"VERSIONS", "versions"},
	{"BUYERS", "buyers"}, {"CONNECTIONS", "connections"}, {NULL}};

static const struct cli_noun credential = {.columns = details, .find = cred_list};

/* Until when it is good. */
struct day {
	const char *expires;
	int remind;
};
#define DAY_OPTIONS(T)                                                                            \
	OPT_STR(T, day.expires, "expires", "DAY", "its last good day, as 2027-01-31, or none"),   \
		OPT_INT(T, day.remind, "remind", "DAYS", "say so that many days before (14)", -1, \
			0, 3650)

static int read_day(const struct day *given, struct cred_day *d, struct err *e)
{
	*d = (struct cred_day){.remind = given->remind};
	return given->expires ? cred_day_parse(given->expires, d, e) : 0;
}

static bool any_day(const struct cred_day *d)
{
	return d->given || d->remind >= 0;
}

struct cred_add {
	const char *payer;
	bool sealed, replace, if_missing;
	struct day day;
	struct secret_source secret;
};

static int do_add(struct invocation *in, struct err *e)
{
	const struct cred_add *o = in->options;
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	struct cred_day day;
	const char *name = arg(in, 0);
	bool buyer = o->payer && strcmp(o->payer, "buyer") == 0;
	if (read_day(&o->day, &day, e) < 0 || cli_state(&st, in, STATE_WRITE, e) < 0 ||
		name_check_credential(name, e) < 0)
		return -1;
	if (cred_exists(&st, name) && o->if_missing)
		return cli_report(in, &st, &credential, name, e, "there already; nothing changed");
	if (cred_exists(&st, name) && !o->replace) { /* before asking for a value in vain */
		err_set(e, ERR_CONFLICT, "there is a credential '%s' already", name);
		return err_hint(e, "evctl-cred rotate %s, or add --replace or --if-missing", name);
	}
	if (buyer && secret_is_named(&o->secret)) {
		err_set(e, ERR_USAGE, "with payer buyer each buyer supplies the value");
		return err_hint(e, "evctl-cred supply %s --expert E --buyer builder", name);
	}
	if (!buyer && cli_secret(in, &o->secret, "value", o->sealed, &value, e) < 0)
		return -1;
	if (cred_add(&st, name, buyer, o->sealed, o->replace, buyer ? NULL : &value, e) < 0 ||
		(any_day(&day) && cred_day_set(&st, name, &day, e) < 0))
		return -1;
	cli_warn_short(in, name, &value, "cannot be guarded");
	if (o->replace)
		return cli_report(in, &st, &credential, name, e, "replaced");
	return cli_report(in, &st, &credential, name, e,
		"added credential %s: No hosts bound yet (evctl-host add HOST --bind %s)", name,
		name);
}

static int do_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	json_t *rows = cred_list(&st, NULL, e), *row;
	size_t i;
	json_array_foreach (rows, i, row)
		if (in->output == OUTPUT_TEXT)
			json_object_set_new(row, "days",
				json_sprintf(
					"%lld d", json_integer_value(json_object_get(row, "age"))));
	return output_list(in, columns, rows, e);
}

static int find(struct state *st, struct invocation *in, enum state_mode mode, struct cred *c,
	struct err *e)
{
	if (cli_state(st, in, mode, e) < 0)
		return -1;
	return cred_find(st, arg(in, 0), c, e);
}

static int do_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	if (find(&st, in, STATE_READ, &c, e) < 0)
		return -1;
	return cli_show(in, &st, &credential, c.name, e);
}

/* A batch is frozen: it has the value that it began with. */
static int name_batches(
	const struct invocation *in, struct state *st, const struct cred *c, struct err *e)
{
	STRV_AUTO ids = {0};
	if (batch_users(st, c->id, NULL, NULL, &ids, e) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++)
		say_note(in,
			"batch %s goes on with the old value; to end it: evctl-batch cancel %s",
			ids.v[i], ids.v[i]);
	return 0;
}

/* What a buyer takes back is not used any more. */
static int cancel_batches(const struct invocation *in, struct state *st, const struct cred *c,
	const struct cli_supply *o, struct err *e)
{
	STRV_AUTO ids = {0};
	if (batch_users(st, c->id, o->expert, o->buyer, &ids, e) < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		struct err why = {0};
		if (batch_cancel(st, ids.v[i], &why) == 0)
			say_note(in, "batch %s used it, and is cancelled", ids.v[i]);
		else
			say_warn(in, "batch %s uses it, and cannot be cancelled: %s", ids.v[i],
				why.msg);
	}
	return 0;
}

struct cred_new {
	struct day day;
	struct secret_source secret;
};

/* The new value's day is another: the old one's is forgotten. */
static int set_new_day(struct invocation *in, struct state *st, const char *name,
	struct cred_day *day, bool had, struct err *e)
{
	if (had && !day->given)
		say_note(in,
			"the old value's day is forgotten; the new one's: evctl-cred set %s "
			"--expires DAY",
			name);
	day->given = day->given || had;
	return any_day(day) ? cred_day_set(st, name, day, e) : 0;
}

static int do_rotate(struct invocation *in, struct err *e)
{
	const struct cred_new *o = in->options;
	struct cred_day day;
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	struct cred c;
	if (read_day(&o->day, &day, e) < 0 || find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cli_secret(in, &o->secret, "new value", c.sealed, &value, e) < 0 ||
		cred_rotate(&st, &c, &value, e) < 0 ||
		set_new_day(in, &st, c.name, &day, c.expires, e) < 0)
		return -1;
	cli_warn_short(in, c.name, &value, "cannot be guarded");
	if (name_batches(in, &st, &c, e) < 0)
		return -1;
	return cli_report(in, &st, &credential, c.name, e,
		"rotated: every user of it has the new value at once");
}

static int do_payer(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	bool buyer = strcmp(arg(in, 1), "buyer") == 0;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 || cred_set_payer(&st, &c, buyer, e) < 0)
		return -1;
	return cli_report(in, &st, &credential, c.name, e, "%s",
		buyer ? "each buyer supplies the value now" : "the stored value is used now");
}

struct cred_set {
	const char *sealed;
	struct day day;
};

static int do_set(struct invocation *in, struct err *e)
{
	const struct cred_set *o = in->options;
	STATE_AUTO st = {0};
	struct cred c;
	struct cred_day day;
	if (read_day(&o->day, &day, e) < 0)
		return -1;
	if (!o->sealed && !any_day(&day)) {
		err_set(e, ERR_USAGE, "nothing to set");
		return err_hint(e, "evctl-cred set NAME --sealed yes|no");
	}
	bool sealed = o->sealed && strcmp(o->sealed, "yes") == 0;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		(o->sealed && cred_set_sealed(&st, &c, sealed, e) < 0) ||
		(any_day(&day) && cred_day_set(&st, c.name, &day, e) < 0))
		return -1;
	return cli_report(in, &st, &credential, c.name, e, "%s",
		!o->sealed ? "changed"
		: sealed   ? "sealed"
			   : "no longer sealed");
}

/* Code asks for a key by its name, and a version's code is what it is. */
static int do_rename(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	STRV_AUTO readers = {0};
	struct cred c;
	const char *to = arg(in, 1);
	if (find(&st, in, STATE_WRITE, &c, e) < 0 || cred_check_new(&st, to, e) < 0 ||
		cred_readers(&st, &c, &readers, e) < 0)
		return -1;
	STR_AUTO who = strv_join(&readers, ", ");
	if (readers.n &&
		say_confirm(in, e, "rename '%s', which %s will miss", c.name, who ? who : "") < 0)
		return -1;
	if (cred_rename(&st, &c, to, e) < 0)
		return -1;
	return cli_report(in, &st, &credential, to, e,
		"renamed: its hosts are bound as they were; code reads EV_KEYS['%s'] now", to);
}

static int do_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		say_confirm(in, e, "remove credential '%s' and its value", c.name) < 0 ||
		cred_remove(&st, &c, e) < 0)
		return -1;
	output_say(in, "removed credential %s", c.name);
	return 0;
}

static int do_supply(struct invocation *in, struct err *e)
{
	const struct cli_supply *o = in->options;
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	struct cred c;
	if (cli_need_buyer(in, o, e) < 0 || find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cli_secret(in, &o->secret, "value", c.sealed, &value, e) < 0 ||
		cred_supply(&st, &c, o->expert, o->buyer, &value, e) < 0)
		return -1;
	cli_warn_short(in, c.name, &value, "cannot be guarded");
	output_say(in, "supplied %s for %s by %s", c.name, o->expert, o->buyer);
	return 0;
}

static int do_withdraw(struct invocation *in, struct err *e)
{
	const struct cli_supply *o = in->options;
	STATE_AUTO st = {0};
	struct cred c;
	if (cli_need_buyer(in, o, e) < 0 || find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cred_withdraw(&st, &c, o->expert, o->buyer, e) < 0 ||
		cancel_batches(in, &st, &c, o, e) < 0)
		return -1;
	output_say(in, "withdrawn");
	return 0;
}

static const struct arg_spec new_name[] = {{"NAME"}, {NULL}};
static const struct arg_spec name_arg[] = {{"NAME", NAME_CREDENTIAL}, {NULL}};
static const struct arg_spec rename_args[] = {{"NAME", NAME_CREDENTIAL}, {"NEW"}, {NULL}};
static const struct arg_spec payer_args[] = {
	{"NAME", NAME_CREDENTIAL}, {"stored|buyer", NAME_WORD, "stored|buyer"}, {NULL}};
static const struct option_spec add_options[] = {
	OPT_WORD(struct cred_add, payer, "payer", "WHO", "stored (yours, the default) or buyer",
		"stored|buyer"),
	OPT_FLAG(struct cred_add, sealed, "sealed",
		"the code gets a stand-in, the gate swaps the value in"),
	OPT_FLAG(struct cred_add, replace, "replace", "replace one of that name"),
	OPT_FLAG(struct cred_add, if_missing, "if-missing",
		"do nothing if there is one of that name"),
	DAY_OPTIONS(struct cred_add), SECRET_OPTIONS(struct cred_add), OPT_END(struct cred_add)};
static const struct option_spec rotate_options[] = {
	DAY_OPTIONS(struct cred_new), SECRET_OPTIONS(struct cred_new), OPT_END(struct cred_new)};
static const struct option_spec set_options[] = {
	OPT_WORD(struct cred_set, sealed, "sealed", "yes|no", "seal it, or stop that", "yes|no"),
	DAY_OPTIONS(struct cred_set), OPT_END(struct cred_set)};

static const struct verb verbs[] = {
	{"add", "add a credential; the value comes by prompt, file or descriptor", new_name,
		add_options,
		"  evctl-cred add CRM_KEY\n  evctl-cred add CRM_KEY --from-file key.txt\n", do_add},
	{"list", "list credentials, values masked", NULL, NULL, NULL, do_list},
	{"show", "show one", name_arg, NULL, NULL, do_show},
	{"rotate", "give a new value", name_arg, rotate_options, NULL, do_rotate},
	{"payer", "say whose value is used", payer_args, NULL, NULL, do_payer},
	{"rename", "give another name; bindings and values stay", rename_args, NULL, NULL,
		do_rename},
	{"set", "change flags, and until when it is good", name_arg, set_options, NULL, do_set},
	{"rm", "remove one that nothing uses", name_arg, NULL, NULL, do_rm},
	{"supply", "store a buyer's own value for an expert", name_arg, cli_supply_options, NULL,
		do_supply},
	{"withdraw", "remove a buyer's own value", name_arg, cli_withdraw_options, NULL,
		do_withdraw},
	{NULL}};

static const struct program program = {.name = "evctl-cred",
	.summary = "credentials: names that code passes to EV_KEYS, and their sealed values",
	.examples = "  evctl-cred add CRM_KEY                         # asks, without echo\n"
		    "  evctl-cred add CRM_KEY --from-file - < key     # from a pipe\n"
		    "  evctl-cred rotate CRM_KEY\n"
		    "  evctl-cred list -o json\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

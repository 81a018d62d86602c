/* evctl-cred: credentials, the builder's own and what buyers supply. */
#include "base/output.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "state/cred.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {{"NAME", "name"}, {"PAYER", "payer"}, {"VALUE", "hint"},
	{"FLAGS", "flags"}, {"HOSTS", "hosts"}, {"NOTE", "note"}, {NULL, NULL}};
static const struct column details[] = {{"NAME", "name"}, {"PAYER", "payer"}, {"VALUE", "hint"},
	{"FLAGS", "flags"}, {"HOSTS", "hosts"}, {"NOTE", "note"}, {"VERSION", "version"},
	{"CREATED", "created"}, {"CHANGED", "changed"}, {NULL, NULL}};

/* Prints one credential as `show` does, for -o json and -o name. */
static int print_one(const struct invocation *in, struct state *st, const char *name, struct err *e)
{
	json_t *rows = cred_list(st, name, e);
	json_t *one = rows ? json_incref(json_array_get(rows, 0)) : NULL;
	json_decref(rows);
	return one ? output_object(in, details, one, e) : -1;
}

/* What changed, as one line of text, or the thing itself for scripts. */
static int report(const struct invocation *in, struct state *st, const char *name, const char *line,
	struct err *e)
{
	if (in->output != OUTPUT_TEXT)
		return print_one(in, st, name, e);
	output_say(in, "%s", line);
	return 0;
}

static void warn_short(const struct invocation *in, const char *name, const struct secret *value)
{
	if (value->n && value->n < CRED_SHORT)
		program_warn(in, "'%s' is short: under %d bytes it cannot be guarded (! short)",
			name, CRED_SHORT);
}

static int run_add(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	const char *name = arg(in, 0), *payer = opt(in, "payer");
	bool buyer = payer && strcmp(payer, "buyer") == 0, sealed = opt_flag(in, "sealed");
	bool replace = opt_flag(in, "replace");
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || name_check_credential(name, e) < 0)
		return -1;
	if (cred_exists(&st, name) && opt_flag(in, "if-missing"))
		return report(in, &st, name, "there already; nothing changed", e);
	if (cred_exists(&st, name) && !replace) { /* before asking for a value in vain */
		err_set(e, ERR_CONFLICT, "there is a credential '%s' already", name);
		return err_hint(e, "evctl-cred rotate %s, or add --replace or --if-missing", name);
	}
	bool given = opt_flag(in, "from-file") || opt_flag(in, "from-fd");
	if (buyer && given) {
		err_set(e, ERR_USAGE, "with payer buyer each buyer supplies the value");
		return err_hint(e, "evctl-cred supply %s --expert E --buyer builder", name);
	}
	if (!buyer && cli_secret(in, "value", sealed, &value, e) < 0)
		return -1;
	if (cred_add(&st, name, buyer, sealed, replace, buyer ? NULL : &value, e) < 0)
		return -1;
	warn_short(in, name, &value);
	char line[256];
	snprintf(line, sizeof line,
		"added credential %s: No hosts bound yet (evctl-host add HOST --bind %s)", name,
		name);
	return report(in, &st, name, replace ? "replaced" : line, e);
}

static int run_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	json_t *rows = cred_list(&st, NULL, e);
	return rows ? output_list(in, columns, rows, e) : -1;
}

static int find(struct state *st, struct invocation *in, enum state_mode mode, struct cred *c,
	struct err *e)
{
	if (cli_state(st, in, mode, e) < 0)
		return -1;
	return cred_find(st, arg(in, 0), c, e);
}

static int run_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	if (find(&st, in, STATE_READ, &c, e) < 0)
		return -1;
	return print_one(in, &st, c.name, e);
}

static int run_rotate(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	struct cred c;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cli_secret(in, "new value", c.sealed, &value, e) < 0 ||
		cred_rotate(&st, &c, &value, e) < 0)
		return -1;
	warn_short(in, c.name, &value);
	return report(in, &st, c.name, "rotated: every user of it has the new value at once", e);
}

static int run_payer(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	bool buyer = strcmp(arg(in, 1), "buyer") == 0;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 || cred_set_payer(&st, &c, buyer, e) < 0)
		return -1;
	return report(in, &st, c.name,
		buyer ? "each buyer supplies the value now" : "the stored value is used now", e);
}

static int run_set(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	const char *word = opt(in, "sealed");
	if (!word) {
		err_set(e, ERR_USAGE, "nothing to set");
		return err_hint(e, "evctl-cred set NAME --sealed yes|no");
	}
	bool sealed = strcmp(word, "yes") == 0;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 || cred_set_sealed(&st, &c, sealed, e) < 0)
		return -1;
	return report(in, &st, c.name, sealed ? "sealed" : "no longer sealed", e);
}

static int run_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		program_confirm(in, e, "remove credential '%s' and its value", c.name) < 0 ||
		cred_remove(&st, &c, e) < 0)
		return -1;
	output_say(in, "removed credential %s", c.name);
	return 0;
}

static int need_both(struct invocation *in, struct err *e)
{
	if (opt(in, "expert") && opt(in, "buyer"))
		return 0;
	err_set(e, ERR_USAGE, "'--expert' and '--buyer' are needed");
	return err_hint(e, "evctl-cred %s %s --expert E --buyer B", in->verb->name, arg(in, 0));
}

static int run_supply(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	SECRET_AUTO value = {0};
	struct cred c;
	if (need_both(in, e) < 0 || find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cli_secret(in, "value", c.sealed, &value, e) < 0 ||
		cred_supply(&st, &c, opt(in, "expert"), opt(in, "buyer"), &value, e) < 0)
		return -1;
	warn_short(in, c.name, &value);
	output_say(in, "supplied %s for %s by %s", c.name, opt(in, "expert"), opt(in, "buyer"));
	return 0;
}

static int run_withdraw(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct cred c;
	if (need_both(in, e) < 0 || find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cred_withdraw(&st, &c, opt(in, "expert"), opt(in, "buyer"), e) < 0)
		return -1;
	output_say(in, "withdrawn");
	return 0;
}

static const struct arg_spec new_name[] = {{"NAME", NAME_NONE, NULL, false, false}, {NULL}};
static const struct arg_spec name_arg[] = {{"NAME", NAME_CREDENTIAL, NULL, false, false}, {NULL}};
static const struct arg_spec payer_args[] = {{"NAME", NAME_CREDENTIAL, NULL, false, false},
	{"stored|buyer", NAME_WORD, "stored|buyer", false, false}, {NULL}};
static const struct option_spec add_options[] = {
	{"payer", 0, "WHO", "stored (yours, the default) or buyer", NAME_WORD, "stored|buyer",
		false},
	{"sealed", 0, NULL, "the code gets a stand-in, the gate swaps the value in", NAME_NONE,
		NULL, false},
	{"replace", 0, NULL, "replace one of that name", NAME_NONE, NULL, false},
	{"if-missing", 0, NULL, "do nothing if there is one of that name", NAME_NONE, NULL, false},
	SECRET_OPTIONS, {NULL}};
static const struct option_spec value_options[] = {SECRET_OPTIONS, {NULL}};
static const struct option_spec set_options[] = {
	{"sealed", 0, "yes|no", "seal it, or stop that", NAME_WORD, "yes|no", false}, {NULL}};
static const struct option_spec supply_options[] = {
	{"expert", 0, "E", "for this expert", NAME_EXPERT, NULL, false},
	{"buyer", 0, "B", "by this buyer ('builder' is you)", NAME_BUYER, NULL, false},
	SECRET_OPTIONS, {NULL}};
static const struct option_spec withdraw_options[] = {
	{"expert", 0, "E", "for this expert", NAME_EXPERT, NULL, false},
	{"buyer", 0, "B", "by this buyer", NAME_BUYER, NULL, false}, {NULL}};

static const struct verb verbs[] = {
	{"add", "add a credential; the value comes by prompt, file or descriptor", new_name,
		add_options,
		"  evctl-cred add CRM_KEY\n  evctl-cred add CRM_KEY --from-file key.txt\n",
		run_add},
	{"list", "list credentials, values masked", NULL, NULL, NULL, run_list},
	{"show", "show one", name_arg, NULL, NULL, run_show},
	{"rotate", "give a new value", name_arg, value_options, NULL, run_rotate},
	{"payer", "say whose value is used", payer_args, NULL, NULL, run_payer},
	{"set", "change flags", name_arg, set_options, NULL, run_set},
	{"rm", "remove one that nothing uses", name_arg, NULL, NULL, run_rm},
	{"supply", "store a buyer's own value for an expert", name_arg, supply_options, NULL,
		run_supply},
	{"withdraw", "remove a buyer's own value", name_arg, withdraw_options, NULL, run_withdraw},
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

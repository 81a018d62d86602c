/* evctl-conn: outside APIs that an expert calls through the broker. */
#include "base/file.h"
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "broker/broker.h"
#include "cli/cli.h"
#include "run/source.h"
#include "state/capem.h"
#include "state/conn.h"
#include "state/livenames.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct column columns[] = {{"NAME", "name"}, {"HOSTS", "hosts"}, {"ENV", "env", 3},
	{"AUTH", "auth", 4}, {"KEY", "hint", 5}, {"FLAGS", "flags", 1}, {"EXPERTS", "experts", 2},
	{NULL}};
static const struct column details[] = {{"NAME", "name"}, {"HOSTS", "hosts"}, {"ENV", "env"},
	{"AUTH", "auth"}, {"KEY", "hint"}, {"FLAGS", "flags"}, {"EXPERTS", "experts"},
	{"SUPPLIED", "supplied"}, {"VERSION", "version"}, {"CREATED", "created"},
	{"CHANGED", "changed"}, {NULL}};

static const struct cli_noun connection = {.columns = details, .find = conn_list, .warns = true};

/* ---- add and what changes one -------------------------------------------------------------- */

struct conn_add {
	struct strv hosts;
	const char *env, *auth, *ca_file;
	struct route route;
	bool no_key, if_missing;
	struct secret_source secret;
};

static int need_options(const struct invocation *in, const struct conn_add *o, struct err *e)
{
	const char *lacks = !o->hosts.n ? "host" : !o->env ? "env" : !o->auth ? "auth" : NULL;
	if (!lacks)
		return 0;
	err_set(e, ERR_USAGE, "'--%s' is needed", lacks);
	return err_hint(
		e, "evctl-conn add %s --host api.x.example --env X_KEY --auth bearer", arg(in, 0));
}

static int run_add(struct invocation *in, struct err *e)
{
	const struct conn_add *o = in->options;
	STATE_AUTO st = {0};
	BUF_AUTO pem = {0};
	SECRET_AUTO value = {0};
	const char *name = arg(in, 0);
	struct conn c = {.name = arg(in, 0),
		.hosts = o->hosts,
		.env = o->env,
		.auth = o->auth,
		.route = o->route};
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || need_options(in, o, e) < 0)
		return -1;
	if (o->no_key && secret_is_named(&o->secret))
		return err_set(e, ERR_USAGE, "give a key or '--no-key', not both");
	if (conn_check(&c, e) < 0 || (o->ca_file && capem_read(o->ca_file, &pem, e) < 0))
		return -1;
	c.route.ca = o->ca_file ? buf_str(&pem) : NULL;
	bool exists = conn_exists(&st, name);
	if (exists && o->if_missing)
		return cli_report(in, &st, &connection, name, e, "there already; nothing changed");
	/* Where it exists, conn_add() says so: before a key is asked for in vain. */
	if (!exists && !o->no_key && cli_secret(in, &o->secret, "key", true, &value, e) < 0)
		return -1;
	if (conn_add(&st, &c, value.n ? &value : NULL, e) < 0)
		return -1;
	cli_warn_short(in, c.env, &value, "can be found by chance");
	return cli_report(in, &st, &connection, name, e,
		"added connection %s: granted to nobody yet (evctl-conn grant %s E --payer %s)",
		name, name, o->no_key ? "buyer" : "builder");
}

static int list_all(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, columns, conn_list(&st, NULL, e), e);
}

static int find(struct state *st, struct invocation *in, enum state_mode mode, struct conn *c,
	struct err *e)
{
	if (cli_state(st, in, mode, e) < 0)
		return -1;
	return conn_find(st, arg(in, 0), c, e);
}

static int show_one(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	if (find(&st, in, STATE_READ, &c, e) < 0)
		return -1;
	return cli_show(in, &st, &connection, c.name, e);
}

struct conn_set {
	struct strv hosts;
	const char *env, *auth;
	struct cli_route route;
};

static int run_set(struct invocation *in, struct err *e)
{
	const struct conn_set *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO now = {0};
	BUF_AUTO pem = {0};
	if (find(&st, in, STATE_WRITE, &now, e) < 0)
		return -1;
	struct conn c = now;
	c.hosts = o->hosts.n ? o->hosts : now.hosts;
	c.env = o->env ? o->env : now.env;
	c.auth = o->auth ? o->auth : now.auth;
	if (cli_change_route(&o->route, &c.route, &pem, e) < 0 || conn_set(&st, &c, e) < 0)
		return -1;
	return cli_report(in, &st, &connection, c.name, e, "changed; the next call goes by it");
}

static int run_rotate(struct invocation *in, struct err *e)
{
	const struct cli_rotate *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	SECRET_AUTO value = {0};
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		cli_secret(in, &o->secret, "new key", true, &value, e) < 0 ||
		conn_rotate(&st, &c, &value, e) < 0)
		return -1;
	cli_warn_short(in, c.env, &value, "can be found by chance");
	return cli_report(
		in, &st, &connection, c.name, e, "rotated: the next call has the new key");
}

static int run_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	if (find(&st, in, STATE_WRITE, &c, e) < 0 ||
		say_confirm(in, e, "remove connection '%s' and its keys", c.name) < 0 ||
		conn_remove(&st, &c, e) < 0)
		return -1;
	output_say(in, "removed connection %s", c.name);
	return 0;
}

/* ---- grants -------------------------------------------------------------------------------- */

static int find_both(
	struct state *st, struct invocation *in, struct conn *c, struct expert *x, struct err *e)
{
	if (find(st, in, STATE_WRITE, c, e) < 0)
		return -1;
	return expert_find(st, arg(in, 1), x, e);
}

struct grant {
	const char *payer;
};

static int run_grant(struct invocation *in, struct err *e)
{
	const struct grant *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	EXPERT_AUTO x = {0};
	bool changed;
	if (!o->payer) {
		err_set(e, ERR_USAGE,
			"'--payer' is needed: whose key pays for this expert's calls");
		return err_hint(
			e, "evctl-conn grant %s %s --payer builder|buyer", arg(in, 0), arg(in, 1));
	}
	if (find_both(&st, in, &c, &x, e) < 0 ||
		conn_grant(&st, &c, &x, strcmp(o->payer, "buyer") == 0, &changed, e) < 0)
		return -1;
	return cli_report(in, &st, &connection, c.name, e, "%s %s to %s, paid for by %s",
		changed ? "granted" : "was granted already:", c.name, x.name,
		strcmp(o->payer, "buyer") == 0 ? "each buyer" : "the builder");
}

static int run_revoke(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	EXPERT_AUTO x = {0};
	bool changed;
	if (find_both(&st, in, &c, &x, e) < 0 || conn_revoke(&st, &c, &x, &changed, e) < 0)
		return -1;
	return cli_report(in, &st, &connection, c.name, e, "%s",
		changed ? "revoked: the next call is denied" : "was not granted; nothing changed");
}

static int find_for_buyer(struct state *st, struct invocation *in, const struct cli_supply *o,
	struct conn *c, struct expert *x, struct err *e)
{
	if (cli_need_buyer(in, o, e) < 0 || find(st, in, STATE_WRITE, c, e) < 0)
		return -1;
	return expert_find(st, o->expert, x, e);
}

static int run_supply(struct invocation *in, struct err *e)
{
	const struct cli_supply *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	EXPERT_AUTO x = {0};
	SECRET_AUTO value = {0};
	if (find_for_buyer(&st, in, o, &c, &x, e) < 0 ||
		cli_secret(in, &o->secret, c.env, true, &value, e) < 0 ||
		conn_supply(&st, &c, &x, o->buyer, &value, e) < 0)
		return -1;
	cli_warn_short(in, c.env, &value, "can be found by chance");
	output_say(in, "supplied %s of %s for %s by %s", c.env, c.name, x.name, o->buyer);
	return 0;
}

static int run_withdraw(struct invocation *in, struct err *e)
{
	const struct cli_supply *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	EXPERT_AUTO x = {0};
	if (find_for_buyer(&st, in, o, &c, &x, e) < 0 ||
		conn_withdraw(&st, &c, &x, o->buyer, e) < 0)
		return -1;
	output_say(in, "withdrawn");
	return 0;
}

/* ---- calls --------------------------------------------------------------------------------- */

static int unlocked(struct state *st, struct invocation *in, struct err *e)
{
	if (cli_state(st, in, STATE_WRITE, e) < 0 || state_unlock(st, e) < 0)
		return -1;
	return upstream_init() == 0 ? 0 : err_set(e, ERR_FAIL, "cannot set up HTTP");
}

/* "@F" is a file, "@-" stdin, all else the body itself. One byte over the cap tells of more. */
static int read_data(const char *data, struct buf *b, struct err *e)
{
	b->limit = KB(LIMIT_API_REQUEST_KB) + 2;
	if (!data)
		return 0;
	if (data[0] != '@')
		buf_adds(b, data);
	else if (strcmp(data, "@-") == 0)
		fd_read_all(STDIN_FILENO, b);
	else if (file_read(data + 1, b, e) < 0)
		return -1;
	return buf_failed(b) ? err_set(e, ERR_USAGE,
				       "the request's body is over " LIMIT_TEXT(
					       LIMIT_API_REQUEST_KB) " KB")
			     : 0;
}

static bool in_source(void *ctx, const void *p, size_t n)
{
	return source_find(ctx, p, n);
}

struct conn_call {
	struct strv headers;
	const char *data, *buyer, *save;
};

static int print_reply(struct invocation *in, const struct broker_reply *r)
{
	const struct conn_call *o = in->options;
	if (in->output == OUTPUT_JSON) {
		JSON_AUTO j = broker_reply_json(r, o->save);
		json_object_set_new(j, "run", json_string(r->run));
		json_object_set_new(j, "ms", json_integer(r->ms));
		output_json_line(stdout, j, JSON_COMPACT);
		return 0;
	}
	if (in->output == OUTPUT_NAME)
		return printf("%s\n", r->run) < 0;
	if (r->status < 200 || r->status > 299)
		say_note(in, "the answer's status is %d", r->status);
	if (r->saved) {
		output_say(in,
			"%s available as a run artifact (%zu bytes, %s): evctl-artifact get %s %s",
			o->save, r->bytes, r->type, r->run, o->save);
		return 0;
	}
	output_text(stdout, buf_str(&r->body), r->body.len);
	if (isatty(STDOUT_FILENO) && r->body.len && r->body.data[r->body.len - 1] != '\n')
		putchar('\n');
	return 0;
}

static int call(struct invocation *in, struct state *st, const struct expert_view *v, struct err *e)
{
	const struct conn_call *o = in->options;
	BUF_AUTO body = {0};
	BROKER_REPLY_AUTO reply = {0};
	struct broker b = {0};
	struct source *source = source_new(&v->t, &v->m.private);
	struct broker_call c = {.view = v,
		.connection = arg(in, 1),
		.buyer = o->buyer,
		.method = arg(in, 2),
		.url = arg(in, 3),
		.headers = &o->headers,
		.has_body = o->data != NULL,
		.save = o->save,
		.cancel_fd = -1,
		.holds_source = in_source,
		.ctx = source};
	int r = source ? read_data(o->data, &body, e) : err_set(e, ERR_FAIL, "out of memory");
	c.body = body.data;
	c.nbody = body.len;
	if (r == 0)
		r = broker_call(&b, st, &c, &reply, e);
	if (r == 0)
		print_reply(in, &reply);
	broker_free(&b);
	source_free(source);
	return r;
}

static int run_call(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_VIEW_AUTO v = {0};
	const struct conn_call *o = in->options;
	const char *buyer = o->buyer;
	if (buyer && name_check("buyer", buyer, e) < 0)
		return -1;
	if (unlocked(&st, in, e) < 0 ||
		expert_load(&st, arg(in, 0), buyer ? EXPERT_PUBLISHED : EXPERT_DEFAULT, &v, e) < 0)
		return -1;
	return call(in, &st, &v, e);
}

static const struct column test_columns[] = {
	{"HOST", "host"}, {"RESULT", "result"}, {"STATUS", "status"}, {"WHY", "why"}, {NULL}};

struct conn_test {
	const char *path;
};

static int run_test(struct invocation *in, struct err *e)
{
	const struct conn_test *o = in->options;
	STATE_AUTO st = {0};
	CONN_AUTO c = {0};
	bool all;
	if (unlocked(&st, in, e) < 0 || conn_find(&st, arg(in, 0), &c, e) < 0)
		return -1;
	json_t *rows = broker_test(&st, &c, o->path ? o->path : "/", &all, e);
	if (!rows)
		return -1;
	in->exit_code = all ? 0 : ERR_FINDINGS;
	return output_list(in, test_columns, rows, e);
}

/* ---- the table ----------------------------------------------------------------------------- */

static const struct arg_spec new_name[] = {{"NAME"}, {NULL}};
static const struct arg_spec name_arg[] = {{"NAME", NAME_CONNECTION}, {NULL}};
static const struct arg_spec grant_args[] = {{"NAME", NAME_CONNECTION}, {"E", NAME_EXPERT}, {NULL}};
static const struct option_spec add_options[] = {
	OPT_LIST(struct conn_add, hosts, "host", "HOST",
		"an exact host, NAME[:PORT]; may be given again"),
	OPT_STR(struct conn_add, env, "env", "VAR", "the key's name, as buyers see it"),
	OPT_STR(struct conn_add, auth, "auth", "STYLE", "bearer, or header:NAME"),
	OPT_FLAG(struct conn_add, route.allow_private, "allow-private",
		"private addresses are fine"),
	OPT_STR(struct conn_add, route.connect_to, "connect-to", "ADDR:PORT",
		"connect there instead of looking the names up"),
	OPT_STR(struct conn_add, ca_file, "ca-file", "PEM",
		"trust these certificates instead of the system's", .kind = NAME_FILE),
	OPT_FLAG(struct conn_add, no_key, "no-key", "no key of yours: each buyer brings one"),
	OPT_FLAG(struct conn_add, if_missing, "if-missing",
		"do nothing if there is one of that name"),
	SECRET_OPTIONS(struct conn_add), OPT_END(struct conn_add)};
static const struct option_spec set_options[] = {
	OPT_LIST(struct conn_set, hosts, "host", "HOST", "these hosts instead; may be given again"),
	OPT_STR(struct conn_set, env, "env", "VAR", "the key's name, as buyers see it"),
	OPT_STR(struct conn_set, auth, "auth", "STYLE", "bearer, or header:NAME"),
	OPT_WORD(struct conn_set, route.allow_private, "allow-private", "yes|no",
		"private addresses are fine", "yes|no"),
	OPT_STR(struct conn_set, route.connect_to, "connect-to", "ADDR:PORT",
		"connect there ('none': look the names up)"),
	OPT_STR(struct conn_set, route.ca_file, "ca-file", "PEM",
		"trust these certificates ('none': the system's)", .kind = NAME_FILE),
	OPT_END(struct conn_set)};
static const struct option_spec grant_options[] = {
	OPT_WORD(struct grant, payer, "payer", "WHO", "whose key pays: builder or buyer",
		"builder|buyer"),
	OPT_END(struct grant)};

static const struct arg_spec call_args[] = {
	{"E", NAME_EXPERT}, {"NAME", NAME_CONNECTION}, {"METHOD"}, {"URL"}, {NULL}};
static const struct option_spec call_options[] = {
	OPT_LIST(struct conn_call, headers, "header", "'N: V'",
		"a header to send; may be given again"),
	OPT_STR(struct conn_call, data, "data", "@F|TEXT",
		"the body: a file ('@-': stdin) or the text itself"),
	OPT_STR(struct conn_call, buyer, "buyer", "B", "as this buyer", .kind = NAME_BUYER),
	OPT_STR(struct conn_call, save, "save", "NAME",
		"keep a 2xx answer's body as a run artifact"),
	OPT_END(struct conn_call)};
static const struct option_spec test_options[] = {
	OPT_STR(struct conn_test, path, "path", "PATH", "ask for this path instead of '/'"),
	OPT_END(struct conn_test)};

static const struct verb verbs[] = {
	{"add", "add a connection; the key comes by prompt, file or descriptor", new_name,
		add_options,
		"  evctl-conn add images --host api.images.example --env IMAGES_KEY --auth "
		"bearer\n",
		run_add},
	{"list", "list connections, keys masked", NULL, NULL, NULL, list_all},
	{"show", "show one", name_arg, NULL, NULL, show_one},
	{"set", "change hosts, env, auth, flags", name_arg, set_options, NULL, run_set},
	{"rotate", "give a new key", name_arg, cli_rotate_options, NULL, run_rotate},
	{"rm", "remove one that no expert has", name_arg, NULL, NULL, run_rm},
	{"test", "ask each host, harmlessly: reachable, unauthorised or refused", name_arg,
		test_options, NULL, run_test},
	{"grant", "give it to an expert, and say who pays", grant_args, grant_options, NULL,
		run_grant},
	{"revoke", "take it from an expert", grant_args, NULL, NULL, run_revoke},
	{"supply", "store a buyer's own key for an expert", name_arg, cli_supply_options, NULL,
		run_supply},
	{"withdraw", "remove a buyer's own key", name_arg, cli_withdraw_options, NULL,
		run_withdraw},
	{"call", "call the API as the expert does, with the key put in", call_args, call_options,
		"  evctl-conn call crm-helper images POST https://api.images.example/v1/draw \\\n"
		"      --data '{\"prompt\": \"a cat\"}' --save cat.png\n",
		run_call},
	{NULL}};

static const struct program program = {.name = "evctl-conn",
	.summary = "connections: outside APIs that an expert calls, with a key it never sees",
	.examples =
		"  evctl-conn add images --host api.images.example --env IMAGES_KEY --auth bearer\n"
		"  evctl-conn grant images crm-helper --payer builder\n"
		"  evctl-conn call crm-helper images GET https://api.images.example/v1/models\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

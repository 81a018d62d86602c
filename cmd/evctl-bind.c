/* evctl-bind: which credential a host injects. */
#include "base/output.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "state/bound_host.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {
	{"HOST", "host"}, {"CREDENTIAL", "credential"}, {"FLAGS", "flags"}, {NULL}};

static const struct cli_noun host = {.columns = columns, .find = host_named};

static int run_set(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BOUND_HOST_AUTO h = {0};
	struct cred c;
	char text[HOST_TEXT_MAX];
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || host_find(&st, arg(in, 0), &h, e) < 0 ||
		cred_find(&st, arg(in, 1), &c, e) < 0)
		return -1;
	host_text(&h.host, text);
	if (h.credential == c.id)
		return cli_report(
			in, &st, &host, text, e, "%s is bound to %s already", text, c.name);
	if (host_bind(&st, &h, &c, e) < 0)
		return -1;
	if (h.credential)
		return cli_report(in, &st, &host, text, e,
			"rebound %s from %s to %s; published experts keep their snapshot", text,
			h.credential_name, c.name);
	return cli_report(in, &st, &host, text, e, "bound %s to %s", text, c.name);
}

static int run_clear(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BOUND_HOST_AUTO h = {0};
	char text[HOST_TEXT_MAX];
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || host_find(&st, arg(in, 0), &h, e) < 0)
		return -1;
	if (h.credential && host_bind(&st, &h, NULL, e) < 0)
		return -1;
	host_text(&h.host, text);
	return cli_report(in, &st, &host, text, e, "%s: egress only", text);
}

static int run_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	JSON_AUTO rows = host_list(&st, NULL, e);
	json_t *bound = json_array(), *row;
	size_t i;
	if (!rows)
		return -1;
	json_array_foreach (rows, i, row)
		if (json_is_string(json_object_get(row, "credential")))
			json_array_append(bound, row);
	return output_list(in, columns, bound, e);
}

static const struct arg_spec set_args[] = {{"HOST", NAME_HOST}, {"CRED", NAME_CREDENTIAL}, {NULL}};
static const struct arg_spec host_arg[] = {{"HOST", NAME_HOST}, {NULL}};

static const struct verb verbs[] = {
	{"set", "bind a host to the credential that it injects", set_args, NULL, NULL, run_set},
	{"clear", "make a host egress only", host_arg, NULL, NULL, run_clear},
	{"list", "list what is bound", NULL, NULL, NULL, run_list}, {NULL}};

static const struct program program = {.name = "evctl-bind",
	.summary = "bindings: which credential a host injects; drafts see a change at once",
	.examples = "  evctl-bind set api.crm.example CRM_KEY\n"
		    "  evctl-bind clear api.crm.example\n"
		    "  evctl-bind list\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

/* evctl-mcp: an expert as a Model Context Protocol server on stdio. */
#include "cli/cli.h"
#include "mcp/serve.h"
#include "state/livenames.h"

#include <unistd.h>

static int version_of(const struct invocation *in, int *out, struct err *e)
{
	long n;
	if (opt_int(in, "version", EXPERT_PUBLISHED, 1, 1000000000, &n, e) < 0)
		return -1;
	*out = (int)n;
	return 0;
}

/* What is offered is read once, without a key and without writing; then the state is closed. */
static int look(const struct invocation *in, const struct state_place *place, struct expert_view *v,
	struct err *e)
{
	STATE_AUTO st = {0};
	int version;
	const char *buyer = opt(in, "buyer");
	if (buyer && name_check("buyer", buyer, e) < 0)
		return -1;
	if (version_of(in, &version, e) < 0 || state_open(&st, place, STATE_READ, e) < 0)
		return -1;
	return expert_load_meta(&st, arg(in, 0), version, v, e);
}

static int run(struct invocation *in, struct err *e)
{
	EXPERT_VIEW_AUTO v = {0};
	PLACE_AUTO place = {0};
	if (cli_place(in, &place, e) < 0 || look(in, &place, &v, e) < 0)
		return -1;
	const struct serve_spec spec = {.in = in,
		.place = &place,
		.view = &v,
		.buyer = opt(in, "buyer"),
		.fd_in = STDIN_FILENO,
		.fd_out = STDOUT_FILENO};
	return serve(&spec, e);
}

static const struct arg_spec args[] = {{"E", NAME_EXPERT, NULL, false, false}, {NULL}};
static const struct option_spec options[] = {
	{"buyer", 0, "B", "all calls are this buyer's", NAME_BUYER, NULL, false},
	{"version", 0, "N", "offer this version, not the published one", NAME_VERSION, NULL, false},
	{NULL}};

static const struct verb verbs[] = {{NULL, NULL, args, options, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl-mcp",
	.summary = "offer an expert's tools to a model, as an MCP server on stdio",
	.examples =
		"  evctl-mcp crm-helper                  # started by a client, not by people\n"
		"  evctl-mcp crm-helper --buyer acme     # what acme may see, with acme's keys\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

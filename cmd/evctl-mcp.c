/* evctl-mcp: an expert as a Model Context Protocol server on stdio. */
#include "cli/cli.h"
#include "mcp/serve.h"
#include "state/livenames.h"

#include <unistd.h>

struct offer {
	const char *buyer;
	int version;
};

/* What is offered is read once, without a key and without writing; then the state is closed. */
static int look(const struct invocation *in, const struct state_place *place, struct expert_view *v,
	struct err *e)
{
	STATE_AUTO st = {0};
	const struct offer *o = in->options;
	if (o->buyer && name_check("buyer", o->buyer, e) < 0)
		return -1;
	if (state_open(&st, place, STATE_READ, e) < 0)
		return -1;
	return expert_load_meta(&st, arg(in, 0), o->version, v, e);
}

static int run(struct invocation *in, struct err *e)
{
	EXPERT_VIEW_AUTO v = {0};
	const struct offer *o = in->options;
	PLACE_AUTO place = {0};
	if (cli_place(in, &place, e) < 0 || look(in, &place, &v, e) < 0)
		return -1;
	const struct serve_spec spec = {.in = in,
		.place = &place,
		.view = &v,
		.buyer = o->buyer,
		.fd_in = STDIN_FILENO,
		.fd_out = STDOUT_FILENO};
	return serve(&spec, e);
}

static const struct arg_spec args[] = {{"E", NAME_EXPERT}, {NULL}};
static const struct option_spec options[] = {
	OPT_STR(struct offer, buyer, "buyer", "B", "all calls are this buyer's",
		.kind = NAME_BUYER),
	OPT_INT(struct offer, version, "version", "N", "offer this version, not the published one",
		EXPERT_PUBLISHED, 1, EXPERT_VERSION_MAX, .kind = NAME_VERSION),
	OPT_END(struct offer)};

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

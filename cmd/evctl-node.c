/* evctl-node: machines that batches may be sealed to, and this machine as one. */
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "state/node.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS ((int64_t)86400000)
#define LINES_MAX ((size_t)4 << 20)

static const struct column columns[] = {{"NODE", "node"}, {"FINGERPRINT", "fingerprint"},
	{"ADDED", "added"}, {"EXPIRES", "expires"}, {NULL}};
static const struct column home_columns[] = {{"HOME", "home"}, {NULL}};
static const struct column held_columns[] = {
	{"BATCH", "batch"}, {"EXPERT", "expert"}, {"BUYER", "buyer"}, {NULL}};

/* ---- on a node ----------------------------------------------------------------------------- */

struct node_init {
	const char *name, *home;
};

static int read_home(const char *text, unsigned char home[SEAL_KEY_BYTES], struct err *e)
{
	if (text && seal_key_from_hex(text, home) == 0)
		return 0;
	err_set(e, ERR_USAGE,
		text ? "'%s' is no home's key" : "whose bundles it opens is not said%s",
		text ? text : "");
	return err_hint(e, "--home KEY, as evctl-node home shows it at home");
}

static int print_own(const char *name, const unsigned char mine[SEAL_KEY_BYTES])
{
	char hex[65], host[65] = "node";
	gethostname(host, sizeof host - 1);
	host[strcspn(host, ".")] = '\0';
	seal_key_hex(hex, mine);
	JSON_AUTO line = json_pack("{s:s,s:s}", "node", name ? name : host, "key", hex);
	output_json_line(stdout, line, JSON_COMPACT);
	return 0;
}

static int do_init(struct invocation *in, struct err *e)
{
	const struct node_init *o = in->options;
	unsigned char home[SEAL_KEY_BYTES], mine[SEAL_KEY_BYTES];
	STR_AUTO path = node_key_path(in->common.key_file, e);
	if (!path || seal_process(e) < 0 || read_home(o->home, home, e) < 0 ||
		(o->name && name_check("node", o->name, e) < 0) ||
		node_key_make(path, home, mine, e) < 0)
		return -1;
	const char *network = file_network(path);
	if (network)
		say_note(in, "'%s' is on %s: all machines that see it are one node", path, network);
	return print_own(o->name, mine);
}

static int do_show(struct invocation *in, struct err *e)
{
	SECRET_AUTO key = {0};
	unsigned char mine[SEAL_KEY_BYTES];
	STR_AUTO path = node_key_path(in->common.key_file, e);
	if (!path || seal_process(e) < 0 || node_key_load(path, &key, e) < 0)
		return -1;
	seal_public_of(&key, mine);
	return print_own(NULL, mine);
}

static int do_trust(struct invocation *in, struct err *e)
{
	SECRET_AUTO key = {0};
	unsigned char home[SEAL_KEY_BYTES];
	STR_AUTO path = node_key_path(in->common.key_file, e);
	if (!path || seal_process(e) < 0 || node_key_load(path, &key, e) < 0 ||
		read_home(arg(in, 0), home, e) < 0 || node_trust(path, home, e) < 0)
		return -1;
	return output_done(in, home_columns, json_pack("{s:s}", "home", arg(in, 0)), e, "trusts %s",
		arg(in, 0));
}

/* ---- at home ------------------------------------------------------------------------------- */

static int do_home(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	char hex[65];
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	seal_key_hex(hex, st.public_key);
	return output_done(in, home_columns, json_pack("{s:s}", "home", hex), e, "%s", hex);
}

struct node_new {
	const char *from_file;
	int expires;
};

static int add_line(
	struct state *st, const char *name, json_t *line, int64_t expires, struct err *e)
{
	unsigned char key[SEAL_KEY_BYTES];
	if (!json_is_object(line) || seal_key_from_hex(json_text_of(line, "key"), key) < 0) {
		err_set(e, ERR_USAGE, "a line is not what evctl-node init prints");
		return err_hint(e, "on the node: evctl-node init --home KEY");
	}
	return node_add(st, name ? name : json_text_of(line, "node"), key, expires, e);
}

static int add_lines(
	struct state *st, const char *name, char *text, int64_t expires, int *n, struct err *e)
{
	char *rest = NULL;
	for (char *s = strtok_r(text, "\n", &rest); s; s = strtok_r(NULL, "\n", &rest)) {
		JSON_AUTO line = json_parse("node", s, strlen(s), e);
		if (!line || add_line(st, name, line, expires, e) < 0)
			return -1;
		++*n;
	}
	return *n ? 0 : err_set(e, ERR_USAGE, "there is no node's line");
}

/* All of them or none. */
static int do_add(struct invocation *in, struct err *e)
{
	const struct node_new *o = in->options;
	STATE_AUTO st = {0};
	BUF_AUTO text = {0};
	int n = 0;
	if (!o->from_file) {
		err_set(e, ERR_USAGE, "no node's line is given");
		return err_hint(e, "evctl-node add --from-file FILE");
	}
	int64_t expires = o->expires ? clock_real_ms() + o->expires * DAY_MS : 0;
	if (cli_state(&st, in, STATE_WRITE, e) < 0 ||
		cli_read(o->from_file, "the nodes", LINES_MAX, &text, e) < 0)
		return -1;
	buf_addc(&text, '\n');
	if (state_begin(&st, e) < 0 || add_lines(&st, arg(in, 0), text.data, expires, &n, e) < 0 ||
		state_commit(&st, e) < 0)
		return -1;
	return output_done(in, columns, json_pack("{s:i}", "node", n), e, "added %d", n);
}

static int do_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, columns, node_list(&st, e), e);
}

static int do_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	json_t *held = node_remove(&st, arg(in, 0), e);
	if (json_array_size(held))
		say_note(in,
			"it held what these batches use: if it is in others' hands, rotate that");
	return output_list(in, held_columns, held, e);
}

static const struct arg_spec trust_args[] = {{"KEY", NAME_NONE}, {NULL}};
static const struct arg_spec add_args[] = {{"NAME", NAME_NONE, .optional = true}, {NULL}};
static const struct arg_spec rm_args[] = {{"NAME", NAME_NONE}, {NULL}};
static const struct option_spec init_options[] = {
	OPT_STR(struct node_init, name, "name", "NAME",
		"what home is to call it (the host's name)"),
	OPT_STR(struct node_init, home, "home", "KEY", "whose bundles it opens (evctl-node home)"),
	OPT_END(struct node_init)};
static const struct option_spec add_options[] = {
	OPT_STR(struct node_new, from_file, "from-file", "FILE",
		"what evctl-node init printed, a line a node ('-': stdin)", .kind = NAME_FILE),
	OPT_INT(struct node_new, expires, "expires", "DAYS", "seal nothing to it after so long", 0,
		1, 36500),
	OPT_END(struct node_new)};

static const struct verb verbs[] = {
	{"home", "at home: print the key that nodes are to trust", NULL, NULL, NULL, do_home},
	{"init", "on a node: make its key, and print a line for home", NULL, init_options,
		"  evctl-node init --home KEY > node.json\n", do_init},
	{"show", "on a node: print that line again", NULL, NULL, NULL, do_show},
	{"trust", "on a node: open another home's bundles too", trust_args, NULL, NULL, do_trust},
	{"add", "at home: batches may be sealed to it", add_args, add_options,
		"  evctl-node add --from-file node.json --expires 90\n", do_add},
	{"list", "at home: list nodes", NULL, NULL, NULL, do_list},
	{"rm", "at home: seal nothing to it any more, and believe it nothing", rm_args, NULL, NULL,
		do_rm},
	{NULL}};

static const struct program program = {.name = "evctl-node",
	.summary = "machines that batches may be sealed to",
	.examples = "  evctl-node home\n"
		    "  evctl-node init --home KEY | ssh home evctl-node add --from-file -\n"
		    "  evctl-node list\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

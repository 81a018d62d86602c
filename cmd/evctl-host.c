/* evctl-host: the hosts that code may reach, and what each injects. */
#include "base/file.h"
#include "base/output.h"
#include "net/addr.h"
#include "state/capem.h"
#include "state/host.h"
#include "state/livenames.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {{"HOST", "host"}, {"CREDENTIAL", "credential"},
	{"NOTE", "note"}, {"FLAGS", "flags"}, {"EXPERTS", "experts"}, {NULL, NULL}};

static int print_one(
	const struct invocation *in, struct state *st, const struct host *h, struct err *e)
{
	json_t *rows = host_list(st, h, e);
	json_t *one = rows ? json_incref(json_array_get(rows, 0)) : NULL;
	json_decref(rows);
	return one ? output_object(in, columns, one, e) : -1;
}

static int report(const struct invocation *in, struct state *st, const char *text, const char *line,
	struct err *e)
{
	struct host h;
	if (host_find(st, text, &h, e) < 0)
		return -1;
	if (in->output != OUTPUT_TEXT)
		return print_one(in, st, &h, e);
	JSON_AUTO rows = host_list(st, &h, e);
	json_t *flags = json_object_get(json_array_get(rows, 0), "flags"), *flag;
	size_t i;
	output_say(in, "%s", line);
	json_array_foreach(flags, i, flag)
		output_say(in, "%s  %s", h.text, json_string_value(flag));
	return 0;
}

/* The gate would refuse it only when code asks: better said where it is declared. */
static void note_private(
	const struct invocation *in, const char *text, const struct host_options *o)
{
	if (!o->allow_private && o->connect_to && addr_text_private(o->connect_to))
		program_note(in,
			"%s is a private address, refused until: "
			"evctl-host set %s --allow-private yes",
			o->connect_to, text);
}

static int read_ca(const char *path, struct buf *pem, struct host_options *o, struct err *e)
{
	if (capem_read(path, pem, e) < 0)
		return -1;
	o->ca = pem->data;
	o->ca_len = pem->len;
	return 0;
}

static int run_add(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BUF_AUTO pem = {0};
	struct host_row row;
	struct cred c;
	char text[HOST_TEXT_MAX], line[512];
	const char *bind = opt(in, "bind");
	struct host_options o = {.allow_private = opt_flag(in, "allow-private"),
		.plain = opt_flag(in, "plain"),
		.connect_to = opt(in, "connect-to")};
	if (state_open(&st, in, STATE_WRITE, e) < 0 || host_parse_row(arg(in, 0), &row, e) < 0)
		return -1;
	host_row_text(&row, text);
	struct err quiet = {0};
	struct host h;
	if (opt_flag(in, "if-missing") && host_find(&st, text, &h, &quiet) == 0)
		return report(in, &st, text, "there already; nothing changed", e);
	if (opt(in, "ca-file") && read_ca(opt(in, "ca-file"), &pem, &o, e) < 0)
		return -1;
	if (bind && cred_find(&st, bind, &c, e) < 0)
		return -1;
	if (host_add(&st, &row, &o, bind ? &c : NULL, e) < 0)
		return -1;
	note_private(in, text, &o);
	if (bind)
		snprintf(line, sizeof line, "added host %s, bound to %s", text, bind);
	else
		snprintf(line, sizeof line, "added host %s: egress only", text);
	return report(in, &st, text, line, e);
}

static int run_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (state_open(&st, in, STATE_READ, e) < 0)
		return -1;
	json_t *rows = host_list(&st, NULL, e);
	return rows ? output_list(in, columns, rows, e) : -1;
}

static int find(struct state *st, struct invocation *in, enum state_mode mode, struct host *h,
	struct err *e)
{
	if (state_open(st, in, mode, e) < 0)
		return -1;
	return host_find(st, arg(in, 0), h, e);
}

static int run_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct host h;
	if (find(&st, in, STATE_READ, &h, e) < 0)
		return -1;
	return print_one(in, &st, &h, e);
}

static void set_bool(struct invocation *in, const char *name, bool *flag)
{
	const char *word = opt(in, name);
	if (word)
		*flag = strcmp(word, "yes") == 0;
}

static int run_set(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BUF_AUTO keep = {0};
	BUF_AUTO pem = {0};
	struct host h;
	struct host_options o;
	if (find(&st, in, STATE_WRITE, &h, e) < 0 || host_options_of(&st, &h, &o, &keep, e) < 0)
		return -1;
	set_bool(in, "allow-private", &o.allow_private);
	set_bool(in, "plain", &o.plain);
	const char *to = opt(in, "connect-to"), *ca = opt(in, "ca-file");
	if (to)
		o.connect_to = strcmp(to, "none") == 0 ? NULL : to;
	if (ca && strcmp(ca, "none") == 0)
		o.ca = NULL, o.ca_len = 0;
	else if (ca && read_ca(ca, &pem, &o, e) < 0)
		return -1;
	if (host_set(&st, &h, &o, e) < 0)
		return -1;
	note_private(in, h.text, &o);
	return report(in, &st, h.text, "changed; published experts keep their snapshot", e);
}

static int run_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct host h;
	if (find(&st, in, STATE_WRITE, &h, e) < 0 ||
		program_confirm(in, e, "remove host '%s'", h.text) < 0 ||
		host_remove(&st, &h, e) < 0)
		return -1;
	output_say(in, "removed host %s", h.text);
	return 0;
}

static const struct arg_spec new_host[] = {{"HOST", NAME_NONE, NULL, false, false}, {NULL}};
static const struct arg_spec host_arg[] = {{"HOST", NAME_HOST, NULL, false, false}, {NULL}};
static const struct option_spec add_options[] = {
	{"bind", 0, "CRED", "the credential that it injects", NAME_CREDENTIAL, NULL, false},
	{"allow-private", 0, NULL, "private addresses are fine", NAME_NONE, NULL, false},
	{"plain", 0, NULL, "keys may go over plain HTTP", NAME_NONE, NULL, false},
	{"connect-to", 0, "ADDR:PORT", "connect there instead of looking the name up", NAME_NONE,
		NULL, false},
	{"ca-file", 0, "PEM", "trust these certificates instead of the system's", NAME_FILE, NULL,
		false},
	{"if-missing", 0, NULL, "do nothing if there is one already", NAME_NONE, NULL, false},
	{NULL}};
static const struct option_spec set_options[] = {
	{"allow-private", 0, "yes|no", "private addresses are fine", NAME_WORD, "yes|no", false},
	{"plain", 0, "yes|no", "keys may go over plain HTTP", NAME_WORD, "yes|no", false},
	{"connect-to", 0, "ADDR:PORT", "connect there ('none': look the name up)", NAME_NONE, NULL,
		false},
	{"ca-file", 0, "PEM", "trust these certificates ('none': the system's)", NAME_FILE, NULL,
		false},
	{NULL}};

static const struct verb verbs[] = {{"add", "declare a host: NAME[:PORT] or *.NAME[:PORT]",
					    new_host, add_options, NULL, run_add},
	{"list", "list hosts with what they inject and their flags", NULL, NULL, NULL, run_list},
	{"show", "show one", host_arg, NULL, NULL, run_show},
	{"set", "change flags, address or certificates", host_arg, set_options, NULL, run_set},
	{"rm", "remove one that no expert has attached", host_arg, NULL, NULL, run_rm}, {NULL}};

static const struct program program = {.name = "evctl-host",
	.summary = "hosts: where code may go, and which credential each unlocks",
	.examples =
		"  evctl-host add api.crm.example --bind CRM_KEY\n"
		"  evctl-host add '*.cdn.example'            # egress only, flagged: ! wildcard\n"
		"  evctl-host list\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

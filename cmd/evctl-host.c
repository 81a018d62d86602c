/* evctl-host: the hosts that code may reach, and what each injects. */
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "net/addr.h"
#include "net/hostname.h"
#include "state/capem.h"
#include "state/bound_host.h"
#include "state/livenames.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const struct column columns[] = {{"HOST", "host"}, {"CREDENTIAL", "credential", 1},
	{"NOTE", "note", 2}, {"FLAGS", "flags"}, {"EXPERTS", "experts", 3}, {NULL}};

static const struct cli_noun host = {.columns = columns, .find = host_named, .warns = true};

/* The gate would refuse it only when code asks: better said where it is declared. */
static void note_private(const struct invocation *in, const char *text, const struct route *r)
{
	BUF_AUTO own = {0};
	buf_addf(&own, "%s%s", text, strchr(text, ':') ? "" : ":443");
	const char *to = r->connect_to ? r->connect_to : buf_str(&own);
	if (!r->allow_private && addr_text_private(to))
		say_note(in,
			"%s is a private address, refused until: "
			"evctl-host set %s --allow-private yes",
			to, text);
}

/* Where one stands in an URL, or alone, and what follows it: "127.0.0.1", ":8000". */
static bool find_address(const char *text, bool *plain, char addr[64], char port[16])
{
	unsigned char bin[16];
	const char *scheme = strstr(text, "://");
	*plain = scheme && strncmp(text, "http:", 5) == 0;
	const char *at = scheme ? scheme + 3 : text;
	bool bracket = *at == '[';
	size_t n = bracket ? strcspn(at, "]") : strcspn(at, "/?#");
	bool v6 = bracket || (memchr(at, ':', n) && memchr(at, ':', n) != memrchr(at, ':', n));
	if (!bracket && !v6)
		n = strcspn(at, ":/?#");
	const char *rest = at + n + (bracket && at[n] == ']');
	snprintf(addr, 64, "%.*s", (int)(n - bracket), at + bracket);
	snprintf(port, 16, "%.*s", (int)(*rest == ':' ? strcspn(rest, "/?#") : 0), rest);
	return inet_pton(v6 ? AF_INET6 : AF_INET, addr, bin) == 1 ||
	       (scheme && strcmp(addr, "localhost") == 0);
}

/* An address is no host, but one can be reached by a name: the command that does. */
static int offer_name(const char *text, struct err *e)
{
	char addr[64], port[16], to[96];
	bool plain;
	if (e->code != ERR_USAGE || !find_address(text, &plain, addr, port))
		return -1;
	const char *number = *port ? port : plain ? ":80" : ":443";
	if (strcmp(addr, "localhost") == 0)
		return err_hint(e, "evctl-host add localhost%s%s --allow-private",
			strcmp(number, ":443") == 0 ? "" : number, plain ? " --plain" : "");
	snprintf(to, sizeof to, strchr(addr, ':') ? "[%s]%s" : "%s%s", addr, number);
	return err_hint(e, "give it a name: evctl-host add NAME%s --connect-to %s%s%s",
		strcmp(number, ":443") == 0 ? "" : number, to,
		addr_text_private(to) ? " --allow-private" : "", plain ? " --plain" : "");
}

struct host_add {
	struct host host; /* all but name and port */
	const char *bind, *ca_file;
	bool if_missing;
};

static int run_add(struct invocation *in, struct err *e)
{
	const struct host_add *o = in->options;
	STATE_AUTO st = {0};
	BUF_AUTO pem = {0};
	HOST_AUTO named = {0};
	BOUND_HOST_AUTO old = {0};
	struct err quiet = {0};
	struct cred c;
	char text[HOST_TEXT_MAX];
	if (cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	if (host_parse(arg(in, 0), &named, e) < 0)
		return offer_name(arg(in, 0), e);
	host_text(&named, text);
	if (o->if_missing && host_find(&st, text, &old, &quiet) == 0)
		return cli_report(in, &st, &host, text, e, "there already; nothing changed");
	if ((o->ca_file && capem_read(o->ca_file, &pem, e) < 0) ||
		(o->bind && cred_find(&st, o->bind, &c, e) < 0))
		return -1;
	struct host h = o->host;
	h.name = named.name;
	h.port = named.port;
	h.route.ca = o->ca_file ? buf_str(&pem) : NULL;
	if (host_add(&st, &h, o->bind ? &c : NULL, e) < 0)
		return -1;
	note_private(in, text, &h.route);
	cli_note_wildcard(in, &st, text);
	return cli_report(in, &st, &host, text, e, "added host %s%s%s", text,
		o->bind ? ", bound to " : ": egress only", o->bind ? o->bind : "");
}

static int run_list(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return output_list(in, columns, host_list(&st, NULL, e), e);
}

static int find(struct state *st, struct invocation *in, enum state_mode mode, struct bound_host *h,
	struct err *e)
{
	if (cli_state(st, in, mode, e) < 0)
		return -1;
	return host_find(st, arg(in, 0), h, e);
}

static int run_show(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	return cli_show(in, &st, &host, arg(in, 0), e);
}

struct host_set {
	const char *plain;
	struct cli_route route;
};

static int run_set(struct invocation *in, struct err *e)
{
	const struct host_set *o = in->options;
	STATE_AUTO st = {0};
	BUF_AUTO pem = {0};
	BOUND_HOST_AUTO now = {0};
	char text[HOST_TEXT_MAX];
	if (find(&st, in, STATE_WRITE, &now, e) < 0)
		return -1;
	struct host h = now.host;
	host_text(&h, text);
	option_yes(o->plain, &h.plain);
	if (cli_change_route(&o->route, &h.route, &pem, e) < 0 || host_set(&st, &now, &h, e) < 0)
		return -1;
	note_private(in, text, &h.route);
	return cli_report(
		in, &st, &host, text, e, "changed; published experts keep their snapshot");
}

static int run_rename(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BOUND_HOST_AUTO now = {0};
	HOST_AUTO named = {0};
	char text[HOST_TEXT_MAX];
	if (find(&st, in, STATE_WRITE, &now, e) < 0)
		return -1;
	if (host_parse(arg(in, 1), &named, e) < 0)
		return offer_name(arg(in, 1), e);
	struct host to = now.host;
	to.name = named.name;
	to.port = named.port;
	if (host_rename(&st, &now, &to, e) < 0)
		return -1;
	host_text(&to, text);
	return cli_report(in, &st, &host, text, e,
		"renamed: bound and attached as it was; published experts keep their snapshot");
}

static int run_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BOUND_HOST_AUTO h = {0};
	char text[HOST_TEXT_MAX];
	if (find(&st, in, STATE_WRITE, &h, e) < 0)
		return -1;
	host_text(&h.host, text);
	if (say_confirm(in, e, "remove host '%s'", text) < 0 || host_remove(&st, &h, e) < 0)
		return -1;
	output_say(in, "removed host %s", text);
	return 0;
}

static const struct arg_spec new_host[] = {{"HOST"}, {NULL}};
static const struct arg_spec rename_args[] = {{"HOST", NAME_HOST}, {"NEW"}, {NULL}};
static const struct arg_spec host_arg[] = {{"HOST", NAME_HOST}, {NULL}};
static const struct option_spec add_options[] = {
	OPT_STR(struct host_add, bind, "bind", "CRED", "the credential that it injects",
		.kind = NAME_CREDENTIAL),
	OPT_FLAG(struct host_add, host.route.allow_private, "allow-private",
		"private addresses are fine"),
	OPT_FLAG(struct host_add, host.plain, "plain", "keys may go over plain HTTP"),
	OPT_STR(struct host_add, host.route.connect_to, "connect-to", "ADDR:PORT",
		"connect there instead of looking the name up"),
	OPT_STR(struct host_add, ca_file, "ca-file", "PEM",
		"trust these certificates instead of the system's", .kind = NAME_FILE),
	OPT_FLAG(struct host_add, if_missing, "if-missing", "do nothing if there is one already"),
	OPT_END(struct host_add)};
static const struct option_spec set_options[] = {
	OPT_WORD(struct host_set, route.allow_private, "allow-private", "yes|no",
		"private addresses are fine", "yes|no"),
	OPT_WORD(
		struct host_set, plain, "plain", "yes|no", "keys may go over plain HTTP", "yes|no"),
	OPT_STR(struct host_set, route.connect_to, "connect-to", "ADDR:PORT",
		"connect there ('none': look the name up)"),
	OPT_STR(struct host_set, route.ca_file, "ca-file", "PEM",
		"trust these certificates ('none': the system's)", .kind = NAME_FILE),
	OPT_END(struct host_set)};

static const struct verb verbs[] = {{"add", "declare a host: NAME[:PORT] or *.NAME[:PORT]",
					    new_host, add_options, NULL, run_add},
	{"list", "list hosts with what they inject and their flags", NULL, NULL, NULL, run_list},
	{"show", "show one", host_arg, NULL, NULL, run_show},
	{"rename", "give another name; what it injects and is attached to stays", rename_args, NULL,
		NULL, run_rename},
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

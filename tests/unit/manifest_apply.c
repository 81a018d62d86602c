/* The file of `evctl apply`: what is read, and where each mistake is said to be. */
#include "../lib/tap.h"

#include "manifest/applyfile.h"

#include <stdlib.h>

struct bad {
	const char *name, *yaml, *msg, *hint;
};

#define CONN \
	"connections:\n- name: maps\n  hosts: [maps.example]\n  env: MAPS_KEY\n  auth: bearer\n"

static const struct bad bad[] = {
	{"empty", "", "f.yaml:1:1: the file is empty", NULL},
	{"a list", "[]\n", "f.yaml:1:1: the file must be a mapping, got a list", NULL},
	{"a section misspelt", "hosts: []\ncredential: []\n",
		"f.yaml:2:1: unknown field 'credential' in the file",
		"did you mean 'credentials'?"},
	{"a section twice", "hosts: []\nhosts: []\n", "f.yaml:2:1: duplicate key 'hosts'", NULL},
	{"an alias", "hosts: *x\n", "f.yaml:1:8: aliases are not allowed", NULL},
	{"two documents", "hosts: []\n---\n", "f.yaml:2:1: only one document", NULL},
	{"a section is a map", "hosts: {a: b}\n", "f.yaml:1:8: hosts must be a list, got a mapping",
		NULL},
	{"a section is nothing", "experts:\n", "f.yaml:1:9: experts must be a list, got nothing",
		NULL},
	{"a host is text", "hosts: [a.example]\n", "f.yaml:1:9: the host must be a mapping", NULL},
	{"host: missing", "hosts:\n- bind: k\n", "f.yaml:2:3: the host lacks 'host'", NULL},
	{"host: spaces", "hosts: [{host: a b}]\n", "f.yaml:1:16: host must be a host name", NULL},
	{"host: empty", "hosts: [{host: ''}]\n", "f.yaml:1:16: host is empty", NULL},
	{"host: a number", "hosts: [{host: 10}]\n", "f.yaml:1:16: host must be text", "quotes"},
	{"host: a field misspelt", "hosts: [{host: a, allow-private: true}]\n",
		"f.yaml:1:19: unknown field 'allow-private' in the host", "'allow_private'"},
	{"host: twice", "hosts:\n- host: a\n- host: b\n- host: a\n",
		"f.yaml:4:9: hosts names 'a' twice (first at line 2)", NULL},
	{"bind: not a name", "hosts: [{host: a, bind: 1-2}]\n",
		"f.yaml:1:25: bind must be letters, digits", NULL},
	{"plain: a word", "hosts: [{host: a, plain: yes}]\n",
		"f.yaml:1:26: plain must be true or false", NULL},
	{"allow_private: quoted", "hosts: [{host: a, allow_private: 'true'}]\n",
		"f.yaml:1:34: allow_private must be true or false", NULL},
	{"connect_to: spaces", "hosts: [{host: a, connect_to: 'a b'}]\n",
		"f.yaml:1:31: connect_to must be ADDR:PORT", NULL},
	{"ca_file: a control", "hosts: [{host: a, ca_file: \"a\\nb\"}]\n",
		"f.yaml:1:28: ca_file holds control characters", NULL},
	{"credential: a value", "credentials:\n- name: k\n  value: s3cret\n",
		"f.yaml:3:3: 'value' is not allowed: values are never in this file",
		"evctl cred add"},
	{"credential: a secret", "credentials: [{name: k, secret: x}]\n",
		"f.yaml:1:25: 'secret' is not allowed", NULL},
	{"credential: no name", "credentials: [{payer: stored}]\n",
		"f.yaml:1:15: the credential lacks 'name'", NULL},
	{"credential: a dash", "credentials: [{name: a-b}]\n",
		"f.yaml:1:22: name must be letters, digits and '_'", NULL},
	{"credential: a digit first", "credentials: [{name: 1ab}]\n", "f.yaml:1:22: name must be",
		NULL},
	{"credential: payer", "credentials: [{name: k, payer: builder}]\n",
		"f.yaml:1:32: payer must be stored or buyer", NULL},
	{"credential: sealed", "credentials: [{name: k, sealed: 1}]\n",
		"f.yaml:1:33: sealed must be true or false", NULL},
	{"credential: twice", "credentials: [{name: k}, {name: k}]\n",
		"f.yaml:1:33: credentials names 'k' twice", NULL},
	{"expert: upper case", "experts: [{name: Crm}]\n", "f.yaml:1:18: name must be lower-case",
		NULL},
	{"expert: dir is empty", "experts: [{name: a, dir: ''}]\n", "f.yaml:1:26: dir is empty",
		NULL},
	{"expert: hosts is text", "experts: [{name: a, hosts: b}]\n",
		"f.yaml:1:28: hosts must be a list", "write hosts: [b]"},
	{"expert: a host twice", "experts: [{name: a, hosts: [b, b]}]\n",
		"f.yaml:1:32: hosts names 'b' twice", NULL},
	{"expert: published", "experts: [{name: a, published: 2}]\n",
		"f.yaml:1:32: published must be true, false or latest", NULL},
	{"connection: hosts empty", "connections: [{name: m, hosts: [], env: A, auth: bearer}]\n",
		"f.yaml:1:32: hosts must be a list of one or more", NULL},
	{"connection: env", "connections: [{name: m, hosts: [a], env: A=B, auth: bearer}]\n",
		"f.yaml:1:42: env must be letters", NULL},
	{"connection: auth", "connections: [{name: m, hosts: [a], env: A, auth: basic}]\n",
		"f.yaml:1:51: auth must be bearer or header:NAME", NULL},
	{"connection: auth header",
		"connections: [{name: m, hosts: [a], env: A, auth: 'header:'}]\n",
		"f.yaml:1:51: auth must be bearer or header:NAME", NULL},
	{"connection: auth header name",
		"connections: [{name: m, hosts: [a], env: A, auth: 'header:X: y'}]\n",
		"f.yaml:1:51: auth must be bearer or header:NAME", NULL},
	{"connection: a key", CONN "  key: abc\n", "f.yaml:6:3: 'key' is not allowed", NULL},
	{"connection: an unknown field", CONN "  plain: true\n",
		"f.yaml:6:3: unknown field 'plain' in the connection", NULL},
	{"grant: payer", CONN "  grants:\n  - {expert: crm, payer: stored}\n",
		"f.yaml:7:26: payer must be builder or buyer", NULL},
	{"grant: expert", CONN "  grants: [{expert: A, payer: buyer}]\n",
		"f.yaml:6:21: expert must be lower-case", NULL},
	{"grant: twice",
		CONN "  grants:\n  - {expert: a, payer: buyer}\n  - {expert: a, payer: builder}\n",
		"f.yaml:8:14: grants names 'a' twice (first at line 7)", NULL},
};

static const char whole[] =
	"hosts:\n"
	"- {host: api.x.example, bind: CRM_KEY, allow_private: true, plain: false,\n"
	"   connect_to: '127.0.0.1:8443', ca_file: pki/root.pem}\n"
	"- host: '*.y.example:8080'\n"
	"credentials:\n"
	"- {name: CRM_KEY, payer: buyer, sealed: false}\n"
	"- name: other\n"
	"experts:\n"
	"- {name: crm, dir: ./crm, hosts: [api.x.example], published: true}\n"
	"- {name: b}\n"
	"- {name: c, hosts: []}\n"
	"connections:\n"
	"- name: maps\n"
	"  hosts: [maps.example, tiles.example]\n"
	"  env: MAPS_KEY\n"
	"  auth: header:X-Api-Key\n"
	"  allow_private: true\n"
	"  connect_to: 127.0.0.1:9\n"
	"  ca_file: x.pem\n"
	"  grants:\n"
	"  - {expert: crm, payer: builder}\n"
	"  - {expert: b, payer: buyer}\n"
	"- {name: n, hosts: [a], env: N, auth: bearer, grants: []}\n";

static int parse(struct applyfile *a, const char *yaml, struct err *e)
{
	return applyfile_parse(a, "f.yaml", yaml, strlen(yaml), e);
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_hosts(struct tap *t, const struct applyfile *a)
{
	if (!ok(t, a->nhosts == 2, "two hosts"))
		return;
	const struct apply_host *h = &a->hosts[0];
	ok(t, same(h->host, "api.x.example") && same(h->bind, "CRM_KEY"), "host and bind");
	ok(t, h->route.allow_private && !h->plain, "flags");
	ok(t, same(h->route.connect_to, "127.0.0.1:8443") && same(h->ca_file, "pki/root.pem"),
		"the rest");
	ok(t, h->line == 2 && h->col == 3, "place");
	h = &a->hosts[1];
	ok(t, !h->bind && !h->route.connect_to && !h->ca_file && !h->route.allow_private,
		"defaults");
	ok(t, h->line == 4 && h->col == 3, "place of a block");
}

static void check_names(struct tap *t, const struct applyfile *a)
{
	if (!ok(t, a->ncredentials == 2 && a->nexperts == 3, "two credentials, three experts"))
		return;
	const struct apply_credential *c = a->credentials;
	ok(t, same(c[0].payer, "buyer") && c[0].sealed == APPLY_NO, "payer and sealed");
	ok(t, !c[1].payer && c[1].sealed == APPLY_UNSAID && c[1].line == 7, "not said");
	const struct apply_expert *x = a->experts;
	ok(t, same(x[0].dir, "./crm") && x[0].published == APPLY_YES, "dir and published");
	ok(t, x[0].has_hosts && x[0].hosts.n == 1, "hosts");
	ok(t, !x[1].dir && !x[1].has_hosts && x[1].published == APPLY_UNSAID, "not said");
	ok(t, x[2].has_hosts && x[2].hosts.n == 0, "no hosts, said");
}

static void check_connections(struct tap *t, const struct applyfile *a)
{
	if (!ok(t, a->nconnections == 2, "two connections"))
		return;
	const struct apply_connection *c = a->connections;
	ok(t,
		c[0].hosts.n == 2 && same(c[0].env, "MAPS_KEY") &&
			same(c[0].auth, "header:X-Api-Key"),
		"hosts, env, auth");
	ok(t,
		c[0].route.allow_private && same(c[0].route.connect_to, "127.0.0.1:9") &&
			c[0].ca_file,
		"flags");
	ok(t,
		c[0].ngrants == 2 && same(c[0].grants[1].expert, "b") &&
			same(c[0].grants[1].payer, "buyer") && c[0].grants[1].line == 22,
		"grants");
	ok(t, c[1].has_grants && c[1].ngrants == 0, "no grants, said");
}

int main(void)
{
	struct tap t = {0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		APPLYFILE_AUTO a = {0};
		struct err e = {0};
		int rc = parse(&a, bad[i].yaml, &e);
		says(&t, &e, ERR_USAGE, bad[i].msg, bad[i].hint, bad[i].name);
		if (rc != -1 || a.hosts || a.connections || a.nhosts)
			ok(&t, false, "%s: refused, and nothing is left behind", bad[i].name);
	}
	APPLYFILE_AUTO a = {0}, some = {0}, none = {0};
	struct err e = {0};
	ok(&t, parse(&a, whole, &e) == 0, "a whole file: %s", e.msg);
	check_hosts(&t, &a);
	check_names(&t, &a);
	check_connections(&t, &a);
	ok(&t, a.has_hosts && a.has_credentials && a.has_experts && a.has_connections, "sections");
	ok(&t, parse(&some, "experts: []\n", &e) == 0 && some.has_experts && !some.has_hosts,
		"only what is said");
	ok(&t, parse(&none, "{}\n", &e) == 0 && !none.has_experts, "nothing said");
	return tap_done(&t);
}

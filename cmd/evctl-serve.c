/* evctl-serve: the door for buyers at a distance. */
#include "base/b64.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/cli.h"
#include "monitor/listen.h"
#include "monitor/monitor.h"
#include "state/expert.h"
#include "state/livenames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct door {
	const char *listen, *cert, *key, *public_url, *metrics;
	const char *issuer, *introspect, *client_id, *client_secret_file, *buyer_claim;
	bool behind_proxy;
	struct strv trust_forwarded, expert;
	int sessions, sessions_a_buyer, idle, connections;
};

static void tell(void *ctx, const char *text)
{
	say_warn(ctx, "%s", text);
}

static int check(const struct door *o, struct err *e)
{
	if (!o->cert != !o->key) {
		err_set(e, ERR_USAGE, "a certificate goes with its key");
		return err_hint(e, "--cert PEM --key PEM");
	}
	if (o->behind_proxy && !o->trust_forwarded.n) {
		err_set(e, ERR_USAGE, "which proxy may connect is not said");
		return err_hint(e, "--behind-proxy --trust-forwarded ADDR");
	}
	if (o->trust_forwarded.n && !o->behind_proxy) {
		err_set(e, ERR_USAGE, "--trust-forwarded is of a door behind a proxy");
		return err_hint(e, "--behind-proxy");
	}
	return 0;
}

/* Off loopback nothing goes in the clear, and browsers must know by which name they come. */
static int check_reach(const struct door *o, bool local, struct err *e)
{
	if (local)
		return 0;
	if (!o->cert && !o->behind_proxy) {
		err_set(e, ERR_USAGE, "off loopback the door wants TLS");
		return err_hint(
			e, "--cert PEM --key PEM, or --behind-proxy --trust-forwarded ADDR");
	}
	if (!o->public_url) {
		err_set(e, ERR_USAGE, "off loopback the door must know its address");
		return err_hint(e, "--public-url https://NAME[:PORT]");
	}
	return 0;
}

static int check_experts(struct state *st, const struct strv *experts, struct err *e)
{
	for (size_t i = 0; i < experts->n; i++) {
		EXPERT_AUTO x = {0};
		if (expert_find(st, experts->v[i], &x, e) < 0)
			return -1;
	}
	return 0;
}

/* All of them or none. */
static int check_issuer(const struct door *o, struct err *e)
{
	int given = !!o->issuer + !!o->introspect + !!o->client_id + !!o->client_secret_file;
	if ((given == 0 && !o->buyer_claim) || (given == 4 && o->public_url))
		return 0;
	err_set(e, ERR_USAGE, "an authorization server takes all of its options");
	return err_hint(e, "--issuer URL --introspect URL --client-id ID --client-secret-file FILE "
			   "--public-url URL");
}

/* What stays in a form; as RFC 6749 has a name or a password in Basic. */
#define FORM_PLAIN "-._"

static int read_issuer(
	const struct door *o, struct foreign_spec *spec, struct buf *authorization, struct err *e)
{
	BUF_AUTO secret = {.limit = 4096, .secret = true};
	BUF_AUTO pair = {.secret = true};
	if (foreign_parse_url(o->introspect, &spec->rules, e) < 0 ||
		cli_read(o->client_secret_file, "the client's secret", 4096, &secret, e) < 0)
		return -1;
	size_t n = secret.len;
	while (n && strchr(" \r\n\t", secret.data[n - 1]))
		n--;
	if (!n)
		return err_set(e, ERR_USAGE, "the client's secret is empty"),
		       err_hint(e, "--client-secret-file FILE");
	text_add_percent(&pair, o->client_id, strlen(o->client_id), FORM_PLAIN);
	buf_addc(&pair, ':');
	text_add_percent(&pair, secret.data, n, FORM_PLAIN);
	buf_adds(authorization, "Basic ");
	b64_encode(pair.data, pair.len, authorization);
	spec->rules.authorization = buf_str(authorization);
	spec->rules.issuer = o->issuer;
	spec->rules.claim = o->buyer_claim ? o->buyer_claim : "sub";
	spec->origin = o->public_url;
	return 0;
}

static int run(struct invocation *in, struct err *e)
{
	const struct door *o = in->options;
	struct foreign_spec foreign = {0};
	BUF_AUTO authorization = {.secret = true};
	STATE_AUTO st = {0};
	FD_AUTO listener = -1;
	FD_AUTO metrics = -1;
	bool local, of_metrics;
	char at[128], figures[128];
	if (check(o, e) < 0 || check_issuer(o, e) < 0 ||
		(o->issuer && read_issuer(o, &foreign, &authorization, e) < 0) ||
		listen_check_url(o->public_url, e) < 0 ||
		listen_check_addresses(&o->trust_forwarded, e) < 0 ||
		(listener = listen_open(
			 o->listen ? o->listen : "127.0.0.1:8350", at, sizeof at, &local, e)) < 0 ||
		check_reach(o, local, e) < 0)
		return -1;
	if (o->metrics &&
		(metrics = listen_open(o->metrics, figures, sizeof figures, &of_metrics, e)) < 0)
		return -1;
	if (o->metrics && !of_metrics && !o->behind_proxy)
		return err_set(e, ERR_USAGE, "figures are told on loopback only"),
		       err_hint(e, "--metrics 127.0.0.1:9350");
	if (cli_state_swept(&st, in, e) < 0 || state_unlock(&st, e) < 0 ||
		check_experts(&st, &o->expert, e) < 0)
		return -1;
	const struct monitor_spec spec = {.foreign = o->issuer ? &foreign : NULL,
		.rules = {.public_url = o->public_url,
			.issuer = o->issuer,
			.tls = o->cert != NULL,
			.behind = o->behind_proxy,
			.trusted = (const char **)o->trust_forwarded.v,
			.ntrusted = o->trust_forwarded.n,
			.connections = o->connections,
			.connections_each = LIMIT_DOOR_CONNECTIONS_EACH,
			.sessions = o->sessions,
			.sessions_each = o->sessions_a_buyer,
			.idle_ms = MS((int64_t)o->idle)},
		.experts = &o->expert,
		.cert = o->cert,
		.key = o->key,
		.listener = listener,
		.metrics = metrics,
		.note = tell,
		.ctx = in};
	say_note(in, "serving at %s%s%s", at, o->public_url ? ", as " : "",
		o->public_url ? o->public_url : "");
	int r = monitor_run(&st, &spec, e);
	free((char *)foreign.rules.host);
	free((char *)foreign.rules.target);
	return r;
}

static const struct option_spec options[] = {
	OPT_STR(struct door, listen, "listen", "WHERE",
		"ADDR:PORT, unix:PATH, or fd: a socket of systemd's (127.0.0.1:8350)"),
	OPT_STR(struct door, cert, "cert", "PEM", "TLS with this certificate and its chain",
		.kind = NAME_FILE),
	OPT_STR(struct door, key, "key", "PEM", "and this key", .kind = NAME_FILE),
	OPT_FLAG(struct door, behind_proxy, "behind-proxy", "a proxy before it speaks TLS"),
	OPT_LIST(struct door, trust_forwarded, "trust-forwarded", "ADDR",
		"the proxy's address, whose word counts; may be given again"),
	OPT_STR(struct door, public_url, "public-url", "URL", "how visitors call it"),
	OPT_LIST(struct door, expert, "expert", "E", "offer no other; may be given again",
		.kind = NAME_EXPERT),
	OPT_INT(struct door, sessions, "sessions", "N", "sandboxes at once", 64, 1, 10000),
	OPT_INT(struct door, sessions_a_buyer, "sessions-a-buyer", "N", "of these, a buyer's", 8, 1,
		10000),
	OPT_INT(struct door, idle, "idle", "S", "a session ends after so long", 300, 5, 86400),
	OPT_INT(struct door, connections, "connections", "N", "at once; others are closed", 1024, 1,
		100000),
	OPT_STR(struct door, issuer, "issuer", "URL",
		"an authorization server whose tokens are good too"),
	OPT_STR(struct door, introspect, "introspect", "URL", "its introspection endpoint"),
	OPT_STR(struct door, client_id, "client-id", "ID", "the door's name there"),
	OPT_STR(struct door, client_secret_file, "client-secret-file", "FILE", "and its secret",
		.kind = NAME_FILE),
	OPT_STR(struct door, buyer_claim, "buyer-claim", "NAME",
		"the claim that evctl-buyer subject ties to a buyer (sub)"),
	OPT_STR(struct door, metrics, "metrics", "ADDR:PORT", "figures for Prometheus, there"),
	OPT_END(struct door)};

static const struct verb verbs[] = {{NULL, NULL, NULL, options, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl-serve",
	.summary = "the door: experts for buyers at a distance, over HTTP",
	.examples = "  evctl-serve                         # on this machine, to try it\n"
		    "  evctl-serve --listen 0.0.0.0:443 --cert chain.pem --key key.pem \\\n"
		    "      --public-url https://experts.example\n"
		    "  evctl-serve --behind-proxy --trust-forwarded 127.0.0.1 \\\n"
		    "      --public-url https://experts.example\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}

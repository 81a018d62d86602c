/* The verdict on one head: which row, or which refusal. */
#include "gate/policy.h"
#include "../lib/tap.h"

static const struct policy_row rows[] = {
	{.host = {.name = "api.x.example", .port = 443}, .key = -1},
	{.host = {.name = "*.x.example", .port = 443}, .key = -1},
	{.host = {.name = "*.deep.x.example", .port = 443}, .key = -1},
	{.host = {.name = "odd.example", .port = 8443}, .key = -1},
	{.host = {.name = "plain.example", .port = 8080, .plain = true}, .key = -1},
	{.host = {.name = "xn--bcher-kva.example", .port = 443}, .key = -1},
};

#define N (sizeof rows / sizeof rows[0])
#define TLS(p, s)                                    \
	{                                            \
		.port = (p), .tls = true, .sni = (s) \
	}
#define PLAIN(p)            \
	{                   \
		.port = (p) \
	}
#define GET(h) "GET / HTTP/1.1\r\nHost: " h "\r\n\r\n"

static const struct {
	const char *head;
	struct policy_where where;
	int row; /* index, or -1 */
	int status;
	const char *reason;
} table[] = {
	{GET("api.x.example"), TLS(443, "api.x.example"), 0, 0, NULL},
	{GET("API.x.Example."), TLS(443, "api.x.example"), 0, 0, NULL},
	{GET("api.x.example:443"), TLS(443, "api.x.example"), 0, 0, NULL},
	{GET("api.x.example"), PLAIN(80), 0, 0, NULL},
	{GET("api.x.example:80"), PLAIN(80), 0, 0, NULL},
	{GET("a.b.x.example"), TLS(443, "a.b.x.example"), 1, 0, NULL},
	{GET("b.x.example"), TLS(443, "b.x.example"), 1, 0, NULL},
	{GET("deep.x.example"), TLS(443, "deep.x.example"), 1, 0, NULL},
	{GET("a.deep.x.example"), TLS(443, "a.deep.x.example"), 2, 0, NULL},
	{GET("x.example"), TLS(443, "x.example"), -1, 403, "host"},
	{GET("notx.example"), TLS(443, "notx.example"), -1, 403, "host"},
	{GET("x.example.evil"), TLS(443, "x.example.evil"), -1, 403, "host"},
	{GET("odd.example:8443"), TLS(8443, "odd.example"), 3, 0, NULL},
	{GET("odd.example"), TLS(443, "odd.example"), -1, 403, "port"},
	{GET("odd.example"), TLS(8443, "odd.example"), -1, 403, "port"},
	{GET("odd.example:8443"), PLAIN(8443), -1, 403, "port"},
	{GET("plain.example:8080"), PLAIN(8080), 4, 0, NULL},
	{GET("plain.example:8080"), TLS(8080, "plain.example"), -1, 403, "port"},
	{GET("api.x.example:444"), TLS(443, "api.x.example"), -1, 403, "port"},
	{GET("api.x.example:0443"), TLS(443, "api.x.example"), 0, 0, NULL},
	{GET("api.x.example:"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET("api.x.example:x"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET("api.x.example:65536"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET("api.x.example"), TLS(443, "b.x.example"), -1, 403, "sni"},
	{GET("xn--bcher-kva.example"), TLS(443, "xn--bcher-kva.example"), 5, 0, NULL},
	{GET("b\xc3\xbc"
	     "cher.example"),
		TLS(443, "xn--bcher-kva.example"), -1, 400, "bad-request"},
	{GET("user@api.x.example"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET("api.x.example/evil"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET("127.0.0.1"), PLAIN(80), -1, 400, "bad-request"},
	{GET("[::1]"), PLAIN(80), -1, 400, "bad-request"},
	{GET("0x7f000001"), PLAIN(80), -1, 400, "bad-request"},
	{GET("a, api.x.example"), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{GET(""), TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{"GET https://api.x.example/ HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), 0, 0, NULL},
	{"GET https://api.x.example:443/ HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), 0, 0, NULL},
	{"GET http://api.x.example/ HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{"GET https://b.x.example/ HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{"GET https://u@api.x.example/ HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), -1, 400, "bad-request"},
	{"CONNECT api.x.example:443 HTTP/1.1\r\nHost: api.x.example\r\n\r\n",
		TLS(443, "api.x.example"), -1, 403, "method"},
	{"TRACE / HTTP/1.1\r\nHost: api.x.example\r\n\r\n", TLS(443, "api.x.example"), -1, 403,
		"method"},
	{"GET / HTTP/1.1\r\nHost: api.x.example\r\nUpgrade: websocket\r\n\r\n",
		TLS(443, "api.x.example"), -1, 403, "upgrade"},
	{"GET / HTTP/1.1\r\nHost: api.x.example\r\nConnection: x, Upgrade\r\n\r\n",
		TLS(443, "api.x.example"), -1, 403, "upgrade"},
};

static void test_table(struct tap *t)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct http_head h;
		struct policy_verdict v;
		const char *why = "";
		if (http_parse(table[i].head, strlen(table[i].head), &h, &why) != 0) {
			ok(t, false, "policy %zu parses: %s", i, why);
			continue;
		}
		policy_judge(rows, N, &h, &table[i].where, &v);
		int row = v.row ? (int)(v.row - rows) : -1;
		bool good = row == table[i].row && v.status == table[i].status &&
			    (!table[i].reason || strcmp(v.reason, table[i].reason) == 0);
		if (!ok(t, good, "policy %zu: row %d, %d %s", i, table[i].row, table[i].status,
			    table[i].reason ? table[i].reason : "allowed"))
			printf("# got row %d, %d %s (%s)\n", row, v.status,
				v.reason ? v.reason : "", v.why ? v.why : "");
	}
}

static void test_hints(struct tap *t)
{
	struct http_head h;
	struct policy_verdict v;
	const char *why, *head = GET("new.example:8443");
	struct policy_where where = TLS(8443, "new.example");
	http_parse(head, strlen(head), &h, &why);
	policy_judge(rows, N, &h, &where, &v);
	is_text(t, v.hint,
		"evctl-host add new.example:8443 && evctl-expert attach EXPERT new.example:8443",
		"the hint is the command that would allow it");
	ok(t,
		policy_speaks(rows, N, 443, true) && policy_speaks(rows, N, 80, false) &&
			policy_speaks(rows, N, 8080, false),
		"what each port speaks");
	ok(t,
		!policy_speaks(rows, N, 443, false) && !policy_speaks(rows, N, 80, true) &&
			!policy_speaks(rows, N, 8080, true) && !policy_speaks(rows, N, 8443, false),
		"and what not");
}

int main(void)
{
	struct tap t = {0};
	test_table(&t);
	test_hints(&t);
	return tap_done(&t);
}

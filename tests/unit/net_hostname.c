/* Host names: what code sends, and what a person declares. */
#include "net/hostname.h"
#include "../lib/tap.h"

#include <stdlib.h>

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *in, *out; /* out NULL: refused */
} wire[] = {
	{"api.x.example", "api.x.example"},
	{"API.X.Example", "api.x.example"},
	{"api.x.example.", "api.x.example"},
	{"api.x.example..", NULL},
	{".x.example", NULL},
	{"a..b", NULL},
	{"", NULL},
	{".", NULL},
	{"localhost", "localhost"},
	{"a_b.example", "a_b.example"},
	{"-a.example", NULL},
	{"a-.example", NULL},
	{"r3---sn-x.example", "r3---sn-x.example"},
	{L63 ".example", L63 ".example"},
	{L63 "a.example", NULL},
	{L63 "." L63 "." L63 "." L63, NULL}, /* 255 */
	{L63 "." L63 "." L63 ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		L63 "." L63 "." L63
		    ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, /* 253 */
	{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
	{"xn--.example", NULL},
	{"xn--a.example", NULL},
	{"xn--bcher-kvb-.example", NULL},
	{"xn--example.example", NULL}, /* decodes to nothing that encodes back */
	{"b\xc3\xbc"
	 "cher.example",
		NULL},
	{"a\xe3\x80\x82"
	 "b.example",
		NULL},			/* ideographic full stop */
	{"\xe2\x91\xa0.example", NULL}, /* circled one */
	{"a%2fb", NULL},
	{"a/b", NULL},
	{"a\\b", NULL},
	{"a@b", NULL},
	{"a b", NULL},
	{"a:b", NULL},
	{"*.x.example", NULL},
	{"2130706433", NULL},
	{"0x7f000001", NULL},
	{"0X7F.1", NULL},
	{"0177.0.0.1", NULL},
	{"127.1", NULL},
	{"0", NULL},
	{"127.0.0.1", NULL},
	{"127.0.0.1.", NULL},
	{"1.2.3.4.5", NULL},
	{"x.0x", NULL},
	{"x.1", NULL},
	{"1.x", "1.x"},
	{"1x", "1x"},
	{"x.0xg", "x.0xg"},
	{"[::1]", NULL},
	{"::1", NULL},
	{"fe80::1%eth0", NULL},
	{"::ffff:127.0.0.1", NULL},
};

static void test_wire(struct tap *t)
{
	for (size_t i = 0; i < sizeof wire / sizeof wire[0]; i++) {
		char out[HOST_MAX];
		const char *why = NULL;
		int rc = host_normalise(wire[i].in, strlen(wire[i].in), out, &why);
		if (wire[i].out)
			is_text(t, rc == 0 ? out : why, wire[i].out, wire[i].in);
		else
			ok(t, rc < 0 && why && !out[0], "refused: '%s'", wire[i].in);
	}
	char out[HOST_MAX];
	const char *why = NULL;
	ok(t, host_normalise("a\0b.example", 11, out, &why) < 0, "refused: a NUL");
	ok(t, host_normalise("a.b\0", 3, out, &why) == 0, "only n bytes are looked at");
}

static const struct {
	const char *in, *out; /* out NULL: refused, why then says how */
	const char *why;
} declared[] = {
	{"x.example", "x.example", NULL},
	{"X.Example.", "x.example", NULL},
	{"x.example:443", "x.example", NULL},
	{"x.example:8443", "x.example:8443", NULL},
	{"x.example:80", "x.example:80", NULL},
	{"x.example:0", NULL, "port"},
	{"x.example:65536", NULL, "port"},
	{"x.example:+5", NULL, "port"},
	{"x.example:", NULL, "port"},
	{"x.example:08", NULL, "port"},
	{"*.x.example", "*.x.example", NULL},
	{"*.x.example:8443", "*.x.example:8443", NULL},
	{"*", NULL, "wildcard"},
	{"*:443", NULL, "wildcard"},
	{"*.com", NULL, "public suffix"},
	{"*.co.uk", NULL, "public suffix"},
	{"*.github.io", NULL, "public suffix"},
	{"*.example", NULL, "public suffix"},
	{"*.x.co.uk", "*.x.co.uk", NULL},
	{"a.*.x.example", NULL, "first label"},
	{"*a.x.example", NULL, "first label"},
	{"*.*.x.example", NULL, "first label"},
	{"https://x.example/", NULL, "scheme"},
	{"x.example/path", NULL, "path"},
	{"u@x.example", NULL, "user name"},
	{"x example", NULL, "white space"},
	{"127.0.0.1", NULL, "IP address"},
	{"[::1]:443", NULL, "IP address"},
	{"::1", NULL, "IP address"},
	{"2130706433", NULL, "IP address"},
	{"b\xc3\xbc"
	 "cher.example",
		"xn--bcher-kva.example", NULL},
	{"B\xc3\x9c"
	 "CHER.example",
		"xn--bcher-kva.example", NULL},
	{"fa\xc3\x9f.example", "xn--fa-hia.example", NULL}, /* not transitional: not "fass" */
	{"*.b\xc3\xbc"
	 "cher.example:81",
		"*.xn--bcher-kva.example:81", NULL},
	{"\xe2\x91\xa0", NULL, "IP address"}, /* a circled one is a one */
	{"a\xe3\x80\x82"
	 "b.example",
		"a.b.example", NULL},
	{"a\xff.example", NULL, "not a host"},
	{"", NULL, "empty"},
};

static void test_declared(struct tap *t)
{
	for (size_t i = 0; i < sizeof declared / sizeof declared[0]; i++) {
		HOST_AUTO h = {0};
		struct err e = {0};
		char out[HOST_TEXT_MAX] = "";
		int rc = host_parse(declared[i].in, &h, &e);
		if (declared[i].out) {
			if (rc == 0)
				host_text(&h, out);
			is_text(t, rc == 0 ? out : e.msg, declared[i].out, declared[i].in);
			continue;
		}
		bool good = rc < 0 && e.code == ERR_USAGE && strstr(e.msg, declared[i].why);
		ok(t, good, "refused with '%s': %s", declared[i].why, declared[i].in);
		if (!good)
			printf("# %s\n", e.msg);
	}
}

static void test_small(struct tap *t)
{
	struct err e = {0};
	ok(t, host_below("a.b.x", "x") && host_below("a.x", "x"), "below, at any depth");
	ok(t, !host_below("x", "x") && !host_below("ax", "x") && !host_below("x.y", "x"),
		"not below: itself, a longer label, a longer name");
	ok(t,
		host_check_connect_to("127.0.0.1:8443", &e) == 0 &&
			host_check_connect_to("[::1]:8443", &e) == 0,
		"addresses to connect to");
	const char *bad[] = {"127.0.0.1", ":1", "::1:1", "a b:1", "h:0", "h:99999", "[::1]",
		"[x]:1", "0x7f000001:1", "0X7F000001:1", "127.1:1", "0177.0.0.1:1", "2130706433:1",
		"0:1"};
	host_check_connect_to("127.1:80", &e);
	ok(t, strstr(e.msg, "127.0.0.1") && strstr(e.hint, "127.0.0.1:80"), "which address: %s",
		e.msg);
	ok(t, host_check_connect_to("127-1.example:1", &(struct err){0}) == 0, "a name");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		ok(t, host_check_connect_to(bad[i], &(struct err){0}) < 0, "no address: %s",
			bad[i]);
}

int main(void)
{
	struct tap t = {0};
	test_wire(&t);
	test_declared(&t);
	test_small(&t);
	return tap_done(&t);
}

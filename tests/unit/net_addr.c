/* The judgement of addresses, each kind with a neighbour that is judged otherwise. */
#include "net/addr.h"
#include "../lib/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define PUB ADDR_PUBLIC
#define PRI ADDR_PRIVATE
#define NEV ADDR_NEVER

static const struct {
	const char *ip;
	enum addr_kind kind;
} table[] = {
	{"1.1.1.1", PUB},
	{"93.184.216.34", PUB},
	{"223.255.255.255", PUB},
	{"0.0.0.0", PRI},
	{"0.255.0.1", PRI},
	{"1.0.0.0", PUB},
	{"10.0.0.1", PRI},
	{"9.255.255.255", PUB},
	{"11.0.0.0", PUB},
	{"100.64.0.1", PRI},
	{"100.127.255.255", PRI},
	{"100.63.255.255", PUB},
	{"100.128.0.0", PUB},
	{"127.0.0.1", PRI},
	{"127.255.255.255", PRI},
	{"128.0.0.0", PUB},
	{"169.254.0.1", PRI},
	{"169.253.255.255", PUB},
	{"169.255.0.0", PUB},
	{"169.254.169.254", NEV},
	{"169.254.170.2", NEV},
	{"169.254.171.1", PRI},
	{"100.100.100.200", NEV},
	{"100.100.100.201", PRI},
	{"168.63.129.16", NEV},
	{"168.63.129.17", PUB},
	{"192.0.0.192", NEV},
	{"192.0.0.8", PRI},
	{"172.16.0.1", PRI},
	{"172.31.255.255", PRI},
	{"172.15.255.255", PUB},
	{"172.32.0.0", PUB},
	{"192.0.2.1", PRI},
	{"192.0.3.1", PUB},
	{"192.88.99.1", PRI},
	{"192.168.0.1", PRI},
	{"192.167.255.255", PUB},
	{"192.169.0.0", PUB},
	{"198.18.0.1", PRI},
	{"198.19.255.255", PRI},
	{"198.17.255.255", PUB},
	{"198.20.0.0", PUB},
	{"198.51.100.1", PRI},
	{"203.0.113.1", PRI},
	{"224.0.0.1", NEV},
	{"239.255.255.255", NEV},
	{"240.0.0.1", PRI},
	{"255.255.255.255", NEV},
	{"2606:4700::1111", PUB},
	{"2a00:1450::1", PUB},
	{"::", PRI},
	{"::1", PRI},
	{"::2", PRI},
	{"fe80::1", PRI},
	{"fec0::1", PRI},
	{"fc00::1", PRI},
	{"fdff::1", PRI},
	{"ff02::1", NEV},
	{"100::1", PRI},
	{"2001:db8::1", PRI},
	{"3fff::1", PRI},
	{"2001:2::1", PRI},
	{"2001:10::1", PRI},
	{"2001:200::1", PUB},
	{"4000::1", PRI},
	{"fd00:ec2::254", NEV},
	{"fd20:ce::254", NEV},
	/* mapped, NAT64 and 6to4 are what they carry */
	{"::ffff:8.8.8.8", PUB},
	{"::ffff:127.0.0.1", PRI},
	{"::ffff:169.254.169.254", NEV},
	{"64:ff9b::8.8.8.8", PUB},
	{"64:ff9b::10.0.0.1", PRI},
	{"64:ff9b::169.254.169.254", NEV},
	{"2002:808:808::1", PUB},
	{"2002:7f00:1::1", PRI},
	{"2002:a9fe:a9fe::1", NEV},
	/* these are never better than private, and as bad as what they carry */
	{"64:ff9b:1::8.8.8.8", PRI},
	{"64:ff9b:1::169.254.169.254", NEV},
	{"::8.8.8.8", PRI},
	{"::169.254.169.254", NEV},
	{"::ffff:0:8.8.8.8", PRI},
	{"::ffff:0:169.254.169.254", NEV},
	{"2001:0:808:808::1", PRI},
	{"2001:0:a9fe:a9fe::1", NEV},
	{"2001:0:808:808:0:0:5601:5601", NEV}, /* Teredo's client is written inverted */
	{"2606:4700::5efe:8.8.8.8", PUB},
	{"2606:4700::5efe:10.0.0.1", PRI},
	{"2606:4700::200:5efe:169.254.169.254", NEV},
};

static enum addr_kind judge(const char *ip, const char **why)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		return addr_judge((struct sockaddr *)&in, sizeof in, why);
	inet_pton(AF_INET6, ip, &in6.sin6_addr);
	return addr_judge((struct sockaddr *)&in6, sizeof in6, why);
}

int main(void)
{
	struct tap t = {0};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const char *why = NULL;
		enum addr_kind got = judge(table[i].ip, &why);
		ok(&t, got == table[i].kind && !!why[0] == (got != ADDR_PUBLIC), "%s is %d (%s)",
			table[i].ip, table[i].kind, why);
	}
	struct sockaddr un = {.sa_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808)};
	ok(&t, addr_judge(&un, sizeof un, NULL) == ADDR_NEVER, "a unix socket is never fine");
	ok(&t, addr_judge((struct sockaddr *)&in, 4, NULL) == ADDR_NEVER, "nor a short address");
	ok(&t,
		addr_allowed(ADDR_PUBLIC, false) && addr_allowed(ADDR_PRIVATE, true) &&
			!addr_allowed(ADDR_PRIVATE, false) && !addr_allowed(ADDR_NEVER, true),
		"what a row may allow");
	ok(&t,
		addr_text_private("127.0.0.1:8443") && addr_text_private("[::1]:8443") &&
			addr_text_private("[fd00::1]:1") && addr_text_private("localhost:8443"),
		"private as written");
	ok(&t,
		!addr_text_private("8.8.8.8:443") && !addr_text_private("[2600::1]:443") &&
			!addr_text_private("169.254.169.254:80") &&
			!addr_text_private("x.example:1"),
		"public, never, or not known as written");
	return tap_done(&t);
}

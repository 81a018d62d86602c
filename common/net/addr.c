#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct net4 {
	uint32_t net;
	int bits;
	enum addr_kind kind;
	const char *why;
};

#define IP4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

/* First match wins: metadata services stand before the nets they live in. */
static const struct net4 nets4[] = {
	{IP4(169, 254, 169, 0), 24, ADDR_NEVER, "cloud metadata"},   /* AWS, Azure, GCP, OCI, DO */
	{IP4(169, 254, 170, 0), 24, ADDR_NEVER, "cloud metadata"},   /* ECS tasks, EKS pods */
	{IP4(169, 254, 42, 42), 32, ADDR_NEVER, "cloud metadata"},   /* Scaleway */
	{IP4(169, 254, 0, 23), 32, ADDR_NEVER, "cloud metadata"},    /* Tencent */
	{IP4(100, 100, 100, 200), 32, ADDR_NEVER, "cloud metadata"}, /* Alibaba */
	{IP4(192, 0, 0, 192), 32, ADDR_NEVER, "cloud metadata"},     /* OCI, old */
	{IP4(168, 63, 129, 16), 32, ADDR_NEVER, "cloud metadata"},   /* Azure's wire server */
	{IP4(0, 0, 0, 0), 8, ADDR_PRIVATE, "this host"},
	{IP4(10, 0, 0, 0), 8, ADDR_PRIVATE, "private"},
	{IP4(100, 64, 0, 0), 10, ADDR_PRIVATE, "carrier-grade NAT"},
	{IP4(127, 0, 0, 0), 8, ADDR_PRIVATE, "loopback"},
	{IP4(169, 254, 0, 0), 16, ADDR_PRIVATE, "link-local"},
	{IP4(172, 16, 0, 0), 12, ADDR_PRIVATE, "private"},
	{IP4(192, 0, 0, 0), 24, ADDR_PRIVATE, "reserved"},
	{IP4(192, 0, 2, 0), 24, ADDR_PRIVATE, "documentation"},
	{IP4(192, 88, 99, 0), 24, ADDR_PRIVATE, "6to4 relay"},
	{IP4(192, 168, 0, 0), 16, ADDR_PRIVATE, "private"},
	{IP4(198, 18, 0, 0), 15, ADDR_PRIVATE, "benchmarking"},
	{IP4(198, 51, 100, 0), 24, ADDR_PRIVATE, "documentation"},
	{IP4(203, 0, 113, 0), 24, ADDR_PRIVATE, "documentation"},
	{IP4(224, 0, 0, 0), 4, ADDR_NEVER, "multicast"},
	{IP4(255, 255, 255, 255), 32, ADDR_NEVER, "broadcast"},
	{IP4(240, 0, 0, 0), 4, ADDR_PRIVATE, "reserved"},
};

static enum addr_kind judge4(uint32_t ip, const char **why)
{
	for (size_t i = 0; i < sizeof nets4 / sizeof nets4[0]; i++) {
		uint32_t mask = nets4[i].bits ? ~(uint32_t)0 << (32 - nets4[i].bits) : 0;
		if ((ip & mask) == nets4[i].net) {
			*why = nets4[i].why;
			return nets4[i].kind;
		}
	}
	*why = "";
	return ADDR_PUBLIC;
}

struct net6 {
	uint8_t net[16];
	int bits;
	enum addr_kind kind;
	const char *why;
};

/* Again the first match wins. What is global at all is 2000::/3, and the last line says so. */
static const struct net6 nets6[] = {
	{{0xfd, 0x00, 0x0e, 0xc2}, 32, ADDR_NEVER, "cloud metadata"}, /* AWS */
	{{0xfd, 0x20, 0x00, 0xce}, 32, ADDR_NEVER, "cloud metadata"}, /* GCP */
	{{0xfd, 0x00, 0x00, 0x42}, 32, ADDR_NEVER, "cloud metadata"}, /* Scaleway */
	{{0xfd, 0x00, 0x00, 0xc1}, 32, ADDR_NEVER, "cloud metadata"}, /* OCI */
	{{0xff}, 8, ADDR_NEVER, "multicast"},
	{{0}, 127, ADDR_PRIVATE, "loopback"}, /* :: and ::1 */
	{{0xfc}, 7, ADDR_PRIVATE, "private"},
	{{0xfe, 0x80}, 10, ADDR_PRIVATE, "link-local"},
	{{0xfe, 0xc0}, 10, ADDR_PRIVATE, "site-local"},
	{{0x01, 0x00}, 64, ADDR_PRIVATE, "discard-only"},
	{{0x20, 0x01, 0x00, 0x00}, 32, ADDR_PRIVATE, "Teredo"},
	{{0x20, 0x01, 0x00, 0x00}, 23, ADDR_PRIVATE, "reserved"}, /* ORCHID, benchmarking, ... */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDR_PRIVATE, "documentation"},
	{{0x3f, 0xff}, 20, ADDR_PRIVATE, "documentation"},
	{{0x20, 0x00}, 3, ADDR_PUBLIC, ""},
};

static bool in_net6(const uint8_t *ip, const struct net6 *n)
{
	int whole = n->bits / 8, rest = n->bits % 8;
	if (memcmp(ip, n->net, (size_t)whole) != 0)
		return false;
	return !rest || ((ip[whole] ^ n->net[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

static enum addr_kind judge_plain6(const uint8_t *ip, const char **why)
{
	for (size_t i = 0; i < sizeof nets6 / sizeof nets6[0]; i++) {
		if (in_net6(ip, &nets6[i])) {
			*why = nets6[i].why;
			return nets6[i].kind;
		}
	}
	*why = "reserved";
	return ADDR_PRIVATE;
}

struct carrier {
	struct net6 prefix;
	int at;	      /* where the IPv4 address begins */
	uint8_t xor ; /* Teredo hides its client */
	bool wraps;   /* the address *is* the IPv4 one: only the carried address counts */
};

static const struct carrier carriers[] = {
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 0, ""}, 12, 0, true}, /* mapped */
	{{{0x00, 0x64, 0xff, 0x9b}, 96, 0, ""}, 12, 0, true},			/* NAT64 */
	{{{0x20, 0x02}, 16, 0, ""}, 2, 0, true},				/* 6to4 */
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 0, ""}, 12, 0, false},	/* SIIT */
	{{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, 0, ""}, 12, 0, false}, /* local NAT64 /96 */
	{{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, 0, ""}, 6, 0, false},  /* ... /48, nearly */
	{{{0x20, 0x01, 0x00, 0x00}, 32, 0, ""}, 4, 0, false},		   /* Teredo server */
	{{{0x20, 0x01, 0x00, 0x00}, 32, 0, ""}, 12, 0xff, false},	   /* Teredo client */
	{{{0}, 96, 0, ""}, 12, 0, false},				   /* v4-compatible */
};

static uint32_t carried4(const uint8_t *ip, const struct carrier *c)
{
	const uint8_t *p = ip + c->at;
	uint8_t x = c->xor ;
	return IP4(
		(uint8_t)(p[0] ^ x), (uint8_t)(p[1] ^ x), (uint8_t)(p[2] ^ x), (uint8_t)(p[3] ^ x));
}

static bool is_isatap(const uint8_t *ip)
{
	return (ip[8] & ~0x02) == 0 && ip[9] == 0 && ip[10] == 0x5e && ip[11] == 0xfe;
}

static void worsen(enum addr_kind *kind, const char **why, uint32_t ip4)
{
	const char *w;
	enum addr_kind k = judge4(ip4, &w);
	if (k > *kind) {
		*kind = k;
		*why = w;
	}
}

static enum addr_kind judge6(const uint8_t *ip, const char **why)
{
	static const struct carrier isatap = {.at = 12};
	enum addr_kind kind = judge_plain6(ip, why);
	for (size_t i = 0; i < sizeof carriers / sizeof carriers[0]; i++) {
		if (!in_net6(ip, &carriers[i].prefix))
			continue;
		if (carriers[i].wraps)
			return judge4(carried4(ip, &carriers[i]), why);
		worsen(&kind, why, carried4(ip, &carriers[i]));
	}
	if (is_isatap(ip))
		worsen(&kind, why, carried4(ip, &isatap));
	return kind;
}

enum addr_kind addr_judge(const struct sockaddr *sa, socklen_t len, const char **why)
{
	const char *unused;
	if (!why)
		why = &unused;
	if (sa->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof in);
		return judge4(ntohl(in.sin_addr.s_addr), why);
	}
	if (sa->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;
		memcpy(&in6, sa, sizeof in6);
		return judge6(in6.sin6_addr.s6_addr, why);
	}
	*why = "not an IP address";
	return ADDR_NEVER;
}

bool addr_text_private(const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	char host[INET6_ADDRSTRLEN];
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	size_t brackets = n > 2 && text[0] == '[' ? 1 : 0;
	if (n >= sizeof host)
		return false;
	snprintf(host, sizeof host, "%.*s", (int)(n - 2 * brackets), text + brackets);
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1)
		return addr_judge((struct sockaddr *)&in, sizeof in, NULL) == ADDR_PRIVATE;
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1)
		return addr_judge((struct sockaddr *)&in6, sizeof in6, NULL) == ADDR_PRIVATE;
	return strcasecmp(host, "localhost") == 0;
}

/*
 * libFuzzer: bytes as an address. What must hold: an address that carries another one is never
 * better than what it carries, and metadata is never anything else.
 */
#include "net/addr.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

static enum addr_kind judge4(const uint8_t *ip)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	memcpy(&in.sin_addr, ip, 4);
	return addr_judge((struct sockaddr *)&in, sizeof in, NULL);
}

static enum addr_kind judge6(const uint8_t *ip)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	const char *why = NULL;
	memcpy(&in6.sin6_addr, ip, 16);
	enum addr_kind kind = addr_judge((struct sockaddr *)&in6, sizeof in6, &why);
	must(why && (kind == ADDR_PUBLIC) == !why[0]);
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t ip[16] = {0};
	struct sockaddr_storage any = {0};
	memcpy(&any, data, n < sizeof any ? n : sizeof any);
	addr_judge((struct sockaddr *)&any, (socklen_t)(n < sizeof any ? n : sizeof any), NULL);
	if (n < 16)
		return 0;
	memcpy(ip, data, 16);
	enum addr_kind whole = judge6(ip), last = judge4(ip + 12);
	if (whole == ADDR_PUBLIC)
		must((ip[0] & 0xe0) == 0x20 || (ip[0] == 0 && (ip[1] == 0x64 || ip[10] == 0xff)));
	memcpy(ip, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	must(judge6(ip) == last);
	memcpy(ip, "\0\x64\xff\x9b\0\0\0\0\0\0\0", 12);
	must(judge6(ip) == last);
	memcpy(ip, "\x20\x02", 2);
	memcpy(ip + 2, ip + 12, 4);
	must(judge6(ip) >= last);
	memcpy(ip, "\x26\x06\x47\0\0\0\0\0\0\0\x5e\xfe", 12);
	must(judge6(ip) >= last);
	memcpy(ip, "\0\0\0\0\0\0\0\0\xff\xff\0", 12);
	must(judge6(ip) >= last && judge6(ip) >= ADDR_PRIVATE);
	return 0;
}

/*
 * The gate's pure judgements, for tests that hold them against other people's. A line in, a line
 * out: host HEX   what code sends        "ok NAME" or "no WHY" row HEX    what a person declares
 * "ok TEXT" or "no WHY" addr IP                           "public", "private" or "never"
 */
#include "net/addr.h"
#include "net/hostname.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t unhex(const char *hex, char *out, size_t size)
{
	size_t n = 0;
	for (unsigned v; n + 1 < size && sscanf(hex + 2 * n, "%2x", &v) == 1; n++)
		out[n] = (char)v;
	out[n] = '\0';
	return n;
}

static void host(const char *hex)
{
	char raw[2048], out[HOST_MAX];
	const char *why;
	size_t n = unhex(hex, raw, sizeof raw);
	int rc = host_normalise(raw, n, out, &why);
	printf("%s %s\n", rc == 0 ? "ok" : "no", rc == 0 ? out : why);
}

static void row(const char *hex)
{
	char raw[2048], out[HOST_TEXT_MAX];
	HOST_AUTO h = {0};
	struct err e = {0};
	unhex(hex, raw, sizeof raw);
	int rc = host_parse(raw, &h, &e);
	if (rc == 0)
		host_text(&h, out);
	printf("%s %s\n", rc == 0 ? "ok" : "no", rc == 0 ? out : "refused");
}

static void addr(const char *ip)
{
	static const char *const words[] = {"public", "private", "never"};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		puts(words[addr_judge((struct sockaddr *)&in, sizeof in, NULL)]);
	else if (inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1)
		puts(words[addr_judge((struct sockaddr *)&in6, sizeof in6, NULL)]);
	else
		puts("what");
}

int main(void)
{
	static char line[8192];
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "host ", 5) == 0)
			host(line + 5);
		else if (strncmp(line, "row ", 4) == 0)
			row(line + 4);
		else if (strncmp(line, "addr ", 5) == 0)
			addr(line + 5);
		else
			return 2;
	}
	return 0;
}

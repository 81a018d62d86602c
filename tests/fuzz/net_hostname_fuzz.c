/*
 * libFuzzer: bytes as a host name, as code sends it and as a person declares it. What must hold: an
 * accepted name is canonical, stays what it is when judged again, and is no address.
 */
#include "net/hostname.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void check_name(const char *name)
{
	char again[HOST_MAX];
	const char *why = NULL;
	struct in_addr in;
	size_t n = strlen(name);
	must(n > 0 && n < HOST_MAX && name[n - 1] != '.' && name[0] != '.');
	must(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n && !strstr(name, ".."));
	must(host_normalise(name, n, again, &why) == 0 && strcmp(again, name) == 0);
	must(inet_aton(name, &in) == 0);
	must(!host_below(name, name));
}

static void check_row(const char *text)
{
	HOST_AUTO h = {0}, again = {0};
	struct err e = {0};
	char out[HOST_TEXT_MAX], out2[HOST_TEXT_MAX];
	if (host_parse(text, &h, &e) < 0) {
		must(e.code == ERR_USAGE && e.msg[0]);
		return;
	}
	check_name(host_is_wildcard(&h) ? h.name + 2 : h.name);
	must(h.port != 0);
	host_text(&h, out);
	must(host_parse(out, &again, &e) == 0);
	host_text(&again, out2);
	must(strcmp(out, out2) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char out[HOST_MAX], *text = malloc(n + 1);
	const char *why = NULL;
	must(text != NULL);
	memcpy(text, data, n);
	text[n] = '\0';
	if (host_normalise(text, n, out, &why) == 0)
		check_name(out);
	else
		must(why && !out[0]);
	if (!memchr(data, 0, n))
		check_row(text);
	free(text);
	return 0;
}

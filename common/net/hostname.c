#include "net/hostname.h"

#include "base/file.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <idn2.h>
#include <libpsl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

/* "10", "0x7f", "0x": what inet_aton() and browsers read as the end of an IPv4 address. */
static bool label_is_number(const char *s, size_t n)
{
	bool hex = n >= 2 && s[0] == '0' && s[1] == 'x';
	for (size_t i = hex ? 2 : 0; i < n; i++)
		if (!(hex ? isxdigit((unsigned char)s[i]) : is_digit(s[i])))
			return false;
	return true;
}

/* An A-label must be what its own U-label encodes to; else two spellings would be one name. */
static bool label_is_valid_punycode(const char *s, size_t n)
{
	char label[64], *u = NULL, *a = NULL;
	memcpy(label, s, n);
	label[n] = '\0';
	bool ok = idn2_to_unicode_8z8z(label, &u, 0) == IDN2_OK && strcmp(u, label) != 0 &&
		  idn2_to_ascii_8z(u, &a, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) == IDN2_OK &&
		  strcmp(a, label) == 0;
	idn2_free(u);
	idn2_free(a);
	return ok;
}

static const char *label_fault(const char *s, size_t n)
{
	if (n == 0)
		return "a label is empty";
	if (n > 63)
		return "a label is over 63 bytes";
	if (s[0] == '-' || s[n - 1] == '-')
		return "a label begins or ends with '-'";
	for (size_t i = 0; i < n; i++)
		if (!is_label_char(s[i]))
			return "a character that host names do not have";
	if (n >= 4 && memcmp(s, "xn--", 4) == 0 && !label_is_valid_punycode(s, n))
		return "a label is not valid punycode";
	return NULL;
}

static const char *name_fault(const char *name)
{
	const char *last = name;
	for (const char *at = name;; at++) {
		size_t n = strcspn(at, ".");
		const char *why = label_fault(at, n);
		if (why)
			return why;
		last = at;
		at += n;
		if (!*at)
			break;
	}
	return label_is_number(last, strlen(last)) ? "an IP address is not a host name" : NULL;
}

static const char *byte_fault(char c)
{
	if ((unsigned char)c >= 0x80)
		return "a name on the wire must be ASCII";
	if (c == '[' || c == ':')
		return "an IP address is not a host name";
	/* NUL would end the string that later checks see. */
	return c ? NULL : "a character that host names do not have";
}

static const char *copy_lower(const char *s, size_t n, char out[HOST_MAX])
{
	if (n && s[n - 1] == '.')
		n--;
	if (n == 0)
		return "the name is empty";
	if (n >= HOST_MAX)
		return "the name is over 253 bytes";
	for (size_t i = 0; i < n; i++) {
		const char *why = byte_fault(s[i]);
		if (why)
			return why;
		out[i] = lower(s[i]);
	}
	out[n] = '\0';
	return name_fault(out);
}

int host_normalise(const char *s, size_t n, char out[HOST_MAX], const char **why)
{
	*why = copy_lower(s, n, out);
	if (!*why)
		return 0;
	out[0] = '\0';
	return -1;
}

bool host_below(const char *name, const char *base)
{
	size_t n = strlen(name), b = strlen(base);
	return n > b + 1 && name[n - b - 1] == '.' && strcmp(name + n - b, base) == 0;
}

static int parse_port(const char *s, uint16_t *port)
{
	unsigned v = 0;
	if (!*s || *s == '0')
		return -1;
	for (; *s; s++) {
		if (!is_digit(*s))
			return -1;
		v = v * 10 + (unsigned)(*s - '0');
		if (v > 65535)
			return -1;
	}
	*port = (uint16_t)v;
	return 0;
}

static int bad(struct err *e, const char *text, const char *why)
{
	return err_set(e, ERR_USAGE, "'%.300s' is not a host: %s", text, why);
}

/* What people paste, told apart so that the message says what to change. */
static int refuse_shape(const char *text, struct err *e)
{
	if (strstr(text, "://")) {
		bad(e, text, "a scheme does not belong in it");
		const char *at = strstr(text, "://") + 3;
		return err_hint(e, "name the host only: %.*s", (int)strcspn(at, "/?#"), at);
	}
	if (strchr(text, '/'))
		return bad(e, text, "a path does not belong in it");
	if (strchr(text, '@'))
		return bad(e, text, "a user name does not belong in it");
	if (*text == '[')
		return bad(e, text, "an IP address is not a host name");
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return bad(e, text, "white space or a control character is in it");
	return 0;
}

static int to_ascii(const char *text, const char *name, char **out, struct err *e)
{
	bool ascii = true;
	for (const char *s = name; *s; s++)
		ascii = ascii && (unsigned char)*s < 0x80;
	if (ascii) {
		*out = strdup(name);
		return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
	}
	char *ace = NULL;
	int rc = idn2_to_ascii_8z(name, &ace, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (rc != IDN2_OK)
		return bad(e, text, idn2_strerror(rc));
	*out = strdup(ace);
	idn2_free(ace);
	return *out ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

/* Anyone may register a name below a public suffix, so a wildcard over one is no bound at all. */
static int refuse_public_suffix(const char *text, const char *name, struct err *e)
{
	psl_ctx_t *psl = psl_latest(NULL);
	if (!psl)
		return err_set(e, ERR_FAIL, "the public suffix list is missing");
	bool is = psl_is_public_suffix(psl, name);
	psl_free(psl);
	if (!is)
		return 0;
	bad(e, text, "a wildcard over a public suffix would cover anyone's names");
	return err_hint(e, "name the host, or a wildcard one label deeper: *.NAME.%s", name);
}

int host_parse(const char *text, struct host *h, struct err *e)
{
	*h = (struct host){.port = 443};
	STR_AUTO copy = strdup(text);
	STR_AUTO ascii = NULL;
	char base[HOST_MAX], *out;
	const char *why = NULL;
	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory");
	if (refuse_shape(text, e) < 0)
		return -1;
	if (strcmp(text, "*") == 0 || strncmp(text, "*:", 2) == 0)
		return bad(e, text, "a wildcard needs a name below it, as in *.api.example.com");
	char *name = copy, *colon = strchr(copy, ':');
	if (colon && strchr(colon + 1, ':'))
		return bad(e, text, "an IP address is not a host name");
	if (colon) {
		*colon = '\0';
		if (parse_port(colon + 1, &h->port) < 0)
			return bad(e, text, "the port is not a number from 1 to 65535");
	}
	bool wildcard = strncmp(name, "*.", 2) == 0;
	name += wildcard ? 2 : 0;
	if (strchr(name, '*'))
		return bad(e, text, "'*' may only be the whole first label");
	if (to_ascii(text, name, &ascii, e) < 0)
		return -1;
	if (host_normalise(ascii, strlen(ascii), base, &why) < 0)
		return bad(e, text, why);
	if (wildcard && refuse_public_suffix(text, base, e) < 0)
		return -1;
	if (asprintf(&out, "%s%s", wildcard ? "*." : "", base) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	h->name = out;
	return 0;
}

/* "0x7f000001" and "127.1" are addresses to the system, and names to whoever reads them. */
static int refuse_odd_address(const char *text, size_t n, struct err *e)
{
	char name[HOST_MAX], plain[INET_ADDRSTRLEN];
	struct in_addr in;
	snprintf(name, sizeof name, "%.*s", (int)n, text);
	if (inet_pton(AF_INET, name, &in) == 1 || !inet_aton(name, &in))
		return 0;
	inet_ntop(AF_INET, &in, plain, sizeof plain);
	err_set(e, ERR_USAGE, "'%.300s' is another way to write the address %s", text, plain);
	return err_hint(e, "as in %s%s", plain, text + n);
}

int host_check_connect_to(const char *text, struct err *e)
{
	const char *colon = strrchr(text, ':');
	uint16_t port;
	size_t n = colon ? (size_t)(colon - text) : 0;
	bool v6 = n > 2 && text[0] == '[' && text[n - 1] == ']';
	size_t ok = v6 ? strspn(text + 1, "0123456789abcdefABCDEF:.") + 2
		       : strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_");
	if (!n || n >= HOST_MAX || ok != n || parse_port(colon + 1, &port) < 0) {
		err_set(e, ERR_USAGE, "'%.300s' is not ADDR:PORT", text);
		return err_hint(e, "as in 127.0.0.1:8443 or [::1]:8443");
	}
	return v6 ? 0 : refuse_odd_address(text, n, e);
}

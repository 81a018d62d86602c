/*
 * Names of hosts. Pure: no look-ups, no clock. One canonical form everywhere: lower case, ASCII
 * (IDN as punycode), no trailing dot, labels of 1 to 63 of [a-z0-9_-], 253 bytes at most, the last
 * label not a number, so that no spelling of an IP literal is ever a name.
 *
 * Two doors: host_parse_row() is for what a person declares (U-labels are converted, by libidn2 in
 * its non-transitional UTS 46 mode, and wildcards over a public suffix are refused, by libpsl);
 * host_normalise() is for what code sends (ASCII only, "xn--" only where it is valid punycode).
 */
#ifndef EVCTL_NET_HOSTNAME_H
#define EVCTL_NET_HOSTNAME_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MAX 254		     /* a canonical name and its NUL */
#define HOST_TEXT_MAX (HOST_MAX + 9) /* "*.", the name, ":65535" and its NUL */

struct host_row {
	char name[HOST_MAX]; /* without "*." */
	uint16_t port;	     /* 443 when is_default */
	bool wildcard;	     /* any depth below name, never name itself */
	bool is_default;     /* no port was given, or 443 */
};

/* NAME[:PORT] or *.NAME[:PORT]; ERR_USAGE with the reason and, where there is one, a hint. */
int host_parse_row(const char *text, struct host_row *row, struct err *e);
/* The canonical text: "x", "x:8443", "*.x:8443". */
void host_row_text(const struct host_row *row, char out[HOST_TEXT_MAX]);
/* The name with its "*." and no port: what gate_row.host and "attached hosts" lists say. */
void host_row_name(const struct host_row *row, char out[HOST_TEXT_MAX]);

/*
 * A name as it came over the wire (n bytes, no port, NULs are just bad bytes) into its canonical
 * form. 0, or -1 with *why a static phrase.
 */
int host_normalise(const char *s, size_t n, char out[HOST_MAX], const char **why);
/* name is below base: "a.b.x" of "x"; false for "x" itself. Both canonical. */
bool host_below(const char *name, const char *base);

/* "ADDR:PORT", "[V6]:PORT" or "NAME:PORT" as --connect-to takes it; ERR_USAGE with the reason. */
int host_check_connect_to(const char *text, struct err *e);

#endif

/*
 * Names of hosts. Pure: no look-ups, no clock. One canonical form everywhere: lower case, ASCII
 * (IDN as punycode), no trailing dot, labels of 1 to 63 of [a-z0-9_-], 253 bytes at most, the last
 * label not a number, so that no spelling of an IP literal is ever a name.
 *
 * Two doors: host_parse() is for what a person declares (U-labels are converted, by libidn2 in
 * its non-transitional UTS 46 mode, and wildcards over a public suffix are refused, by libpsl);
 * host_normalise() is for what code sends (ASCII only, "xn--" only where it is valid punycode).
 */
#ifndef EVCTL_NET_HOSTNAME_H
#define EVCTL_NET_HOSTNAME_H

#include "net/host.h"

#include <stddef.h>

/*
 * NAME[:PORT] or *.NAME[:PORT] into the name and port of h, whose flags and route are none;
 * host_free() frees it. ERR_USAGE with the reason and, where there is one, a hint.
 */
int host_parse(const char *text, struct host *h, struct err *e);

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

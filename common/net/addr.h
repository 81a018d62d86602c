/*
 * What kind of address is it? Pure. Judged on the very address that is about to be connected to,
 * so that a name that changes its mind between look-up and connect gains nothing.
 *
 * Addresses that carry an IPv4 one (mapped, NAT64, 6to4, Teredo, SIIT, ISATAP) are as bad as the
 * worst of what they carry.
 */
#ifndef EVCTL_NET_ADDR_H
#define EVCTL_NET_ADDR_H

#include <stdbool.h>
#include <sys/socket.h>

enum addr_kind {
	ADDR_PUBLIC,
	ADDR_PRIVATE, /* only for a row that says so: not reachable for everybody, or not routable
		       */
	ADDR_NEVER,   /* cloud metadata, multicast, no IP address: whatever a row says */
};

/* *why, if given, becomes a static phrase ("loopback", "cloud metadata", ...); "" when public. */
enum addr_kind addr_judge(const struct sockaddr *sa, socklen_t len, const char **why);

/* "ADDR:PORT", "[V6]:PORT": is it private as written? Of names only "localhost" is known. */
bool addr_text_private(const char *text);

static inline bool addr_allowed(enum addr_kind kind, bool allow_private)
{
	return kind == ADDR_PUBLIC || (kind == ADDR_PRIVATE && allow_private);
}

#endif

/*
 * How many bad tokens came from an address in the last minute, in a table of fixed size: what has
 * no room takes the place of what is older.
 */
#ifndef EVCTL_FRONT_BAD_TOKENS_H
#define EVCTL_FRONT_BAD_TOKENS_H

#include <stdbool.h>
#include <sys/socket.h>

#define BAD_TOKENS_MOST 10 /* a minute */

/* Who connects: by the connection, or by the word of a proxy that is trusted. */
struct client {
	char text[64];	  /* the address, "" where it is not known: a Unix socket */
	char network[64]; /* what counts as one client: of IPv6 the first 64 bits */
};
/* The address as text, without the port, IPv4 in IPv6 as IPv4. */
void client_of(const struct sockaddr *sa, socklen_t len, struct client *c);
/* The same of a text; -1: it is no address. */
int client_parse(const char *text, struct client *c);

struct bad_tokens;
struct bad_tokens *bad_tokens_new(void);
/* One more came. True: there were too many before it. Who isn't known is not counted. */
bool bad_tokens_add(struct bad_tokens *t, const struct client *c);

#endif

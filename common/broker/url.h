/*
 * A caller's URL, taken apart strictly. Pure. Anything that two parsers might read in two ways is
 * refused: user information, backslashes, paths that begin with "//", unescaped bytes.
 */
#ifndef EVCTL_BROKER_URL_H
#define EVCTL_BROKER_URL_H

#include "base/err.h"
#include "net/hostname.h"

#include <stdbool.h>
#include <stdint.h>

#define BROKER_URL_MAX 8192

struct broker_url {
	bool https;
	char host[HOST_MAX];	  /* canonical; "" when it is no name (an IP address, say) */
	uint16_t port;		  /* 443 unless given */
	char text[HOST_TEXT_MAX]; /* "x" or "x:8443", as connections list it; else as it was given
				   */
	char *target;		  /* path and query, "/" at least; owned */
};
#define BROKER_URL_AUTO __attribute__((cleanup(broker_url_free))) struct broker_url
void broker_url_free(struct broker_url *u);

/* Fills a zeroed url. ERR_USAGE where it is malformed; a fragment is dropped. */
int broker_url_parse(const char *url, struct broker_url *u, struct err *e);

#endif

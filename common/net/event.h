/* What is kept of one request that code or a connection made: by the gate, the broker, the state.
 */
#ifndef EVCTL_NET_EVENT_H
#define EVCTL_NET_EVENT_H

#include <stdint.h>

/* The strings are never NULL; no query, no header, no key. */
struct net_event {
	int64_t at; /* ms since the epoch, when the head had come in */
	const char *method, *host, *path;
	uint16_t port;
	int status;	   /* what the code saw; 0 when the transfer broke before a status */
	uint64_t up, down; /* body bytes: request, response (decoded) */
	int64_t ms;
	const char *verdict; /* "allowed", or the X-Evctl-Gate reason */
};

#endif

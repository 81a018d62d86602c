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
	/*
	 * Over LIMIT_EVENTS: for how many requests this stands, of one method, host, port and
	 * verdict, whose paths have this shape ("*" for what looks like an id). Numbers are sums
	 * then, at is the first's, and status 0. Else 0.
	 */
	uint64_t counted;
};

#endif

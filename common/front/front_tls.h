/*
 * TLS with a key that is elsewhere: the monitor signs each handshake.
 */
#ifndef EVCTL_FRONT_FRONT_TLS_H
#define EVCTL_FRONT_FRONT_TLS_H

#include "front/front_link.h"
#include "net/http_conn.h"

struct front_tls;
struct front_tls *front_tls_new(struct front_link *link, struct err *e);
/* A door_chain: the certificate for handshakes from now on. */
int front_tls_take(struct front_tls *t, const struct buf *message, struct err *e);
const struct http_tls *front_tls_shared(const struct front_tls *t);

#endif

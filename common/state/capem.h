/*
 * Certificate files that people give for a host or a connection. Their bytes are stored in the
 * clear, so anything but certificates, a private key above all, is refused when given, not when
 * used.
 */
#ifndef EVCTL_STATE_CAPEM_H
#define EVCTL_STATE_CAPEM_H

#include "base/buf.h"
#include "base/err.h"

/* Reads a PEM file of certificates, at most 1 MiB, into the zeroed pem. ERR_USAGE if it is none. */
int capem_read(const char *path, struct buf *pem, struct err *e);
/* The same judgement of bytes in hand; `what` names them in the message. */
int capem_check(const char *what, const struct buf *pem, struct err *e);

#endif

/* The door's certificate, and its key: what the front has none of. */
#ifndef EVCTL_MONITOR_CERTIFICATE_H
#define EVCTL_MONITOR_CERTIFICATE_H

#include "door/door_message.h"

struct certificate;

/* Reads both PEM files and holds them against each other. ERR_USAGE where they are not fit. */
struct certificate *certificate_load(const char *cert, const char *key, struct err *e);
void certificate_free(struct certificate **c);
/* The chain for the front, borrowed. */
const struct door_chain *certificate_chain(const struct certificate *c);
/*
 * Signs what a handshake has to be signed over, or a hash of it: appends to out. -1 where it is
 * none that this key signs.
 */
int certificate_sign(const struct certificate *c, int64_t algorithm, bool hashed, const void *p,
	size_t n, struct buf *out);

#endif

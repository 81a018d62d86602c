/* Where the door listens. */
#ifndef EVCTL_MONITOR_LISTEN_H
#define EVCTL_MONITOR_LISTEN_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A listening socket that does not block: "ADDR:PORT", "[V6]:PORT", "unix:PATH" (0660), or "fd",
 * the one that systemd hands over. at says where, for people; *local: only this machine reaches it.
 * ERR_USAGE, or ERR_CONFLICT where somebody listens there.
 */
int listen_open(const char *where, char *at, size_t n, bool *local, struct err *e);
/* "https://NAME[:PORT]" with nothing behind; NULL is fine. */
int listen_check_url(const char *url, struct err *e);
/* Each an address, in the form that addresses are compared in. */
int listen_check_addresses(const struct strv *addresses, struct err *e);

#endif

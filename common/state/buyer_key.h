/* The keys that a buyer has brought for an expert, of credentials and of connections. */
#ifndef EVCTL_STATE_BUYER_KEY_H
#define EVCTL_STATE_BUYER_KEY_H

#include "state/expert.h"

/* What a buyer should know before bringing one. */
#define BUYER_KEY_WARNING                                                                       \
	"It is kept sealed, is given to this expert's code when you call it, and can be taken " \
	"back at any time. Bring one made for this, with no more rights than it needs."

enum buyer_key_kind { BUYER_KEY_CREDENTIAL, BUYER_KEY_CONNECTION };

/*
 * [{kind ("credential" or "connection"), key, hint, widened}]. widened: the version goes to hosts
 * that the buyer has not agreed to, and does not get the key.
 */
json_t *buyer_keys(struct state *st, const struct expert_view *x, const char *buyer, struct err *e);
/* Brings one. ERR_NOTFOUND: there is no such key, or it is not the buyer's to bring. */
int buyer_key_bring(struct state *st, enum buyer_key_kind kind, const char *key, const char *expert,
	const char *buyer, const struct secret *value, struct err *e);
int buyer_key_withdraw(struct state *st, enum buyer_key_kind kind, const char *key,
	const char *expert, const char *buyer, struct err *e);
/* Agrees to the hosts that it goes to now, the value staying what it is. */
int buyer_key_agree(struct state *st, enum buyer_key_kind kind, const char *key, const char *expert,
	const char *buyer, struct err *e);

#endif

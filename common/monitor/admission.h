/* Who may use what at the door, by whatever kind of token. */
#ifndef EVCTL_MONITOR_ADMISSION_H
#define EVCTL_MONITOR_ADMISSION_H

#include "state/state.h"

/* The id of an authorization server's token begins with it, and none of ours does. */
#define ADMISSION_FOREIGN 'o'

/* only: the experts that this door offers; NULL or none: all. */
bool admission_offers(const struct strv *only, const char *expert);
/*
 * May the buyer, by the token of that id, use the expert now? 1 (*version is the published one), 0,
 * -1. What is not granted and what there is not take the same way.
 */
int admission_may(struct state *st, const struct strv *only, const char *token, const char *buyer,
	const char *expert, int *version, struct err *e);
/* Is it still good, as far as the state knows? Of an authorization server's only the buyer is. 1,
 * 0, -1. */
int admission_lives(struct state *st, const char *token, const char *buyer, struct err *e);

#endif

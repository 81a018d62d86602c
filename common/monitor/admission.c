#include "monitor/admission.h"

#include "state/buyer.h"
#include "state/buyer_token.h"

bool admission_offers(const struct strv *only, const char *expert)
{
	return !only || !only->n || strv_has(only, expert);
}

int admission_may(struct state *st, const struct strv *only, const char *token, const char *buyer,
	const char *expert, int *version, struct err *e)
{
	int may = buyer_may(st, buyer, expert, version, e);
	int covers = token[0] == ADMISSION_FOREIGN ? 1 : token_covers(st, token, expert, e);
	if (may < 0 || covers < 0)
		return -1;
	return may && covers && admission_offers(only, expert);
}

int admission_lives(struct state *st, const char *token, const char *buyer, struct err *e)
{
	return token[0] == ADMISSION_FOREIGN ? buyer_known(st, buyer, e)
					     : token_lives(st, token, e);
}

/*
 * The keys of one call: the credentials bound to the expert's attached hosts, each with the value
 * that its payer gives. First a plan, which needs no private key and says what is missing; then,
 * once nothing forks any more, the values, in locked memory.
 *
 * A value of another buyer, and the builder's stored value where the buyer pays, are never used.
 */
#ifndef EVCTL_RUN_KEYS_H
#define EVCTL_RUN_KEYS_H

#include "base/call_key.h"
#include "state/expert.h"

#include <jansson.h>

struct key_want {
	int64_t credential;
	char name[65];
	bool buyer_pays, sealed;
	bool there; /* a value can be given */
};

struct key_plan {
	struct key_want *v; /* by name, each once */
	size_t n;
	char *buyer; /* whose values the buyer-paid ones are: a buyer, or "builder" */
	bool scoped; /* the buyer's agreement to the hosts counts */
	int64_t expert;
	int version;
};
#define KEY_PLAN_AUTO __attribute__((cleanup(key_plan_free))) struct key_plan

/* buyer NULL: the builder. A draft uses the builder's supplied values, whoever runs it. */
int key_plan_make(struct state *st, const struct expert_view *v, const char *buyer,
	struct key_plan *plan, struct err *e);
void key_plan_free(struct key_plan *plan);
const struct key_want *key_plan_find(const struct key_plan *plan, const char *name);
/* Whether opening it needs the private key: some value is there. */
bool key_plan_any(const struct key_plan *plan);

/*
 * Buyers whose supplied keys that version may not use until they supply them again, as it reaches
 * more than they agreed to: an array of {"buyer", "key"}, by buyer and key, owned by the caller.
 */
json_t *key_supply_again(struct state *st, int64_t expert, int version, struct err *e);

/* Of a call_keys made here: names and values are its own. */
#define CALL_KEYS_AUTO __attribute__((cleanup(call_keys_free))) struct call_keys

/* Needs state_unlock(). A value that went away since the plan is simply not there. */
int call_keys_open(
	struct state *st, const struct key_plan *plan, struct call_keys *k, struct err *e);
/* Copies one, without its stand-in, into v, which has room for it. */
int call_keys_add(struct call_keys *k, const struct call_key *key, struct err *e);
void call_keys_free(struct call_keys *k);
const struct call_key *call_keys_find(const struct call_keys *k, const char *name);

#endif

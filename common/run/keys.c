#include "run/keys.h"
#include "gate/swap.h"
#include "state/cred.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILDER "builder" /* the reserved buyer whose values are the builder's own */

/* ---- did the buyer agree to where the key goes now? ---------------------------------------- */

/* The next word of cred_scope()'s text; "connect-to ADDR" is one word. "" at the end. */
static const char *next_word(const char *s, size_t *n)
{
	s += strspn(s, " ");
	*n = strcspn(s, " ");
	if (*n == 10 && memcmp(s, "connect-to", 10) == 0 && s[10])
		*n += 1 + strcspn(s + 11, " ");
	return s;
}

static bool has_word(const char *text, const char *word, size_t n)
{
	size_t len;
	for (const char *s = next_word(text, &len); len; s = next_word(s + len, &len))
		if (len == n && memcmp(s, word, n) == 0)
			return true;
	return false;
}

/* Where a flag sends the key elsewhere, dropping it is a change like adding it. */
static bool sends_elsewhere(const char *word, size_t n)
{
	return (n == 2 && memcmp(word, "ca", 2) == 0) ||
	       (n > 10 && memcmp(word, "connect-to", 10) == 0);
}

static bool covers(const char *agreed, const char *now)
{
	size_t na, nn;
	const char *a = next_word(agreed, &na), *b = next_word(now, &nn);
	if (na != nn || memcmp(a, b, na) != 0)
		return false;
	for (b = next_word(b + nn, &nn); nn; b = next_word(b + nn, &nn))
		if (!has_word(agreed + na, b, nn))
			return false;
	for (a = next_word(a + na, &na); na; a = next_word(a + na, &na))
		if (sends_elsewhere(a, na) && !has_word(now, a, na))
			return false;
	return true;
}

static bool all_covered(const json_t *agreed, const json_t *now)
{
	size_t i, k;
	const json_t *want, *have;
	json_array_foreach (now, i, want) {
		bool found = false;
		json_array_foreach (agreed, k, have)
			found |= json_is_string(have) &&
				 covers(json_string_value(have), json_string_value(want));
		if (!found)
			return false;
	}
	return true;
}

static int agreed(struct state *st, const struct key_plan *plan, int64_t credential,
	const json_t *then, bool *yes, struct err *e)
{
	JSON_AUTO now = cred_scope(st, credential, plan->expert, plan->version, e);
	if (!now)
		return -1;
	*yes = json_is_array(then) && all_covered(then, now);
	return 0;
}

/* ---- the plan ------------------------------------------------------------------------------ */

void key_plan_free(struct key_plan *plan)
{
	free(plan->v);
	free(plan->buyer);
	*plan = (struct key_plan){0};
}

const struct key_want *key_plan_find(const struct key_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->v[i].name, name) == 0)
			return &plan->v[i];
	return NULL;
}

bool key_plan_any(const struct key_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->v[i].there)
			return true;
	return false;
}

static int buyer_has(struct state *st, const struct key_plan *plan, int64_t credential, bool *there,
	struct err *e)
{
	JSON_AUTO scope = NULL;
	int r = cred_agreed(st, credential, plan->expert, plan->buyer, &scope, e);
	*there = r > 0;
	if (r <= 0 || !plan->scoped)
		return r < 0 ? -1 : 0;
	return agreed(st, plan, credential, scope, there, e);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct key_want *)a)->name, ((const struct key_want *)b)->name);
}

static int plan_one(
	struct state *st, struct key_plan *plan, const struct bound_host *h, struct err *e)
{
	struct key_want *w = &plan->v[plan->n];
	if (!h->credential_name || key_plan_find(plan, h->credential_name))
		return 0;
	*w = (struct key_want){.credential = h->credential,
		.buyer_pays = h->buyer_pays,
		.sealed = h->sealed,
		.there = !h->buyer_pays && h->has_value};
	snprintf(w->name, sizeof w->name, "%s", h->credential_name);
	plan->n++;
	return h->buyer_pays ? buyer_has(st, plan, h->credential, &w->there, e) : 0;
}

int key_plan_make(struct state *st, const struct expert_view *v, const char *buyer,
	struct key_plan *plan, struct err *e)
{
	*plan = (struct key_plan){.expert = v->id, .version = v->version};
	bool own = v->version == EXPERT_DRAFT || !buyer || strcmp(buyer, BUILDER) == 0;
	plan->scoped = !own;
	plan->buyer = strdup(own ? BUILDER : buyer);
	plan->v = calloc(v->nhosts + 1, sizeof *plan->v);
	int r = plan->v && plan->buyer ? 0 : err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; r == 0 && i < v->nhosts; i++)
		r = plan_one(st, plan, &v->hosts[i], e);
	if (r == 0)
		qsort(plan->v, plan->n, sizeof *plan->v, by_name);
	else
		key_plan_free(plan);
	return r;
}

json_t *key_supply_again(struct state *st, int64_t expert, int version, struct err *e)
{
	const struct key_plan plan = {.expert = expert, .version = version};
	JSON_AUTO supplied = cred_supplied(st, expert, e);
	JSON_AUTO out = json_array();
	size_t i;
	json_t *s;
	if (!supplied)
		return NULL;
	json_array_foreach (supplied, i, s) {
		const char *buyer = json_text_of(s, "buyer");
		bool yes = strcmp(buyer, BUILDER) == 0;
		if (!yes && agreed(st, &plan, json_int_of(s, "credential"),
				    json_object_get(s, "scope"), &yes, e) < 0)
			return NULL;
		if (!yes)
			json_array_append_new(out, json_pack("{s:s,s:s}", "buyer", buyer, "key",
							   json_text_of(s, "key")));
	}
	return json_incref(out);
}

/* ---- the values ---------------------------------------------------------------------------- */

void call_keys_free(struct call_keys *k)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct call_key *key = &k->v[i];
		secret_free(&(struct secret){(char *)key->value, key->len});
		secret_free(&(struct secret){(char *)key->standin, key->len});
		free((char *)key->name);
	}
	free(k->v);
	*k = (struct call_keys){0};
}

/* Takes the value. */
static int add_key(
	struct call_keys *k, const char *name, struct secret *value, bool guard, struct err *e)
{
	struct call_key *new = &k->v[k->n];
	*new = (struct call_key){strdup(name), value->data, value->n, NULL, guard};
	*value = (struct secret){0};
	k->n++;
	return new->name ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

int call_keys_add(struct call_keys *k, const struct call_key *key, struct err *e)
{
	struct secret value = {0};
	if (secret_set(&value, key->value, key->len, e) < 0)
		return -1;
	return add_key(k, key->name, &value, key->guard, e);
}

const struct call_key *call_keys_find(const struct call_keys *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->v[i].name, name) == 0)
			return &k->v[i];
	return NULL;
}

static int make_standin(struct call_key *k, struct err *e)
{
	struct secret standin = {0};
	if (secret_alloc(&standin, k->len, e) < 0)
		return -1;
	k->standin = standin.data;
	if (swap_standin(k->value, k->len, standin.data, e) == 0)
		return 0;
	return err_wrap(e, "credential '%s' cannot be sealed", k->name);
}

static int open_one(struct state *st, const struct key_plan *plan, const struct key_want *w,
	struct call_keys *k, struct err *e)
{
	SECRET_AUTO value = {0};
	struct cred c = {.id = w->credential, .buyer_pays = w->buyer_pays};
	snprintf(c.name, sizeof c.name, "%s", w->name);
	int r = cred_open(st, &c, plan->expert, plan->buyer, &value, e);
	if (r <= 0)
		return r;
	if (add_key(k, w->name, &value, value.n >= CRED_SHORT, e) < 0)
		return -1;
	return w->sealed ? make_standin(&k->v[k->n - 1], e) : 0;
}

int call_keys_open(
	struct state *st, const struct key_plan *plan, struct call_keys *k, struct err *e)
{
	*k = (struct call_keys){.v = calloc(plan->n + 1, sizeof *k->v)};
	int r = k->v ? 0 : err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; r == 0 && i < plan->n; i++)
		if (plan->v[i].there)
			r = open_one(st, plan, &plan->v[i], k, e);
	if (r < 0)
		call_keys_free(k);
	return r;
}

#include "verify/check.h"

#include "state/cred_day.h"
#include "state/cred.h"
#include "verify/notes.h"

#include <stdlib.h>
#include <string.h>

struct keys {
	struct verify_key *v;
	size_t n;
};

static void keys_free(struct keys *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->v[i].name);
		free(k->v[i].host);
	}
	free(k->v);
}

static int look_up(struct state *st, const char *name, struct verify_key *k, struct err *e)
{
	*k = (struct verify_key){.name = strdup(name)};
	if (!k->name)
		return err_set(e, ERR_FAIL, "out of memory");
	return cred_behind(st, name, &k->exists, &k->has_value, &k->host, e);
}

static int load_keys(struct state *st, const json_t *findings, struct keys *k, struct err *e)
{
	STRV_AUTO names = {0};
	if (!st)
		return 0;
	verify_key_names(findings, &names);
	k->v = calloc(names.n + 1, sizeof *k->v);
	if (!k->v || names.failed)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < names.n; i++)
		if (look_up(st, names.v[i], &k->v[k->n++], e) < 0)
			return -1;
	return 0;
}

json_t *verify_view(struct state *st, struct expert_view *v, bool registered, struct err *e)
{
	__attribute__((cleanup(keys_free))) struct keys keys = {0};
	if (verify_find(v, e) < 0 || load_keys(st, v->reads, &keys, e) < 0)
		return NULL;
	struct verify_input in = {.expert = v->name,
		.registered = registered,
		.findings = v->reads,
		.hosts = v->hosts,
		.nhosts = v->nhosts,
		.keys = keys.v,
		.nkeys = keys.n,
		.forced = v->forced};
	json_t *verdict = verify_judge(&in);
	if (!verdict) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < v->nhosts; i++)
		if (v->hosts[i].credential && cred_day_due(st, v->hosts[i].credential, true,
						      json_object_get(verdict, "flags"), e) < 0) {
			json_decref(verdict);
			return NULL;
		}
	json_object_set_new(verdict, "notes", notes_make(st, v, registered));
	return verdict;
}

/* What only a person can bring: the values of credentials, and the keys of connections. */
#include "apply/applying.h"

#include "base/file.h"
#include "state/cred.h"

#include <stdio.h>
#include <string.h>

/* As long as any value has to be; never kept, as a plan is rolled back. */
static const char stand_in[] = "a-value-that-is-never-kept";

static bool names_credential(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->ncredentials; i++)
		if (strcmp(ap->a->credentials[i].name, name) == 0)
			return true;
	return false;
}

bool lacks_has(const struct applying *ap, const char *kind, const char *name)
{
	size_t i;
	json_t *m;
	json_array_foreach (ap->r->missing, i, m)
		if (strcmp(json_text_of(m, "kind"), kind) == 0 &&
			strcmp(json_text_of(m, "name"), name) == 0)
			return true;
	return false;
}

static void find_credentials(struct applying *ap)
{
	char hint[160];
	for (size_t i = 0; i < ap->a->ncredentials; i++) {
		const struct apply_credential *c = &ap->a->credentials[i];
		if (cred_exists(ap->st, c->name))
			continue;
		snprintf(hint, sizeof hint, "evctl-cred add %s%s%s", c->name,
			c->payer && strcmp(c->payer, "buyer") == 0 ? " --payer buyer" : "",
			c->sealed == APPLY_YES ? " --sealed" : "");
		plan_miss(ap, "credential", c->name, c->line, hint);
	}
	for (size_t i = 0; i < ap->a->nhosts; i++) {
		const struct apply_host *h = &ap->a->hosts[i];
		if (!h->bind || names_credential(ap, h->bind) || cred_exists(ap->st, h->bind) ||
			lacks_has(ap, "credential", h->bind))
			continue;
		snprintf(hint, sizeof hint, "evctl-cred add %s", h->bind);
		plan_miss(ap, "credential", h->bind, h->line, hint);
	}
}

static bool builder_pays(const struct apply_connection *c)
{
	for (size_t i = 0; i < c->ngrants; i++)
		if (c->grants[i].payer && strcmp(c->grants[i].payer, "builder") == 0)
			return true;
	return false;
}

/* To be pasted into a shell as it is. */
static void command_that_adds(
	const struct applying *ap, const struct apply_connection *c, struct buf *b)
{
	buf_addf(b, "evctl-conn add %s --env %s --auth ", c->name, c->env);
	buf_addword(b, c->auth);
	for (size_t k = 0; k < c->hosts.n; k++) {
		buf_adds(b, " --host ");
		buf_addword(b, c->hosts.v[k]);
	}
	if (c->route.allow_private)
		buf_adds(b, " --allow-private");
	if (c->route.connect_to) {
		buf_adds(b, " --connect-to ");
		buf_addword(b, c->route.connect_to);
	}
	if (!c->ca_file)
		return;
	STR_AUTO path = plan_beside_file(ap, c->ca_file);
	buf_adds(b, " --ca-file ");
	buf_addword(b, path ? path : c->ca_file);
}

/*
 * A connection whose key the builder brings cannot be made here: its value is no part of a file.
 * One that lacks a field is told of when it is to be made.
 */
static void find_connections(struct applying *ap)
{
	for (size_t i = 0; i < ap->a->nconnections; i++) {
		const struct apply_connection *c = &ap->a->connections[i];
		CONN_AUTO old = {0};
		struct err quiet = {0};
		bool exists = conn_find(ap->st, c->name, &old, &quiet) == 0;
		bool whole = c->hosts.n && c->env && c->auth;
		if (!builder_pays(c) || (exists ? old.has_value : !whole))
			continue;
		BUF_AUTO hint = {0};
		if (exists)
			buf_addf(&hint, "evctl-conn rotate %s", c->name);
		else
			command_that_adds(ap, c, &hint);
		plan_miss(ap, "connection", c->name, c->line, buf_str(&hint));
	}
}

void lacks_find(struct applying *ap)
{
	find_credentials(ap);
	find_connections(ap);
}

/* ---- what stands in for it ----------------------------------------------------------------- */

static const struct apply_credential *wanted_credential(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->ncredentials; i++)
		if (strcmp(ap->a->credentials[i].name, name) == 0)
			return &ap->a->credentials[i];
	return NULL;
}

static int stand_in_credential(
	struct applying *ap, const char *name, const struct secret *value, struct err *e)
{
	const struct apply_credential *w = wanted_credential(ap, name);
	bool buyer = w && w->payer && strcmp(w->payer, "buyer") == 0;
	return cred_add(
		ap->st, name, buyer, w && w->sealed == APPLY_YES, false, buyer ? NULL : value, e);
}

static int stand_in_connection(
	struct applying *ap, const char *name, const struct secret *value, struct err *e)
{
	CONN_AUTO old = {0};
	struct err none = {0};
	if (conn_find(ap->st, name, &old, &none) == 0)
		return conn_rotate(ap->st, &old, value, e);
	for (size_t i = 0; i < ap->a->nconnections; i++) {
		const struct apply_connection *w = &ap->a->connections[i];
		struct conn c = {
			.name = w->name, .env = w->env, .auth = w->auth, .hosts = w->hosts};
		if (strcmp(w->name, name) == 0)
			return conn_add(ap->st, &c, value, e);
	}
	return 0;
}

int lacks_stand_in(struct applying *ap, struct err *e)
{
	SECRET_AUTO value = {0};
	size_t i;
	json_t *m;
	if (secret_set(&value, stand_in, sizeof stand_in - 1, e) < 0)
		return -1;
	json_array_foreach (ap->r->missing, i, m) {
		const char *name = json_text_of(m, "name");
		bool credential = strcmp(json_text_of(m, "kind"), "credential") == 0;
		if ((credential ? stand_in_credential : stand_in_connection)(ap, name, &value, e) <
			0)
			return -1;
	}
	return 0;
}

/* What the file's sections lack: taken from what uses it, and removed, all of it in the plan. */
#include "apply/applying.h"

#include "state/cred.h"

#include <stdio.h>
#include <string.h>

int revoke_others(
	struct applying *ap, const struct conn *c, const struct apply_connection *w, struct err *e)
{
	STRV_AUTO names = {0};
	if (expert_names(ap->st, &names, e) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		EXPERT_AUTO x = {0};
		bool wanted = false, changed = false;
		for (size_t k = 0; k < w->ngrants; k++)
			wanted |= strcmp(w->grants[k].expert, names.v[i]) == 0;
		if (wanted)
			continue;
		if (expert_find(ap->st, names.v[i], &x, e) < 0 ||
			conn_revoke(ap->st, c, &x, &changed, e) < 0)
			return -1;
		if (changed)
			plan_note(ap, "-", "grant", c->name, names.v[i]);
	}
	return 0;
}

static bool names_expert(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->nexperts; i++)
		if (strcmp(ap->a->experts[i].name, name) == 0)
			return true;
	return false;
}

static bool names_connection(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->nconnections; i++)
		if (strcmp(ap->a->connections[i].name, name) == 0)
			return true;
	return false;
}

static bool names_host(const struct applying *ap, const char *text)
{
	return json_object_get(ap->seen, text) != NULL;
}

/* By its own entry, or as what a host is to be bound to. */
static bool names_credential(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->ncredentials; i++)
		if (strcmp(ap->a->credentials[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < ap->a->nhosts; i++)
		if (ap->a->hosts[i].bind && strcmp(ap->a->hosts[i].bind, name) == 0)
			return true;
	return false;
}

static int remove_expert(struct applying *ap, const char *name, struct err *e)
{
	EXPERT_AUTO x = {0};
	char text[HOST_TEXT_MAX];
	if (expert_find(ap->st, name, &x, e) < 0)
		return -1;
	EXPERT_VIEW_AUTO v = {.id = x.id};
	if (expert_load_hosts(ap->st, &v, e) < 0)
		return -1;
	if (x.published)
		plan_note(ap, "-", "publish", name, NULL);
	for (size_t i = 0; i < v.nhosts; i++) {
		host_text(&v.hosts[i].host, text);
		plan_note(ap, "-", "attach", name, text);
	}
	return expert_remove(ap->st, &x, e);
}

static int remove_connection(struct applying *ap, const char *name, struct err *e)
{
	CONN_AUTO c = {0};
	const struct apply_connection without_grants = {0};
	if (conn_find(ap->st, name, &c, e) < 0 || revoke_others(ap, &c, &without_grants, e) < 0)
		return -1;
	return conn_remove(ap->st, &c, e);
}

static int remove_host(struct applying *ap, const char *text, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	if (host_find(ap->st, text, &h, e) < 0)
		return -1;
	if (h.credential_name)
		plan_note(ap, "-", "bind", text, h.credential_name);
	return host_remove(ap->st, &h, e);
}

/* Where the file has the hosts, a binding that it leaves out goes with what it was a binding to. */
static int unbind_from(struct applying *ap, const struct cred *c, const char *text, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	if (host_find(ap->st, text, &h, e) < 0)
		return -1;
	if (h.credential != c->id)
		return 0;
	plan_note(ap, "-", "bind", text, c->name);
	return host_bind(ap->st, &h, NULL, e);
}

static int unbind(struct applying *ap, const struct cred *c, struct err *e)
{
	STRV_AUTO hosts = {0};
	int r = host_texts(ap->st, &hosts, e);
	for (size_t i = 0; r == 0 && i < hosts.n; i++)
		r = unbind_from(ap, c, hosts.v[i], e);
	return r;
}

static int remove_credential(struct applying *ap, const char *name, struct err *e)
{
	struct cred c;
	if (cred_find(ap->st, name, &c, e) < 0 || (ap->a->has_hosts && unbind(ap, &c, e) < 0))
		return -1;
	return cred_remove(ap->st, &c, e);
}

struct pruned {
	bool has; /* the file has the section */
	const char *kind;
	int (*names)(struct state *, struct strv *, struct err *);
	bool (*kept)(const struct applying *, const char *);
	int (*remove)(struct applying *, const char *, struct err *);
};

static int prune_kind(struct applying *ap, const struct pruned *k, struct err *e)
{
	STRV_AUTO names = {0};
	if (k->names(ap->st, &names, e) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		if (k->kept(ap, names.v[i]))
			continue;
		if (k->remove(ap, names.v[i], e) < 0)
			return -1;
		plan_note(ap, "-", k->kind, names.v[i], NULL);
	}
	return 0;
}

/* Users before what they use. What the file has no section of is left alone. */
int prune(struct applying *ap, struct err *e)
{
	const struct applyfile *a = ap->a;
	const struct pruned kinds[] = {
		{a->has_experts, "expert", expert_names, names_expert, remove_expert},
		{a->has_connections, "connection", conn_names, names_connection, remove_connection},
		{a->has_hosts, "host", host_texts, names_host, remove_host},
		{a->has_credentials, "credential", cred_names, names_credential, remove_credential},
	};
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		if (kinds[k].has && prune_kind(ap, &kinds[k], e) < 0)
			return -1;
	return 0;
}

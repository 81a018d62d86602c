#include "apply/apply.h"
#include "base/file.h"
#include "net/hostname.h"
#include "state/capem.h"
#include "state/conn.h"
#include "state/cred.h"
#include "state/expert.h"
#include "state/bound_host.h"
#include "verify/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct applying {
	struct state *st;
	const struct applyfile *a;
	const struct apply_options *o;
	struct apply_result *r;
	json_t *seen; /* the hosts done so far, as {text: line} */
};

void apply_result_free(struct apply_result *r)
{
	json_decref(r->changes);
	json_decref(r->missing);
	*r = (struct apply_result){0};
}

static void note(
	struct applying *ap, const char *op, const char *kind, const char *name, const char *detail)
{
	json_array_append_new(
		ap->r->changes, json_pack("{s:s,s:s,s:s,s:s}", "op", op, "kind", kind, "name", name,
					"detail", detail ? detail : ""));
}

static void miss(
	struct applying *ap, const char *kind, const char *name, int line, const char *hint)
{
	json_array_append_new(ap->r->missing, json_pack("{s:s,s:s,s:i,s:s}", "kind", kind, "name",
						      name, "line", line, "hint", hint));
}

static int at(const struct applying *ap, int line, int col, struct err *e)
{
	return err_wrap(e, "%s:%d:%d", ap->o->file, line, col);
}

/* A path of the file, which starts where the file is. The caller frees. */
static char *beside_file(const struct applying *ap, const char *path)
{
	const char *slash = strrchr(ap->o->file, '/');
	char *out = NULL;
	if (path[0] == '/' || !slash)
		return strdup(path);
	if (asprintf(&out, "%.*s/%s", (int)(slash - ap->o->file), ap->o->file, path) < 0)
		return NULL;
	return out;
}

/* The route of the file's entry, with its certificates read into pem; borrowed from both. */
static int read_route(const struct applying *ap, const struct route *given, const char *ca_file,
	struct buf *pem, struct route *out, struct err *e)
{
	*out = *given;
	if (given->ca) {
		buf_adds(pem, given->ca);
		return capem_check("ca", pem, e);
	}
	if (!ca_file)
		return 0;
	STR_AUTO real = beside_file(ap, ca_file);
	if (!real)
		return err_set(e, ERR_FAIL, "out of memory");
	if (capem_read(real, pem, e) < 0)
		return -1;
	out->ca = buf_str(pem);
	return 0;
}

/* ---- what only a person can bring ---------------------------------------------------------- */

static bool names_credential(const struct applying *ap, const char *name)
{
	for (size_t i = 0; i < ap->a->ncredentials; i++)
		if (strcmp(ap->a->credentials[i].name, name) == 0)
			return true;
	return false;
}

static void find_missing_credentials(struct applying *ap)
{
	char hint[160];
	for (size_t i = 0; i < ap->a->ncredentials; i++) {
		const struct apply_credential *c = &ap->a->credentials[i];
		if (cred_exists(ap->st, c->name))
			continue;
		snprintf(hint, sizeof hint, "evctl-cred add %s%s%s", c->name,
			c->payer && strcmp(c->payer, "buyer") == 0 ? " --payer buyer" : "",
			c->sealed == APPLY_YES ? " --sealed" : "");
		miss(ap, "credential", c->name, c->line, hint);
	}
	for (size_t i = 0; i < ap->a->nhosts; i++) {
		const struct apply_host *h = &ap->a->hosts[i];
		if (!h->bind || names_credential(ap, h->bind) || cred_exists(ap->st, h->bind))
			continue;
		snprintf(hint, sizeof hint, "evctl-cred add %s", h->bind);
		miss(ap, "credential", h->bind, h->line, hint);
	}
}

static bool builder_pays(const struct apply_connection *c)
{
	for (size_t i = 0; i < c->ngrants; i++)
		if (strcmp(c->grants[i].payer, "builder") == 0)
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
	STR_AUTO path = beside_file(ap, c->ca_file);
	buf_adds(b, " --ca-file ");
	buf_addword(b, path ? path : c->ca_file);
}

/* A connection whose key the builder brings cannot be made here: its value is no part of a file. */
static void find_missing_connections(struct applying *ap)
{
	for (size_t i = 0; i < ap->a->nconnections; i++) {
		const struct apply_connection *c = &ap->a->connections[i];
		CONN_AUTO old = {0};
		struct err quiet = {0};
		bool exists = conn_find(ap->st, c->name, &old, &quiet) == 0;
		if (!builder_pays(c) || (exists && old.has_value))
			continue;
		BUF_AUTO hint = {0};
		if (exists)
			buf_addf(&hint, "evctl-conn rotate %s", c->name);
		else
			command_that_adds(ap, c, &hint);
		miss(ap, "connection", c->name, c->line, buf_str(&hint));
	}
}

/* ---- credentials and hosts ----------------------------------------------------------------- */

static int apply_credential(struct applying *ap, const struct apply_credential *w, struct err *e)
{
	struct cred c;
	if (cred_find(ap->st, w->name, &c, e) < 0)
		return at(ap, w->line, w->col, e);
	bool buyer = w->payer && strcmp(w->payer, "buyer") == 0;
	if (w->payer && buyer != c.buyer_pays) {
		if (cred_set_payer(ap->st, &c, buyer, e) < 0)
			return at(ap, w->line, w->col, e);
		note(ap, "~", "credential", c.name, buyer ? "payer buyer" : "payer stored");
	}
	if (w->sealed != APPLY_UNSAID && (w->sealed == APPLY_YES) != c.sealed) {
		if (cred_set_sealed(ap->st, &c, w->sealed == APPLY_YES, e) < 0)
			return at(ap, w->line, w->col, e);
		note(ap, "~", "credential", c.name, c.sealed ? "no longer sealed" : "sealed");
	}
	return 0;
}

/* b is as it was found. */
static int bind_host(
	struct applying *ap, const struct bound_host *b, const char *key, struct err *e)
{
	struct cred c;
	char text[HOST_TEXT_MAX];
	if (key && cred_find(ap->st, key, &c, e) < 0)
		return -1;
	if (strcmp(b->credential_name ? b->credential_name : "", key ? key : "") == 0)
		return 0;
	host_text(&b->host, text);
	note(ap, "~", "bind", text, key ? key : "egress only");
	return host_bind(ap->st, b, key ? &c : NULL, e);
}

static int add_host(struct applying *ap, const struct host *h, const char *key, struct err *e)
{
	struct cred c;
	char text[HOST_TEXT_MAX];
	if (key && cred_find(ap->st, key, &c, e) < 0)
		return -1;
	host_text(h, text);
	note(ap, "+", "host", text, key);
	return host_add(ap->st, h, key ? &c : NULL, e);
}

static int set_host(struct applying *ap, const struct bound_host *now, const struct host *want,
	const char *key, struct err *e)
{
	char text[HOST_TEXT_MAX];
	host_text(want, text);
	if (!host_same(&now->host, want)) {
		note(ap, "~", "host", text, "flags");
		if (host_set(ap->st, now, want, e) < 0)
			return -1;
	}
	return bind_host(ap, now, key, e);
}

/* Spellings differ ("x", "X.", "x:443"); two entries for one host would fight. */
static int refuse_twice(
	struct applying *ap, const struct apply_host *w, const struct host *h, struct err *e)
{
	char text[HOST_TEXT_MAX];
	host_text(h, text);
	const json_t *line = json_object_get(ap->seen, text);
	if (line)
		return err_set(e, ERR_USAGE, "host '%s' is in line %d already", text,
			(int)json_integer_value(line));
	json_object_set_new(ap->seen, text, json_integer(w->line));
	return 0;
}

static int apply_host(struct applying *ap, const struct apply_host *w, struct err *e)
{
	BUF_AUTO pem = {0};
	HOST_AUTO named = {0};
	BOUND_HOST_AUTO now = {0};
	struct err none = {0};
	struct route route;
	if (host_parse(w->host, &named, e) < 0 || refuse_twice(ap, w, &named, e) < 0 ||
		read_route(ap, &w->route, w->ca_file, &pem, &route, e) < 0)
		return at(ap, w->line, w->col, e);
	struct host want = {named.name, named.port, w->plain, route};
	int r;
	if (host_find(ap->st, w->host, &now, &none) == 0)
		r = set_host(ap, &now, &want, w->bind, e);
	else if (none.code == ERR_NOTFOUND)
		r = add_host(ap, &want, w->bind, e);
	else
		r = err_set(e, none.code, "%s", none.msg);
	return r < 0 ? at(ap, w->line, w->col, e) : 0;
}

/* ---- experts ------------------------------------------------------------------------------- */

static int make_expert(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	MANIFEST_AUTO m = {0};
	TREE_AUTO t = {0};
	STR_AUTO real = NULL;
	STR_AUTO dir = w->dir ? beside_file(ap, w->dir) : NULL;
	struct err none = {0};
	EXPERT_AUTO x = {0};
	bool exists = expert_find(ap->st, w->name, &x, &none) == 0;
	if (!exists && !w->dir) {
		err_set(e, ERR_NOTFOUND, "no expert '%s', and no 'dir' to make it from", w->name);
		return err_hint(e, "add 'dir:' to the expert");
	}
	if (!dir)
		return 0;
	if (expert_read_dir(&ap->st->place, dir, &real, &m, &t, e) < 0)
		return -1;
	if (strcmp(m.name, w->name) != 0) {
		err_set(e, ERR_USAGE, "'%s' holds the expert '%s', not '%s'", w->dir, m.name,
			w->name);
		return err_hint(e, "change 'name' here or in its expert.yaml");
	}
	if (!exists) {
		note(ap, "+", "expert", w->name, real);
		return expert_create(ap->st, real, &m, e);
	}
	if (strcmp(real, x.dir) == 0)
		return 0;
	note(ap, "~", "expert", w->name, real);
	return expert_set_dir(ap->st, &x, real, &m, e);
}

/* Appends the canonical text, so that spellings compare. */
static int add_canonical(struct strv *out, const char *host, struct err *e)
{
	HOST_AUTO h = {0};
	char text[HOST_TEXT_MAX];
	if (host_parse(host, &h, e) < 0)
		return -1;
	host_text(&h, text);
	strv_add(out, text);
	return 0;
}

static int add_canonicals(struct strv *out, const struct strv *hosts, struct err *e)
{
	for (size_t i = 0; i < hosts->n; i++)
		if (add_canonical(out, hosts->v[i], e) < 0)
			return -1;
	return 0;
}

static int attach_one(
	struct applying *ap, const struct expert *x, char *text, bool attach, struct err *e)
{
	JSON_AUTO done = expert_attach(ap->st, x, &text, 1, attach, e);
	if (json_is_true(json_object_get(json_array_get(done, 0), "changed")))
		note(ap, attach ? "+" : "-", "attach", x->name, text);
	return done ? 0 : -1;
}

static int attach_hosts(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	STRV_AUTO wanted = {0};
	EXPERT_AUTO x = {0};
	EXPERT_VIEW_AUTO v = {0};
	char text[HOST_TEXT_MAX];
	if (!w->has_hosts)
		return 0;
	if (add_canonicals(&wanted, &w->hosts, e) < 0 || expert_find(ap->st, w->name, &x, e) < 0)
		return -1;
	v.id = x.id;
	if (expert_load_hosts(ap->st, &v, e) < 0)
		return -1;
	for (size_t i = 0; i < v.nhosts; i++) {
		host_text(&v.hosts[i].host, text);
		if (!strv_has(&wanted, text) && attach_one(ap, &x, text, false, e) < 0)
			return -1;
	}
	for (size_t i = 0; i < wanted.n; i++)
		if (attach_one(ap, &x, wanted.v[i], true, e) < 0)
			return -1;
	return 0;
}

static int publish_expert(struct applying *ap, const char *name, struct err *e)
{
	EXPERT_VIEW_AUTO v = {0};
	int version = 0;
	JSON_AUTO verdict = publish(ap->st, name, false, &v, &version, e);
	if (!verdict)
		return -1;
	note(ap, "+", "publish", name, NULL);
	return 0;
}

static int offer_expert(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	EXPERT_AUTO x = {0};
	int was;
	if (w->published == APPLY_UNSAID)
		return 0;
	if (expert_find(ap->st, w->name, &x, e) < 0)
		return -1;
	if (w->published == APPLY_YES)
		return x.published ? 0 : publish_expert(ap, w->name, e);
	if (!x.published)
		return 0;
	note(ap, "-", "publish", w->name, NULL);
	return expert_unpublish(ap->st, &x, &was, e);
}

static int apply_expert(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	if (make_expert(ap, w, e) < 0 || attach_hosts(ap, w, e) < 0 || offer_expert(ap, w, e) < 0)
		return at(ap, w->line, w->col, e);
	return 0;
}

/* ---- connections --------------------------------------------------------------------------- */

static bool same_hosts(const struct strv *stored, const struct strv *wanted)
{
	STRV_AUTO texts = {0};
	struct err none = {0};
	if (stored->n != wanted->n || add_canonicals(&texts, wanted, &none) < 0)
		return false;
	for (size_t i = 0; i < texts.n; i++)
		if (!strv_has(stored, texts.v[i]))
			return false;
	return true;
}

static int make_connection(struct applying *ap, const struct apply_connection *w, struct err *e)
{
	BUF_AUTO pem = {0};
	CONN_AUTO old = {0};
	struct err none = {0};
	struct conn want = {.name = w->name, .env = w->env, .auth = w->auth, .hosts = w->hosts};
	if (read_route(ap, &w->route, w->ca_file, &pem, &want.route, e) < 0)
		return -1;
	if (conn_find(ap->st, w->name, &old, &none) < 0) {
		note(ap, "+", "connection", w->name, NULL);
		return conn_add(ap->st, &want, NULL, e);
	}
	if (same_hosts(&old.hosts, &w->hosts) && strcmp(old.env, w->env) == 0 &&
		strcmp(old.auth, w->auth) == 0 && route_same(&old.route, &want.route))
		return 0;
	note(ap, "~", "connection", w->name, NULL);
	want.id = old.id;
	return conn_set(ap->st, &want, e);
}

static int grant_one(
	struct applying *ap, const struct conn *c, const struct apply_grant *g, struct err *e)
{
	EXPERT_AUTO x = {0};
	bool changed = false;
	char what[160];
	if (expert_find(ap->st, g->expert, &x, e) < 0 ||
		conn_grant(ap->st, c, &x, strcmp(g->payer, "buyer") == 0, &changed, e) < 0)
		return at(ap, g->line, g->col, e);
	snprintf(what, sizeof what, "%s, payer %s", g->expert, g->payer);
	if (changed)
		note(ap, "+", "grant", c->name, what);
	return 0;
}

static int revoke_others(
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
			note(ap, "-", "grant", c->name, names.v[i]);
	}
	return 0;
}

static int apply_connection(struct applying *ap, const struct apply_connection *w, struct err *e)
{
	CONN_AUTO c = {0};
	if (make_connection(ap, w, e) < 0 || conn_find(ap->st, w->name, &c, e) < 0)
		return at(ap, w->line, w->col, e);
	for (size_t i = 0; i < w->ngrants; i++)
		if (grant_one(ap, &c, &w->grants[i], e) < 0)
			return -1;
	return w->has_grants ? revoke_others(ap, &c, w, e) : 0;
}

/* ---- pruning ------------------------------------------------------------------------------- */

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

static int remove_expert(struct applying *ap, const char *name, struct err *e)
{
	EXPERT_AUTO x = {0};
	return expert_find(ap->st, name, &x, e) < 0 ? -1 : expert_remove(ap->st, &x, e);
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
	return host_find(ap->st, text, &h, e) < 0 ? -1 : host_remove(ap->st, &h, e);
}

static int remove_credential(struct applying *ap, const char *name, struct err *e)
{
	struct cred c;
	return cred_find(ap->st, name, &c, e) < 0 ? -1 : cred_remove(ap->st, &c, e);
}

/* Users before what they use. What the file has no section of is left alone. */
static int prune(struct applying *ap, struct err *e)
{
	const struct applyfile *a = ap->a;
	const struct {
		bool has;
		const char *kind;
		int (*names)(struct state *, struct strv *, struct err *);
		bool (*kept)(const struct applying *, const char *);
		int (*remove)(struct applying *, const char *, struct err *);
	} kinds[] = {
		{a->has_experts, "expert", expert_names, names_expert, remove_expert},
		{a->has_connections, "connection", conn_names, names_connection, remove_connection},
		{a->has_hosts, "host", host_texts, names_host, remove_host},
		{a->has_credentials, "credential", cred_names, names_credential, remove_credential},
	};
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		STRV_AUTO names = {0};
		if (!kinds[k].has)
			continue;
		if (kinds[k].names(ap->st, &names, e) < 0)
			return -1;
		for (size_t i = 0; i < names.n; i++) {
			if (kinds[k].kept(ap, names.v[i]))
				continue;
			if (kinds[k].remove(ap, names.v[i], e) < 0)
				return -1;
			note(ap, "-", kinds[k].kind, names.v[i], NULL);
		}
	}
	return 0;
}

static int make_all(struct applying *ap, struct err *e)
{
	const struct applyfile *a = ap->a;
	int r = 0;
	for (size_t i = 0; r == 0 && i < a->ncredentials; i++)
		r = apply_credential(ap, &a->credentials[i], e);
	for (size_t i = 0; r == 0 && i < a->nhosts; i++)
		r = apply_host(ap, &a->hosts[i], e);
	for (size_t i = 0; r == 0 && i < a->nexperts; i++)
		r = apply_expert(ap, &a->experts[i], e);
	for (size_t i = 0; r == 0 && i < a->nconnections; i++)
		r = apply_connection(ap, &a->connections[i], e);
	return r == 0 && ap->o->prune ? prune(ap, e) : r;
}

int apply_file(struct state *st, const struct applyfile *a, const struct apply_options *o,
	struct apply_result *r, struct err *e)
{
	JSON_AUTO seen = json_object();
	struct applying ap = {st, a, o, r, seen};
	*r = (struct apply_result){json_array(), json_array()};
	find_missing_credentials(&ap);
	find_missing_connections(&ap);
	if (json_array_size(r->missing)) {
		err_set(e, ERR_FINDINGS,
			"%zu of what the file names must be added first; nothing was "
			"changed",
			json_array_size(r->missing));
		return err_hint(e, "%s",
			json_string_value(json_object_get(json_array_get(r->missing, 0), "hint")));
	}
	if (state_begin(st, e) < 0)
		return -1;
	if (make_all(&ap, e) < 0 || o->dry) {
		state_rollback(st);
		return e->code ? -1 : 0;
	}
	return state_commit(st, e);
}

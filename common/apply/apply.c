#include "apply/applying.h"
#include "base/file.h"
#include "net/hostname.h"
#include "state/capem.h"
#include "state/conn.h"
#include "state/cred.h"
#include "state/expert.h"
#include "state/bound_host.h"
#include "verify/diff.h"
#include "verify/publish.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void apply_result_free(struct apply_result *r)
{
	json_decref(r->changes);
	json_decref(r->missing);
	*r = (struct apply_result){0};
}

static int at(const struct applying *ap, int line, int col, struct err *e)
{
	return err_wrap(e, "%s:%d:%d", ap->o->file, line, col);
}

/* The certificates that the file says, read into pem; NULL where it says none. */
static int read_ca(const struct applying *ap, const char *ca, const char *ca_file, struct buf *pem,
	const char **out, struct err *e)
{
	*out = NULL;
	if (ca) {
		buf_adds(pem, ca);
		*out = buf_str(pem);
		return capem_check("ca", pem, e);
	}
	if (!ca_file)
		return 0;
	STR_AUTO real = plan_beside_file(ap, ca_file);
	if (!real)
		return err_set(e, ERR_FAIL, "out of memory");
	if (capem_read(real, pem, e) < 0)
		return -1;
	*out = buf_str(pem);
	return 0;
}

/* What a route is to be: as the entry says, and as it was where that says nothing. Borrowed. */
struct route_asked {
	unsigned said;
	const struct route *given;
	const char *ca_file;
};

static int merge_route(const struct applying *ap, const struct route_asked *asked,
	const struct route *now, struct buf *pem, struct route *out, struct err *e)
{
	*out = *now;
	if (asked->said & APPLY_ALLOW_PRIVATE)
		out->allow_private = asked->given->allow_private;
	if (asked->said & APPLY_CONNECT_TO)
		out->connect_to = asked->given->connect_to;
	if (!(asked->said & APPLY_CA))
		return 0;
	return read_ca(ap, asked->given->ca, asked->ca_file, pem, &out->ca, e);
}

/* ---- credentials and hosts ----------------------------------------------------------------- */

static const char *payer_word(bool buyer_pays)
{
	return buyer_pays ? "buyer" : "stored";
}

static int apply_credential(struct applying *ap, const struct apply_credential *w, struct err *e)
{
	struct cred c;
	APPLY_CHANGE_AUTO f = {.changes = true};
	if (cred_find(ap->st, w->name, &c, e) < 0)
		return at(ap, w->line, w->col, e);
	bool buyer =
		w->said & APPLY_PAYER ? w->payer && strcmp(w->payer, "buyer") == 0 : c.buyer_pays;
	bool seal = w->sealed == APPLY_UNSAID ? c.sealed : w->sealed == APPLY_YES;
	apply_change_add(
		&f, "payer", json_string(payer_word(c.buyer_pays)), json_string(payer_word(buyer)));
	apply_change_add(&f, "sealed", json_boolean(c.sealed), json_boolean(seal));
	if (!json_array_size(f.list))
		return 0;
	plan_note_fields(ap, "credential", c.name, &f);
	if ((buyer != c.buyer_pays && cred_set_payer(ap->st, &c, buyer, e) < 0) ||
		(seal != c.sealed && cred_set_sealed(ap->st, &c, seal, e) < 0))
		return at(ap, w->line, w->col, e);
	return 0;
}

/* b is as it was found. */
static int bind_host(
	struct applying *ap, const struct bound_host *b, const char *key, struct err *e)
{
	struct cred c;
	char text[HOST_TEXT_MAX], what[160];
	const char *was = b->credential_name;
	if (key && cred_find(ap->st, key, &c, e) < 0)
		return -1;
	if (strcmp(was ? was : "", key ? key : "") == 0)
		return 0;
	host_text(&b->host, text);
	snprintf(what, sizeof what, "%s -> %s", was ? was : "egress only",
		key ? key : "egress only");
	plan_note(ap, "~", "bind", text, what);
	return host_bind(ap->st, b, key ? &c : NULL, e);
}

static int add_host(struct applying *ap, const struct host *h, const char *key, struct err *e)
{
	struct cred c;
	char text[HOST_TEXT_MAX];
	const struct route none = {0};
	APPLY_CHANGE_AUTO f = {0};
	if (key && cred_find(ap->st, key, &c, e) < 0)
		return -1;
	host_text(h, text);
	apply_change_add(&f, "bind", json_null(), json_text_or_null(key));
	apply_change_add(&f, "plain", json_null(), json_boolean(h->plain));
	apply_change_add_route(&f, &none, &h->route);
	plan_note_fields(ap, "host", text, &f);
	return host_add(ap->st, h, key ? &c : NULL, e);
}

static int set_host(struct applying *ap, const struct bound_host *now, const struct host *want,
	const char *key, struct err *e)
{
	char text[HOST_TEXT_MAX];
	APPLY_CHANGE_AUTO f = {.changes = true};
	host_text(want, text);
	if (!host_same(&now->host, want)) {
		apply_change_add(
			&f, "plain", json_boolean(now->host.plain), json_boolean(want->plain));
		apply_change_add_route(&f, &now->host.route, &want->route);
		plan_note_fields(ap, "host", text, &f);
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
	struct route_asked asked = {w->said, &w->route, w->ca_file};
	struct host want;
	if (host_parse(w->host, &named, e) < 0 || refuse_twice(ap, w, &named, e) < 0)
		return at(ap, w->line, w->col, e);
	int found = host_find(ap->st, w->host, &now, &none);
	if (found < 0 && none.code != ERR_NOTFOUND)
		return err_set(e, none.code, "%s", none.msg);
	want = (struct host){.name = named.name,
		.port = named.port,
		.plain = w->said & APPLY_PLAIN ? w->plain : now.host.plain};
	const char *key = w->said & APPLY_BIND ? w->bind : now.credential_name;
	int r = merge_route(ap, &asked, &now.host.route, &pem, &want.route, e);
	if (r == 0)
		r = found == 0 ? set_host(ap, &now, &want, key, e) : add_host(ap, &want, key, e);
	return r < 0 ? at(ap, w->line, w->col, e) : 0;
}

/* ---- experts ------------------------------------------------------------------------------- */

static int make_expert(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	MANIFEST_AUTO m = {0};
	TREE_AUTO t = {0};
	STR_AUTO real = NULL;
	STR_AUTO dir = w->dir ? plan_beside_file(ap, w->dir) : NULL;
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
		plan_note(ap, "+", "expert", w->name, real);
		return expert_create(ap->st, real, &m, e);
	}
	if (strcmp(real, x.dir) == 0)
		return 0;
	APPLY_CHANGE_AUTO f = {.changes = true};
	apply_change_add(&f, "dir", json_text_or_null(x.dir), json_text_or_null(real));
	plan_note_fields(ap, "expert", w->name, &f);
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
		plan_note(ap, attach ? "+" : "-", "attach", x->name, text);
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

static int publish_expert(struct applying *ap, const char *name, const char *changed, struct err *e)
{
	EXPERT_VIEW_AUTO v = {0};
	int version = 0;
	bool same = false;
	JSON_AUTO verdict = publish(ap->st, name, false, &v, &version, &same, e);
	if (!verdict)
		return -1;
	if (same)
		return 0;
	BUF_AUTO what = {0};
	buf_addf(&what, "version %d%s%s", version, *changed ? ": changed " : "", changed);
	plan_note(ap, "+", "publish", name, buf_str(&what));
	return 0;
}

static int publish_latest(struct applying *ap, const char *name, struct err *e)
{
	BUF_AUTO changed = {0};
	if (diff_draft(ap->st, name, &changed, e) < 0)
		return -1;
	return changed.len ? publish_expert(ap, name, buf_str(&changed), e) : 0;
}

static int offer_expert(struct applying *ap, const struct apply_expert *w, struct err *e)
{
	EXPERT_AUTO x = {0};
	char what[32];
	int was;
	if (w->published == APPLY_UNSAID)
		return 0;
	if (expert_find(ap->st, w->name, &x, e) < 0)
		return -1;
	if (w->published != APPLY_NO && !x.published)
		return publish_expert(ap, w->name, "", e);
	if (w->published == APPLY_LATEST)
		return publish_latest(ap, w->name, e);
	if (w->published == APPLY_YES || !x.published)
		return 0;
	snprintf(what, sizeof what, "version %d", x.published);
	plan_note(ap, "-", "publish", w->name, what);
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

/* The hosts as the state writes them: spellings compare, and the plan shows what is kept. */
static json_t *hosts_shown(const struct strv *hosts)
{
	STRV_AUTO texts = {0};
	struct err none = {0};
	return json_texts(add_canonicals(&texts, hosts, &none) < 0 ? hosts : &texts);
}

static void connection_fields(
	struct apply_change *f, const struct conn *old, const struct conn *want)
{
	bool same = f->changes && same_hosts(&old->hosts, &want->hosts);
	apply_change_add(f, "hosts", json_texts(&old->hosts),
		same ? json_texts(&old->hosts) : hosts_shown(&want->hosts));
	apply_change_add(f, "env", json_text_or_null(old->env), json_text_or_null(want->env));
	apply_change_add(f, "auth", json_text_or_null(old->auth), json_text_or_null(want->auth));
	apply_change_add_route(f, &old->route, &want->route);
}

/* What a new one cannot do without. */
static int check_whole(const struct conn *c, struct err *e)
{
	const char *lacks = !c->hosts.n ? "hosts" : !c->env ? "env" : !c->auth ? "auth" : NULL;
	return lacks ? err_set(e, ERR_USAGE, "the connection lacks '%s'", lacks) : 0;
}

static int make_connection(struct applying *ap, const struct apply_connection *w, struct err *e)
{
	BUF_AUTO pem = {0};
	CONN_AUTO old = {0};
	struct err none = {0};
	bool exists = conn_find(ap->st, w->name, &old, &none) == 0;
	struct route_asked asked = {w->said, &w->route, w->ca_file};
	struct conn want = {.id = old.id,
		.name = w->name,
		.env = w->env ? w->env : old.env,
		.auth = w->auth ? w->auth : old.auth,
		.hosts = w->hosts.n ? w->hosts : old.hosts};
	APPLY_CHANGE_AUTO f = {.changes = exists};
	if (!exists && none.code != ERR_NOTFOUND)
		return err_set(e, none.code, "%s", none.msg);
	if (check_whole(&want, e) < 0 ||
		merge_route(ap, &asked, &old.route, &pem, &want.route, e) < 0)
		return -1;
	connection_fields(&f, &old, &want);
	if (exists && !json_array_size(f.list))
		return 0;
	/* What stands in for a missing one is in the plan as that. */
	if (!lacks_has(ap, "connection", w->name))
		plan_note_fields(ap, "connection", w->name, &f);
	return exists ? conn_set(ap->st, &want, e) : conn_add(ap->st, &want, NULL, e);
}

static int grant_one(
	struct applying *ap, const struct conn *c, const struct apply_grant *g, struct err *e)
{
	EXPERT_AUTO x = {0};
	bool granted = false, paid = false, changed = false;
	char what[160];
	if (expert_find(ap->st, g->expert, &x, e) < 0 ||
		conn_granted(ap->st, c, &x, &granted, &paid, e) < 0)
		return at(ap, g->line, g->col, e);
	if (!g->payer && !granted) {
		err_set(e, ERR_USAGE, "the grant lacks 'payer'");
		return at(ap, g->line, g->col, e);
	}
	if (!g->payer)
		return 0;
	if (conn_grant(ap->st, c, &x, strcmp(g->payer, "buyer") == 0, &changed, e) < 0)
		return at(ap, g->line, g->col, e);
	snprintf(what, sizeof what, "%s, payer %s%s%s", g->expert,
		granted ? paid ? "buyer" : "builder" : "", granted ? " -> " : "", g->payer);
	if (changed)
		plan_note(ap, granted ? "~" : "+", "grant", c->name, what);
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

/* What stands in for what is missing is in a plan only. */
static int plan_all(struct applying *ap, struct err *e)
{
	return lacks_stand_in(ap, e) < 0 ? -1 : make_all(ap, e);
}

static int refuse_missing(const struct apply_result *r, struct err *e)
{
	err_set(e, ERR_FINDINGS,
		"%zu of what the file names must be added first; nothing was changed",
		json_array_size(r->missing));
	return err_hint(e, "%s", json_text_of(json_array_get(r->missing, 0), "hint"));
}

int apply_file(struct state *st, const struct applyfile *a, const struct apply_options *o,
	struct apply_result *r, struct err *e)
{
	JSON_AUTO seen = json_object();
	struct applying ap = {st, a, o, r, seen};
	*r = (struct apply_result){json_array(), json_array()};
	lacks_find(&ap);
	bool lacking = json_array_size(r->missing);
	if (lacking && !o->dry)
		return refuse_missing(r, e);
	if (state_begin(st, e) < 0)
		return -1;
	if (plan_all(&ap, e) == 0 && !o->dry)
		return state_commit(st, e);
	state_rollback(st);
	if (!lacking)
		return e->code ? -1 : 0;
	/* What is missing comes first: what else is wrong may be only for want of it. */
	if (e->code)
		plan_note(&ap, "!", "stops", "here", e->msg);
	err_clear(e);
	return refuse_missing(r, e);
}

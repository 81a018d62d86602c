#include "apply/apply.h"
#include "base/file.h"
#include "manifest/yaml_text.h"
#include "state/conn.h"

#include <string.h>

/* ---- the state as a tree ------------------------------------------------------------------- */

static void put_text(json_t *o, const char *key, const char *value)
{
	json_object_set_new(o, key, json_text_or_null(value));
}

static void put_flag(json_t *o, const char *key, bool value)
{
	json_object_set_new(o, key, json_boolean(value));
}

/* All of it, none too: what a file leaves out would be left as it is where it is applied. */
static void put_route(json_t *o, const struct route *r)
{
	put_flag(o, "allow_private", r->allow_private);
	put_text(o, "connect_to", r->connect_to);
	put_text(o, "ca", r->ca);
}

static int credential(struct state *st, const char *name, json_t *o, struct err *e)
{
	struct cred c;
	if (cred_find(st, name, &c, e) < 0)
		return -1;
	put_text(o, "name", c.name);
	put_text(o, "payer", c.buyer_pays ? "buyer" : "stored");
	json_object_set_new(o, "sealed", json_boolean(c.sealed));
	return 0;
}

static int host(struct state *st, const char *text, json_t *o, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	if (host_find(st, text, &h, e) < 0)
		return -1;
	put_text(o, "host", text);
	put_text(o, "bind", h.credential_name);
	put_flag(o, "plain", h.host.plain);
	put_route(o, &h.host.route);
	return 0;
}

static int expert(struct state *st, const char *name, json_t *o, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (expert_find(st, name, &x, e) < 0)
		return -1;
	EXPERT_VIEW_AUTO draft = {.id = x.id};
	json_t *hosts = json_array();
	put_text(o, "name", x.name);
	put_text(o, "dir", x.dir);
	json_object_set_new(o, "hosts", hosts);
	json_object_set_new(o, "published", json_boolean(x.published));
	if (expert_load_hosts(st, &draft, e) < 0)
		return -1;
	for (size_t i = 0; i < draft.nhosts; i++)
		json_array_append_new(hosts, host_json(&draft.hosts[i].host));
	return 0;
}

static int connection(struct state *st, const char *name, json_t *o, struct err *e)
{
	CONN_AUTO c = {0};
	if (conn_find(st, name, &c, e) < 0)
		return -1;
	put_text(o, "name", c.name);
	json_object_set_new(o, "hosts", json_texts(&c.hosts));
	put_text(o, "env", c.env);
	put_text(o, "auth", c.auth);
	put_route(o, &c.route);
	return json_object_set_new(o, "grants", conn_grants(st, c.id, e));
}

/* The things of one kind, each by its name. */
static json_t *section(struct state *st, int (*names)(struct state *, struct strv *, struct err *),
	int (*fill)(struct state *, const char *, json_t *, struct err *), struct err *e)
{
	STRV_AUTO all = {0};
	JSON_AUTO list = json_array();
	if (names(st, &all, e) < 0)
		return NULL;
	for (size_t i = 0; i < all.n; i++) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		if (fill(st, all.v[i], o, e) < 0)
			return NULL;
	}
	return json_incref(list);
}

json_t *apply_export(struct state *st, struct err *e)
{
	static const struct {
		const char *name;
		int (*names)(struct state *, struct strv *, struct err *);
		int (*fill)(struct state *, const char *, json_t *, struct err *);
	} sections[] = {{"credentials", cred_names, credential}, {"hosts", host_texts, host},
		{"experts", expert_names, expert}, {"connections", conn_names, connection}};
	JSON_AUTO all = json_object();
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		json_t *list = section(st, sections[i].names, sections[i].fill, e);
		if (!list)
			return NULL;
		json_object_set_new(all, sections[i].name, list);
	}
	return json_incref(all);
}

/* ---- the tree as YAML ---------------------------------------------------------------------- */

static bool holds_objects(const json_t *list)
{
	return json_is_object(json_array_get(list, 0));
}

/* A list of objects, in blocks; the only recursion, as deep as the form is. */
static void yaml_list(const json_t *list, int indent, struct buf *out)
{
	size_t i;
	json_t *item, *v;
	const char *key;
	json_array_foreach (list, i, item) {
		const char *lead = "- ";
		json_object_foreach (item, key, v) {
			buf_addf(out, "%*s%s%s:", indent, "", lead, key);
			lead = "  ";
			if (holds_objects(v)) {
				buf_addc(out, '\n');
				yaml_list(v, indent + 4, out);
				continue;
			}
			buf_addc(out, ' ');
			if (json_is_array(v))
				yaml_flow(v, out);
			else
				yaml_scalar(v, out);
			buf_addc(out, '\n');
		}
	}
}

int apply_yaml(const json_t *all, struct buf *out, struct err *e)
{
	const char *name;
	json_t *list;
	json_object_foreach ((json_t *)all, name, list) {
		buf_addf(out, json_array_size(list) ? "%s:\n" : "%s: []\n", name);
		yaml_list(list, 2, out);
	}
	return buf_failed(out) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

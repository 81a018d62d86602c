#include "apply/apply.h"
#include "base/file.h"

#include <string.h>
#include <strings.h>

/* ---- the state as a tree ------------------------------------------------------------------- */

static void put_text(json_t *o, const char *key, const char *value)
{
	if (value)
		json_object_set_new(o, key, json_text_or_null(value));
}

static void put_flag(json_t *o, const char *key, bool value)
{
	if (value)
		json_object_set_new(o, key, json_true());
}

static void put_ca(json_t *o, struct query *q, int column)
{
	size_t n;
	const char *pem = col_blob(q, column, &n);
	if (pem)
		json_object_set_new(o, "ca", json_text(pem, n));
}

/* The rows of a one-column query. */
static int put_list(
	struct state *st, json_t *o, const char *key, const char *sql, int64_t id, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, sql, "i", id);
	json_t *list = json_array();
	int r = -1;
	json_object_set_new(o, key, list);
	while (q && (r = query_step(q, e)) > 0)
		json_array_append_new(list, json_text_or_null(col_text(q, 0)));
	return r;
}

static int credentials(struct state *st, json_t *list, struct err *e)
{
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT name, payer, sealed FROM credentials ORDER BY name", "");
	int r = -1;
	while (q && (r = query_step(q, e)) > 0) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		put_text(o, "name", col_text(q, 0));
		put_text(o, "payer", col_text(q, 1));
		json_object_set_new(o, "sealed", json_boolean(col_int(q, 2)));
	}
	return r;
}

static int hosts(struct state *st, json_t *list, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT h.name || CASE h.port WHEN 443 THEN '' ELSE ':' || h.port END, c.name, "
		"h.allow_private, h.plain, h.connect_to, h.ca FROM hosts h "
		"LEFT JOIN credentials c ON c.id = h.credential ORDER BY h.name, h.port",
		"");
	int r = -1;
	while (q && (r = query_step(q, e)) > 0) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		put_text(o, "host", col_text(q, 0));
		put_text(o, "bind", col_text(q, 1));
		put_flag(o, "allow_private", col_int(q, 2));
		put_flag(o, "plain", col_int(q, 3));
		put_text(o, "connect_to", col_text(q, 4));
		put_ca(o, q, 5);
	}
	return r;
}

static int experts(struct state *st, json_t *list, struct err *e)
{
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT id, name, dir, published FROM experts ORDER BY name", "");
	int r = -1;
	while (q && (r = query_step(q, e)) > 0) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		put_text(o, "name", col_text(q, 1));
		put_text(o, "dir", col_text(q, 2));
		if (put_list(st, o, "hosts",
			    "SELECT h.name || CASE h.port WHEN 443 THEN '' ELSE ':' || h.port END "
			    "FROM attachments a JOIN hosts h ON h.id = a.host WHERE a.expert = ? "
			    "ORDER BY h.name, h.port",
			    col_int(q, 0), e) < 0)
			return -1;
		json_object_set_new(o, "published", json_boolean(!col_null(q, 3)));
	}
	return r;
}

static int put_grants(struct state *st, json_t *o, int64_t id, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT x.name, g.payer FROM grants g JOIN experts x ON x.id = g.expert "
		"WHERE g.connection = ? ORDER BY x.name",
		"i", id);
	json_t *list = json_array();
	int r = -1;
	json_object_set_new(o, "grants", list);
	while (q && (r = query_step(q, e)) > 0)
		json_array_append_new(list,
			json_pack("{s:s,s:s}", "expert", col_text(q, 0), "payer", col_text(q, 1)));
	return r;
}

static int connections(struct state *st, json_t *list, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, name, env, auth, allow_private, connect_to, ca FROM connections "
		"ORDER BY name",
		"");
	int r = -1;
	while (q && (r = query_step(q, e)) > 0) {
		json_t *o = json_object();
		json_array_append_new(list, o);
		put_text(o, "name", col_text(q, 1));
		if (put_list(st, o, "hosts",
			    "SELECT name || CASE port WHEN 443 THEN '' ELSE ':' || port END "
			    "FROM connection_hosts WHERE connection = ? ORDER BY name, port",
			    col_int(q, 0), e) < 0)
			return -1;
		put_text(o, "env", col_text(q, 2));
		put_text(o, "auth", col_text(q, 3));
		put_flag(o, "allow_private", col_int(q, 4));
		put_text(o, "connect_to", col_text(q, 5));
		put_ca(o, q, 6);
		if (put_grants(st, o, col_int(q, 0), e) < 0)
			return -1;
	}
	return r;
}

json_t *apply_export(struct state *st, struct err *e)
{
	static const struct section {
		const char *name;
		int (*fill)(struct state *, json_t *, struct err *);
	} sections[] = {{"credentials", credentials}, {"hosts", hosts}, {"experts", experts},
		{"connections", connections}};
	json_t *all = json_object();
	for (size_t i = 0; all && i < sizeof sections / sizeof *sections; i++) {
		json_t *list = json_array();
		json_object_set_new(all, sections[i].name, list);
		if (sections[i].fill(st, list, e) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	if (!all)
		err_set(e, ERR_FAIL, "out of memory");
	return all;
}

/* ---- the tree as YAML ---------------------------------------------------------------------- */

/* Anything that is not plainly a word is quoted as JSON, which YAML 1.2 takes. */
static bool is_plain(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
	static const char rest[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
	static const char *const words[] = {
		"true", "false", "null", "yes", "no", "on", "off", "y", "n", NULL};
	for (const char *const *w = words; *w; w++)
		if (strcasecmp(*w, s) == 0)
			return false;
	return *s && strchr(first, *s) && strspn(s, rest) == strlen(s);
}

static void yaml_scalar(const json_t *v, struct buf *out)
{
	const char *s = json_string_value(v);
	if (s && is_plain(s))
		buf_adds(out, s);
	else
		json_to_buf(v, out);
}

static bool holds_objects(const json_t *list)
{
	return json_is_object(json_array_get(list, 0));
}

static void yaml_flow(const json_t *list, struct buf *out)
{
	size_t i;
	json_t *item;
	buf_addc(out, '[');
	json_array_foreach(list, i, item)
	{
		buf_adds(out, i ? ", " : "");
		yaml_scalar(item, out);
	}
	buf_addc(out, ']');
}

/* A list of objects, in blocks; the only recursion, as deep as the form is. */
static void yaml_list(const json_t *list, int indent, struct buf *out)
{
	size_t i;
	json_t *item, *v;
	const char *key;
	json_array_foreach(list, i, item)
	{
		const char *lead = "- ";
		json_object_foreach(item, key, v)
		{
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
	json_object_foreach((json_t *)all, name, list)
	{
		buf_addf(out, json_array_size(list) ? "%s:\n" : "%s: []\n", name);
		yaml_list(list, 2, out);
	}
	return buf_failed(out) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

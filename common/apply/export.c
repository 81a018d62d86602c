#include "apply/apply.h"
#include "base/file.h"

#include <string.h>

/* Block-style YAML; anything that is not plainly a word is quoted as JSON, which YAML 1.2 takes. */
static void scalar(struct buf *out, const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
	static const char rest[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
	static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", NULL};
	bool plain = *s && strchr(safe, *s) && strspn(s, rest) == strlen(s);
	for (const char *const *w = words; *w; w++)
		plain &= strcasecmp(*w, s) != 0;
	if (plain) {
		buf_adds(out, s);
		return;
	}
	JSON_AUTO j = json_text(s, strlen(s));
	json_to_buf(j, out);
}

static void member(struct buf *out, bool *first, const char *indent, const char *key)
{
	buf_addf(out, "%s%s%s: ", indent, *first ? "- " : "  ", key);
	*first = false;
}

static void text_member(struct buf *out, bool *first, const char *key, const char *value)
{
	if (!value)
		return;
	member(out, first, "  ", key);
	scalar(out, value);
	buf_addc(out, '\n');
}

static void flag_member(struct buf *out, bool *first, const char *key, bool value)
{
	if (!value)
		return;
	member(out, first, "  ", key);
	buf_adds(out, "true\n");
}

/* The rows of a one-column query as a flow list. */
static int list_member(struct state *st, struct buf *out, const char *key, const char *sql, int64_t id,
	struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, sql, "i", id);
	int r = -1, n = 0;
	buf_addf(out, "    %s: [", key);
	while (q && (r = query_step(q, e)) > 0) {
		if (n++)
			buf_adds(out, ", ");
		scalar(out, col_text(q, 0));
	}
	buf_adds(out, "]\n");
	return r;
}

static int credentials(struct state *st, struct buf *out, struct err *e)
{
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT name, payer, sealed FROM credentials ORDER BY name", "");
	int r = -1;
	buf_adds(out, "credentials:\n");
	while (q && (r = query_step(q, e)) > 0) {
		bool first = true;
		text_member(out, &first, "name", col_text(q, 0));
		text_member(out, &first, "payer", col_text(q, 1));
		buf_addf(out, "    sealed: %s\n", col_int(q, 2) ? "true" : "false");
	}
	return r;
}

static void ca_member(struct buf *out, struct query *q, int column)
{
	size_t n;
	const char *pem = col_blob(q, column, &n);
	if (!pem)
		return;
	JSON_AUTO j = json_text(pem, n);
	buf_adds(out, "    ca: ");
	json_to_buf(j, out);
	buf_addc(out, '\n');
}

static int hosts(struct state *st, struct buf *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT h.name || CASE h.port WHEN 443 THEN '' ELSE ':' || h.port END, c.name, "
		"h.allow_private, h.plain, h.connect_to, h.ca FROM hosts h "
		"LEFT JOIN credentials c ON c.id = h.credential ORDER BY h.name, h.port",
		"");
	int r = -1;
	buf_adds(out, "hosts:\n");
	while (q && (r = query_step(q, e)) > 0) {
		bool first = true;
		text_member(out, &first, "host", col_text(q, 0));
		text_member(out, &first, "bind", col_text(q, 1));
		flag_member(out, &first, "allow_private", col_int(q, 2));
		flag_member(out, &first, "plain", col_int(q, 3));
		text_member(out, &first, "connect_to", col_text(q, 4));
		ca_member(out, q, 5);
	}
	return r;
}

static int experts(struct state *st, struct buf *out, struct err *e)
{
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT id, name, dir, published FROM experts ORDER BY name", "");
	int r = -1;
	buf_adds(out, "experts:\n");
	while (q && (r = query_step(q, e)) > 0) {
		bool first = true;
		text_member(out, &first, "name", col_text(q, 1));
		text_member(out, &first, "dir", col_text(q, 2));
		if (list_member(st, out, "hosts",
			    "SELECT h.name || CASE h.port WHEN 443 THEN '' ELSE ':' || h.port END "
			    "FROM attachments a JOIN hosts h ON h.id = a.host WHERE a.expert = ? "
			    "ORDER BY h.name, h.port",
			    col_int(q, 0), e) < 0)
			return -1;
		buf_addf(out, "    published: %s\n", col_null(q, 3) ? "false" : "true");
	}
	return r;
}

static int grants(struct state *st, struct buf *out, int64_t id, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT x.name, g.payer FROM grants g JOIN experts x ON x.id = g.expert "
		"WHERE g.connection = ? ORDER BY x.name",
		"i", id);
	int r = -1, n = 0;
	while (q && (r = query_step(q, e)) > 0) {
		buf_adds(out, n++ ? "" : "    grants:\n");
		buf_adds(out, "      - expert: ");
		scalar(out, col_text(q, 0));
		buf_addf(out, "\n        payer: %s\n", col_text(q, 1));
	}
	if (r == 0 && n == 0)
		buf_adds(out, "    grants: []\n");
	return r;
}

static int connections(struct state *st, struct buf *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, name, env, auth, allow_private, connect_to, ca FROM connections "
		"ORDER BY name",
		"");
	int r = -1;
	buf_adds(out, "connections:\n");
	while (q && (r = query_step(q, e)) > 0) {
		bool first = true;
		text_member(out, &first, "name", col_text(q, 1));
		if (list_member(st, out, "hosts",
			    "SELECT name || CASE port WHEN 443 THEN '' ELSE ':' || port END "
			    "FROM connection_hosts WHERE connection = ? ORDER BY name, port",
			    col_int(q, 0), e) < 0)
			return -1;
		text_member(out, &first, "env", col_text(q, 2));
		text_member(out, &first, "auth", col_text(q, 3));
		flag_member(out, &first, "allow_private", col_int(q, 4));
		text_member(out, &first, "connect_to", col_text(q, 5));
		ca_member(out, q, 6);
		if (grants(st, out, col_int(q, 0), e) < 0)
			return -1;
	}
	return r;
}

/* A section without entries is an empty list, not null. */
static int section(struct state *st, struct buf *out, const char *name,
	int (*write)(struct state *, struct buf *, struct err *), struct err *e)
{
	BUF_AUTO part = {0};
	if (write(st, &part, e) < 0)
		return -1;
	const char *colon = strchr(buf_str(&part), '\n');
	if (colon && !colon[1])
		buf_addf(out, "%s: []\n", name);
	else
		buf_add(out, part.data, part.len);
	return 0;
}

int apply_export(struct state *st, struct buf *out, struct err *e)
{
	if (section(st, out, "credentials", credentials, e) < 0 ||
		section(st, out, "hosts", hosts, e) < 0 ||
		section(st, out, "experts", experts, e) < 0 ||
		section(st, out, "connections", connections, e) < 0)
		return -1;
	return buf_failed(out) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

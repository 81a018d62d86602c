#include "state/host.h"
#include "base/file.h"
#include "base/output.h"

#include <stdio.h>
#include <string.h>

#define TEXT_SQL "name || CASE port WHEN 443 THEN '' ELSE ':' || port END"

int host_find(struct state *st, const char *text, struct host *h, struct err *e)
{
	struct host_row row;
	char name[HOST_TEXT_MAX];
	*h = (struct host){0};
	if (host_parse_row(text, &row, e) < 0)
		return -1;
	host_row_text(&row, h->text);
	host_row_name(&row, name);
	h->wildcard = row.wildcard;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT h.id, coalesce(h.credential, 0), coalesce(c.name, '') FROM hosts h "
		"LEFT JOIN credentials c ON c.id = h.credential WHERE h.name = ? AND h.port = ?",
		"si", name, (int64_t)row.port);
	int r = q ? query_step(q, e) : -1;
	if (r < 0)
		return -1;
	if (r == 0)
		return name_not_found(st, "host", h->text, "SELECT " TEXT_SQL " FROM hosts", e,
			"evctl-host add %s", h->text);
	h->id = col_int(q, 0);
	h->credential = col_int(q, 1);
	snprintf(h->bound, sizeof h->bound, "%s", col_text(q, 2));
	return 0;
}

static int check_options(bool wildcard, const struct host_options *o, struct err *e)
{
	if (o->connect_to && host_check_connect_to(o->connect_to, e) < 0)
		return -1;
	if (wildcard && o->allow_private && !o->connect_to) {
		err_set(e, ERR_USAGE,
			"on a wildcard, '--allow-private' goes only with '--connect-to'");
		return err_hint(e, "add --connect-to ADDR:PORT, or declare the exact host");
	}
	return 0;
}

static json_t *options_detail(const struct host_options *o)
{
	return json_pack("{s:b,s:b,s:s?,s:b}", "allow_private", (int)o->allow_private, "plain",
		(int)o->plain, "connect_to", o->connect_to, "ca", o->ca != NULL);
}

int host_add(struct state *st, const struct host_row *row, const struct host_options *o,
	const struct cred *bind, struct err *e)
{
	char text[HOST_TEXT_MAX], name[HOST_TEXT_MAX];
	int64_t n;
	bool found;
	host_row_text(row, text);
	host_row_name(row, name);
	if (check_options(row->wildcard, o, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_number(st->db, e, &n, &found, "SELECT 1 FROM hosts WHERE name = ? AND port = ?",
		"si", name, (int64_t)row->port);
	if (r == 0 && found) {
		err_set(e, ERR_CONFLICT, "there is a host '%s' already", text);
		r = err_hint(e, "evctl-host set %s changes its flags", text);
	}
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO hosts (name, port, plain, allow_private, connect_to, ca, "
			"credential, created) VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0), ?)",
			"siiisbii", name, (int64_t)row->port, (int64_t)o->plain,
			(int64_t)o->allow_private, o->connect_to, (const void *)o->ca, o->ca_len,
			bind ? bind->id : (int64_t)0, clock_real_ms());
	json_t *detail = options_detail(o);
	if (bind)
		json_object_set_new(detail, "bind", json_string(bind->name));
	return state_finish(st, r, "host add", text, detail, e);
}

int host_set(struct state *st, const struct host *h, const struct host_options *o, struct err *e)
{
	if (check_options(h->wildcard, o, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE hosts SET plain = ?, allow_private = ?, connect_to = ?, ca = ? WHERE id = "
		"?",
		"iisbi", (int64_t)o->plain, (int64_t)o->allow_private, o->connect_to,
		(const void *)o->ca, o->ca_len, h->id);
	return state_finish(st, r, "host set", h->text, options_detail(o), e);
}

int host_options_of(struct state *st, const struct host *h, struct host_options *o,
	struct buf *keep, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT plain, allow_private, connect_to, ca FROM hosts WHERE id = ?", "i", h->id);
	if (!q || query_step(q, e) < 0)
		return -1;
	size_t n;
	const void *ca = col_blob(q, 3, &n);
	*o = (struct host_options){.plain = col_int(q, 0), .allow_private = col_int(q, 1)};
	/* Both texts go into one buffer, the second found again by offset: it may move. */
	buf_adds(keep, col_text(q, 2) ? col_text(q, 2) : "");
	buf_addc(keep, '\0');
	size_t at = keep->len;
	buf_add(keep, ca ? ca : "", ca ? n : 0);
	if (buf_failed(keep))
		return err_set(e, ERR_FAIL, "out of memory");
	o->connect_to = col_null(q, 2) ? NULL : keep->data;
	o->ca = ca ? keep->data + at : NULL;
	o->ca_len = ca ? n : 0;
	return 0;
}

int host_remove(struct state *st, const struct host *h, struct err *e)
{
	STRV_AUTO users = {0};
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_texts(st->db, e, &users,
		"SELECT x.name FROM attachments a JOIN experts x ON x.id = a.expert "
		"WHERE a.host = ? ORDER BY x.name",
		"i", h->id);
	if (r == 0 && users.n) {
		STR_AUTO all = strv_join(&users, ", ");
		err_set(e, ERR_CONFLICT, "host '%s' is attached to: %s", h->text, all ? all : "");
		r = err_hint(e, "evctl-expert detach %s %s", users.v[0], h->text);
	}
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM hosts WHERE id = ?", "i", h->id);
	return state_finish(st, r, "host rm", h->text, NULL, e);
}

int host_bind(struct state *st, const struct host *h, const struct cred *c, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "UPDATE hosts SET credential = nullif(?, 0) WHERE id = ?", "ii",
		c ? c->id : (int64_t)0, h->id);
	return state_finish(st, r, c ? "bind set" : "bind clear", h->text,
		c ? json_pack("{s:s}", "credential", c->name) : NULL, e);
}

json_t *host_flags(const char *name, bool allow_private, bool plain, const char *connect_to,
	bool ca, bool bound)
{
	json_t *a = json_array();
	if (name[0] == '*')
		json_array_append_new(
			a, json_string(bound ? "! wildcard that injects a key" : "! wildcard"));
	if (allow_private)
		json_array_append_new(a, json_string("! allow-private"));
	if (plain)
		json_array_append_new(a, json_string("! plain"));
	if (connect_to)
		json_array_append_new(a, json_sprintf("! connect-to %s", connect_to));
	if (ca)
		json_array_append_new(a, json_string("own CA"));
	return a;
}

static json_t *experts_of(struct state *st, int64_t id, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT x.name FROM attachments a JOIN experts x ON x.id = a.expert "
		"WHERE a.host = ? ORDER BY x.name",
		"i", id);
	json_t *a = json_array();
	while (q && query_step(q, e) > 0)
		json_array_append_new(a, json_string(col_text(q, 0)));
	return a;
}

json_t *host_list(struct state *st, const struct host *only, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT h.id, h.name || CASE h.port WHEN 443 THEN '' ELSE ':' || h.port END, "
		"h.name, "
		"h.port, h.plain, h.allow_private, h.connect_to, h.ca IS NOT NULL, c.name, "
		"h.created "
		"FROM hosts h LEFT JOIN credentials c ON c.id = h.credential "
		"WHERE ?1 = 0 OR h.id = ?1 ORDER BY h.name, h.port",
		"i", only ? only->id : (int64_t)0);
	json_t *rows = json_array();
	int r = -1;
	while (q && (r = query_step(q, e)) > 0) {
		char created[24];
		const char *key = col_text(q, 8);
		json_array_append_new(rows,
			json_pack("{s:s,s:s?,s:s,s:o,s:s,s:I,s:b,s:b,s:s?,s:b,s:o,s:s}", "host",
				col_text(q, 1), "credential", key, "note", key ? "" : "egress only",
				"flags",
				host_flags(col_text(q, 2), col_int(q, 5), col_int(q, 4),
					col_text(q, 6), col_int(q, 7), key != NULL),
				"name", col_text(q, 2), "port", (json_int_t)col_int(q, 3), "plain",
				(int)col_int(q, 4), "allow_private", (int)col_int(q, 5),
				"connect_to", col_text(q, 6), "ca", (int)col_int(q, 7), "experts",
				experts_of(st, col_int(q, 0), e), "created",
				output_time(col_int(q, 9), created, sizeof created)));
	}
	if (r == 0)
		return rows;
	json_decref(rows);
	return NULL;
}

#include "state/bound_host.h"
#include "base/file.h"
#include "net/hostname.h"
#include "state/db.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------- */

void bound_host_free(struct bound_host *h)
{
	host_free(&h->host);
	free((char *)h->credential_name);
	*h = (struct bound_host){0};
}

static char *dup_text(struct query *q, int i, bool *failed)
{
	const char *s = col_text(q, i);
	char *copy = s ? strdup(s) : NULL;
	*failed |= s && !copy;
	return copy;
}

static char *dup_blob(struct query *q, int i, bool *failed)
{
	size_t n;
	const void *p = col_blob(q, i, &n);
	char *copy = p ? strndup(p, n) : NULL;
	*failed |= p && !copy;
	return copy;
}

int route_read(struct query *q, int i, struct route *r, struct err *e)
{
	bool failed = false;
	*r = (struct route){.allow_private = col_int(q, i),
		.connect_to = dup_text(q, i + 1, &failed),
		.ca = dup_blob(q, i + 2, &failed)};
	return failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

int bound_host_read(struct query *q, struct bound_host *h, struct err *e)
{
	bool failed = false;
	*h = (struct bound_host){.host = {.name = dup_text(q, 0, &failed),
					 .port = (uint16_t)col_int(q, 1),
					 .plain = col_int(q, 2)},
		.credential = col_int(q, 6),
		.credential_name = dup_text(q, 7, &failed),
		.buyer_pays = col_int(q, 8),
		.sealed = col_int(q, 9),
		.has_value = col_int(q, 10),
		.length = (int)col_int(q, 11)};
	if (route_read(q, 3, &h->host.route, e) == 0 && h->host.name && !failed)
		return 0;
	bound_host_free(h);
	return err_set(e, ERR_FAIL, "out of memory");
}

int host_find(struct state *st, const char *text, struct bound_host *h, struct err *e)
{
	HOST_AUTO asked = {0};
	char canonical[HOST_TEXT_MAX];
	*h = (struct bound_host){0};
	if (host_parse(text, &asked, e) < 0)
		return -1;
	host_text(&asked, canonical);
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT " BOUND_HOST_COLUMNS ", id FROM host_view WHERE name = ? AND port = ?",
		"si", asked.name, (int64_t)asked.port);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return name_not_found(st, "host", canonical, "SELECT text FROM host_view", e,
			"evctl-host add %s", canonical);
	if (bound_host_read(q, h, e) < 0)
		return -1;
	h->id = col_int(q, 12);
	return 0;
}

int host_texts(struct state *st, struct strv *out, struct err *e)
{
	return db_texts(st->db, e, out, "SELECT text FROM host_view ORDER BY name, port", "");
}

/* ---- changes ------------------------------------------------------------------------------- */

static int check(const struct host *h, struct err *e)
{
	const struct route *r = &h->route;
	if (r->connect_to && host_check_connect_to(r->connect_to, e) < 0)
		return -1;
	if (host_is_wildcard(h) && r->allow_private && !r->connect_to) {
		err_set(e, ERR_USAGE,
			"on a wildcard, '--allow-private' goes only with '--connect-to'");
		return err_hint(e, "add --connect-to ADDR:PORT, or declare the exact host");
	}
	return 0;
}

/* GnuTLS takes no such name from a client, so over TLS the gate is never asked for it. */
static int check_reachable(const struct host *h, const char *text, struct err *e)
{
	if (!strchr(h->name, '_') || (h->plain && h->port != 443))
		return 0;
	err_set(e, ERR_USAGE, "'%s' cannot be reached over TLS: it has a '_'", text);
	return err_hint(e, "if it speaks plain HTTP: evctl-host add %s:PORT --plain", h->name);
}

static json_t *detail_of(const struct host *h)
{
	const struct route *r = &h->route;
	return json_pack("{s:b,s:b,s:s?,s:b}", "allow_private", (int)r->allow_private, "plain",
		(int)h->plain, "connect_to", r->connect_to, "ca", r->ca != NULL);
}

int host_add(struct state *st, const struct host *h, const struct cred *bind, struct err *e)
{
	char text[HOST_TEXT_MAX];
	const struct route *to = &h->route;
	int64_t n;
	bool found;
	host_text(h, text);
	if (check(h, e) < 0 || check_reachable(h, text, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_number(st->db, e, &n, &found, "SELECT 1 FROM hosts WHERE name = ? AND port = ?",
		"si", h->name, (int64_t)h->port);
	if (r == 0 && found) {
		err_set(e, ERR_CONFLICT, "there is a host '%s' already", text);
		r = err_hint(e, "evctl-host set %s changes its flags", text);
	}
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO hosts (name, port, plain, allow_private, connect_to, ca, "
			"credential, created) VALUES (?, ?, ?, ?, ?, ?, nullif(?, 0), ?)",
			"siiisbii", h->name, (int64_t)h->port, (int64_t)h->plain,
			(int64_t)to->allow_private, to->connect_to, (const void *)to->ca,
			to->ca ? strlen(to->ca) : (size_t)0, bind ? bind->id : (int64_t)0,
			clock_real_ms());
	json_t *detail = detail_of(h);
	if (bind)
		json_object_set_new(detail, "bind", json_string(bind->name));
	return state_finish(st, r, "host add", text, detail, e);
}

int host_set(struct state *st, const struct bound_host *h, const struct host *to, struct err *e)
{
	char text[HOST_TEXT_MAX];
	const struct route *r = &to->route;
	host_text(&h->host, text);
	if (check(to, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int rc = db_exec(st->db, e,
		"UPDATE hosts SET plain = ?, allow_private = ?, connect_to = ?, ca = ? WHERE id = "
		"?",
		"iisbi", (int64_t)to->plain, (int64_t)r->allow_private, r->connect_to,
		(const void *)r->ca, r->ca ? strlen(r->ca) : (size_t)0, h->id);
	return state_finish(st, rc, "host set", text, detail_of(to), e);
}

int host_rename(struct state *st, const struct bound_host *h, const struct host *to, struct err *e)
{
	char text[HOST_TEXT_MAX], new_text[HOST_TEXT_MAX];
	int64_t n;
	bool found;
	host_text(&h->host, text);
	host_text(to, new_text);
	if (check(to, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_number(st->db, e, &n, &found, "SELECT 1 FROM hosts WHERE name = ? AND port = ?",
		"si", to->name, (int64_t)to->port);
	if (r == 0 && found) {
		err_set(e, ERR_CONFLICT, "there is a host '%s' already", new_text);
		r = err_hint(e, "evctl-host show %s", new_text);
	}
	if (r == 0)
		r = db_exec(st->db, e, "UPDATE hosts SET name = ?, port = ? WHERE id = ?", "sii",
			to->name, (int64_t)to->port, h->id);
	return state_finish(st, r, "host rename", text, json_pack("{s:s}", "to", new_text), e);
}

int host_remove(struct state *st, const struct bound_host *h, struct err *e)
{
	STRV_AUTO users = {0};
	char text[HOST_TEXT_MAX];
	host_text(&h->host, text);
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_texts(st->db, e, &users,
		"SELECT x.name FROM attachments a JOIN experts x ON x.id = a.expert "
		"WHERE a.host = ? ORDER BY x.name",
		"i", h->id);
	if (r == 0 && users.n) {
		STR_AUTO all = strv_join(&users, ", ");
		err_set(e, ERR_CONFLICT, "host '%s' is attached to: %s", text, all ? all : "");
		r = err_hint(e, "evctl-expert detach %s %s", users.v[0], text);
	}
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM hosts WHERE id = ?", "i", h->id);
	return state_finish(st, r, "host rm", text, NULL, e);
}

int host_bind(struct state *st, const struct bound_host *h, const struct cred *c, struct err *e)
{
	char text[HOST_TEXT_MAX];
	host_text(&h->host, text);
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "UPDATE hosts SET credential = nullif(?, 0) WHERE id = ?", "ii",
		c ? c->id : (int64_t)0, h->id);
	return state_finish(st, r, c ? "bind set" : "bind clear", text,
		c ? json_pack("{s:s}", "credential", c->name) : NULL, e);
}

/* ---- lists --------------------------------------------------------------------------------- */

static void add_if(json_t *flags, bool so, const char *word)
{
	if (so)
		json_array_append_new(flags, json_string(word));
}

json_t *host_json(const struct host *h)
{
	char text[HOST_TEXT_MAX];
	host_text(h, text);
	return json_string(text);
}

json_t *host_flags(const struct host *h, bool bound)
{
	const struct route *r = &h->route;
	json_t *a = json_array();
	add_if(a, host_is_wildcard(h), bound ? "! wildcard that injects a key" : "! wildcard");
	add_if(a, r->allow_private, "! allow-private");
	add_if(a, h->plain, "! plain");
	if (r->connect_to)
		json_array_append_new(a, json_sprintf("! connect-to %s", r->connect_to));
	add_if(a, r->ca, "own CA");
	return a;
}

void host_scope(struct buf *b, const char *text, const struct host *h)
{
	const struct route *r = &h->route;
	buf_addf(b, "%s%s%s%s%s%s%s", text, host_is_wildcard(h) ? " wildcard" : "",
		r->allow_private ? " allow-private" : "", h->plain ? " plain" : "",
		r->connect_to ? " connect-to " : "", r->connect_to ? r->connect_to : "",
		r->ca ? " ca" : "");
}

json_t *host_list(struct state *st, const struct bound_host *only, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT text AS host, credential_name AS credential, "
		"iif(credential IS NULL, 'egress only', '') AS note, flags AS 'flags:json', name, "
		"port, plain AS 'plain:bool', allow_private AS 'allow_private:bool', connect_to, "
		"ca IS NOT NULL AS 'ca:bool', (SELECT json_group_array(name) FROM (SELECT x.name "
		"FROM attachments a JOIN experts x ON x.id = a.expert WHERE a.host = h.id "
		"ORDER BY 1)) AS 'experts:json', created AS 'created:time' FROM host_view h "
		"WHERE ?1 = 0 OR id = ?1 ORDER BY name, port",
		"i", only ? only->id : (int64_t)0);
}

json_t *host_named(struct state *st, const char *text, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	return host_find(st, text, &h, e) < 0 ? NULL : host_list(st, &h, e);
}

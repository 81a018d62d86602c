#include "state/conn.h"
#include "base/file.h"
#include "net/hostname.h"
#include "net/http.h"
#include "state/db.h"
#include "state/keyed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct keyed keyed_of(int64_t id, const char *name)
{
	return (struct keyed){&keyed_connection, id, name};
}

void conn_free(struct conn *c)
{
	free((char *)c->name);
	free((char *)c->env);
	free((char *)c->auth);
	strv_free(&c->hosts);
	route_free(&c->route);
	*c = (struct conn){0};
}

#define COLUMNS \
	"id, version, name, env, auth, allow_private, connect_to, ca, has_value, length, hosts"

/* The row's texts, which the query's next step would take away. */
static int read_row(struct query *q, struct conn *c, struct err *e)
{
	*c = (struct conn){.id = col_int(q, 0),
		.version = col_int(q, 1),
		.name = strdup(col_text(q, 2)),
		.env = strdup(col_text(q, 3)),
		.auth = strdup(col_text(q, 4)),
		.has_value = col_int(q, 8),
		.length = col_int(q, 9)};
	JSON_AUTO hosts = json_loads(col_text(q, 10), 0, NULL);
	for (size_t i = 0; i < json_array_size(hosts); i++)
		strv_add(&c->hosts, json_string_value(json_array_get(hosts, i)));
	if (route_read(q, 5, &c->route, e) < 0)
		return -1;
	if (c->name && c->env && c->auth && hosts && !c->hosts.failed)
		return 0;
	return err_set(e, ERR_FAIL, "out of memory");
}

int conn_find(struct state *st, const char *name, struct conn *c, struct err *e)
{
	*c = (struct conn){0};
	if (name_check("connection", name, e) < 0)
		return -1;
	QUERY_AUTO q =
		db_query(st->db, e, "SELECT " COLUMNS " FROM conn_view WHERE name = ?", "s", name);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return name_not_found(st, "connection", name, "SELECT name FROM connections", e,
			"evctl-conn add %.64s --host HOST --env VAR --auth bearer", name);
	if (read_row(q, c, e) == 0)
		return 0;
	conn_free(c);
	return -1;
}

bool conn_exists(struct state *st, const char *name)
{
	return keyed_exists(st, &keyed_connection, name);
}

int conn_names(struct state *st, struct strv *out, struct err *e)
{
	return db_texts(st->db, e, out, "SELECT name FROM connections ORDER BY name", "");
}

/* ---- what is refused ----------------------------------------------------------------------- */

static int parse_host(const char *text, struct host *h, struct err *e)
{
	if (strchr(text, '*')) {
		err_set(e, ERR_USAGE, "a connection has exact hosts, no wildcards: '%s'", text);
		return err_hint(e, "name each host: --host A --host B");
	}
	return host_parse(text, h, e);
}

static bool is_token(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "0123456789!#$%&'*+-.^_`|~") == strlen(s);
}

/* Headers that are the broker's or the connection's own: a key there would break the request. */
static bool is_framing(const char *name)
{
	static const char *const own[] = {"host", "content-length", "transfer-encoding",
		"connection", "keep-alive", "te", "trailer", "upgrade", "expect", "content-type",
		"accept-encoding", "content-encoding", "proxy-authorization", "proxy-connection"};
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (strcasecmp(name, own[i]) == 0)
			return true;
	return false;
}

static int check_auth(const char *auth, struct err *e)
{
	const char *header = strncmp(auth, "header:", 7) == 0 ? auth + 7 : NULL;
	if (strcmp(auth, "bearer") == 0)
		return 0;
	if (header && is_token(header) && strlen(header) <= 64 && !is_framing(header))
		return 0;
	if (header && is_framing(header))
		return err_set(e, ERR_USAGE, "the header '%s' cannot carry a key", header);
	err_set(e, ERR_USAGE, "not an auth style: '%.40s'", auth);
	return err_hint(e, "--auth bearer, or --auth header:X-Api-Key");
}

int conn_check(const struct conn *c, struct err *e)
{
	if (name_check("connection", c->name, e) < 0 || check_auth(c->auth, e) < 0)
		return -1;
	if (name_check_credential(c->env, e) < 0)
		return err_wrap(e, "'--env'");
	if (c->route.connect_to && host_check_connect_to(c->route.connect_to, e) < 0)
		return -1;
	if (!c->hosts.n || c->hosts.n > CONN_HOSTS_MAX) {
		err_set(e, ERR_USAGE, "a connection has 1 to %d hosts", CONN_HOSTS_MAX);
		return err_hint(e, "--host api.example.com");
	}
	for (size_t i = 0; i < c->hosts.n; i++) {
		HOST_AUTO h = {0};
		if (parse_host(c->hosts.v[i], &h, e) < 0)
			return -1;
	}
	return 0;
}

/* Fit to be sent as a header and to be found again in an echo; ERR_USAGE otherwise. */
static int conn_check_value(const struct secret *v, struct err *e)
{
	if (!http_value_ok(v->data, v->n))
		return err_set(e, ERR_USAGE, "the key holds a control character");
	/* A server sees a field without the space around it; an echo would not be the value. */
	if (v->data[0] == ' ' || v->data[v->n - 1] == ' ') {
		err_set(e, ERR_USAGE, "the key begins or ends with a space");
		return err_hint(e, "add --trim to drop it");
	}
	return 0;
}

/* ---- changes ------------------------------------------------------------------------------- */

static int put_hosts(struct state *st, int64_t id, const struct strv *hosts, struct err *e)
{
	if (db_exec(st->db, e, "DELETE FROM connection_hosts WHERE connection = ?", "i", id) < 0)
		return -1;
	for (size_t i = 0; i < hosts->n; i++) {
		HOST_AUTO h = {0};
		if (parse_host(hosts->v[i], &h, e) < 0 ||
			db_exec(st->db, e,
				"INSERT OR IGNORE INTO connection_hosts VALUES (?, ?, ?)", "isi",
				id, h.name, (int64_t)h.port) < 0)
			return -1;
	}
	return 0;
}

static json_t *detail_of(const struct conn *c)
{
	const struct route *r = &c->route;
	return json_pack("{s:o,s:s,s:s,s:b,s:s?,s:b}", "hosts", json_texts(&c->hosts), "env",
		c->env, "auth", c->auth, "allow_private", (int)r->allow_private, "connect_to",
		r->connect_to, "ca", r->ca != NULL);
}

static int put_row(struct state *st, const struct conn *c, struct err *e)
{
	const struct route *r = &c->route;
	if (db_exec(st->db, e,
		    "UPDATE connections SET env = ?, auth = ?, allow_private = ?, connect_to = ?, "
		    "ca = ?, changed = ? WHERE id = ?",
		    "ssisbii", c->env, c->auth, (int64_t)r->allow_private, r->connect_to,
		    (const void *)r->ca, r->ca ? strlen(r->ca) : (size_t)0, clock_real_ms(),
		    c->id) < 0)
		return -1;
	return put_hosts(st, c->id, &c->hosts, e);
}

static int insert_row(
	struct state *st, const struct conn *c, const struct secret *value, struct err *e)
{
	int64_t now = clock_real_ms();
	if (db_exec(st->db, e,
		    "INSERT INTO connections (name, env, auth, created, changed) "
		    "VALUES (?, ?, ?, ?, ?)",
		    "sssii", c->name, c->env, c->auth, now, now) < 0)
		return -1;
	struct conn made = *c;
	made.id = db_last_id(st->db);
	struct keyed k = keyed_of(made.id, made.name);
	if (put_row(st, &made, e) < 0)
		return -1;
	return value ? keyed_put(st, &k, value, e) : 0;
}

int conn_add(struct state *st, const struct conn *c, const struct secret *value, struct err *e)
{
	if (conn_check(c, e) < 0 || (value && conn_check_value(value, e) < 0) ||
		state_begin(st, e) < 0)
		return -1;
	int r = 0;
	if (conn_exists(st, c->name)) {
		err_set(e, ERR_CONFLICT, "there is a connection '%s' already", c->name);
		r = err_hint(e, "evctl-conn set %s, evctl-conn rotate %s, or add --if-missing",
			c->name, c->name);
	}
	if (r == 0)
		r = insert_row(st, c, value, e);
	return state_finish(st, r, "conn add", c->name, detail_of(c), e);
}

int conn_set(struct state *st, const struct conn *c, struct err *e)
{
	if (conn_check(c, e) < 0 || state_begin(st, e) < 0)
		return -1;
	return state_finish(st, put_row(st, c, e), "conn set", c->name, detail_of(c), e);
}

int conn_rotate(struct state *st, const struct conn *c, const struct secret *value, struct err *e)
{
	struct keyed k = keyed_of(c->id, c->name);
	return conn_check_value(value, e) < 0 ? -1 : keyed_rotate(st, &k, value, e);
}

int conn_remove(struct state *st, const struct conn *c, struct err *e)
{
	STRV_AUTO users = {0};
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_texts(st->db, e, &users,
		"SELECT x.name FROM grants g JOIN experts x ON x.id = g.expert "
		"WHERE g.connection = ? ORDER BY x.name",
		"i", c->id);
	if (r == 0 && users.n) {
		STR_AUTO all = strv_join(&users, ", ");
		err_set(e, ERR_CONFLICT, "connection '%s' is granted to: %s", c->name,
			all ? all : "");
		r = err_hint(e, "evctl-conn revoke %s %s", c->name, users.v[0]);
	}
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM connections WHERE id = ?", "i", c->id);
	return state_finish(st, r, "conn rm", c->name, NULL, e);
}

/* ---- grants -------------------------------------------------------------------------------- */

static const char *payer_word(bool buyer_pays)
{
	return buyer_pays ? "buyer" : "builder";
}

int conn_granted(struct state *st, const struct conn *c, const struct expert *x, bool *granted,
	bool *buyer_pays, struct err *e)
{
	int64_t n;
	int r = db_number(st->db, e, &n, granted,
		"SELECT payer = 'buyer' FROM grants WHERE connection = ? AND expert = ?", "ii",
		c->id, x->id);
	*buyer_pays = *granted && n;
	return r;
}

int conn_grant(struct state *st, const struct conn *c, const struct expert *x, bool buyer_pays,
	bool *changed, struct err *e)
{
	bool granted, was;
	*changed = false;
	if (!buyer_pays && !c->has_value) {
		err_set(e, ERR_CONFLICT, "connection '%s' has no key of yours to pay with",
			c->name);
		return err_hint(e, "evctl-conn rotate %s, or grant it with --payer buyer", c->name);
	}
	if (state_begin(st, e) < 0)
		return -1;
	int r = conn_granted(st, c, x, &granted, &was, e);
	if (r == 0 && granted && was == buyer_pays) {
		state_leave(st);
		return 0;
	}
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO grants VALUES (?, ?, ?) ON CONFLICT (connection, expert) "
			"DO UPDATE SET payer = excluded.payer",
			"iis", c->id, x->id, payer_word(buyer_pays));
	*changed = true;
	return state_finish(st, r, "conn grant", c->name,
		json_pack("{s:s,s:s}", "expert", x->name, "payer", payer_word(buyer_pays)), e);
}

int conn_revoke(struct state *st, const struct conn *c, const struct expert *x, bool *changed,
	struct err *e)
{
	*changed = false;
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "DELETE FROM grants WHERE connection = ? AND expert = ?", "ii",
		c->id, x->id);
	if (r == 0 && db_changes(st->db) == 0) {
		state_leave(st);
		return 0;
	}
	*changed = true;
	return state_finish(
		st, r, "conn revoke", c->name, json_pack("{s:s}", "expert", x->name), e);
}

/* ---- buyers -------------------------------------------------------------------------------- */

/* What a key of this connection reaches now, in the words of cred_scope(). */
json_t *conn_scope(const struct conn *c)
{
	const struct host any = {.name = "", .route = c->route};
	json_t *out = json_array();
	for (size_t i = 0; i < c->hosts.n; i++) {
		BUF_AUTO scope = {0};
		host_scope(&scope, c->hosts.v[i], &any);
		json_array_append_new(out, json_string(buf_str(&scope)));
	}
	return out;
}

static int check_buyer_pays(
	struct state *st, const struct conn *c, const struct expert *x, struct err *e)
{
	bool granted, buyer_pays;
	if (conn_granted(st, c, x, &granted, &buyer_pays, e) < 0)
		return -1;
	if (buyer_pays)
		return 0;
	if (granted)
		err_set(e, ERR_CONFLICT, "connection '%s' is paid for by the builder in '%s'",
			c->name, x->name);
	else
		err_set(e, ERR_CONFLICT, "connection '%s' is not granted to '%s'", c->name,
			x->name);
	return err_hint(e, "evctl-conn grant %s %s --payer buyer", c->name, x->name);
}

int conn_supply(struct state *st, const struct conn *c, const struct expert *x, const char *buyer,
	const struct secret *value, struct err *e)
{
	CONN_AUTO now = {0};
	struct keyed k = keyed_of(c->id, c->name);
	if (name_check("buyer", buyer, e) < 0 || conn_check_value(value, e) < 0 ||
		state_begin(st, e) < 0)
		return -1;
	/* The hosts agreed to are those of this moment: read under the lock. */
	int r = conn_find(st, c->name, &now, e);
	if (r == 0)
		r = check_buyer_pays(st, &now, x, e);
	JSON_AUTO scope = conn_scope(&now);
	if (r == 0)
		r = keyed_supply(st, &k, x->id, buyer, scope, value, e);
	return keyed_supplied(st, r, &k, x->name, buyer, e);
}

int conn_withdraw(struct state *st, const struct conn *c, const struct expert *x, const char *buyer,
	struct err *e)
{
	struct keyed k = keyed_of(c->id, c->name);
	return keyed_withdraw(st, &k, x, buyer, e);
}

/* ---- the key for a call -------------------------------------------------------------------- */

static int builder_key(struct state *st, const struct conn *c, struct secret *out, struct err *e)
{
	struct keyed k = keyed_of(c->id, c->name);
	int r = keyed_open(st, &k, out, e);
	if (r != 0)
		return r < 0 ? -1 : 0;
	err_set(e, ERR_NOTFOUND, "connection '%s' has no key of yours", c->name);
	return err_hint(e, "evctl-conn rotate %s", c->name);
}

static bool array_has(const json_t *a, const char *text)
{
	size_t i;
	json_t *v;
	json_array_foreach (a, i, v) {
		if (strcmp(json_string_value(v) ? json_string_value(v) : "", text) == 0)
			return true;
	}
	return false;
}

static int missing(const struct conn *c, const struct expert *x, const char *buyer,
	const char *wider, struct err *e)
{
	if (wider)
		err_set(e, ERR_MISSING_KEY,
			"%s was supplied before connection '%s' reached '%s'; supply it again",
			c->env, c->name, wider);
	else
		err_set(e, ERR_MISSING_KEY,
			"buyer '%s' has not supplied %s, which connection '%s' "
			"needs",
			buyer, c->env, c->name);
	return err_hint(e, "evctl-conn supply %s --expert %s --buyer %s", c->name, x->name, buyer);
}

/* A key goes nowhere that its owner has not agreed to. */
static int check_agreed(const struct conn *c, const struct expert *x, const char *buyer,
	const json_t *agreed, struct err *e)
{
	JSON_AUTO scope = conn_scope(c);
	size_t i;
	json_t *v;
	json_array_foreach (scope, i, v) {
		if (!array_has(agreed, json_string_value(v)))
			return missing(c, x, buyer, json_string_value(v), e);
	}
	return 0;
}

static int buyer_key(struct state *st, const struct conn *c, const struct expert *x,
	const char *buyer, struct secret *out, struct err *e)
{
	JSON_AUTO agreed = NULL;
	struct keyed k = keyed_of(c->id, c->name);
	int r = keyed_open_buyer(st, &k, x->id, buyer, &agreed, out, e);
	if (r <= 0)
		return r < 0 ? -1 : missing(c, x, buyer, NULL, e);
	if (check_agreed(c, x, buyer, agreed, e) == 0)
		return 0;
	secret_free(out);
	return -1;
}

int conn_key(struct state *st, const struct conn *c, const struct expert *x, bool buyer_pays,
	const char *buyer, struct secret *out, struct err *e)
{
	if (!buyer_pays)
		return builder_key(st, c, out, e);
	return buyer_key(st, c, x, buyer ? buyer : CONN_BUILDER, out, e);
}

/* ---- lists --------------------------------------------------------------------------------- */

/* Of the connection c. */
#define GRANTS                                                                              \
	"SELECT x.name AS expert, g.payer FROM grants g JOIN experts x ON x.id = g.expert " \
	"WHERE g.connection = c.id ORDER BY 1"

json_t *conn_grants(struct state *st, int64_t conn_id, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT x.name AS expert, g.payer FROM grants g JOIN experts x ON x.id = g.expert "
		"WHERE g.connection = ? ORDER BY x.name",
		"i", conn_id);
}

json_t *conn_list(struct state *st, const char *name, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT name, hosts AS 'hosts:json', env, auth, "
		"iif(has_value, '" SECRET_MASK "' || tail, NULL) AS hint, "
		"(SELECT json_group_array(flag) FROM (SELECT value AS flag FROM json_each(flags) "
		"UNION ALL SELECT '! short' WHERE has_value AND length < ?2 "
		"UNION ALL SELECT 'no key' WHERE NOT has_value)) AS 'flags:json', "
		"(SELECT json_group_array(expert || ' (' || payer || ')') FROM (" GRANTS ")) "
		"AS 'experts:json', (SELECT json_group_array(json_object('expert', expert, "
		"'payer', payer)) FROM (" GRANTS ")) AS 'grants:json', "
		"(SELECT json_group_array(buyer || ' for ' || name) FROM (SELECT v.buyer, x.name "
		"FROM connection_values v JOIN experts x ON x.id = v.expert "
		"WHERE v.connection = c.id ORDER BY x.name, v.buyer)) AS 'supplied:json', "
		"allow_private AS 'allow_private:bool', connect_to, ca IS NOT NULL AS 'ca:bool', "
		"version, created AS 'created:time', changed AS 'changed:time' "
		"FROM conn_view c WHERE ?1 IS NULL OR name = ?1 ORDER BY name",
		"si", name, (int64_t)CRED_SHORT);
}

json_t *conn_list_of(struct state *st, int64_t expert_id, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT c.name, c.env, c.hosts AS 'hosts:json', g.payer, c.flags AS 'flags:json' "
		"FROM grants g JOIN conn_view c ON c.id = g.connection WHERE g.expert = ? "
		"ORDER BY c.name",
		"i", expert_id);
}

#include "state/cred.h"
#include "base/file.h"
#include "state/db.h"
#include "state/expert.h"
#include "state/keyed.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

static struct keyed keyed_of(int64_t id, const char *name)
{
	return (struct keyed){&keyed_credential, id, name};
}

int cred_find(struct state *st, const char *name, struct cred *c, struct err *e)
{
	if (name_check_credential(name, e) < 0)
		return -1;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, version, payer = 'buyer', sealed, value IS NOT NULL, tail, length, "
		"name, expires IS NOT NULL "
		"FROM credentials WHERE name = ?",
		"s", name);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return name_not_found(st, "credential", name, "SELECT name FROM credentials", e,
			"evctl-cred add %.64s", name);
	*c = (struct cred){.id = col_int(q, 0),
		.version = col_int(q, 1),
		.buyer_pays = col_int(q, 2),
		.sealed = col_int(q, 3),
		.has_value = col_int(q, 4),
		.length = col_int(q, 6),
		.expires = col_int(q, 8)};
	snprintf(c->tail, sizeof c->tail, "%s", col_text(q, 5));
	snprintf(c->name, sizeof c->name, "%s", col_text(q, 7));
	return 0;
}

bool cred_exists(struct state *st, const char *name)
{
	return keyed_exists(st, &keyed_credential, name);
}

int cred_names(struct state *st, struct strv *out, struct err *e)
{
	return db_texts(st->db, e, out, "SELECT name FROM credentials ORDER BY name", "");
}

int cred_behind(struct state *st, const char *name, bool *exists, bool *has_value, char **host,
	struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT c.payer = 'buyer' OR c.value IS NOT NULL, (SELECT text FROM host_view "
		"WHERE credential = c.id ORDER BY name, port LIMIT 1) FROM credentials c "
		"WHERE c.name = ?",
		"s", name);
	int r = query_step(q, e);
	*exists = r > 0;
	*has_value = r > 0 && col_int(q, 0);
	*host = NULL;
	if (r <= 0 || col_null(q, 1))
		return r < 0 ? -1 : 0;
	*host = strdup(col_text(q, 1));
	return *host ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

static int check_sealable(const char *name, bool sealed, const struct secret *value, struct err *e)
{
	if (!sealed || !value)
		return 0;
	if (value->n < CRED_SHORT) {
		err_set(e, ERR_USAGE, "a value under %d bytes cannot be sealed", CRED_SHORT);
		return err_hint(e, "evctl-cred add %s, without --sealed", name);
	}
	if (memchr(value->data, '\n', value->n) || memchr(value->data, '\r', value->n)) {
		err_set(e, ERR_USAGE, "a sealed value cannot hold a line break");
		return err_hint(e, "add --trim if the file merely ends in a newline");
	}
	return 0;
}

static int put_value(
	struct state *st, int64_t id, const char *name, const struct secret *value, struct err *e)
{
	struct keyed k = keyed_of(id, name);
	return value ? keyed_put(st, &k, value, e) : 0;
}

static int add_row(struct state *st, const char *name, bool buyer_pays, bool sealed,
	const struct secret *value, struct err *e)
{
	int64_t now = clock_real_ms();
	if (db_exec(st->db, e,
		    "INSERT INTO credentials (name, payer, sealed, created, changed) "
		    "VALUES (?, ?, ?, ?, ?)",
		    "ssiii", name, buyer_pays ? "buyer" : "stored", (int64_t)sealed, now, now) < 0)
		return -1;
	return put_value(st, db_last_id(st->db), name, value, e);
}

static int replace_row(struct state *st, const struct cred *old, bool buyer_pays, bool sealed,
	const struct secret *value, struct err *e)
{
	if (db_exec(st->db, e,
		    "UPDATE credentials SET payer = ?, sealed = ?, changed = ? WHERE id = ?",
		    "siii", buyer_pays ? "buyer" : "stored", (int64_t)sealed, clock_real_ms(),
		    old->id) < 0)
		return -1;
	return put_value(st, old->id, old->name, value, e);
}

int cred_add(struct state *st, const char *name, bool buyer_pays, bool sealed, bool replace,
	const struct secret *value, struct err *e)
{
	struct cred old;
	if (name_check_credential(name, e) < 0 || check_sealable(name, sealed, value, e) < 0 ||
		state_begin(st, e) < 0)
		return -1;
	bool exists = cred_exists(st, name);
	int r = 0;
	if (exists && !replace) {
		err_set(e, ERR_CONFLICT, "there is a credential '%s' already", name);
		r = err_hint(e, "evctl-cred rotate %s, or add --replace or --if-missing", name);
	} else if (exists) {
		r = cred_find(st, name, &old, e);
		r = r < 0 ? r : replace_row(st, &old, buyer_pays, sealed, value, e);
	} else {
		r = add_row(st, name, buyer_pays, sealed, value, e);
	}
	return state_finish(st, r, exists ? "cred replace" : "cred add", name,
		json_pack("{s:s,s:b}", "payer", buyer_pays ? "buyer" : "stored", "sealed",
			(int)sealed),
		e);
}

int cred_rotate(struct state *st, const struct cred *c, const struct secret *value, struct err *e)
{
	struct keyed k = keyed_of(c->id, c->name);
	return check_sealable(c->name, c->sealed, value, e) < 0 ? -1
								: keyed_rotate(st, &k, value, e);
}

int cred_set_payer(struct state *st, const struct cred *c, bool buyer_pays, struct err *e)
{
	if (!buyer_pays && !c->has_value) {
		err_set(e, ERR_CONFLICT, "credential '%s' has no stored value", c->name);
		return err_hint(e, "evctl-cred rotate %s, then evctl-cred payer %s stored", c->name,
			c->name);
	}
	if (state_begin(st, e) < 0)
		return -1;
	const char *word = buyer_pays ? "buyer" : "stored";
	int r = db_exec(st->db, e, "UPDATE credentials SET payer = ?, changed = ? WHERE id = ?",
		"sii", word, clock_real_ms(), c->id);
	return state_finish(st, r, "cred payer", c->name, json_pack("{s:s}", "payer", word), e);
}

int cred_set_sealed(struct state *st, const struct cred *c, bool sealed, struct err *e)
{
	if (sealed && c->has_value && c->length < CRED_SHORT) {
		err_set(e, ERR_CONFLICT, "a value under %d bytes cannot be sealed", CRED_SHORT);
		return err_hint(e, "evctl-cred rotate %s with a longer value first", c->name);
	}
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "UPDATE credentials SET sealed = ?, changed = ? WHERE id = ?",
		"iii", (int64_t)sealed, clock_real_ms(), c->id);
	return state_finish(
		st, r, "cred set", c->name, json_pack("{s:b}", "sealed", (int)sealed), e);
}

static int users_of(struct state *st, int64_t id, struct strv *users, struct err *e)
{
	return db_texts(st->db, e, users,
		"SELECT 'host ' || text FROM host_view WHERE credential = ?1 UNION ALL "
		"SELECT DISTINCT 'version ' || h.version || ' of expert ' || x.name "
		"FROM frozen_host_view h JOIN experts x ON x.id = h.expert WHERE h.credential = ?1",
		"i", id);
}

int cred_remove(struct state *st, const struct cred *c, struct err *e)
{
	STRV_AUTO users = {0};
	if (state_begin(st, e) < 0)
		return -1;
	int r = users_of(st, c->id, &users, e);
	if (r == 0 && users.n) {
		STR_AUTO all = strv_join(&users, ", ");
		err_set(e, ERR_CONFLICT, "credential '%s' is in use by: %s", c->name,
			all ? all : "");
		r = strncmp(users.v[0], "host ", 5) == 0
			    ? err_hint(e, "evctl-bind clear %s", users.v[0] + 5)
			    : err_hint(e, "evctl-expert rm-version EXPERT VERSION");
	}
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM credentials WHERE id = ?", "i", c->id);
	return state_finish(st, r, "cred rm", c->name, NULL, e);
}

int cred_readers(struct state *st, const struct cred *c, struct strv *out, struct err *e)
{
	return db_texts(st->db, e, out,
		"SELECT 'version ' || s.version || ' of ' || x.name FROM snapshots s "
		"JOIN experts x ON x.id = s.expert WHERE instr(s.reads, '\"' || ?1 || '\"') "
		"AND EXISTS (SELECT 1 FROM snapshot_hosts h WHERE h.snapshot = s.id "
		"AND h.credential = ?2) ORDER BY x.name, s.version",
		"si", c->name, c->id);
}

/* Its stored value, whoever pays now; 0: there is none. */
static int open_stored(struct state *st, const struct cred *c, struct secret *out, struct err *e)
{
	size_t n;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT version, value FROM credentials WHERE id = ? AND value IS NOT NULL", "i",
		c->id);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	const void *p = col_blob(q, 1, &n);
	struct seal_id id = {"credentials", c->id, c->name, col_int(q, 0)};
	return seal_open(&st->private_key, &id, p, n, out, e) < 0 ? -1 : 1;
}

int cred_check_new(struct state *st, const char *name, struct err *e)
{
	if (name_check_credential(name, e) < 0)
		return -1;
	if (!cred_exists(st, name))
		return 0;
	err_set(e, ERR_CONFLICT, "there is a credential '%s' already", name);
	return err_hint(e, "evctl-cred show %s", name);
}

int cred_rename(struct state *st, const struct cred *c, const char *to, struct err *e)
{
	SECRET_AUTO value = {0};
	if (cred_check_new(st, to, e) < 0)
		return -1;
	if ((c->has_value && state_unlock(st, e) < 0) || state_begin(st, e) < 0)
		return -1;
	int there = open_stored(st, c, &value, e);
	int r = there < 0 ? -1
			  : db_exec(st->db, e, "UPDATE credentials SET name = ? WHERE id = ?", "si",
				    to, c->id);
	if (r == 0 && there)
		r = put_value(st, c->id, to, &value, e);
	return state_finish(st, r, "cred rename", c->name, json_pack("{s:s}", "to", to), e);
}

int cred_open(struct state *st, const struct cred *c, int64_t expert, const char *buyer,
	struct secret *out, struct err *e)
{
	struct keyed k = keyed_of(c->id, c->name);
	return c->buyer_pays ? keyed_open_buyer(st, &k, expert, buyer, NULL, out, e)
			     : keyed_open(st, &k, out, e);
}

/* ---- buyers -------------------------------------------------------------------------------- */

json_t *cred_scope(
	struct state *st, int64_t cred_id, int64_t expert_id, int64_t version, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT " BOUND_HOST_COLUMNS ", text FROM frozen_host_view "
		"WHERE expert = ? AND version = ? AND credential = ? ORDER BY name, port",
		"iii", expert_id, version, cred_id);
	json_t *out = json_array();
	int r;
	while ((r = query_step(q, e)) > 0) {
		BOUND_HOST_AUTO h = {0};
		BUF_AUTO scope = {0};
		if ((r = bound_host_read(q, &h, e)) < 0)
			break;
		host_scope(&scope, col_text(q, 12), &h.host);
		json_array_append_new(out, json_string(buf_str(&scope)));
	}
	if (r == 0)
		return out;
	json_decref(out);
	return NULL;
}

int cred_agreed(struct state *st, int64_t cred_id, int64_t expert_id, const char *buyer,
	json_t **scope, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT hosts FROM buyer_values "
		"WHERE credential = ? AND expert = ? AND buyer = ? AND value IS NOT NULL",
		"iis", cred_id, expert_id, buyer);
	int r = query_step(q, e);
	*scope = r > 0 ? col_json(q, 0) : NULL;
	return r;
}

json_t *cred_supplied(struct state *st, int64_t expert_id, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT c.id AS credential, c.name AS key, b.buyer, b.hosts AS 'scope:json' "
		"FROM buyer_values b JOIN credentials c ON c.id = b.credential "
		"WHERE b.expert = ? AND b.value IS NOT NULL AND c.payer = 'buyer' "
		"ORDER BY b.buyer, c.name",
		"i", expert_id);
}

int cred_supply(struct state *st, const struct cred *c, const char *expert, const char *buyer,
	const struct secret *value, struct err *e)
{
	EXPERT_AUTO x = {0};
	JSON_AUTO scope = NULL;
	struct keyed k = keyed_of(c->id, c->name);
	if (!c->buyer_pays) {
		err_set(e, ERR_CONFLICT, "credential '%s' is stored: buyers supply none", c->name);
		return err_hint(e, "evctl-cred payer %s buyer", c->name);
	}
	if (name_check("buyer", buyer, e) < 0 || check_sealable(c->name, c->sealed, value, e) < 0 ||
		state_begin(st, e) < 0)
		return -1;
	int r = expert_find(st, expert, &x, e);
	if (r == 0)
		scope = cred_scope(st, c->id, x.id, x.published, e);
	r = scope ? keyed_supply(st, &k, x.id, buyer, scope, value, e) : -1;
	return keyed_supplied(st, r, &k, expert, buyer, e);
}

int cred_withdraw(struct state *st, const struct cred *c, const char *expert, const char *buyer,
	struct err *e)
{
	EXPERT_AUTO x = {0};
	struct keyed k = keyed_of(c->id, c->name);
	return expert_find(st, expert, &x, e) < 0 ? -1 : keyed_withdraw(st, &k, &x, buyer, e);
}

/* ---- lists --------------------------------------------------------------------------------- */

json_t *cred_list(struct state *st, const char *name, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT c.name, payer, sealed AS 'sealed:bool', "
		"iif(payer = 'stored' AND value IS NOT NULL, '" SECRET_MASK "' || tail, NULL) "
		"AS hint, coalesce(h.texts, '[]') AS 'hosts:json', "
		"iif(h.texts IS NULL, 'No hosts bound yet', '') AS note, "
		"(SELECT json_group_array(flag) FROM (SELECT 'sealed' AS flag WHERE sealed "
		"UNION ALL SELECT '! short' WHERE value IS NOT NULL AND length < ?2 "
		"UNION ALL SELECT iif(expires < ?3, '! expired', '! expires') "
		"WHERE expires - remind * 86400000 <= ?3)) "
		"AS 'flags:json', version, created AS 'created:time', changed AS 'changed:time', "
		"(?3 + 86399999 - changed) / 86400000 AS age, u.used AS 'last_used:time', "
		"date(expires / 1000, 'unixepoch') AS expires, remind, "
		"(SELECT coalesce(json_group_array(name), '[]') FROM (SELECT DISTINCT x.name "
		"FROM hosts b JOIN attachments a ON a.host = b.id JOIN experts x ON x.id = a.expert "
		"WHERE b.credential = c.id ORDER BY x.name)) AS 'experts:json', "
		"(SELECT coalesce(json_group_array(text), '[]') FROM (SELECT DISTINCT "
		"'version ' || s.version || ' of ' || x.name AS text FROM snapshot_hosts b "
		"JOIN snapshots s ON s.id = b.snapshot JOIN experts x ON x.id = s.expert "
		"WHERE b.credential = c.id ORDER BY x.name, s.version)) AS 'versions:json', "
		"(SELECT coalesce(json_group_array(text), '[]') FROM (SELECT b.buyer || ' (' || "
		"x.name || ')' AS text FROM buyer_values b JOIN experts x ON x.id = b.expert "
		"WHERE b.credential = c.id AND b.value IS NOT NULL ORDER BY b.buyer, x.name)) "
		"AS 'buyers:json', "
		"(SELECT coalesce(json_group_array(name), '[]') FROM (SELECT DISTINCT k.name "
		"FROM hosts b JOIN connection_hosts ch ON ch.name = b.name AND ch.port = b.port "
		"JOIN connections k ON k.id = ch.connection WHERE b.credential = c.id "
		"ORDER BY k.name)) AS 'connections:json' "
		"FROM credentials c LEFT JOIN (SELECT credential, json_group_array(text) AS texts "
		"FROM (SELECT credential, text FROM host_view WHERE credential IS NOT NULL "
		"ORDER BY name, port) GROUP BY credential) h ON h.credential = c.id "
		"LEFT JOIN (SELECT j.key AS key, max(r.started) AS used FROM runs r, "
		"json_each(r.detail, '$.keys') j GROUP BY j.key) u ON u.key = c.name "
		"WHERE ?1 IS NULL OR c.name = ?1 ORDER BY c.name",
		"sii", name, (int64_t)CRED_SHORT, clock_real_ms() / DAY_MS * DAY_MS);
}

#include "state/buyer_key.h"

#include "state/conn.h"
#include "state/cred.h"
#include "state/db.h"

#include <string.h>

/* Hosts that the key goes to now, in the words of cred_scope(); the caller's. */
static json_t *scope_now(struct state *st, enum buyer_key_kind kind, const char *key,
	const struct expert *x, int64_t *id, struct err *e)
{
	CONN_AUTO conn = {0};
	struct cred cred;
	if (kind == BUYER_KEY_CREDENTIAL) {
		if (cred_find(st, key, &cred, e) < 0)
			return NULL;
		*id = cred.id;
		return cred_scope(st, cred.id, x->id, x->published, e);
	}
	if (conn_find(st, key, &conn, e) < 0)
		return NULL;
	*id = conn.id;
	return conn_scope(&conn);
}

static bool is_covered(const json_t *now, const json_t *agreed)
{
	size_t i;
	json_t *v;
	json_array_foreach (now, i, v) {
		if (!json_array_has(agreed, json_string_value(v)))
			return false;
	}
	return true;
}

/* ---- lists --------------------------------------------------------------------------------- */

static int add_one(
	struct state *st, const struct expert *x, struct query *q, json_t *all, struct err *e)
{
	int64_t id;
	BUF_AUTO hint = {0};
	const char *kind = col_text(q, 0);
	bool cred = strcmp(kind, "credential") == 0;
	JSON_AUTO agreed = col_json(q, 3);
	JSON_AUTO now = scope_now(
		st, cred ? BUYER_KEY_CREDENTIAL : BUYER_KEY_CONNECTION, col_text(q, 1), x, &id, e);
	if (!now)
		return -1;
	buf_addf(&hint, "%s%s", SECRET_MASK, col_text(q, 2));
	json_array_append_new(
		all, json_pack("{s:s,s:s,s:s,s:b}", "kind", kind, "key", col_text(q, 1), "hint",
			     buf_str(&hint), "widened", (int)!is_covered(now, agreed)));
	return 0;
}

json_t *buyer_keys(struct state *st, const struct expert_view *v, const char *buyer, struct err *e)
{
	JSON_AUTO all = json_array();
	const struct expert x = {.id = v->id, .name = v->name, .published = v->version};
	int r;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT 'credential', c.name, v.tail, v.hosts FROM buyer_values v "
		"JOIN credentials c ON c.id = v.credential WHERE v.expert = ?1 AND v.buyer = ?2 "
		"UNION ALL SELECT 'connection', c.name, v.tail, v.hosts FROM connection_values v "
		"JOIN connections c ON c.id = v.connection WHERE v.expert = ?1 AND v.buyer = ?2",
		"is", v->id, buyer);
	while ((r = query_step(q, e)) > 0)
		if (add_one(st, &x, q, all, e) < 0)
			return NULL;
	return r < 0 ? NULL : json_incref(all);
}

/* ---- changes ------------------------------------------------------------------------------- */

/* A connection whose key this expert's buyers bring. */
static int find_conn(
	struct state *st, const char *key, const struct expert *x, struct conn *c, struct err *e)
{
	bool granted, buyer_pays;
	if (conn_find(st, key, c, e) < 0 || conn_granted(st, c, x, &granted, &buyer_pays, e) < 0)
		return -1;
	return granted && buyer_pays ? 0 : err_set(e, ERR_NOTFOUND, "no such key");
}

int buyer_key_bring(struct state *st, enum buyer_key_kind kind, const char *key, const char *expert,
	const char *buyer, const struct secret *value, struct err *e)
{
	EXPERT_AUTO x = {0};
	CONN_AUTO conn = {0};
	struct cred cred;
	if (expert_find(st, expert, &x, e) < 0)
		return -1;
	if (kind == BUYER_KEY_CONNECTION)
		return find_conn(st, key, &x, &conn, e) < 0
			       ? -1
			       : conn_supply(st, &conn, &x, buyer, value, e);
	if (cred_find(st, key, &cred, e) < 0)
		return -1;
	if (!cred.buyer_pays)
		return err_set(e, ERR_NOTFOUND, "no such key");
	return cred_supply(st, &cred, expert, buyer, value, e);
}

int buyer_key_withdraw(struct state *st, enum buyer_key_kind kind, const char *key,
	const char *expert, const char *buyer, struct err *e)
{
	EXPERT_AUTO x = {0};
	CONN_AUTO conn = {0};
	struct cred cred;
	if (expert_find(st, expert, &x, e) < 0)
		return -1;
	if (kind == BUYER_KEY_CONNECTION)
		return conn_find(st, key, &conn, e) < 0 ? -1
							: conn_withdraw(st, &conn, &x, buyer, e);
	return cred_find(st, key, &cred, e) < 0 ? -1 : cred_withdraw(st, &cred, expert, buyer, e);
}

static int put_scope(struct state *st, enum buyer_key_kind kind, const char *key,
	const struct expert *x, const char *buyer, struct err *e)
{
	int64_t id;
	BUF_AUTO text = {0};
	JSON_AUTO now = scope_now(st, kind, key, x, &id, e);
	if (!now)
		return -1;
	json_to_buf(now, &text);
	return db_exec(st->db, e,
		kind == BUYER_KEY_CREDENTIAL
			? "UPDATE buyer_values SET hosts = ? WHERE credential = ? AND expert = ? AND "
			  "buyer = ?"
			: "UPDATE connection_values SET hosts = ? WHERE connection = ? AND expert = ? "
			  "AND buyer = ?",
		"siis", buf_str(&text), id, x->id, buyer);
}

int buyer_key_agree(struct state *st, enum buyer_key_kind kind, const char *key, const char *expert,
	const char *buyer, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (state_begin(st, e) < 0)
		return -1;
	int r = expert_find(st, expert, &x, e);
	if (r == 0)
		r = put_scope(st, kind, key, &x, buyer, e);
	return state_finish(st, r, "buyer agree", key,
		json_pack("{s:s,s:s}", "expert", expert, "buyer", buyer), e);
}

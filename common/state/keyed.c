#include "state/keyed.h"
#include "base/file.h"
#include "state/db.h"
#include "state/expert.h"

#define PUT(table)                                                                              \
	"UPDATE " table " SET value = ?, version = ?, tail = ?, length = ?, changed = ? WHERE " \
	"id = ?"
#define OF_BUYER(owner) " WHERE " owner " = ? AND expert = ? AND buyer = ?"

/*
 * owner: the column of the buyers' table that says whose value it is. usable: when the builder's
 * value may be used, beyond being there.
 */
#define KIND(program, tables, usable, buyers_table, owner)                                     \
	{                                                                                      \
		.table = tables, .buyers = buyers_table, .rotate = program " rotate",          \
		.supply = program " supply", .withdraw = program " withdraw",                  \
		.show = "evctl-" program " show",                                              \
		.exists = "SELECT 1 FROM " tables " WHERE name = ?",                           \
		.next = "SELECT version + 1 FROM " tables " WHERE id = ?", .put = PUT(tables), \
		.get = "SELECT id, version, value FROM " tables                                \
		       " WHERE id = ? AND value IS NOT NULL" usable,                           \
		.next_buyer = "INSERT INTO " buyers_table " (" owner                           \
			      ", expert, buyer, version, hosts, changed) "                     \
			      "VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT (" owner                  \
			      ", expert, buyer) DO UPDATE SET version = version + 1, "         \
			      "hosts = excluded.hosts, changed = excluded.changed",            \
		.find_buyer = "SELECT id, version FROM " buyers_table OF_BUYER(owner),         \
		.put_buyer = PUT(buyers_table),                                                \
		.get_buyer = "SELECT id, version, value, hosts FROM " buyers_table OF_BUYER(   \
			owner) " AND value IS NOT NULL",                                       \
		.drop_buyer = "DELETE FROM " buyers_table OF_BUYER(owner),                     \
	}

const struct keyed_kind keyed_credential =
	KIND("cred", "credentials", " AND payer = 'stored'", "buyer_values", "credential");
const struct keyed_kind keyed_connection =
	KIND("conn", "connections", "", "connection_values", "connection");

bool keyed_exists(struct state *st, const struct keyed_kind *kind, const char *name)
{
	struct err quiet = {0};
	int64_t n;
	bool found = false;
	db_number(st->db, &quiet, &n, &found, kind->exists, "s", name);
	return found;
}

static int store(struct state *st, const struct seal_id *id, const struct secret *value,
	const char *sql, struct err *e)
{
	BUF_AUTO blob = {0};
	char tail[5];
	if (seal_record(st->public_key, id, value->data, value->n, &blob, e) < 0)
		return -1;
	secret_tail(tail, value);
	return db_exec(st->db, e, sql, "bisiii", (const void *)blob.data, blob.len, id->version,
		tail, (int64_t)value->n, clock_real_ms(), id->id);
}

/* The version is read under the lock: two rotations at once must not share one. */
int keyed_put(struct state *st, const struct keyed *k, const struct secret *value, struct err *e)
{
	int64_t version;
	bool found;
	if (db_number(st->db, e, &version, &found, k->kind->next, "i", k->id) < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOTFOUND, "'%s' was removed meanwhile", k->name);
	return store(st, &(struct seal_id){k->kind->table, k->id, k->name, version}, value,
		k->kind->put, e);
}

int keyed_rotate(struct state *st, const struct keyed *k, const struct secret *value, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	return state_finish(st, keyed_put(st, k, value, e), k->kind->rotate, k->name, NULL, e);
}

int keyed_supply(struct state *st, const struct keyed *k, int64_t expert, const char *buyer,
	const json_t *scope, const struct secret *value, struct err *e)
{
	BUF_AUTO hosts = {0};
	json_to_buf(scope, &hosts);
	if (db_exec(st->db, e, k->kind->next_buyer, "iissi", k->id, expert, buyer, buf_str(&hosts),
		    clock_real_ms()) < 0)
		return -1;
	QUERY_AUTO q = db_query(st->db, e, k->kind->find_buyer, "iis", k->id, expert, buyer);
	if (query_step(q, e) < 0)
		return -1;
	struct seal_id id = {k->kind->buyers, col_int(q, 0), buyer, col_int(q, 1)};
	return store(st, &id, value, k->kind->put_buyer, e);
}

int keyed_supplied(struct state *st, int r, const struct keyed *k, const char *expert,
	const char *buyer, struct err *e)
{
	return state_finish(st, r, k->kind->supply, k->name,
		json_pack("{s:s,s:s}", "expert", expert, "buyer", buyer), e);
}

int keyed_withdraw(struct state *st, const struct keyed *k, const struct expert *x,
	const char *buyer, struct err *e)
{
	if (name_check("buyer", buyer, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, k->kind->drop_buyer, "iis", k->id, x->id, buyer);
	if (r == 0 && db_changes(st->db) == 0) {
		err_set(e, ERR_NOTFOUND, "buyer '%s' has not supplied '%s' for '%s'", buyer,
			k->name, x->name);
		r = err_hint(e, "%s %s", k->kind->show, k->name);
	}
	return state_finish(st, r, k->kind->withdraw, k->name,
		json_pack("{s:s,s:s}", "expert", x->name, "buyer", buyer), e);
}

/* ---- opening ------------------------------------------------------------------------------- */

/* The row's id, version and value, in this order. */
static int open_row(struct state *st, struct query *q, const char *table, const char *name,
	struct secret *out, struct err *e)
{
	size_t n;
	const void *p = col_blob(q, 2, &n);
	struct seal_id id = {table, col_int(q, 0), name, col_int(q, 1)};
	return seal_open(&st->private_key, &id, p, n, out, e) < 0 ? -1 : 1;
}

int keyed_open(struct state *st, const struct keyed *k, struct secret *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, k->kind->get, "i", k->id);
	int r = query_step(q, e);
	return r > 0 ? open_row(st, q, k->kind->table, k->name, out, e) : r;
}

int keyed_open_buyer(struct state *st, const struct keyed *k, int64_t expert, const char *buyer,
	json_t **agreed, struct secret *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, k->kind->get_buyer, "iis", k->id, expert, buyer);
	int r = query_step(q, e);
	if (r > 0 && agreed)
		*agreed = json_loads(col_text(q, 3), 0, NULL);
	return r > 0 ? open_row(st, q, k->kind->buyers, buyer, out, e) : r;
}

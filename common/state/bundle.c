#include "state/bundle.h"

#include "base/file.h"
#include "base/limits.h"
#include "state/db.h"

#include <string.h>
#include <unistd.h>

#define BUILDER "builder" /* the reserved buyer whose values are the builder's own */
#define BUNDLE_MAX (MB(LIMIT_EXPERT_MB) * 2)

/* ?1 the expert, ?2 the snapshot (0: the draft). */
#define CREDENTIALS                                                          \
	"(SELECT credential FROM main.snapshot_hosts WHERE snapshot = ?2 "   \
	"UNION SELECT h.credential FROM main.hosts h JOIN main.attachments " \
	"a ON a.host = h.id WHERE ?2 = 0 AND a.expert = ?1)"

/* What goes along, in an order in which all that is referred to is there. */
static const char *const copies[] = {
	"INSERT INTO small.meta SELECT key, value FROM main.meta WHERE key = 'public_key'",
	"INSERT INTO small.credentials (id, name, payer, sealed, version, length, value, "
	"created, changed) SELECT id, name, payer, sealed, version, length, "
	"iif(payer = 'stored', value, NULL), created, changed FROM main.credentials "
	"WHERE id IN " CREDENTIALS,
	"INSERT INTO small.hosts SELECT h.* FROM main.hosts h JOIN main.attachments a "
	"ON a.host = h.id WHERE ?2 = 0 AND a.expert = ?1",
	"INSERT INTO small.experts (id, name, dir, published, last_version, created) "
	"SELECT id, name, dir, published, last_version, created "
	"FROM main.experts WHERE id = ?1 AND ?2 = ?2",
	"INSERT INTO small.attachments SELECT expert, host FROM main.attachments "
	"WHERE ?2 = 0 AND expert = ?1",
	"INSERT INTO small.snapshots SELECT * FROM main.snapshots WHERE expert = ?1 AND id = ?2",
	"INSERT INTO small.snapshot_hosts SELECT * FROM main.snapshot_hosts "
	"WHERE ?1 = ?1 AND snapshot = ?2",
};

static int copy_rows(struct db *db, const struct bundle_order *o, struct err *e)
{
	const struct expert_view *v = o->view;
	bool own = v->version == EXPERT_DRAFT || !o->buyer;
	for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
		const char *types = strstr(copies[i], "?2") ? "ii" : "";
		if (db_exec(db, e, copies[i], types, v->id, v->snapshot) < 0)
			return -1;
	}
	return db_exec(db, e,
		"INSERT INTO small.buyer_values SELECT id, credential, expert, buyer, version, '', "
		"length, value, hosts, changed FROM main.buyer_values WHERE expert = ?1 AND buyer = ?3 "
		"AND credential IN " CREDENTIALS
		" AND credential IN (SELECT id FROM main.credentials WHERE payer = 'buyer')",
		"iis", v->id, v->snapshot, own ? BUILDER : o->buyer);
}

static int seal_one(
	struct state *st, const unsigned char *to, struct query *q, const char *put, struct err *e)
{
	BUF_AUTO record = {0};
	size_t n;
	const void *p = col_blob(q, 1, &n);
	record.limit = n + 1;
	if (seal_again(&st->private_key, to, p, n, &record, e) < 0)
		return -1;
	return db_exec(st->db, e, put, "bi", (const void *)record.data, record.len, col_int(q, 0));
}

static int seal_rows(struct state *st, const unsigned char *to, struct err *e)
{
	static const struct {
		const char *get, *put;
	} all[] = {
		{"SELECT id, value FROM small.credentials WHERE value IS NOT NULL",
			"UPDATE small.credentials SET value = ? WHERE id = ?"},
		{"SELECT id, value FROM small.buyer_values WHERE value IS NOT NULL",
			"UPDATE small.buyer_values SET value = ? WHERE id = ?"},
		{"SELECT id, code FROM small.snapshots",
			"UPDATE small.snapshots SET code = ? WHERE id = ?"},
	};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		QUERY_AUTO q = db_query(st->db, e, all[i].get, "");
		int r;
		while ((r = query_step(q, e)) > 0)
			if (seal_one(st, to, q, all[i].put, e) < 0)
				return -1;
		if (r < 0)
			return -1;
	}
	return 0;
}

static int fill(struct state *st, const struct bundle_order *o, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = copy_rows(st->db, o, e);
	if (r == 0)
		r = seal_rows(st, o->to, e);
	if (r == 0)
		return state_commit(st, e);
	state_rollback(st);
	return -1;
}

static int make(struct state *st, const struct bundle_order *o, const char *path, struct err *e)
{
	struct db *small = NULL;
	struct err quiet = {0};
	if (db_create(&small, path, e) < 0)
		return -1;
	db_close(&small);
	if (db_exec(st->db, e, "ATTACH ? AS small", "s", path) < 0)
		return -1;
	int r = db_script(st->db,
		"PRAGMA small.synchronous = OFF; PRAGMA small.journal_mode = MEMORY; "
		"PRAGMA small.secure_delete = ON",
		e);
	if (r == 0)
		r = fill(st, o, e);
	if (db_script(st->db, "DETACH small", r < 0 ? &quiet : e) < 0)
		r = -1;
	return r;
}

int bundle_state(struct state *st, const struct bundle_order *o, const char *path, struct buf *out,
	struct err *e)
{
	out->limit = BUNDLE_MAX;
	int r = make(st, o, path, e);
	if (r == 0)
		r = file_read(path, out, e);
	unlink(path);
	return r < 0 ? err_wrap(e, "cannot make the bundle") : 0;
}

#include "state/buyer.h"

#include "base/file.h"
#include "base/text.h"
#include "state/db.h"

#include <stdlib.h>
#include <string.h>

#define NOTE_MAX 500

static int check_name(const char *name, struct err *e)
{
	if (name_check("buyer", name, e) < 0)
		return -1;
	if (strcmp(name, BUYER_RESERVED) != 0)
		return 0;
	err_set(e, ERR_USAGE, "'%s' is nobody's name: it is how the owner's runs are told", name);
	return err_hint(e, "evctl-buyer add ANOTHER-NAME");
}

int buyer_known(struct state *st, const char *name, struct err *e)
{
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT 1 FROM buyers WHERE name = ? AND removed IS NULL", "s", name);
	return query_step(q, e);
}

int buyer_check(struct state *st, const char *name, struct err *e)
{
	int known = buyer_known(st, name, e);
	if (known != 0)
		return known < 0 ? -1 : 0;
	return name_not_found(st, "buyer", name, "SELECT name FROM buyers WHERE removed IS NULL", e,
		"evctl-buyer add %s", name);
}

/* Whether the name is taken by one who is registered, or by one who was. */
static int refuse_taken(struct state *st, const char *name, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, "SELECT removed FROM buyers WHERE name = ?", "s", name);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	if (col_null(q, 0)) {
		err_set(e, ERR_CONFLICT, "there is a buyer '%s' already", name);
		return err_hint(e, "evctl-buyer show %s", name);
	}
	err_set(e, ERR_CONFLICT, "'%s' was a buyer: the name stays taken while runs bear it", name);
	return err_hint(e, "evctl-buyer rm %s --purge", name);
}

int buyer_add(struct state *st, const char *name, const char *note, struct err *e)
{
	if (check_name(name, e) < 0)
		return -1;
	if (strlen(note) > NOTE_MAX) {
		err_set(e, ERR_USAGE, "a note is of at most %d bytes", NOTE_MAX);
		return err_hint(e, "evctl-buyer add %s --note SHORTER", name);
	}
	if (state_begin(st, e) < 0)
		return -1;
	int r = refuse_taken(st, name, e);
	if (r == 0)
		r = db_exec(st->db, e, "INSERT INTO buyers (name, note, added) VALUES (?, ?, ?)",
			"ssi", name, note, clock_real_ms());
	return state_finish(st, r, "buyer add", name, NULL, e);
}

/* ---- grants -------------------------------------------------------------------------------- */

static int change_grant(struct state *st, const char *buyer, const struct expert *x, bool grant,
	bool *changed, struct err *e)
{
	int r = grant ? db_exec(st->db, e,
				"INSERT INTO buyer_experts (buyer, expert, granted) "
				"VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET granted = ?3 "
				"WHERE granted IS NULL",
				"sii", buyer, x->id, clock_real_ms())
		      : db_exec(st->db, e,
				"DELETE FROM buyer_experts WHERE buyer = ? AND expert = ?", "si",
				buyer, x->id);
	*changed = db_changes(st->db) > 0;
	return r;
}

static int grant_one(struct state *st, const char *buyer, const char *expert, bool grant,
	json_t *done, struct err *e)
{
	EXPERT_AUTO x = {0};
	bool changed;
	if (expert_find(st, expert, &x, e) < 0 ||
		change_grant(st, buyer, &x, grant, &changed, e) < 0)
		return -1;
	json_array_append_new(done, json_pack("{s:s,s:s,s:b}", "buyer", buyer, "expert", x.name,
					    "changed", (int)changed));
	return 0;
}

json_t *buyer_grant(struct state *st, const char *name, char *const *experts, size_t n, bool grant,
	struct err *e)
{
	JSON_AUTO done = json_array();
	JSON_AUTO detail = json_array();
	if (state_begin(st, e) < 0)
		return NULL;
	int r = buyer_check(st, name, e);
	for (size_t i = 0; i < n && r == 0; i++) {
		json_array_append_new(detail, json_string(experts[i]));
		r = grant_one(st, name, experts[i], grant, done, e);
	}
	r = state_finish(st, r, grant ? "buyer grant" : "buyer revoke", name,
		json_pack("{s:O}", "experts", detail), e);
	return r < 0 ? NULL : json_incref(done);
}

int buyer_ask(struct state *st, const char *name, const char *expert, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"INSERT INTO buyer_experts (buyer, expert, asked) "
		"SELECT ?, id, ? FROM experts WHERE name = ? AND listed ON CONFLICT DO NOTHING",
		"sis", name, clock_real_ms(), expert);
	return state_finish(st, r, "buyer ask", name, json_pack("{s:s}", "expert", expert), e);
}

json_t *buyer_requests(struct state *st, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT b.buyer, x.name AS expert, b.asked AS \"asked:time\" FROM buyer_experts b "
		"JOIN experts x ON x.id = b.expert WHERE b.granted IS NULL ORDER BY b.asked",
		"");
}

/* ---- who goes ------------------------------------------------------------------------------ */

json_t *buyer_weigh(struct state *st, const char *name, struct err *e)
{
	json_t *rows = db_rows(st->db, e,
		"SELECT (SELECT count(*) FROM tokens WHERE buyer = ?1 AND withdrawn IS NULL) AS tokens, "
		"(SELECT count(*) FROM buyer_experts WHERE buyer = ?1 AND granted IS NOT NULL) AS "
		"grants, (SELECT count(*) FROM buyer_values WHERE buyer = ?1) + "
		"(SELECT count(*) FROM connection_values WHERE buyer = ?1) AS \"values\", "
		"(SELECT count(*) FROM runs WHERE buyer = ?1) AS runs, "
		"(SELECT count(*) FROM artifacts a JOIN runs r ON r.id = a.run WHERE r.buyer = ?1) AS "
		"artifacts",
		"s", name);
	return rows ? json_take_first(rows) : NULL;
}

static int refuse_live(struct state *st, const char *name, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id FROM sessions WHERE buyer = ?1 AND ended IS NULL UNION ALL "
		"SELECT id FROM runs WHERE buyer = ?1 AND status = 'running' LIMIT 1",
		"s", name);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	err_set(e, ERR_CONFLICT, "buyer '%s' has '%s' going on", name, col_text(q, 0));
	return err_hint(e, "evctl-session list; or wait until it is over");
}

static int drop_rows(struct state *st, const char *name, struct err *e)
{
	static const char *const all[] = {"DELETE FROM tokens WHERE buyer = ?",
		"DELETE FROM buyer_experts WHERE buyer = ?", "DELETE FROM quotas WHERE buyer = ?",
		"DELETE FROM subjects WHERE buyer = ?", "DELETE FROM buyer_values WHERE buyer = ?",
		"DELETE FROM connection_values WHERE buyer = ?"};
	int r = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all && r == 0; i++)
		r = db_exec(st->db, e, all[i], "s", name);
	return r;
}

/* The objects of artifacts that nobody names any more go with the next sweep. */
static int drop_traces(struct state *st, const char *name, struct err *e)
{
	static const char *const all[] = {
		"DELETE FROM artifacts WHERE run IN (SELECT id FROM runs WHERE buyer = ?)",
		"UPDATE runs SET buyer = NULL WHERE buyer = ?",
		"UPDATE sessions SET buyer = NULL WHERE buyer = ?",
		"UPDATE batches SET buyer = NULL WHERE buyer = ?",
		"DELETE FROM buyers WHERE name = ?"};
	int r = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all && r == 0; i++)
		r = db_exec(st->db, e, all[i], "s", name);
	return r;
}

static int remove_rows(struct state *st, const char *name, bool purge, struct err *e)
{
	int known = buyer_known(st, name, e);
	if (known < 0)
		return -1;
	if (!known) {
		int r = purge ? refuse_taken(st, name, e) : 0;
		if (r == 0)
			return buyer_check(st, name, e);
		err_clear(e); /* one that was removed before: what is left of it goes */
	}
	if (refuse_live(st, name, e) < 0 || drop_rows(st, name, e) < 0)
		return -1;
	if (purge)
		return drop_traces(st, name, e);
	return db_exec(st->db, e, "UPDATE buyers SET removed = ? WHERE name = ?", "is",
		clock_real_ms(), name);
}

int buyer_remove(struct state *st, const char *name, bool purge, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = remove_rows(st, name, purge, e);
	return state_finish(st, r, purge ? "buyer purge" : "buyer rm", name, NULL, e);
}

/* ---- lists --------------------------------------------------------------------------------- */

#define LIST                                                                                       \
	"SELECT b.name AS buyer, b.note, b.added AS \"added:time\", "                              \
	"(SELECT json_group_array(x.name) FROM buyer_experts g JOIN experts x ON x.id = g.expert " \
	"WHERE g.buyer = b.name AND g.granted IS NOT NULL) AS \"experts:json\", "                  \
	"(SELECT count(*) FROM tokens t WHERE t.buyer = b.name AND t.withdrawn IS NULL "           \
	"AND (t.expires IS NULL OR t.expires > ?1)) AS tokens, "                                   \
	"(SELECT max(t.used) FROM tokens t WHERE t.buyer = b.name) AS \"last_used:time\""

json_t *buyer_list(struct state *st, struct err *e)
{
	return db_rows(st->db, e, LIST " FROM buyers b WHERE b.removed IS NULL ORDER BY b.name",
		"i", clock_real_ms());
}

json_t *buyer_show(struct state *st, const char *name, struct err *e)
{
	if (buyer_check(st, name, e) < 0)
		return NULL;
	json_t *rows = db_rows(st->db, e,
		LIST
		", (SELECT json_group_array(issuer || ' ' || subject) FROM subjects s WHERE s.buyer = "
		"b.name) AS \"subjects:json\", "
		"(SELECT json_group_array(json_object('expert', q.expert, 'calls_a_day', q.calls, "
		"'seconds_a_day', q.seconds, 'at_once', q.at_once)) FROM quotas q WHERE q.buyer = b.name) "
		"AS \"quotas:json\" FROM buyers b WHERE b.name = ?2",
		"is", clock_real_ms(), name);
	return rows ? json_take_first(rows) : NULL;
}

/* ---- subjects ------------------------------------------------------------------------------ */

/* What no authorization server could call itself, or anybody, would be tied for nothing. */
static int check_subject(const char *issuer, const char *subject, struct err *e)
{
	size_t n = strlen(issuer);
	if (n > 1024 || !text_is_clean(issuer, n, false) ||
		(strncmp(issuer, "https://", 8) != 0 && strncmp(issuer, "http://", 7) != 0))
		return err_set(e, ERR_USAGE, "an issuer is a URL of at most 1024 bytes");
	n = strlen(subject);
	if (n == 0 || n > 255 || !text_is_clean(subject, n, false))
		return err_set(e, ERR_USAGE, "a subject is of 1 to 255 bytes, on one line");
	return 0;
}

int buyer_subject(
	struct state *st, const char *name, const char *issuer, const char *subject, struct err *e)
{
	if (check_subject(issuer, subject, e) < 0)
		return err_hint(e, "evctl-buyer subject %s --issuer URL VALUE", name);
	if (state_begin(st, e) < 0)
		return -1;
	int r = buyer_check(st, name, e);
	STR_AUTO other = r == 0 ? buyer_of_subject(st, issuer, subject, &(struct err){0}) : NULL;
	if (other && strcmp(other, name) != 0)
		r = (err_set(e, ERR_CONFLICT, "'%s' of %s is buyer '%s'", subject, issuer, other),
			err_hint(e, "evctl-buyer show %s", other));
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO subjects (issuer, subject, buyer) VALUES (?, ?, ?) "
			"ON CONFLICT DO NOTHING",
			"sss", issuer, subject, name);
	return state_finish(st, r, "buyer subject", name, json_pack("{s:s}", "issuer", issuer), e);
}

char *buyer_of_subject(struct state *st, const char *issuer, const char *subject, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT s.buyer FROM subjects s JOIN buyers b ON b.name = s.buyer "
		"WHERE s.issuer = ? AND s.subject = ? AND b.removed IS NULL",
		"ss", issuer, subject);
	int r = query_step(q, e);
	if (r > 0)
		return strdup(col_text(q, 0));
	if (r == 0)
		err_set(e, ERR_NOTFOUND, "nobody is tied to that subject");
	return NULL;
}

/* ---- what the door asks --------------------------------------------------------------------- */

json_t *buyer_experts(struct state *st, const char *buyer, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT x.name AS expert, json_extract(s.manifest, '$.description') AS description, "
		"x.published AS version, g.granted IS NOT NULL AS \"granted:bool\", "
		"g.asked IS NOT NULL AS \"asked:bool\" "
		"FROM experts x JOIN snapshots s ON s.expert = x.id AND s.version = x.published "
		"LEFT JOIN buyer_experts g ON g.expert = x.id AND g.buyer = ?1 "
		"WHERE g.granted IS NOT NULL OR x.listed ORDER BY g.granted IS NULL, x.name",
		"s", buyer);
}

int buyer_may(struct state *st, const char *buyer, const char *expert, int *version, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT x.published FROM experts x JOIN buyer_experts g ON g.expert = x.id "
		"WHERE x.name = ?2 AND g.buyer = ?1 AND g.granted IS NOT NULL AND x.published > 0",
		"ss", buyer, expert);
	int r = query_step(q, e);
	*version = r > 0 ? (int)col_int(q, 0) : 0;
	return r;
}

int expert_listed(struct state *st, const char *expert, char **contact, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT contact FROM experts WHERE name = ? AND listed AND published > 0", "s",
		expert);
	int r = query_step(q, e);
	if (r > 0 && !(*contact = strdup(col_text(q, 0))))
		return err_set(e, ERR_FAIL, "out of memory");
	return r;
}

int expert_list_openly(
	struct state *st, const struct expert *x, bool listed, const char *contact, struct err *e)
{
	if (contact && strlen(contact) > NOTE_MAX) {
		err_set(e, ERR_USAGE, "a contact is of at most %d bytes", NOTE_MAX);
		return err_hint(e, "evctl-expert set %s --listed --contact SHORTER", x->name);
	}
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE experts SET listed = ?, contact = coalesce(?, contact) WHERE id = ?", "isi",
		(int64_t)listed, contact, x->id);
	return state_finish(st, r, listed ? "expert list" : "expert unlist", x->name, NULL, e);
}

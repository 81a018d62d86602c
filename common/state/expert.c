#include "state/expert.h"

#include "base/file.h"
#include "state/db.h"
#include "state/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void expert_free(struct expert *x)
{
	free(x->name);
	free(x->dir);
	*x = (struct expert){0};
}

int expert_names(struct state *st, struct strv *out, struct err *e)
{
	return db_texts(st->db, e, out, "SELECT name FROM experts ORDER BY name", "");
}

bool expert_first_draft(struct state *st, const char *name)
{
	struct err quiet = {0};
	bool found = false;
	int64_t id;
	db_number(st->db, &quiet, &id, &found,
		"UPDATE experts SET told = 1 WHERE name = ? AND told = 0 RETURNING id", "s", name);
	return found;
}

int expert_find(struct state *st, const char *name, struct expert *out, struct err *e)
{
	*out = (struct expert){0};
	if (name_check("expert", name, e) < 0)
		return -1;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, name, dir, coalesce(published, 0), last_version FROM experts "
		"WHERE name = ?",
		"s", name);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return name_not_found(st, "expert", name, "SELECT name FROM experts", e,
			"evctl-expert create %.64s --dir DIR", name);
	*out = (struct expert){.id = col_int(q, 0),
		.name = strdup(col_text(q, 1)),
		.dir = strdup(col_text(q, 2)),
		.published = (int)col_int(q, 3),
		.last_version = (int)col_int(q, 4)};
	if (out->name && out->dir)
		return 0;
	expert_free(out);
	return err_set(e, ERR_FAIL, "out of memory");
}

int expert_at(struct state *st, const char *name, const char *dir, int64_t *id, bool *found,
	struct err *e)
{
	return db_number(st->db, e, id, found, "SELECT id FROM experts WHERE name = ? AND dir = ?",
		"ss", name, dir);
}

json_t *expert_tools_seen(struct state *st, int64_t expert, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT name, description FROM tools WHERE expert = ? ORDER BY name", "i", expert);
}

int expert_weigh(
	struct state *st, const struct expert *x, int64_t *versions, int64_t *buyers, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT (SELECT count(*) FROM snapshots WHERE expert = ?1), "
		"(SELECT count(DISTINCT buyer) FROM buyer_values WHERE expert = ?1)",
		"i", x->id);
	if (query_step(q, e) < 0)
		return -1;
	*versions = col_int(q, 0);
	*buyers = col_int(q, 1);
	return 0;
}

/* ---- changes ------------------------------------------------------------------------------- */

int expert_note_tools(struct state *st, int64_t expert, const struct manifest *m, struct err *e)
{
	if (db_exec(st->db, e, "DELETE FROM tools WHERE expert = ?", "i", expert) < 0)
		return -1;
	for (size_t i = 0; i < m->ntools; i++)
		if (db_exec(st->db, e, "INSERT INTO tools VALUES (?, ?, ?)", "iss", expert,
			    m->tools[i].name, m->tools[i].description) < 0)
			return -1;
	return 0;
}

static int put_attachment(
	struct state *st, int64_t expert, int64_t host, bool attach, bool *changed, struct err *e)
{
	const char *sql = attach ? "INSERT OR IGNORE INTO attachments VALUES (?, ?)"
				 : "DELETE FROM attachments WHERE expert = ? AND host = ?";
	if (db_exec(st->db, e, sql, "ii", expert, host) < 0)
		return -1;
	*changed = db_changes(st->db) > 0;
	return 0;
}

static int create_rows(
	struct state *st, const char *dir, const struct manifest *m, json_t *hosts, struct err *e)
{
	int64_t n;
	bool found;
	if (db_number(st->db, e, &n, &found, "SELECT id FROM experts WHERE name = ?", "s",
		    m->name) < 0)
		return -1;
	if (found) {
		err_set(e, ERR_CONFLICT, "there is an expert '%s' already", m->name);
		return err_hint(e, "evctl-expert set %s --dir DIR, or add --if-missing", m->name);
	}
	if (db_exec(st->db, e, "INSERT INTO experts (name, dir, created) VALUES (?, ?, ?)", "ssi",
		    m->name, dir, clock_real_ms()) < 0)
		return -1;
	int64_t id = db_last_id(st->db);
	if (expert_note_tools(st, id, m, e) < 0)
		return -1;
	for (size_t i = 0; i < m->hosts.n; i++) {
		BOUND_HOST_AUTO h = {0};
		bool changed;
		if (host_find(st, m->hosts.v[i], &h, e) < 0)
			return err_wrap(e, "%s/%s: hosts", dir, MANIFEST_FILE);
		if (put_attachment(st, id, h.id, true, &changed, e) < 0)
			return -1;
		json_array_append_new(hosts, host_json(&h.host));
	}
	return 0;
}

int expert_create(struct state *st, const char *dir, const struct manifest *m, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	json_t *hosts = json_array();
	int r = create_rows(st, dir, m, hosts, e);
	return state_finish(st, r, "expert create", m->name,
		json_pack("{s:s%,s:o}", "dir", dir, strlen(dir), "hosts", hosts), e);
}

int expert_set_dir(struct state *st, const struct expert *x, const char *dir,
	const struct manifest *m, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "UPDATE experts SET dir = ? WHERE id = ?", "si", dir, x->id);
	if (r == 0)
		r = expert_note_tools(st, x->id, m, e);
	return state_finish(
		st, r, "expert set", x->name, json_pack("{s:s%}", "dir", dir, strlen(dir)), e);
}

static int attach_one(struct state *st, const struct expert *x, const char *name, bool attach,
	json_t *rows, json_t *changes, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	char text[HOST_TEXT_MAX];
	bool changed;
	if (host_find(st, name, &h, e) < 0 ||
		put_attachment(st, x->id, h.id, attach, &changed, e) < 0)
		return -1;
	host_text(&h.host, text);
	if (changed)
		json_array_append_new(changes, json_string(text));
	return json_array_append_new(rows, json_pack("{s:s,s:s?,s:b}", "host", text, "injects",
						   h.credential_name, "changed", (int)changed));
}

/* An audit row is only written where something changed: attaching twice is one change. */
json_t *expert_attach(struct state *st, const struct expert *x, char *const *hosts, size_t n,
	bool attach, struct err *e)
{
	JSON_AUTO rows = json_array();
	JSON_AUTO changes = json_array();
	int r = state_begin(st, e);
	if (r < 0)
		return NULL;
	for (size_t i = 0; i < n && r == 0; i++)
		r = attach_one(st, x, hosts[i], attach, rows, changes, e);
	if (r == 0 && json_array_size(changes) == 0)
		state_leave(st);
	else
		r = state_finish(st, r, attach ? "expert attach" : "expert detach", x->name,
			json_pack("{s:O}", "hosts", changes), e);
	return r < 0 ? NULL : json_incref(rows);
}

int expert_unpublish(struct state *st, const struct expert *x, int *was, struct err *e)
{
	int64_t n;
	bool found;
	*was = 0;
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_number(
		st->db, e, &n, &found, "SELECT published FROM experts WHERE id = ?", "i", x->id);
	if (r == 0 && !found) {
		state_leave(st);
		return 0;
	}
	if (r == 0)
		r = db_exec(
			st->db, e, "UPDATE experts SET published = NULL WHERE id = ?", "i", x->id);
	*was = (int)n;
	return state_finish(st, r, "expert unpublish", x->name,
		json_pack("{s:I}", "version", (json_int_t)n), e);
}

/* ---- who uses it --------------------------------------------------------------------------- */

int expert_users(
	struct state *st, const struct expert *x, int version, struct strv *users, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT kind || ' ' || id || coalesce(' of buyer ' || buyer, ''), " OWNER_COLUMNS
		" FROM owner_view WHERE expert = ?1 AND session IS NULL "
		"AND (?2 < 0 OR version = ?2)",
		"si", x->name, (int64_t)version);
	return owners_find(q, true, users, e);
}

int expert_refuse_users(
	const struct expert *x, int version, const struct strv *users, struct err *e)
{
	STR_AUTO all = strv_join(users, ", ");
	if (version < 0)
		err_set(e, ERR_CONFLICT, "expert '%s' is in use by: %s", x->name, all ? all : "");
	else
		err_set(e, ERR_CONFLICT, "version %d of expert '%s' is in use by: %s", version,
			x->name, all ? all : "");
	return err_hint(e, "evctl-session end ID, then try again");
}

static int refuse_users(struct state *st, const struct expert *x, int version, struct err *e)
{
	STRV_AUTO users = {0};
	if (expert_users(st, x, version, &users, e) < 0)
		return -1;
	return users.n ? expert_refuse_users(x, version, &users, e) : 0;
}

int expert_remove(struct state *st, const struct expert *x, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = refuse_users(st, x, -1, e);
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM experts WHERE id = ?", "i", x->id);
	return state_finish(st, r, "expert rm", x->name, NULL, e);
}

int expert_check_version(struct state *st, const struct expert *x, int version, struct err *e)
{
	int64_t n;
	bool published, there;
	if (db_number(st->db, e, &n, &published,
		    "SELECT published FROM experts WHERE id = ? AND published = ?", "ii", x->id,
		    (int64_t)version) < 0 ||
		db_number(st->db, e, &n, &there,
			"SELECT 1 FROM snapshots WHERE expert = ? AND version = ?", "ii", x->id,
			(int64_t)version) < 0)
		return -1;
	if (!there) {
		err_set(e, ERR_NOTFOUND, "expert '%s' has no version %d", x->name, version);
		return err_hint(e, "evctl-expert versions %s", x->name);
	}
	if (published) {
		err_set(e, ERR_CONFLICT, "version %d of expert '%s' is the published one", version,
			x->name);
		return err_hint(e, "evctl-expert publish %s, or evctl-expert unpublish %s", x->name,
			x->name);
	}
	return refuse_users(st, x, version, e);
}

int expert_remove_version(struct state *st, const struct expert *x, int version, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = expert_check_version(st, x, version, e);
	if (r == 0)
		r = db_exec(st->db, e, "DELETE FROM snapshots WHERE expert = ? AND version = ?",
			"ii", x->id, (int64_t)version);
	return state_finish(
		st, r, "expert rm-version", x->name, json_pack("{s:i}", "version", version), e);
}

/* ---- lists --------------------------------------------------------------------------------- */

json_t *expert_versions(struct state *st, const struct expert *x, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT version, version = ?2 AS 'published:bool', verdict AS status, "
		"forced AS 'forced:bool', iif(forced, '[\"! forced\"]', '[]') AS 'flags:json', "
		"(SELECT json_group_array(text) FROM (SELECT text FROM frozen_host_view "
		"WHERE snapshot = s.id ORDER BY name, port)) AS 'hosts:json', created AS 'created:time' "
		"FROM snapshots s WHERE expert = ?1 ORDER BY version DESC",
		"ii", x->id, (int64_t)x->published);
}

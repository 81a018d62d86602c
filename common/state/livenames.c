#include "state/livenames.h"
#include "base/file.h"
#include "base/text.h"
#include "state/db.h"
#include "state/expert.h"
#include "state/state_place.h"

#include <stdio.h>
#include <string.h>

/* Distinct buyers by leaps along the index: as many steps as there are names, not rows. */
#define BUYERS_OF(table, cte)                                                       \
	cte "(x) AS (SELECT min(buyer) FROM " table " WHERE buyer >= ?1 UNION ALL " \
	    "SELECT (SELECT min(buyer) FROM " table " WHERE buyer > x) FROM " cte   \
	    " WHERE x < ?2 LIMIT 1000)"

/*
 * ?1 is the prefix, ?2 the least text above all that start with it, ?3 what the name belongs to. A
 * range rather than LIKE, so that the index is used whatever the case rules; and nothing is sorted
 * that an index does not give in order, so that many rows cost no more than few.
 */
static const char *sql_of(enum name_kind kind, const char *prefix)
{
	switch (kind) {
	case NAME_CREDENTIAL:
		return "SELECT name, payer FROM credentials WHERE name >= ?1 AND name < ?2 "
		       "ORDER BY name LIMIT 1000";
	case NAME_HOST:
		return "SELECT host_text(name, port), NULL FROM hosts "
		       "WHERE name >= substr(?1, 1, instr(?1 || ':', ':') - 1) "
		       "AND name < ?2 ORDER BY name, port LIMIT 1000";
	case NAME_EXPERT:
		return "SELECT name, NULL FROM experts WHERE name >= ?1 AND name < ?2 "
		       "ORDER BY name LIMIT 1000";
	case NAME_TOOL:
		return "SELECT t.name, t.description FROM tools t JOIN experts x ON x.id = "
		       "t.expert "
		       "WHERE x.name = ?3 AND t.name >= ?1 AND t.name < ?2 ORDER BY t.name LIMIT "
		       "1000";
	case NAME_RUN:
		/* All ids start with 'r': until more is typed, the newest are meant. */
		if (strlen(prefix) < 2)
			return "SELECT id, expert || ' ' || tool || ' ' || status FROM runs "
			       "WHERE +id >= ?1 AND +id < ?2 ORDER BY started DESC LIMIT 200";
		return "SELECT id, expert || ' ' || tool || ' ' || status FROM runs "
		       "WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 200";
	case NAME_ARTIFACT:
		return "SELECT name, type FROM artifacts WHERE run = ?3 AND name >= ?1 AND name < "
		       "?2 "
		       "ORDER BY name LIMIT 1000";
	case NAME_SESSION:
		return "SELECT s.id, x.name FROM sessions s JOIN experts x ON x.id = s.expert "
		       "WHERE s.ended IS NULL AND s.id >= ?1 AND s.id < ?2 ORDER BY s.id LIMIT "
		       "1000";
	case NAME_BATCH:
		return "SELECT id, expert || ' ' || status FROM batches WHERE id >= ?1 AND id < ?2 "
		       "ORDER BY started DESC, id LIMIT 1000";
	case NAME_CONNECTION:
		return "SELECT name, env FROM connections WHERE name >= ?1 AND name < ?2 "
		       "ORDER BY name LIMIT 1000";
	case NAME_VERSION: /* no column after the code: its pages would be walked */
		return "SELECT CAST(s.version AS TEXT), "
		       "CASE s.version WHEN x.published THEN 'published' END FROM snapshots s "
		       "JOIN experts x ON x.id = s.expert WHERE x.name = ?3 "
		       "AND CAST(s.version AS TEXT) >= ?1 AND CAST(s.version AS TEXT) < ?2 "
		       "ORDER BY s.version DESC LIMIT 1000";
	case NAME_BUYER:
		return "WITH RECURSIVE " BUYERS_OF("buyer_values", "a") ", " BUYERS_OF(
			"connection_values", "b") ", " BUYERS_OF("runs",
			"c") " SELECT x, NULL FROM (SELECT x FROM a UNION SELECT x FROM b UNION "
			     "SELECT x FROM c UNION SELECT name FROM buyers WHERE name >= ?1 AND "
			     "name < ?2 AND removed IS NULL) WHERE x < ?2 ORDER BY x LIMIT 1000";
	case NAME_BUYER_TOKEN:
		return "SELECT id, buyer || ' ' || label FROM tokens WHERE id >= ?1 AND id < ?2 "
		       "AND withdrawn IS NULL ORDER BY id LIMIT 1000";
	default:
		return NULL;
	}
}

/* Both are somebody's text: a name that seems another is not offered, and a line is one line. */
static void add(struct strv *out, const char *name, const char *text)
{
	BUF_AUTO b = {0};
	if (!text_is_clean(name, strlen(name), false))
		return;
	buf_adds(&b, name);
	if (text && *text)
		buf_addc(&b, '\t');
	text_add_visible(&b, text ? text : "", strcspn(text ? text : "", "\n"), false);
	strv_add(out, buf_str(&b));
}

/* ---- members of a tool's input ------------------------------------------------------------- */

/* A published version's tools, as they were frozen; owned, NULL where nothing is published. */
static json_t *published_tools(struct db *db, const char *expert)
{
	struct err quiet = {0};
	QUERY_AUTO q = db_query(db, &quiet,
		"SELECT s.manifest FROM snapshots s JOIN experts x ON x.id = s.expert "
		"AND x.published = s.version WHERE x.name = ?",
		"s", expert);
	JSON_AUTO manifest = query_step(q, &quiet) > 0 ? col_json(q, 0) : NULL;
	return json_incref(json_object_get(manifest, "tools"));
}

static json_t *draft_tools(struct db *db, const struct state_place *place, const char *expert)
{
	struct err quiet = {0};
	MANIFEST_AUTO m = {0};
	TREE_AUTO t = {0};
	STR_AUTO real = NULL;
	QUERY_AUTO q = db_query(db, &quiet, "SELECT dir FROM experts WHERE name = ?", "s", expert);
	if (query_step(q, &quiet) <= 0 ||
		expert_read_dir(place, col_text(q, 0), &real, &m, &t, &quiet) < 0)
		return NULL;
	JSON_AUTO manifest = manifest_to_json(&m);
	return json_incref(json_object_get(manifest, "tools"));
}

static void add_value(struct strv *out, const char *key, const json_t *value, const char *prefix)
{
	BUF_AUTO b = {0};
	buf_addf(&b, "%s=", key);
	if (json_is_string(value))
		buf_adds(&b, json_string_value(value));
	else
		json_to_buf(value, &b);
	if (strncmp(buf_str(&b), prefix, strlen(prefix)) == 0)
		add(out, buf_str(&b), NULL);
}

static void add_values(struct strv *out, const char *key, const json_t *schema, const char *prefix)
{
	size_t i;
	json_t *v;
	json_array_foreach (json_object_get(schema, "enum"), i, v)
		add_value(out, key, v, prefix);
	v = json_object_get(schema, "const");
	if (v)
		add_value(out, key, v, prefix);
	if (strcmp(json_text_of(schema, "type"), "boolean") == 0) {
		add_value(out, key, json_true(), prefix);
		add_value(out, key, json_false(), prefix);
	}
}

/* "month=" for a beginning of it; once that is there, the values that it may have. */
static void add_members(struct strv *out, const json_t *tool, const char *prefix)
{
	const char *key, *equals = strchr(prefix, '=');
	json_t *schema;
	json_object_foreach (
		json_object_get(json_object_get(tool, "input"), "properties"), key, schema) {
		size_t n = strlen(key);
		BUF_AUTO word = {0};
		if (equals && (size_t)(equals - prefix) == n && strncmp(key, prefix, n) == 0)
			add_values(out, key, schema, prefix);
		if (equals || strncmp(key, prefix, strlen(prefix)) != 0)
			continue;
		buf_addf(&word, "%s=", key);
		add(out, buf_str(&word), json_text_of(schema, "description"));
	}
}

static void members(const struct name_request *q, struct db *db, const struct state_place *place,
	struct strv *out)
{
	JSON_AUTO frozen = q->draft ? NULL : published_tools(db, q->before);
	JSON_AUTO tools = frozen ? json_incref(frozen) : draft_tools(db, place, q->before);
	size_t i;
	json_t *tool;
	json_array_foreach (tools, i, tool)
		if (strcmp(json_text_of(tool, "name"), q->tool) == 0)
			add_members(out, tool, q->prefix);
}

/* ---- all ----------------------------------------------------------------------------------- */

void livenames(const struct name_request *q, struct strv *out)
{
	struct err quiet = {0};
	struct db *db = NULL;
	PLACE_AUTO place = {0};
	struct place_options o = {q->state_dir, NULL, -1, -1};
	if (state_place_find(&place, &o, &quiet) < 0)
		return;
	STR_AUTO path = state_place_path(&place, "state.db", &quiet);
	const char *sql = q->members ? "" : sql_of(q->kind, q->prefix);
	size_t n = strlen(q->prefix);
	if (!path || !sql || n > 300 || db_peek(&db, path, &quiet) < 0)
		return;
	if (q->members) {
		members(q, db, &place, out);
		db_close(&db);
		return;
	}
	char above[320];
	snprintf(above, sizeof above, "%s\xf4\x8f\xbf\xbf", q->prefix);
	if (q->kind == NAME_HOST)
		snprintf(above, sizeof above, "%.*s\xf4\x8f\xbf\xbf", (int)strcspn(q->prefix, ":"),
			q->prefix);
	const char *types = strstr(sql, "?3") ? "sss" : "ss";
	QUERY_AUTO rows = db_query(db, &quiet, sql, types, q->prefix, above, q->before);
	while (query_step(rows, &quiet) > 0)
		if (col_text(rows, 0) && strncmp(col_text(rows, 0), q->prefix, n) == 0)
			add(out, col_text(rows, 0), col_text(rows, 1));
	query_free(&rows);
	db_close(&db);
}

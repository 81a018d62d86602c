#include "state/gallery.h"

#include "state/db.h"

/*
 * ?1 the buyer, ?2 an expert, ?3 a kind, ?4 text, ?5 a run to be older than; null is any. Both
 * parts are in every query, so that what a viewer may not see is never counted either.
 */
#define ARTIFACT_SEEN                                                                       \
	"(?1 IS NULL OR a.owner_only = 0) AND (?3 IS NULL OR CASE ?3 "                      \
	"WHEN 'file' THEN a.inline = 0 ELSE a.inline = 1 AND a.type LIKE ?3 || '/%' END) "  \
	"AND (?4 IS NULL OR instr(lower(a.name), lower(?4)) > 0 "                           \
	"OR instr(lower(r.tool), lower(?4)) > 0 OR instr(lower(r.expert), lower(?4)) > 0) " \
	"AND (?5 IS NULL OR 1)"
#define RUN_SEEN "(?1 IS NULL OR r.buyer = ?1) AND (?2 IS NULL OR r.expert = ?2)"
#define SEEN_TYPES "sssss"
#define SEEN_VALUES(f) (f)->buyer, (f)->expert, (f)->kind, (f)->text, (f)->before
/* Pictures, clips, sound, files; by name. */
#define SHOWN_ORDER                                                                    \
	"CASE WHEN a.inline = 0 THEN 3 WHEN a.type LIKE 'image/%' THEN 0 WHEN a.type " \
	"LIKE 'video/%' THEN 1 ELSE 2 END, a.name"
#define RUN_COLUMNS "r.id AS run, r.expert, r.version, r.tool, r.buyer, r.status, r.started, r.ms"

json_t *gallery_experts(struct state *st, const struct gallery_filter *f, struct err *e)
{
	struct gallery_filter all = {.buyer = f->buyer};
	return db_rows(st->db, e,
		"SELECT DISTINCT r.expert FROM runs r JOIN artifacts a ON a.run = r.id "
		"WHERE " RUN_SEEN " AND " ARTIFACT_SEEN " ORDER BY 1",
		SEEN_TYPES, SEEN_VALUES(&all));
}

int gallery_totals(
	struct state *st, const struct gallery_filter *f, struct gallery_totals *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT count(*), count(DISTINCT r.id), coalesce(sum(a.bytes), 0) FROM runs r "
		"JOIN artifacts a ON a.run = r.id WHERE " RUN_SEEN " AND " ARTIFACT_SEEN,
		SEEN_TYPES, SEEN_VALUES(f));
	if (query_step(q, e) < 0)
		return -1;
	*out = (struct gallery_totals){col_int(q, 0), col_int(q, 1), col_int(q, 2)};
	return 0;
}

json_t *gallery_runs(struct state *st, const struct gallery_filter *f, int64_t limit, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT " RUN_COLUMNS " FROM runs r WHERE " RUN_SEEN
		" AND (?5 IS NULL OR (r.started, r.id) < (SELECT started, id FROM runs WHERE id = ?5)) "
		"AND EXISTS (SELECT 1 FROM artifacts a WHERE a.run = r.id AND " ARTIFACT_SEEN
		") ORDER BY r.started DESC, r.id DESC LIMIT ?6",
		SEEN_TYPES "i", SEEN_VALUES(f), limit);
}

/* The one row of an array, which is taken over; ERR_NOTFOUND where it is empty. */
static json_t *only_row(json_t *rows, const char *what, struct err *e)
{
	json_t *row = json_take_first(rows);
	if (!row)
		err_set(e, ERR_NOTFOUND, "no such %s", what);
	return row;
}

json_t *gallery_run(struct state *st, const char *run, const char *buyer, struct err *e)
{
	return only_row(db_rows(st->db, e,
				"SELECT " RUN_COLUMNS
				" FROM runs r WHERE r.id = ?1 AND (?2 IS NULL OR r.buyer = ?2)",
				"ss", run, buyer),
		"run", e);
}

json_t *gallery_artifacts(
	struct state *st, const struct gallery_filter *f, const char *run, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT a.name, a.type, a.bytes, a.inline, a.owner_only FROM artifacts a "
		"JOIN runs r ON r.id = a.run WHERE a.run = ?6 AND " RUN_SEEN " AND " ARTIFACT_SEEN
		" ORDER BY " SHOWN_ORDER,
		SEEN_TYPES "s", SEEN_VALUES(f), run);
}

json_t *gallery_neighbours(
	struct state *st, const char *run, const char *name, const char *buyer, struct err *e)
{
	return only_row(
		db_rows(st->db, e,
			"SELECT before, after, place, total FROM (SELECT name, lag(name) OVER w AS "
			"before, lead(name) OVER w AS after, row_number() OVER w AS place, "
			"count(*) OVER () AS total FROM artifacts a WHERE run = ?1 "
			"AND (?2 IS NULL OR owner_only = 0) "
			"WINDOW w AS (ORDER BY " SHOWN_ORDER ")) WHERE name = ?3",
			"sss", run, buyer, name),
		"artifact", e);
}

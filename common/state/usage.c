#include "state/usage.h"

#include "base/file.h"
#include "state/db.h"

#include <stdio.h>
#include <string.h>

/* Each call once, with what its detail says; a call to a connection is a tool "api_call NAME". */
#define CALLS                                                                                      \
	"WITH calls AS (SELECT r.id, r.started, coalesce(r.buyer, 'builder') AS buyer, r.expert, " \
	"r.tool, r.status, coalesce(r.ms, 0) AS ms, r.detail, "                                    \
	"(SELECT iif(count(DISTINCT value) > 1, 'both', coalesce(max(value), '')) "                \
	"FROM json_each(r.detail, '$.keys')) AS payer "                                            \
	"FROM runs r WHERE r.status <> 'running' AND r.started >= ?1 AND r.started < ?2 "          \
	"AND (?3 IS NULL OR coalesce(r.buyer, 'builder') = ?3) "                                   \
	"AND (?4 IS NULL OR r.expert = ?4)) "

#define SUMS                                                                        \
	"count(*) AS calls, count(*) FILTER (WHERE status = 'ok') AS ok, "          \
	"count(*) FILTER (WHERE status <> 'ok') AS failed, "                        \
	"round(sum(ms) / 1000.0, 3) AS seconds, "                                   \
	"coalesce(sum(json_extract(detail, '$.egress.requests')), 0) AS requests, " \
	"coalesce(sum(json_extract(detail, '$.egress.up') + json_extract(detail, "  \
	"'$.egress.down')), 0) AS bytes, "                                          \
	"count(*) FILTER (WHERE tool LIKE 'api_call %') AS broker_calls, "          \
	"coalesce(sum(json_extract(detail, '$.kept.artifacts')), 0) AS artifacts, " \
	"coalesce(sum(json_extract(detail, '$.kept.bytes')), 0) AS artifact_bytes"

#define GROUPED(name, what) \
	CALLS "SELECT " what " AS " name ", payer, " SUMS " FROM calls GROUP BY 1, 2 ORDER BY 1, 2"

static const struct {
	const char *by, *sql;
} groups[] = {
	{"day", GROUPED("day", "strftime('%Y-%m-%d', started / 1000, 'unixepoch')")},
	{"month", GROUPED("month", "strftime('%Y-%m', started / 1000, 'unixepoch')")},
	{"buyer", GROUPED("buyer", "buyer")},
	{"expert", GROUPED("expert", "expert")},
	{"tool", GROUPED("tool", "expert || ' ' || tool")},
	{"credential", CALLS "SELECT k.key AS credential, k.value AS payer, " SUMS
			     " FROM calls, json_each(calls.detail, '$.keys') k "
			     "GROUP BY 1, 2 ORDER BY 1, 2"},
};

json_t *usage_list(struct state *st, const struct usage_filter *f, struct err *e)
{
	int64_t until = f->until ? f->until : clock_real_ms() + 1;
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (strcmp(groups[i].by, f->by) == 0)
			return db_rows(st->db, e, groups[i].sql, "iiss", f->since, until, f->buyer,
				f->expert);
	err_set(e, ERR_USAGE, "usage is not told by '%s'", f->by);
	return NULL;
}

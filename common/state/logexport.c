#include "state/logexport.h"
#include "state/db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Each source gives its rows in the order of their time; the three are merged. */
struct log_source {
	const char *sql;
	struct query *rows;
	const char *at; /* of the present row; NULL: there is none */
};

#define MOMENT(ms) "strftime('%Y-%m-%dT%H:%M:%fZ', " ms " / 1000.0, 'unixepoch')"
#define KIND_AT(kind, ms) "SELECT '" kind "' AS kind, " MOMENT(ms) " AS at, "

static const char run_sql[] =
	KIND_AT("run", "r.ended") "id, expert, version, tool, buyer, session, status, reason, " MOMENT(
		"r.started") " AS started, ms FROM runs r WHERE r.ended >= ? ORDER BY r.ended, id";
static const char egress_sql[] = KIND_AT("egress",
	"e.at") "id, run, method, host, port, path, status, up, down, ms, verdict, counted FROM events e "
		"WHERE e.at >= ? ORDER BY e.at, id";
static const char audit_sql[] = KIND_AT("audit",
	"a.at") "seq AS id, actor, action, object, detail AS 'detail:json', lower(hex(hash)) AS hash "
		"FROM audit a WHERE a.at >= ? ORDER BY a.at, seq";

static int advance(struct log_source *s, struct err *e)
{
	int r = query_step(s->rows, e);
	s->at = r > 0 ? col_text(s->rows, 1) : NULL;
	return r < 0 ? -1 : 0;
}

static struct log_source *earliest(struct log_source *s, size_t n)
{
	struct log_source *first = NULL;
	for (size_t i = 0; i < n; i++)
		if (s[i].at && (!first || strcmp(s[i].at, first->at) < 0))
			first = &s[i];
	return first;
}

static int merge(const struct logexport *x, struct log_source *sources, size_t n, struct err *e)
{
	for (struct log_source *s; (s = earliest(sources, n));) {
		JSON_AUTO line = query_row(s->rows);
		if (x->line(x->ctx, line) < 0)
			return 0;
		if (advance(s, e) < 0)
			return -1;
	}
	return 0;
}

int logexport(struct state *st, const struct logexport *x, struct err *e)
{
	struct log_source s[3];
	size_t n = 0;
	int r = 0;
	if (x->audit)
		s[n++] = (struct log_source){audit_sql};
	if (x->runs)
		s[n++] = (struct log_source){run_sql};
	if (x->egress)
		s[n++] = (struct log_source){egress_sql};
	for (size_t i = 0; r == 0 && i < n; i++) {
		s[i].rows = db_query(st->db, e, s[i].sql, "i", x->since);
		r = s[i].rows ? advance(&s[i], e) : -1;
	}
	if (r == 0)
		r = merge(x, s, n, e);
	for (size_t i = 0; i < n; i++)
		query_free(&s[i].rows);
	return r;
}

int logexport_time(const char *text, int64_t *ms, struct err *e)
{
	struct tm tm = {0};
	int part = 0, used = 0;
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	if (rest && *rest == 'T')
		rest = strptime(rest, "T%H:%M:%S", &tm);
	if (rest && sscanf(rest, ".%3d%n", &part, &used) == 1 && used == 4)
		rest += used;
	else
		part = 0;
	if (rest && *rest == 'Z')
		rest++;
	if (!rest || *rest) {
		err_set(e, ERR_USAGE, "not a time: '%.60s'", text);
		return err_hint(e, "write 2026-01-31 or 2026-01-31T12:00:05Z");
	}
	*ms = (int64_t)timegm(&tm) * 1000 + part;
	return 0;
}

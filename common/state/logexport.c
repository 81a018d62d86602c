#include "state/logexport.h"
#include "state/db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Each source gives its rows in the order of their first column, the time; the three are merged. */
struct log_source {
	const char *sql;
	json_t *(*pack)(struct query *);
	struct query *rows;
	int64_t at;
	bool more;
};

static const char run_sql[] =
	"SELECT ended, id, expert, version, tool, buyer, session, status, reason, started, ms "
	"FROM runs WHERE ended >= ? ORDER BY ended, id";
static const char egress_sql[] =
	"SELECT at, id, run, method, host, port, path, status, up, down, ms, verdict "
	"FROM events WHERE at >= ? ORDER BY at, id";
static const char audit_sql[] = "SELECT at, seq, actor, action, object, detail, hash FROM audit "
				"WHERE at >= ? ORDER BY at, seq";

static const char *time_text(int64_t ms, char out[32])
{
	char second[24];
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	gmtime_r(&t, &tm);
	strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, 32, "%s.%03dZ", second, (int)(ms % 1000));
	return out;
}

static json_t *line_of(const char *kind, struct query *q)
{
	char at[32];
	json_t *o = json_object();
	json_object_set_new(o, "kind", json_string(kind));
	json_object_set_new(o, "at", json_string(time_text(col_int(q, 0), at)));
	return o;
}

static void put_text(json_t *o, const char *key, struct query *q, int column)
{
	json_object_set_new(o, key, json_text_or_null(col_text(q, column)));
}

static void put_number(json_t *o, const char *key, struct query *q, int column)
{
	json_object_set_new(
		o, key, col_null(q, column) ? json_null() : json_integer(col_int(q, column)));
}

static json_t *pack_run(struct query *q)
{
	char started[32];
	json_t *o = line_of("run", q);
	put_text(o, "id", q, 1);
	put_text(o, "expert", q, 2);
	put_number(o, "version", q, 3);
	put_text(o, "tool", q, 4);
	put_text(o, "buyer", q, 5);
	put_text(o, "session", q, 6);
	put_text(o, "status", q, 7);
	put_text(o, "reason", q, 8);
	json_object_set_new(o, "started", json_string(time_text(col_int(q, 9), started)));
	put_number(o, "ms", q, 10);
	return o;
}

static json_t *pack_event(struct query *q)
{
	json_t *o = line_of("egress", q);
	put_number(o, "id", q, 1);
	put_text(o, "run", q, 2);
	put_text(o, "method", q, 3);
	put_text(o, "host", q, 4);
	put_number(o, "port", q, 5);
	put_text(o, "path", q, 6);
	put_number(o, "status", q, 7);
	put_number(o, "up", q, 8);
	put_number(o, "down", q, 9);
	put_number(o, "ms", q, 10);
	put_text(o, "verdict", q, 11);
	return o;
}

static json_t *pack_audit(struct query *q)
{
	char hex[2 * SEAL_HASH_BYTES + 1] = "";
	size_t n;
	const unsigned char *hash = col_blob(q, 6, &n);
	const char *detail = col_text(q, 5);
	json_t *o = line_of("audit", q);
	put_number(o, "id", q, 1);
	put_text(o, "actor", q, 2);
	put_text(o, "action", q, 3);
	put_text(o, "object", q, 4);
	json_t *tree = detail ? json_loads(detail, JSON_DECODE_ANY, NULL) : NULL;
	json_object_set_new(o, "detail", tree ? tree : json_null());
	for (size_t i = 0; hash && i < n && i < SEAL_HASH_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	json_object_set_new(o, "hash", json_string(hex));
	return o;
}

static int advance(struct log_source *s, struct err *e)
{
	int r = query_step(s->rows, e);
	s->more = r > 0;
	s->at = s->more ? col_int(s->rows, 0) : 0;
	return r < 0 ? -1 : 0;
}

static struct log_source *earliest(struct log_source *s, size_t n)
{
	struct log_source *first = NULL;
	for (size_t i = 0; i < n; i++)
		if (s[i].more && (!first || s[i].at < first->at))
			first = &s[i];
	return first;
}

static int merge(const struct logexport *x, struct log_source *sources, size_t n, struct err *e)
{
	for (struct log_source *s; (s = earliest(sources, n));) {
		json_t *line = s->pack(s->rows);
		int r = x->line(x->ctx, line);
		json_decref(line);
		if (r < 0)
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
		s[n++] = (struct log_source){audit_sql, pack_audit};
	if (x->runs)
		s[n++] = (struct log_source){run_sql, pack_run};
	if (x->egress)
		s[n++] = (struct log_source){egress_sql, pack_event};
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

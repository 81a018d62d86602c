#include "state/quota.h"

#include "base/file.h"
#include "state/buyer.h"
#include "state/db.h"
#include "state/expert.h"

#define DAY_MS ((int64_t)86400000)
#define HOUR_MS ((int64_t)3600000)
#define KEEP -2

static int64_t today(void)
{
	int64_t now = clock_real_ms();
	return now - now % DAY_MS;
}

/* ---- what was agreed ------------------------------------------------------------------------ */

/* 1 there is one, 0 none: all without. */
static int find(
	struct state *st, const char *buyer, const char *expert, struct quota *out, struct err *e)
{
	*out = (struct quota){-1, -1, -1};
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT coalesce(q.calls, -1), coalesce(q.seconds, -1), coalesce(q.at_once, -1) "
		"FROM quotas q JOIN buyers b ON b.name = q.buyer "
		"WHERE q.buyer = ? AND q.expert = ? AND b.removed IS NULL",
		"ss", buyer, expert);
	int r = query_step(q, e);
	if (r > 0)
		*out = (struct quota){col_int(q, 0), col_int(q, 1), col_int(q, 2)};
	return r;
}

static int64_t changed(int64_t to, int64_t from)
{
	return to == KEEP ? from : to;
}

static int put(struct state *st, const char *buyer, const char *expert, const struct quota *to,
	struct err *e)
{
	EXPERT_AUTO x = {0};
	struct quota was;
	if (buyer_check(st, buyer, e) < 0 || expert_find(st, expert, &x, e) < 0 ||
		find(st, buyer, expert, &was, e) < 0)
		return -1;
	was = (struct quota){changed(to->calls, was.calls), changed(to->seconds, was.seconds),
		changed(to->at_once, was.at_once)};
	if (was.calls < 0 && was.seconds < 0 && was.at_once < 0)
		return db_exec(st->db, e, "DELETE FROM quotas WHERE buyer = ? AND expert = ?", "ss",
			buyer, expert);
	return db_exec(st->db, e,
		"INSERT OR REPLACE INTO quotas (buyer, expert, calls, seconds, at_once) "
		"VALUES (?, ?, nullif(?, -1), nullif(?, -1), nullif(?, -1))",
		"ssiii", buyer, expert, was.calls, was.seconds, was.at_once);
}

int quota_set(struct state *st, const char *buyer, const char *expert, const struct quota *q,
	struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = put(st, buyer, expert, q, e);
	return state_finish(st, r, "buyer limit", buyer, json_pack("{s:s}", "expert", expert), e);
}

/* ---- what was used -------------------------------------------------------------------------- */

struct used {
	int64_t calls, ms, running;
};

/*
 * Today's runs, and what batches that go on have still to run of what they took. A run that goes on
 * counts with the time that it has had, and as one of those at once also if it began before
 * midnight.
 */
static int count_used(
	struct state *st, const char *buyer, const char *expert, struct used *u, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT count(*) FILTER (WHERE started >= ?3), "
		"coalesce(sum(coalesce(ms, ?4 - started)) FILTER (WHERE started >= ?3), 0), "
		"count(*) FILTER (WHERE status = 'running') "
		"FROM runs WHERE buyer = ?1 AND expert = ?2 AND started >= ?3 - ?5",
		"ssiii", buyer, expert, today(), clock_real_ms(), DAY_MS);
	if (query_step(q, e) <= 0)
		return -1;
	*u = (struct used){col_int(q, 0), col_int(q, 1), col_int(q, 2)};
	QUERY_AUTO b = db_query(st->db, e,
		"SELECT coalesce(sum(b.calls - (SELECT count(*) FROM batch_calls c "
		"WHERE c.batch = b.id AND c.code IS NOT NULL)), 0) "
		"FROM batches b WHERE b.buyer = ? AND b.expert = ? AND b.ended IS NULL",
		"ss", buyer, expert);
	if (query_step(b, e) <= 0)
		return -1;
	u->calls += col_int(b, 0);
	return 0;
}

static json_t *or_null(int64_t n, int64_t of)
{
	return of < 0 ? json_null() : json_integer(n < 0 ? 0 : n);
}

json_t *quota_left(struct state *st, const char *buyer, const char *expert, struct err *e)
{
	struct quota q;
	struct used u = {0};
	if (find(st, buyer, expert, &q, e) < 0 || count_used(st, buyer, expert, &u, e) < 0)
		return NULL;
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "calls_a_day", or_null(q.calls, q.calls),
		"calls_left", or_null(q.calls - u.calls, q.calls), "seconds_a_day",
		or_null(q.seconds, q.seconds), "seconds_left",
		or_null(q.seconds - u.ms / 1000, q.seconds), "at_once",
		or_null(q.at_once, q.at_once));
}

/* "in 5 h, at 00:00 UTC" */
static int refuse(const char *what, int64_t of, struct err *e)
{
	int64_t hours = (today() + DAY_MS - clock_real_ms() + HOUR_MS - 1) / HOUR_MS;
	return err_set(e, ERR_QUOTA,
		"the quota of %lld %s a day is used up: it opens again at 00:00 UTC, in %lld hour%s",
		(long long)of, what, (long long)hours, hours == 1 ? "" : "s");
}

int quota_take(struct state *st, const char *buyer, const char *expert, int64_t calls, bool at_once,
	struct err *e)
{
	struct quota q;
	struct used u = {0};
	int there = buyer ? find(st, buyer, expert, &q, e) : 0;
	if (there <= 0)
		return there;
	if (count_used(st, buyer, expert, &u, e) < 0)
		return -1;
	if (q.calls >= 0 && u.calls + calls > q.calls)
		return refuse("calls", q.calls, e);
	if (q.seconds >= 0 && u.ms >= q.seconds * 1000)
		return refuse("seconds", q.seconds, e);
	if (at_once && q.at_once >= 0 && u.running >= q.at_once)
		return err_set(e, ERR_TURN,
			"%lld call%s at once, and no more, may run: try again in a moment",
			(long long)q.at_once, q.at_once == 1 ? "" : "s");
	return 0;
}

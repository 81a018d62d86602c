#include "state/cred_day.h"
#include "base/file.h"
#include "state/db.h"

#include <string.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)

int cred_day_parse(const char *text, struct cred_day *out, struct err *e)
{
	struct tm tm = {0}, back;
	char again[16] = "";
	out->given = true;
	out->day = 0;
	if (strcmp(text, "none") == 0)
		return 0;
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	time_t at = timegm(&tm);
	/* strptime() takes the 31st of February, and timegm() makes a day of March of it. */
	if (gmtime_r(&at, &back))
		strftime(again, sizeof again, "%Y-%m-%d", &back);
	out->day = (int64_t)at * 1000;
	if (end && !*end && strcmp(again, text) == 0 && out->day > 0)
		return 0;
	err_set(e, ERR_USAGE, "'--expires' takes a day as 2027-01-31, or none, not '%.40s'", text);
	return err_hint(e, "give '--expires YYYY-MM-DD', the last day that it is good for");
}

int cred_day_set(struct state *st, const char *name, const struct cred_day *d, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE credentials SET expires = iif(?1, nullif(?2, 0), expires), "
		"remind = iif(?3 < 0, remind, ?3) WHERE name = ?4",
		"iiis", (int64_t)d->given, d->day, (int64_t)d->remind, name);
	return state_finish(st, r, "cred set", name,
		json_pack("{s:I,s:i}", "expires", (json_int_t)d->day, "remind", d->remind), e);
}

int cred_day_due(struct state *st, int64_t id, bool flags, json_t *out, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT name, (expires - ?2) / 86400000, date(expires / 1000, 'unixepoch') "
		"FROM credentials WHERE (?1 = 0 OR id = ?1) AND expires IS NOT NULL "
		"AND expires - remind * 86400000 <= ?2 ORDER BY name",
		"ii", id, clock_real_ms() / DAY_MS * DAY_MS);
	int r;
	while ((r = query_step(q, e)) > 0) {
		const char *name = col_text(q, 0), *day = col_text(q, 2);
		long long left = (long long)col_int(q, 1);
		BUF_AUTO when = {0};
		buf_adds(&when, left < 0 ? "expired" : "expires");
		if (flags)
			buf_addf(&when, " %s", name);
		if (left < 0)
			buf_addf(&when, " on %s", day);
		else if (left > 1)
			buf_addf(&when, " in %lld days (%s)", left, day);
		else
			buf_addf(&when, " %s (%s)", left ? "tomorrow" : "today", day);
		json_array_append_new(out, flags ? json_sprintf("! %s", buf_str(&when))
						 : json_sprintf("%s %s", name, buf_str(&when)));
	}
	return r;
}

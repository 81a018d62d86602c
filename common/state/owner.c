#include "state/owner.h"

#include "base/file.h"
#include "base/proc.h"

#include <string.h>

/* For clocks that differ, and for what comes after the last of a call. */
#define ELSEWHERE_SLACK_MS 600000

bool owner_is_here(const char *pid_space)
{
	char here[PROC_SPACE_MAX];
	proc_space(here);
	return !pid_space[0] || strcmp(pid_space, here) == 0;
}

/* Columns 1 to 4. */
static bool is_alive(struct query *q)
{
	if (owner_is_here(col_text(q, 3)))
		return proc_alive((pid_t)col_int(q, 1), col_int(q, 2));
	return clock_real_ms() < col_int(q, 4) + ELSEWHERE_SLACK_MS;
}

int owners_find(struct query *rows, bool alive, struct strv *out, struct err *e)
{
	int r;
	while ((r = query_step(rows, e)) > 0)
		if (is_alive(rows) == alive)
			strv_add(out, col_text(rows, 0));
	return r == 0 && out->failed ? err_set(e, ERR_FAIL, "out of memory") : r;
}

int owners_dead(struct db *db, const char *kind, struct strv *out, struct err *e)
{
	QUERY_AUTO q = db_query(
		db, e, "SELECT id, " OWNER_COLUMNS " FROM owner_view WHERE kind = ?", "s", kind);
	return owners_find(q, false, out, e);
}

#include "state/db.h"
#include "state/state.h"

#include "base/file.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Each row's hash is BLAKE2b-256 over the row before's hash and this row's own fields, lengths
 * first, so that no row can be changed, dropped from the middle, or moved, without the chain
 * showing it.
 */
static void row_hash(unsigned char out[SEAL_HASH_BYTES], const unsigned char *prev, int64_t seq,
	int64_t at, const char *const text[4])
{
	struct buf b = {0};
	buf_addf(&b, "%lld %lld", (long long)seq, (long long)at);
	for (int i = 0; i < 4; i++)
		buf_addf(&b, " %zu:%s", strlen(text[i]), text[i]);
	seal_hash(out, prev, SEAL_HASH_BYTES, buf_str(&b), b.len);
	buf_free(&b);
}

static void actor_name(char *out, size_t n)
{
	struct passwd *pw = getpwuid(getuid());
	snprintf(out, n, "%s(%ld)", pw ? pw->pw_name : "uid", (long)getuid());
}

static int last_row(
	struct state *st, int64_t *seq, unsigned char prev[SEAL_HASH_BYTES], struct err *e)
{
	QUERY_AUTO q =
		db_query(st->db, e, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", "");
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	size_t n = 0;
	const void *p = col_blob(q, 1, &n);
	if (n != SEAL_HASH_BYTES)
		return err_set(e, ERR_STATE, "the audit trail is damaged at row %lld",
			(long long)col_int(q, 0));
	*seq = col_int(q, 0);
	memcpy(prev, p, n);
	return 0;
}

int audit_add(
	struct state *st, const char *action, const char *object, json_t *detail, struct err *e)
{
	unsigned char prev[SEAL_HASH_BYTES] = {0}, hash[SEAL_HASH_BYTES];
	char actor[64];
	int64_t seq = 0, at = clock_real_ms();
	BUF_AUTO text = {0};
	json_to_buf(detail ? detail : json_null(), &text);
	json_decref(detail);
	if (last_row(st, &seq, prev, e) < 0)
		return -1;
	seq++;
	actor_name(actor, sizeof actor);
	row_hash(hash, prev, seq, at, (const char *const[]){actor, action, object, buf_str(&text)});
	return db_exec(st->db, e, "INSERT INTO audit VALUES (?,?,?,?,?,?,?,?)", "iissssbb", seq, at,
		actor, action, object, buf_str(&text), (const void *)prev, sizeof prev,
		(const void *)hash, sizeof hash);
}

int audit_verify(struct state *st, int64_t *rows, struct err *e)
{
	unsigned char prev[SEAL_HASH_BYTES] = {0}, hash[SEAL_HASH_BYTES];
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT seq, at, actor, action, object, detail, prev, hash FROM audit ORDER BY seq",
		"");
	int r;
	*rows = 0;
	while ((r = query_step(q, e)) > 0) {
		size_t np, nh;
		const char *const text[4] = {
			col_text(q, 2), col_text(q, 3), col_text(q, 4), col_text(q, 5)};
		const void *p = col_blob(q, 6, &np), *h = col_blob(q, 7, &nh);
		row_hash(hash, prev, col_int(q, 0), col_int(q, 1), text);
		if (col_int(q, 0) != *rows + 1 || np != sizeof prev || memcmp(p, prev, np) != 0 ||
			nh != sizeof hash || memcmp(h, hash, nh) != 0) {
			err_set(e, ERR_FINDINGS, "the audit trail does not fit at row %lld",
				(long long)*rows + 1);
			return err_hint(e, "compare with a backup: evctl-state restore BACKUP");
		}
		memcpy(prev, hash, sizeof prev);
		++*rows;
	}
	return r;
}

int64_t audit_last(struct state *st)
{
	struct err quiet = {0};
	int64_t at = 0;
	bool found;
	db_number(st->db, &quiet, &at, &found, "SELECT max(at) FROM audit", "");
	return at;
}

json_t *audit_list(struct state *st, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT seq, at AS 'at:time', actor, action, object, detail AS 'detail:json' "
		"FROM audit ORDER BY seq",
		"");
}

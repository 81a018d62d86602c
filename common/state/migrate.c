#include "state/migrate.h"
#include "state/backup.h"

#include "base/file.h"
#include "state/db.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* One row a version from 2 on; rows are never changed once a release had them. */
static const struct migration all_steps[] = {
	{2, "ALTER TABLE sessions ADD COLUMN pid_space TEXT NOT NULL DEFAULT '';"
	    "ALTER TABLE runs ADD COLUMN pid_space TEXT NOT NULL DEFAULT '';"
	    "ALTER TABLE events ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;"
	    "CREATE INDEX runs_session ON runs (session, started) WHERE session IS NOT NULL"},
	{3, "ALTER TABLE runs ADD COLUMN batch TEXT;"
	    "ALTER TABLE runs ADD COLUMN call INTEGER;"
	    "ALTER TABLE runs ADD COLUMN node TEXT;"
	    "CREATE TABLE nodes ( id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, public_key BLOB NOT NULL, added INTEGER NOT NULL, expires INTEGER ) STRICT;"
	    "CREATE TABLE batches ( id TEXT PRIMARY KEY, expert TEXT NOT NULL, version INTEGER NOT NULL, buyer TEXT, engine TEXT NOT NULL, spool TEXT NOT NULL, settings TEXT NOT NULL, public_key BLOB NOT NULL, calls INTEGER NOT NULL, status TEXT NOT NULL, started INTEGER NOT NULL, expires INTEGER NOT NULL, ended INTEGER ) STRICT;"
	    "CREATE INDEX batches_live ON batches (id) WHERE ended IS NULL;"
	    "CREATE TABLE batch_calls ( batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE, call INTEGER NOT NULL, tool TEXT, name TEXT, code INTEGER, part INTEGER, place INTEGER, PRIMARY KEY (batch, call) ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE batch_chunks ( batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE, chunk INTEGER NOT NULL, attempt INTEGER NOT NULL, calls TEXT NOT NULL, job TEXT, status TEXT NOT NULL, PRIMARY KEY (batch, chunk) ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE batch_streams ( batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE, name TEXT NOT NULL, node TEXT, frames INTEGER NOT NULL DEFAULT 0, final INTEGER NOT NULL DEFAULT 0, refused TEXT, PRIMARY KEY (batch, name) ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE batch_parts ( id INTEGER PRIMARY KEY, batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE, lines BLOB NOT NULL ) STRICT;"
	    "CREATE INDEX batch_parts_batch ON batch_parts (batch)"},
	{4, "ALTER TABLE credentials ADD COLUMN expires INTEGER;"
	    "ALTER TABLE credentials ADD COLUMN remind INTEGER NOT NULL DEFAULT 14;"
	    "ALTER TABLE experts ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;"
	    "ALTER TABLE experts ADD COLUMN contact TEXT NOT NULL DEFAULT '';"
	    "ALTER TABLE experts ADD COLUMN told INTEGER NOT NULL DEFAULT 0;"
	    "CREATE TABLE buyers ( name TEXT PRIMARY KEY, note TEXT NOT NULL DEFAULT '', added INTEGER NOT NULL, removed INTEGER ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE buyer_experts ( buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE, expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE, granted INTEGER, asked INTEGER, PRIMARY KEY (buyer, expert) ) STRICT, WITHOUT ROWID;"
	    "CREATE INDEX buyer_experts_expert ON buyer_experts (expert);"
	    "CREATE TABLE tokens ( id TEXT PRIMARY KEY, buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE, hash BLOB NOT NULL UNIQUE, label TEXT NOT NULL DEFAULT '', only TEXT NOT NULL DEFAULT '', limited INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL, expires INTEGER, used INTEGER, withdrawn INTEGER ) STRICT, WITHOUT ROWID;"
	    "CREATE INDEX tokens_buyer ON tokens (buyer);"
	    "CREATE TABLE token_experts ( token TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE, expert INTEGER NOT NULL REFERENCES experts (id) ON DELETE CASCADE, PRIMARY KEY (token, expert) ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE subjects ( issuer TEXT NOT NULL, subject TEXT NOT NULL, buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE, PRIMARY KEY (issuer, subject) ) STRICT, WITHOUT ROWID;"
	    "CREATE TABLE quotas ( buyer TEXT NOT NULL REFERENCES buyers (name) ON DELETE CASCADE, expert TEXT NOT NULL, calls INTEGER, seconds INTEGER, at_once INTEGER, PRIMARY KEY (buyer, expert) ) STRICT, WITHOUT ROWID;"
	    "CREATE INDEX runs_buyer ON runs (buyer, expert, started) WHERE buyer IS NOT NULL"},
};

/* Copies by a connection of its own: the caller holds the write lock, so nothing can slip past. */
static int keep_copy(
	struct state *st, const char *path, int64_t version, char **kept, struct err *e)
{
	struct state reader = {.place = st->place};
	struct backup_info info = {0};
	char when[32];
	int64_t now = clock_real_ms();
	time_t s = (time_t)(now / 1000);
	struct tm tm;
	strftime(when, sizeof when, "%Y%m%dT%H%M%S", gmtime_r(&s, &tm));
	if (asprintf(kept, "%s/backups/schema-%lld-%s.%03dZ", st->place.dir, (long long)version,
		    when, (int)(now % 1000)) < 0) {
		*kept = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	if (db_open(&reader.db, path, true, e) < 0)
		return -1;
	memcpy(reader.public_key, st->public_key, sizeof reader.public_key);
	int r = backup_write(&reader, *kept, BACKUP_LINK, &info, e);
	db_close(&reader.db);
	backup_info_free(&info);
	return r;
}

static int run_steps(
	struct db *db, const struct migration *steps, size_t n, int64_t version, struct err *e)
{
	char done[64];
	for (size_t i = 0; i < n; i++) {
		if (steps[i].to <= version)
			continue;
		if (steps[i].to != version + 1)
			return err_set(e, ERR_STATE, "no way from version %lld to %d",
				(long long)version, steps[i].to);
		snprintf(done, sizeof done, "PRAGMA user_version = %d", steps[i].to);
		if (db_script(db, steps[i].sql, e) < 0 || db_script(db, done, e) < 0)
			return -1;
		version = steps[i].to;
	}
	return db_check(db, e);
}

static int migrate_locked(struct state *writer, const char *path, const struct migration *steps,
	size_t n, struct err *e)
{
	int64_t version;
	if (db_version(writer->db, &version, e) < 0)
		return -1;
	if (version >= steps[n - 1].to) { /* another program was faster */
		state_rollback(writer);
		return 0;
	}
	STR_AUTO kept = NULL;
	if (keep_copy(writer, path, version, &kept, e) < 0)
		return err_wrap(e, "cannot keep a copy of the state before bringing it up to date");
	int r = run_steps(writer->db, steps, n, version, e);
	r = state_finish(writer, r, "state migrate", "state",
		json_pack("{s:I,s:i}", "from", (json_int_t)version, "to", steps[n - 1].to), e);
	if (r < 0) /* nothing has changed, and every further try would leave one more */
		file_remove_tree(AT_FDCWD, kept);
	return r;
}

int migrate_steps(struct state *st, const struct migration *steps, size_t n, struct err *e)
{
	struct state writer = {.place = st->place};
	STR_AUTO path = path_join(st->place.dir, "state.db");
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (n == 0)
		return 0;
	if (db_open(&writer.db, path, false, e) < 0)
		return -1;
	/* Steps may rebuild tables that others refer to; db_check() looks at every reference after.
	 */
	int r = db_script(writer.db, "PRAGMA foreign_keys = OFF", e);
	if (r == 0)
		r = state_begin(&writer, e);
	if (r == 0)
		r = migrate_locked(&writer, path, steps, n, e);
	db_rollback(writer.db);
	db_close(&writer.db);
	if (r < 0 && e->code == ERR_FAIL)
		e->code = ERR_STATE;
	return r < 0 ? err_wrap(e, "the state file is of an older version") : 0;
}

int migrate_state(struct state *st, struct err *e)
{
	return migrate_steps(st, all_steps, sizeof all_steps / sizeof all_steps[0], e);
}

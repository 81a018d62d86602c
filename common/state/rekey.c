#include "state/backup.h"

#include "base/file.h"
#include "base/grow.h"
#include "state/copy.h"
#include "state/db.h"
#include "state/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The order of things: the new key's file is on the disk under FILE.FINGERPRINT and the old one's
 * under a name of the same kind; then the records change hands in one transaction; then the new key
 * takes FILE. keyfile_find() looks for FILE.FINGERPRINT of the key that a state wants, so after a
 * crash anywhere, in older backups, and in other states that shared the old file, the right one is
 * found.
 */

void rekey_free(struct rekey *r)
{
	free(r->key);
	free(r->old_key);
	r->key = r->old_key = NULL;
}

/* ---- the records --------------------------------------------------------------------------- */

struct sealed_column {
	char table[64], name[64];
};

/*
 * Every BLOB column holds sealed records but the few named here. A column that is added and named
 * nowhere makes a change of keys fail, with nothing changed, rather than leave its records behind.
 */
static int sealed_columns(
	struct db *db, struct sealed_column *cols, size_t room, size_t *n, struct err *e)
{
	QUERY_AUTO q = db_query(db, e,
		"SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c "
		"WHERE m.type = 'table' AND c.type = 'BLOB' AND m.name || '.' || c.name NOT IN "
		"('meta.value', 'hosts.ca', 'snapshot_hosts.ca', 'connections.ca', 'audit.prev', "
		"'audit.hash', 'nodes.public_key', 'batches.public_key', "
		"'tokens.hash') ORDER BY 1, 2",
		"");
	int r;
	*n = 0;
	while ((r = query_step(q, e)) > 0) {
		if (*n == room)
			return err_set(e, ERR_FAIL, "too many sealed columns");
		snprintf(cols[*n].table, sizeof cols->table, "%s", col_text(q, 0));
		snprintf(cols[*n].name, sizeof cols->name, "%s", col_text(q, 1));
		++*n;
	}
	return r;
}

static int rows_of(
	struct db *db, const struct sealed_column *c, int64_t **ids, size_t *n, struct err *e)
{
	BUF_AUTO sql = {0};
	size_t room = 0;
	buf_addf(&sql, "SELECT rowid FROM \"%s\" WHERE \"%s\" IS NOT NULL", c->table, c->name);
	QUERY_AUTO q = db_query(db, e, buf_str(&sql), "");
	int r;
	*ids = NULL;
	*n = 0;
	while ((r = query_step(q, e)) > 0) {
		int64_t *more = grow(*ids, *n, &room, sizeof **ids);
		if (!more)
			return err_set(e, ERR_FAIL, "out of memory");
		*ids = more;
		(*ids)[(*n)++] = col_int(q, 0);
	}
	return r;
}

static int seal_row(struct state *st, const unsigned char *to, const struct sealed_column *c,
	int64_t id, struct err *e)
{
	BUF_AUTO get = {0};
	BUF_AUTO put = {0};
	BUF_AUTO record = {0};
	size_t n;
	buf_addf(&get, "SELECT \"%s\" FROM \"%s\" WHERE rowid = ?", c->name, c->table);
	buf_addf(&put, "UPDATE \"%s\" SET \"%s\" = ? WHERE rowid = ?", c->table, c->name);
	QUERY_AUTO q = db_query(st->db, e, buf_str(&get), "i", id);
	if (query_step(q, e) < 0)
		return -1;
	const void *p = col_blob(q, 0, &n);
	record.limit = n + 1;
	if (seal_again(&st->private_key, to, p, n, &record, e) < 0)
		return err_wrap(e, "row %lld of %s", (long long)id, c->table);
	query_free(&q);
	return db_exec(st->db, e, buf_str(&put), "bi", (const void *)record.data, record.len, id);
}

static int seal_column(struct state *st, const unsigned char *to, const struct sealed_column *c,
	int64_t *records, struct err *e)
{
	int64_t *ids = NULL;
	size_t n;
	int r = rows_of(st->db, c, &ids, &n, e);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = seal_row(st, to, c, ids[i], e);
	free(ids);
	*records += r == 0 ? (int64_t)n : 0;
	return r;
}

static int seal_all(struct state *st, const unsigned char *to, int64_t *records, struct err *e)
{
	struct sealed_column cols[32];
	size_t n;
	if (sealed_columns(st->db, cols, 32, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (seal_column(st, to, &cols[i], records, e) < 0)
			return -1;
	return db_exec(st->db, e, "UPDATE meta SET value = ? WHERE key = 'public_key'", "b",
		(const void *)to, (size_t)SEAL_KEY_BYTES);
}

/* What the freed pages and the log still hold of the old seals goes too. */
static int change_hands(struct state *st, const unsigned char *to, struct rekey *r, struct err *e)
{
	if (db_script(st->db, "PRAGMA secure_delete = ON", e) < 0 || state_begin(st, e) < 0)
		return -1;
	unsigned char mine[SEAL_KEY_BYTES];
	seal_public_of(&st->private_key, mine);
	int done = 0;
	if (memcmp(mine, st->public_key, sizeof mine) != 0)
		done = err_set(e, ERR_CONFLICT, "the keys were changed meanwhile");
	if (done == 0)
		done = backup_check_idle(st->db, e);
	if (done == 0)
		done = seal_all(st, to, &r->records, e);
	done = state_finish(st, done, "state rekey", "state",
		json_pack("{s:s,s:s}", "from", r->old_fingerprint, "to", r->fingerprint), e);
	if (done == 0)
		db_checkpoint(st->db);
	return done;
}

/* ---- the files ----------------------------------------------------------------------------- */

static int sync_parent(const char *path, struct err *e)
{
	STR_AUTO copy = strdup(path);
	FD_AUTO dir = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return err_errno(e, ERR_FAIL, "cannot open the directory of '%s'", path);
	return copy_sync(dir, e);
}

struct files {
	char *base; /* what the new key is called in the end */
	char *mine; /* FILE.FINGERPRINT of the new key */
	char *kept; /* the same of the old one; NULL: base is not the old key's */
};

static void files_free(struct files *f)
{
	free(f->base);
	free(f->mine);
	free(f->kept);
}
#define FILES_AUTO __attribute__((cleanup(files_free))) struct files

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && strcmp(s + n - m, end) == 0;
}

/* An old key that was itself found beside FILE stays where it is, as does FILE. */
static int name_files(const struct state *st, const struct rekey *r, const unsigned char *to,
	struct files *f, struct err *e)
{
	STR_AUTO beside = keyfile_beside("", st->public_key);
	bool in_place = !r->to && beside && !ends_in(st->key_from, beside);
	f->base = strdup(r->to ? r->to : st->key_from);
	if (f->base && beside && !r->to && !in_place)
		f->base[strlen(f->base) - strlen(beside)] = '\0';
	f->mine = f->base ? keyfile_beside(f->base, to) : NULL;
	f->kept = in_place ? keyfile_beside(f->base, st->public_key) : NULL;
	if (!beside || !f->base || !f->mine || (in_place && !f->kept))
		return err_set(e, ERR_FAIL, "out of memory");
	if (r->to && file_exists(r->to)) {
		err_set(e, ERR_CONFLICT, "there is a file already: '%s'", r->to);
		return err_hint(e, "name a file that does not exist yet");
	}
	return 0;
}

/* Both keys under their own names, on the disk, before any record changes hands. */
static int write_files(
	const struct rekey *r, const struct files *f, const struct secret *key, struct err *e)
{
	if (keyfile_write(f->mine, key, r->wrap ? &r->passphrase : NULL, e) < 0) {
		if (!*e->hint)
			err_hint(e, "name another place for the new key: --to FILE");
		return -1;
	}
	if (f->kept && link(f->base, f->kept) < 0 && errno != EEXIST)
		return err_errno(e, ERR_FAIL, "cannot keep the old key as '%s'", f->kept);
	return sync_parent(f->mine, e);
}

static int place_key(const struct state *st, struct rekey *r, struct files *f, struct err *e)
{
	bool replace = r->to || f->kept;
	if (replace && rename(f->mine, f->base) < 0)
		return err_errno(
			e, ERR_FAIL, "the new key is in '%s', which cannot be renamed", f->mine);
	r->key = strdup(replace ? f->base : f->mine);
	const char *old = f->kept ? f->kept : file_exists(st->key_from) ? st->key_from : NULL;
	if (old && r->drop_old && unlink(old) < 0)
		return err_errno(e, ERR_FAIL, "cannot remove the old key '%s'", old);
	r->old_key = old && !r->drop_old ? strdup(old) : NULL;
	return sync_parent(f->mine, e);
}

/* After a failure: the new key is removed only if the state certainly does not want it. */
static void unwrite_files(struct state *st, const struct files *f, const unsigned char *to)
{
	struct err quiet = {0};
	QUERY_AUTO q =
		db_query(st->db, &quiet, "SELECT value = ? FROM meta WHERE key = 'public_key'", "b",
			(const void *)to, (size_t)SEAL_KEY_BYTES);
	if (query_step(q, &quiet) != 1 || col_int(q, 0))
		return;
	if (f->mine)
		unlink(f->mine);
	if (f->kept)
		unlink(f->kept);
}

int backup_rekey(struct state *st, struct rekey *r, struct err *e)
{
	SECRET_AUTO key = {0};
	FILES_AUTO f = {0};
	unsigned char to[SEAL_KEY_BYTES];
	if (state_unlock(st, e) < 0 || seal_new_keypair(to, &key, e) < 0)
		return -1;
	if (!r->to && !file_exists(st->key_from)) {
		err_set(e, ERR_USAGE,
			"the old key did not come from a file, so the new key's place is unknown");
		return err_hint(e, "evctl-state rekey --to FILE");
	}
	seal_fingerprint(r->old_fingerprint, st->public_key);
	seal_fingerprint(r->fingerprint, to);
	if (name_files(st, r, to, &f, e) < 0)
		return -1;
	if (write_files(r, &f, &key, e) < 0 || change_hands(st, to, r, e) < 0) {
		unwrite_files(st, &f, to);
		return -1;
	}
	return place_key(st, r, &f, e);
}

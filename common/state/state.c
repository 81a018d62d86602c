#include "state/state.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/db.h"
#include "state/keyfile.h"
#include "state/migrate.h"

int state_public_key(struct state *st, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, "SELECT value FROM meta WHERE key = 'public_key'", "");
	size_t n = 0;
	if (query_step(q, e) < 0)
		return -1;
	const void *p = col_blob(q, 0, &n);
	if (!p || n != SEAL_KEY_BYTES)
		return err_set(e, ERR_STATE, "the state file has no public key");
	memcpy(st->public_key, p, n);
	return 0;
}

/* *file is the state file's path, for the caller to free. */
static int take_place(struct state *st, const struct state_place *place, char **file, struct err *e)
{
	*st = (struct state){0};
	if (seal_process(e) < 0 || state_place_copy(&st->place, place, e) < 0)
		return -1;
	*file = state_place_path(&st->place, "state.db", e);
	return *file ? 0 : -1;
}

int state_subdir(const struct state *st, const char *name, bool make, struct err *e)
{
	STR_AUTO path = path_join(st->place.dir, name);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, ERR_STATE, "cannot make '%s'", path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		err_errno(e, ERR_STATE, "cannot open '%s'", path);
	return fd;
}

int state_open(
	struct state *st, const struct state_place *place, enum state_mode mode, struct err *e)
{
	STR_AUTO path = NULL;
	if (take_place(st, place, &path, e) < 0)
		return -1;
	if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		err_set(e, ERR_STATE, "there is no state file where %s says: '%s'", place->dir_from,
			path);
		return err_hint(e, "evctl init");
	}
	if (db_open(&st->db, path, mode == STATE_READ, e) < 0)
		return -1;
	int64_t version;
	if (db_version(st->db, &version, e) < 0)
		return -1;
	if (version < DB_SCHEMA_VERSION && migrate_state(st, e) < 0)
		return -1;
	if (db_views(st->db, e) < 0)
		return -1;
	return state_public_key(st, e);
}

void state_close(struct state *st)
{
	if (st->db)
		db_rollback(st->db);
	db_close(&st->db);
	secret_free(&st->private_key);
	state_place_free(&st->place);
	free(st->key_from);
	st->key_from = NULL;
}

/* The key that is there already at the place a new one would go, or a new one written there. */
static int first_key(struct state *st, bool passphrase, struct err *e)
{
	const struct passphrase_source from = {st->place.pass_fd, "passphrase-fd"};
	const char *path = keyfile_new_path(&st->place, e);
	if (!path)
		return -1;
	if (file_exists(path)) {
		if (keyfile_load(&st->place, path, false, &st->private_key, e) < 0)
			return -1;
		seal_public_of(&st->private_key, st->public_key);
	} else if (seal_new_keypair(st->public_key, &st->private_key, e) < 0 ||
		   keyfile_write(path, &st->private_key, passphrase ? &from : NULL, e) < 0) {
		return -1;
	}
	st->key_from = strdup(path);
	return 0;
}

int state_init(struct state *st, const struct state_place *place, bool passphrase, struct err *e)
{
	STR_AUTO path = NULL;
	if (take_place(st, place, &path, e) < 0)
		return -1;
	const char *dir = st->place.dir;
	STR_AUTO objects = state_place_path(&st->place, "objects", e);
	if (!objects)
		return -1;
	if (file_exists(path)) {
		err_set(e, ERR_CONFLICT, "there is a state file already: '%s'", path);
		return err_hint(e, "evctl-state status");
	}
	if (file_mkdirs(dir, 0700, e) < 0 || file_mkdirs(objects, 0700, e) < 0)
		return -1;
	if (chmod(dir, 0700) < 0)
		return err_errno(e, ERR_FAIL, "cannot make '%s' private", dir);
	if (first_key(st, passphrase, e) < 0 || db_create(&st->db, path, e) < 0 ||
		db_views(st->db, e) < 0)
		return -1;
	if (db_begin(st->db, e) < 0) /* not state_begin(): there is no public key to read yet */
		return -1;
	st->depth = 1;
	if (db_exec(st->db, e, "INSERT INTO meta VALUES ('public_key', ?)", "b",
		    (const void *)st->public_key, (size_t)SEAL_KEY_BYTES) < 0 ||
		audit_add(st, "state init", "state", NULL, e) < 0 || state_commit(st, e) < 0) {
		db_close(&st->db);
		unlink(path);
		return -1;
	}
	return 0;
}

json_t *state_totals(struct state *st, struct err *e)
{
	JSON_AUTO rows = db_rows(st->db, e,
		"SELECT ? AS schema, "
		"(SELECT count(*) FROM credentials) AS credentials, "
		"(SELECT count(*) FROM hosts) AS hosts, "
		"(SELECT count(*) FROM experts) AS experts, "
		"(SELECT count(*) FROM connections) AS connections, "
		"(SELECT count(*) FROM sessions WHERE ended IS NULL) AS sessions, "
		"(SELECT count(*) FROM runs) AS runs, "
		"(SELECT count(*) FROM artifacts) AS artifacts, "
		"(SELECT coalesce(sum(bytes), 0) FROM artifacts) AS artifact_bytes, "
		"(SELECT count(*) FROM events) AS events, "
		"(SELECT count(*) FROM audit) AS audit_rows",
		"i", (int64_t)DB_SCHEMA_VERSION);
	return json_incref(json_array_get(rows, 0));
}

int state_check(struct state *st, struct err *e)
{
	return db_check(st->db, e);
}

int state_unlock(struct state *st, struct err *e)
{
	if (st->private_key.data)
		return 0;
	if (keyfile_find(&st->place, st->public_key, &st->private_key, &st->key_from, &st->key_by,
		    e) < 0)
		return -1;
	unsigned char mine[SEAL_KEY_BYTES];
	seal_public_of(&st->private_key, mine);
	if (memcmp(mine, st->public_key, sizeof mine) == 0)
		return 0;
	secret_free(&st->private_key);
	char print[40];
	seal_fingerprint(print, st->public_key);
	err_set(e, ERR_KEY, "the private key in %s, by %s, is not this state's", st->key_from,
		st->key_by);
	return err_hint(e, "give the key whose fingerprint is %s: --key-file FILE", print);
}

/* The public key is read under the lock: a new key may have come since the state was opened. */
int state_begin(struct state *st, struct err *e)
{
	if (st->depth == 0 && db_begin(st->db, e) < 0)
		return -1;
	if (st->depth == 0 && state_public_key(st, e) < 0) {
		db_rollback(st->db);
		return -1;
	}
	st->depth++;
	return 0;
}

int state_commit(struct state *st, struct err *e)
{
	if (st->doomed) {
		state_rollback(st);
		return err_set(e, ERR_FAIL, "a change within this one failed; nothing was changed");
	}
	if (st->depth == 1 && db_commit(st->db, e) < 0) {
		state_rollback(st);
		return -1;
	}
	st->depth--;
	return 0;
}

void state_leave(struct state *st)
{
	if (st->depth > 1)
		st->depth--;
	else
		state_rollback(st);
}

void state_rollback(struct state *st)
{
	if (st->depth > 1) { /* the whole goes when the outermost ends */
		st->depth--;
		st->doomed = true;
		return;
	}
	db_rollback(st->db);
	st->depth = 0;
	st->doomed = false;
}

int state_finish(struct state *st, int r, const char *action, const char *object, json_t *detail,
	struct err *e)
{
	if (r < 0)
		json_decref(detail);
	else
		r = audit_add(st, action, object, detail, e);
	if (r == 0)
		return state_commit(st, e);
	state_rollback(st);
	return -1;
}

#include "state/backup.h"

#include "base/file.h"
#include "state/copy.h"
#include "state/db.h"
#include "state/objects.h"
#include "state/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The order of things, so that a crash anywhere leaves the old state or the new one, whole:
 *  1. copy the backup into a partial directory inside the state's, and verify all of it there;
 *  2. shut every other program out of the present state file;
 *  3. rename the objects into objects/: they are named by their content, so they harm nobody;
 *  4. link the present state file aside, rename its left-over logs aside, rename the new one over
 * it;
 *  5. remove what was aside, the partial directory, and objects that nothing names any more.
 */

static const char *const log_suffixes[] = {"-wal", "-shm", "-journal"};
#define ASIDE "state.db.old"

struct restore {
	const char *from;
	const char *dir; /* the state's */
	json_t *manifest;
	struct partial stage;
	int root, backup; /* the state directory and the backup */
	struct backup_info *info;
};

static void restore_close(struct restore *r)
{
	partial_drop(&r->stage);
	partial_close(&r->stage);
	fd_close(&r->root);
	fd_close(&r->backup);
	json_decref(r->manifest);
}
#define RESTORE_AUTO __attribute__((cleanup(restore_close))) struct restore

static int damaged(const struct restore *r, struct err *e, const char *what)
{
	err_set(e, ERR_STATE, "the backup '%s' is damaged: %s", r->from, what);
	return err_hint(e, "use another backup; the state was not touched");
}

/* ---- 1. verify ----------------------------------------------------------------------------- */

static int stage_file(
	struct restore *r, const char *name, int64_t bytes, const char *sha256, struct err *e)
{
	struct copied c;
	struct err why = {0};
	char what[160];
	if (copy_file(r->backup, name, r->stage.dir, name, &c, &why) < 0) {
		if (why.code == ERR_NOTFOUND || why.code == ERR_STATE)
			return damaged(r, e, why.msg);
		*e = why;
		return -1;
	}
	r->info->bytes += c.bytes;
	if (sha256 && c.bytes == bytes && strcmp(c.sha256, sha256) == 0)
		return 0;
	snprintf(what, sizeof what, "'%s' is not what was backed up", name);
	return damaged(r, e, what);
}

static int stage_object(struct restore *r, const json_t *row, struct err *e)
{
	char path[16 + OBJECT_PATH_MAX] = "objects/", sub[16];
	const char *sha256 = json_string_value(json_object_get(row, "sha256"));
	if (object_path(sha256, path + strlen(path)) < 0)
		return damaged(r, e, "its manifest names an impossible object");
	snprintf(sub, sizeof sub, "objects/%.2s", sha256);
	FD_AUTO dir = copy_dir(r->stage.dir, sub, e);
	if (dir < 0)
		return -1;
	return stage_file(r, path, json_integer_value(json_object_get(row, "bytes")), sha256, e);
}

static int stage_objects(struct restore *r, struct err *e)
{
	size_t i;
	json_t *row;
	FD_AUTO dir = copy_dir(r->stage.dir, "objects", e);
	if (dir < 0)
		return -1;
	json_array_foreach (json_object_get(r->manifest, "objects"), i, row)
		if (stage_object(r, row, e) < 0)
			return -1;
	r->info->objects = (int64_t)i;
	return 0;
}

/* Every artifact's bytes must be in the backup, but for those that the manifest says it lacks. */
static int check_artifacts(struct restore *r, struct db *db, struct err *e)
{
	size_t i;
	json_t *row;
	JSON_AUTO known = json_object();
	json_array_foreach (json_object_get(r->manifest, "objects"), i, row)
		json_object_set(known, json_string_value(json_object_get(row, "sha256")), row);
	json_array_foreach (json_object_get(r->manifest, "lacking"), i, row)
		if (json_is_string(row))
			json_object_set(known, json_string_value(row), row);
	QUERY_AUTO q = db_query(db, e, "SELECT DISTINCT sha256 FROM artifacts", "");
	int step;
	while ((step = query_step(q, e)) > 0)
		if (!json_object_get(known, col_text(q, 0)))
			return damaged(r, e, "an artifact's bytes are not in it");
	return step;
}

static int check_key(struct restore *r, struct state *st, struct err *e)
{
	char print[40];
	struct err why = {0};
	if (state_public_key(st, &why) < 0)
		return damaged(r, e, why.msg);
	seal_fingerprint(print, st->public_key);
	const char *told = json_string_value(json_object_get(r->manifest, "fingerprint"));
	if (!told || strcmp(told, print) != 0)
		return damaged(r, e, "its public key is not the one in its manifest");
	return 0;
}

static int check_database(struct restore *r, struct state *st, struct err *e)
{
	struct err why = {0};
	if (db_check(st->db, &why) < 0 || audit_verify(st, &r->info->audit_rows, &why) < 0)
		return damaged(r, e, why.msg);
	return check_key(r, st, e) < 0 ? -1 : check_artifacts(r, st->db, e);
}

/* What was at work when the backup was made is not at work now. */
static int close_the_past(struct state *st, const struct restore *r, struct err *e)
{
	int64_t now = clock_real_ms();
	if (state_begin(st, e) < 0)
		return -1;
	int done = db_exec(st->db, e,
		"UPDATE sessions SET ended = ?, reason = 'restored from a backup' "
		"WHERE ended IS NULL",
		"i", now);
	if (done == 0)
		done = db_exec(st->db, e,
			"UPDATE runs SET status = 'failed', reason = 'restored from a backup', "
			"ended = ?, ms = 0 WHERE status = 'running'",
			"i", now);
	return state_finish(st, done, "state restore", "state",
		json_pack("{s:O}", "backup_of", json_object_get(r->manifest, "created")), e);
}

static int stage_database(struct restore *r, struct err *e)
{
	STATE_AUTO st = {0};
	const json_t *told = json_object_get(r->manifest, "database");
	int64_t bytes = json_integer_value(json_object_get(told, "bytes"));
	STR_AUTO path = path_join(r->stage.path, "state.db");
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (stage_file(r, "state.db", bytes, json_string_value(json_object_get(told, "sha256")),
		    e) < 0)
		return -1;
	if (db_open(&st.db, path, false, e) < 0) /* says so where its version is too new */
		return -1;
	if (check_database(r, &st, e) < 0 || close_the_past(&st, r, e) < 0)
		return -1;
	db_close(&st.db); /* the last one out folds the log into the file */
	FD_AUTO fd = openat(r->stage.dir, "state.db", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, ERR_FAIL, "cannot write '%s'", path);
	return 0;
}

static int verify(struct restore *r, struct err *e)
{
	STR_AUTO manifest = path_join(r->from, "manifest.json");
	STR_AUTO stage = path_join(r->dir, "restored");
	if (!manifest || !stage)
		return err_set(e, ERR_FAIL, "out of memory");
	r->manifest = backup_manifest(manifest, e);
	r->backup = open(r->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r->manifest)
		return -1;
	if (r->backup < 0)
		return err_errno(e, ERR_FAIL, "cannot open '%s'", r->from);
	if (partial_open(&r->stage, stage, e) < 0 || stage_database(r, e) < 0)
		return -1;
	return stage_objects(r, e) < 0 ? -1 : copy_sync(r->stage.dir, e);
}

/* ---- 2. shut out --------------------------------------------------------------------------- */

/* *held stays NULL where there is no state file, or none that can be opened. */
static int shut_out(const char *path, struct db **held, struct err *e)
{
	struct err why = {0};
	if (!file_exists(path))
		return 0;
	if (db_shut_out(held, path, &why) < 0) {
		if (why.code == ERR_STATE)
			return 0;
		*e = why;
		return e->code == ERR_BUSY
			       ? err_hint(
					 e, "end the programs that use the state: fuser '%s'", path)
			       : -1;
	}
	struct err idle = {0};
	if ((db_views(*held, &idle) < 0 || backup_check_idle(*held, &idle) < 0) &&
		idle.code == ERR_CONFLICT) {
		*e = idle;
		return -1;
	}
	return 0;
}

/* ---- 3. objects ---------------------------------------------------------------------------- */

/* Over one of the same name: the staged bytes are verified, what lies there need not be. */
static int place_objects(struct restore *r, struct err *e)
{
	size_t i;
	json_t *row;
	FD_AUTO from = copy_dir(r->stage.dir, "objects", e);
	FD_AUTO to = copy_dir(r->root, "objects", e);
	if (from < 0 || to < 0)
		return -1;
	json_array_foreach (json_object_get(r->manifest, "objects"), i, row) {
		char path[OBJECT_PATH_MAX], sub[3];
		const char *sha256 = json_string_value(json_object_get(row, "sha256"));
		if (object_path(sha256, path) < 0)
			return damaged(r, e, "its manifest names an impossible object");
		snprintf(sub, sizeof sub, "%.2s", sha256);
		FD_AUTO dir = copy_dir(to, sub, e);
		if (dir < 0)
			return -1;
		/* A manifest may name an object twice. */
		if (renameat(from, path, to, path) < 0 && errno != ENOENT)
			return err_errno(e, ERR_FAIL, "cannot place 'objects/%s'", path);
		if (copy_sync(dir, e) < 0)
			return -1;
	}
	return copy_sync(to, e);
}

/* ---- 4. switch ----------------------------------------------------------------------------- */

static int set_aside(struct restore *r, struct err *e)
{
	char log[64], aside[64];
	if (unlinkat(r->root, ASIDE, 0) < 0 && errno != ENOENT)
		return err_errno(e, ERR_FAIL, "cannot remove '%s'", ASIDE);
	if (linkat(r->root, "state.db", r->root, ASIDE, 0) < 0 && errno != ENOENT)
		return err_errno(e, ERR_FAIL, "cannot set the old state file aside");
	/* A log that is not the new file's own would be played into it. */
	for (size_t i = 0; i < sizeof log_suffixes / sizeof *log_suffixes; i++) {
		snprintf(log, sizeof log, "state.db%s", log_suffixes[i]);
		snprintf(aside, sizeof aside, ASIDE "%s", log_suffixes[i]);
		if (renameat(r->root, log, r->root, aside) < 0 && errno != ENOENT)
			return err_errno(e, ERR_FAIL, "cannot set '%s' aside", log);
	}
	return copy_sync(r->root, e);
}

static int switch_over(struct restore *r, struct err *e)
{
	if (set_aside(r, e) < 0)
		return -1;
	if (renameat(r->stage.dir, "state.db", r->root, "state.db") < 0)
		return err_errno(e, ERR_FAIL, "cannot put the new state file in its place");
	return copy_sync(r->root, e);
}

/* ---- 5. tidy ------------------------------------------------------------------------------- */

/* The new state is in place; what cannot be tidied now is tidied by the next restore or sweep. */
static void tidy(struct restore *r, const struct state_place *place)
{
	char aside[64];
	struct err quiet = {0};
	STATE_AUTO st = {0};
	unlinkat(r->root, ASIDE, 0);
	for (size_t i = 0; i < sizeof log_suffixes / sizeof *log_suffixes; i++) {
		snprintf(aside, sizeof aside, ASIDE "%s", log_suffixes[i]);
		unlinkat(r->root, aside, 0);
	}
	if (state_open(&st, place, STATE_WRITE, &quiet) == 0)
		objects_sweep(&st, NULL, &quiet);
}

int backup_restore(
	const struct state_place *place, const char *from, struct backup_info *b, struct err *e)
{
	RESTORE_AUTO r = {.from = from, .stage = PARTIAL_NONE, .root = -1, .backup = -1, .info = b};
	struct db *held = NULL;
	if (seal_process(e) < 0 || backup_read(from, b, e) < 0)
		return -1;
	r.dir = place->dir;
	STR_AUTO path = state_place_path(place, "state.db", e);
	if (!path || file_mkdirs(r.dir, 0700, e) < 0)
		return -1;
	if (chmod(r.dir, 0700) < 0)
		return err_errno(e, ERR_FAIL, "cannot make '%s' private", r.dir);
	r.root = open(r.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r.root < 0)
		return err_errno(e, ERR_FAIL, "cannot open '%s'", r.dir);
	if (verify(&r, e) < 0)
		return -1;
	int done = shut_out(path, &held, e);
	if (done == 0 && (place_objects(&r, e) < 0 || switch_over(&r, e) < 0))
		done = -1;
	db_close(&held);
	if (done == 0)
		tidy(&r, place);
	return done;
}

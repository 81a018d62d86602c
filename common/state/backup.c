#include "state/backup.h"

#include "base/file.h"
#include "state/copy.h"
#include "state/db.h"
#include "state/owner.h"
#include "state/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1
#define ATTEMPTS 5
#define MANIFEST_MAX ((size_t)256 << 20)

void backup_info_free(struct backup_info *b)
{
	free(b->path);
	strv_free(&b->lacking);
	*b = (struct backup_info){0};
}

/* ---- what is written ----------------------------------------------------------------------- */

struct writer {
	struct state *live, *copy; /* copy: the state.db in the backup */
	int from, to;		   /* objects/ of each */
	int flags;
	json_t *objects, *lacking;
	struct backup_info *info;
	bool again; /* an object went away with its last artifact, after the copy was made */
};

static int link_object(struct writer *w, const char *path, struct copied *c, struct err *e)
{
	struct stat st;
	if (linkat(w->from, path, w->to, path, 0) < 0)
		return err_errno(
			e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL, "cannot link '%s'", path);
	if (fstatat(w->to, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_STATE, "not a regular file: '%s'", path);
	c->bytes = st.st_size;
	return 0;
}

static int take_object(
	struct writer *w, const char *sha256, const char *path, struct copied *c, struct err *e)
{
	char sub[3] = {sha256[0], sha256[1], '\0'};
	FD_AUTO dir = copy_dir(w->to, sub, e);
	if (dir < 0)
		return -1;
	if (!(w->flags & BACKUP_LINK))
		return copy_file(w->from, path, w->to, path, c, e);
	snprintf(c->sha256, sizeof c->sha256, "%s", sha256);
	return link_object(w, path, c, e);
}

/* Missing or damaged in the live state: said, and left out, as one lost picture must not cost all.
 */
static int lack(
	struct writer *w, const char *sha256, const char *path, const char *what, struct err *e)
{
	int64_t one;
	bool used;
	unlinkat(w->to, path, 0);
	if (db_number(w->live->db, e, &one, &used, "SELECT 1 FROM artifacts WHERE sha256 = ?", "s",
		    sha256) < 0)
		return -1;
	if (!used) {
		w->again = true;
		return 0;
	}
	strv_add(&w->info->lacking, what);
	json_array_append_new(w->lacking, json_string(sha256));
	return 0;
}

static int add_object(
	struct writer *w, const char *sha256, int64_t bytes, const char *what, struct err *e)
{
	char path[OBJECT_PATH_MAX];
	struct copied c = {0};
	struct err why = {0};
	if (object_path(sha256, path) < 0)
		return err_set(e, ERR_STATE, "the state file names an impossible object");
	int r = take_object(w, sha256, path, &c, &why);
	if (r < 0 && why.code != ERR_NOTFOUND && why.code != ERR_STATE) {
		*e = why;
		return -1;
	}
	if (r < 0 || c.bytes != bytes || strcmp(c.sha256, sha256) != 0)
		return lack(w, sha256, path, what, e);
	w->info->objects++;
	w->info->bytes += bytes;
	json_array_append_new(
		w->objects, json_pack("{s:s,s:I}", "sha256", sha256, "bytes", (json_int_t)bytes));
	return 0;
}

static int add_objects(struct writer *w, struct err *e)
{
	QUERY_AUTO q = db_query(w->copy->db, e,
		"SELECT sha256, max(bytes), min(run || ' ' || name) FROM artifacts "
		"GROUP BY sha256 ORDER BY sha256",
		"");
	int r = -1;
	while (q && !w->again && (r = query_step(q, e)) > 0)
		if (add_object(w, col_text(q, 0), col_int(q, 1), col_text(q, 2), e) < 0)
			return -1;
	return r < 0 ? -1 : 0;
}

/* Every sub-directory's entries to the disk, then those of objects/ itself. */
static int sync_objects(int dir, struct err *e)
{
	char sub[3];
	for (int i = 0; i < 256; i++) {
		snprintf(sub, sizeof sub, "%02x", (unsigned)i);
		FD_AUTO fd = openat(dir, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && copy_sync(fd, e) < 0)
			return -1;
	}
	return copy_sync(dir, e);
}

static int copy_objects(struct writer *w, int dir, struct err *e)
{
	STR_AUTO live = path_join(w->live->place.dir, "objects");
	FD_AUTO from = live ? open(live, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	FD_AUTO to = copy_dir(dir, "objects", e);
	if (to < 0)
		return -1;
	if (from < 0 && errno != ENOENT)
		return err_errno(e, ERR_FAIL, "cannot open '%s'", live ? live : "objects");
	/* Without objects/ every artifact is lacking, which the copying finds out in an empty one.
	 */
	w->from = from >= 0 ? from : to;
	w->to = to;
	return add_objects(w, e) < 0 || sync_objects(to, e) < 0 ? -1 : 0;
}

static int write_manifest(struct writer *w, int dir, const struct copied *db, struct err *e)
{
	BUF_AUTO text = {.limit = MANIFEST_MAX};
	struct backup_info *b = w->info;
	JSON_AUTO o = json_pack("{s:i,s:I,s:s,s:s,s:I,s:{s:s,s:I},s:O,s:O}", "format", FORMAT,
		"schema", (json_int_t)b->schema, "created", b->created, "fingerprint",
		b->fingerprint, "audit_rows", (json_int_t)b->audit_rows, "database", "sha256",
		db->sha256, "bytes", (json_int_t)db->bytes, "objects", w->objects, "lacking",
		w->lacking);
	if (!o)
		return err_set(e, ERR_FAIL, "out of memory");
	json_to_buf(o, &text);
	buf_addc(&text, '\n');
	FD_AUTO fd = openat(
		dir, "manifest.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || buf_failed(&text) || fd_write_full(fd, text.data, text.len) < 0 ||
		fsync(fd) < 0)
		return err_errno(e, ERR_FAIL, "cannot write the backup's manifest");
	return 0;
}

/* The copy is opened, checked and closed again before it is hashed. */
static int check_copy(struct writer *w, const char *path, struct err *e)
{
	STATE_AUTO copy = {0};
	if (db_open(&copy.db, path, true, e) < 0 || db_check(copy.db, e) < 0 ||
		db_version(copy.db, &w->info->schema, e) < 0)
		return -1;
	if (audit_verify(&copy, &w->info->audit_rows, e) < 0) {
		e->code = ERR_STATE;
		return -1;
	}
	return 0;
}

static int fill_once(struct writer *w, struct partial *p, struct err *e)
{
	STATE_AUTO copy = {0};
	struct copied sum;
	STR_AUTO path = path_join(p->path, "state.db");
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (db_backup(w->live->db, path, e) < 0 || check_copy(w, path, e) < 0 ||
		db_open(&copy.db, path, true, e) < 0)
		return -1;
	w->copy = &copy;
	if (copy_objects(w, p->dir, e) < 0)
		return -1;
	db_close(&copy.db);
	if (w->again)
		return 0;
	FD_AUTO fd = openat(p->dir, "state.db", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, ERR_FAIL, "cannot write '%s'", path);
	if (copy_hash(p->dir, "state.db", &sum, e) < 0)
		return -1;
	w->info->bytes += sum.bytes;
	return write_manifest(w, p->dir, &sum, e);
}

static void forget_attempt(struct writer *w, struct partial *p)
{
	file_remove_tree(p->dir, "state.db");
	file_remove_tree(p->dir, "objects");
	json_array_clear(w->objects);
	json_array_clear(w->lacking);
	strv_free(&w->info->lacking);
	w->info->lacking = (struct strv){0};
	w->info->objects = w->info->bytes = 0;
	w->again = false;
}

/* Artifacts may be removed while their bytes are copied: then all is copied once more. */
static int fill(struct writer *w, struct partial *p, struct err *e)
{
	clock_text(clock_real_ms(), w->info->created, sizeof w->info->created);
	seal_fingerprint(w->info->fingerprint, w->live->public_key);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (fill_once(w, p, e) < 0)
			return -1;
		if (!w->again)
			return 0;
		forget_attempt(w, p);
	}
	err_set(e, ERR_BUSY, "artifacts are being removed while the backup is made");
	return err_hint(e, "try again");
}

static int note_backup(struct state *st, const struct backup_info *b, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	return state_finish(st, 0, "state backup", "state",
		json_pack("{s:I,s:I}", "objects", (json_int_t)b->objects, "lacking",
			(json_int_t)b->lacking.n),
		e);
}

static int write_backup(struct state *st, const char *to, int flags, bool audited,
	struct backup_info *b, struct err *e)
{
	PARTIAL_AUTO p = PARTIAL_NONE;
	JSON_AUTO objects = json_array();
	JSON_AUTO lacking = json_array();
	struct writer w = {.live = st,
		.from = -1,
		.to = -1,
		.flags = flags,
		.objects = objects,
		.lacking = lacking,
		.info = b};
	*b = (struct backup_info){.path = strdup(to)};
	if (!b->path || !objects || !lacking)
		return err_set(e, ERR_FAIL, "out of memory");
	if (partial_open(&p, to, e) < 0)
		return -1;
	if (fill(&w, &p, e) == 0 && (!audited || note_backup(st, b, e) == 0) &&
		partial_finish(&p, to, e) == 0)
		return 0;
	partial_drop(&p);
	return -1;
}

int backup_write(struct state *st, const char *to, int flags, struct backup_info *b, struct err *e)
{
	return write_backup(st, to, flags, false, b, e);
}

int backup_make(struct state *st, const char *to, struct backup_info *b, struct err *e)
{
	return write_backup(st, to, 0, true, b, e);
}

/* ---- reading it ---------------------------------------------------------------------------- */

json_t *backup_manifest(const char *path, struct err *e)
{
	BUF_AUTO text = {.limit = MANIFEST_MAX};
	struct err why = {0};
	if (file_read(path, &text, &why) < 0) {
		err_set(e, why.code == ERR_NOTFOUND ? ERR_NOTFOUND : ERR_STATE, "%s", why.msg);
		err_wrap(e, "not a backup");
		err_hint(e, "name the directory that evctl-state backup made");
		return NULL;
	}
	json_t *m = json_parse(path, text.data, text.len, &why);
	if (m && json_integer_value(json_object_get(m, "format")) == FORMAT &&
		json_is_object(json_object_get(m, "database")) &&
		json_is_array(json_object_get(m, "objects")) &&
		json_is_array(json_object_get(m, "lacking")))
		return m;
	json_decref(m);
	err_set(e, ERR_STATE, "the backup's manifest is damaged, or of a newer format: '%s'", path);
	return NULL;
}

int backup_read(const char *from, struct backup_info *b, struct err *e)
{
	STR_AUTO path = path_join(from, "manifest.json");
	JSON_AUTO m = path ? backup_manifest(path, e) : NULL;
	if (!m)
		return err_set(e, ERR_FAIL, "out of memory");
	json_int_t schema, rows;
	const char *created, *print;
	if (json_unpack(m, "{s:I,s:s,s:s,s:I}", "schema", &schema, "created", &created,
		    "fingerprint", &print, "audit_rows", &rows) < 0)
		return err_set(e, ERR_STATE, "the backup's manifest is damaged: '%s'", path);
	*b = (struct backup_info){.path = strdup(from),
		.schema = schema,
		.audit_rows = rows,
		.objects = (int64_t)json_array_size(json_object_get(m, "objects"))};
	snprintf(b->created, sizeof b->created, "%s", created);
	snprintf(b->fingerprint, sizeof b->fingerprint, "%s", print);
	return 0;
}

/* ---- who is at work ------------------------------------------------------------------------ */

int backup_check_idle(struct db *db, struct err *e)
{
	STRV_AUTO users = {0};
	int64_t version;
	if (db_version(db, &version, e) < 0)
		return -1;
	QUERY_AUTO q = db_query(db, e,
		version < 2 ? "SELECT 'session ' || id, pid, pid_start, '', 0 FROM sessions "
			      "WHERE ended IS NULL UNION ALL "
			      "SELECT 'run ' || id, pid, pid_start, '', 0 FROM runs "
			      "WHERE status = 'running'"
			    : "SELECT kind || ' ' || id, " OWNER_COLUMNS " FROM owner_view",
		"");
	int r = owners_find(q, true, &users, e);
	if (r == 0 && version >= 3)
		r = db_texts(db, e, &users,
			"SELECT 'batch ' || id FROM batches WHERE ended IS NULL", "");
	if (r < 0 || users.n == 0)
		return r;
	STR_AUTO all = strv_join(&users, ", ");
	err_set(e, ERR_CONFLICT, "the state is in use: %s", all ? all : "");
	return err_hint(e, "evctl-session end ID, evctl-batch cancel ID, and let runs end");
}

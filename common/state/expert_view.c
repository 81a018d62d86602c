#include "state/db.h"
#include "state/expert.h"

#include "base/file.h"
#include "manifest/derive.h"
#include "manifest/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void expert_view_free(struct expert_view *v)
{
	for (size_t i = 0; i < v->nhosts; i++) {
		bound_host_free(&v->hosts[i]);
	}
	free(v->hosts);
	free(v->name);
	free(v->dir);
	manifest_free(&v->m);
	tree_free(&v->t);
	json_decref(v->reads);
	*v = (struct expert_view){0};
}

/* ---- the directory of a draft -------------------------------------------------------------- */

static bool is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n == 1 && dir[0] == '/')
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* given is where something secret may be; refused if it is there and beneath dir. */
static int refuse_beneath(const char *dir, const char *what, const char *given, struct err *e)
{
	STR_AUTO real = given && *given ? realpath(given, NULL) : NULL;
	if (!real || !is_beneath(real, dir))
		return 0;
	err_set(e, ERR_USAGE, "'%s' holds %s: '%s'", dir, what, real);
	return err_hint(e, "give the expert a directory of its own");
}

/* Its files would reach the sandbox. Works without a state too. */
static int expert_check_dir(const struct state_place *place, const char *dir, struct err *e)
{
	struct err none = {0};
	STR_AUTO db = state_place_path(place, "state.db", &none);
	if (refuse_beneath(dir, "the state", db, e) < 0)
		return -1;
	for (size_t i = 0; i < place->nkeys; i++)
		if (refuse_beneath(dir, "the private key", place->keys[i].path, e) < 0)
			return -1;
	return 0;
}

/* Only expert.yaml and what its entries lead to; the same rules about links as for the tree. */
static int read_manifest(const char *dir, struct manifest *m, struct err *e)
{
	BUF_AUTO b = {.limit = MANIFEST_MAX_BYTES};
	struct stat st;
	STR_AUTO path = path_join(dir, MANIFEST_FILE);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	FD_AUTO top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return err_errno(e, ERR_NOTFOUND, "cannot open the directory '%s'", dir);
	FD_AUTO fd = fd_open_beneath(
		top, MANIFEST_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY, BENEATH_LINKS);
	if (fd < 0)
		return err_errno(
			e, errno == ENOENT ? ERR_NOTFOUND : ERR_USAGE, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "'%s' is not a regular file", path);
	if (fd_read_all(fd, &b) < 0)
		return err_errno(e, ERR_USAGE, "cannot read '%s'", path);
	if (manifest_parse(m, path, buf_str(&b), b.len, e) < 0)
		return -1;
	if (derive_from_dir(m, top, e) == 0)
		return 0;
	manifest_free(m);
	return -1;
}

int expert_read_dir(const struct state_place *place, const char *dir, char **real,
	struct manifest *m, struct tree *t, struct err *e)
{
	*real = realpath(dir, NULL);
	if (!*real) {
		err_errno(e, ERR_NOTFOUND, "cannot open the directory '%s'", dir);
		return err_hint(e, "give the directory that holds %s", MANIFEST_FILE);
	}
	if (expert_check_dir(place, *real, e) < 0)
		return -1;
	if ((t ? manifest_load(m, t, *real, e) : read_manifest(*real, m, e)) == 0)
		return 0;
	starter_offer(*real, e);
	return -1;
}

/* ---- views --------------------------------------------------------------------------------- */

int expert_add_host(struct expert_view *v, struct bound_host *h, struct err *e)
{
	struct bound_host *more = reallocarray(v->hosts, v->nhosts + 1, sizeof *more);
	if (!more) {
		bound_host_free(h);
		return err_set(e, ERR_FAIL, "out of memory");
	}
	v->hosts = more;
	more[v->nhosts++] = *h;
	*h = (struct bound_host){0};
	return 0;
}

int expert_load_hosts(struct state *st, struct expert_view *v, struct err *e)
{
	static const char frozen[] = "SELECT " BOUND_HOST_COLUMNS " FROM frozen_host_view "
				     "WHERE snapshot = ? ORDER BY name, port";
	static const char attached[] = "SELECT " BOUND_HOST_COLUMNS
				       " FROM attachments a JOIN host_view h ON h.id = a.host "
				       "WHERE a.expert = ? ORDER BY name, port";
	QUERY_AUTO q = db_query(
		st->db, e, v->snapshot ? frozen : attached, "i", v->snapshot ? v->snapshot : v->id);
	int r;
	while ((r = query_step(q, e)) > 0) {
		struct bound_host h;
		if (bound_host_read(q, &h, e) < 0 || expert_add_host(v, &h, e) < 0)
			return -1;
	}
	return r;
}

static int load_code(struct state *st, struct expert_view *v, struct query *q, struct err *e)
{
	SECRET_AUTO plain = {0};
	size_t n;
	if (state_unlock(st, e) < 0)
		return -1;
	const void *p = col_blob(q, 3, &n);
	struct seal_id id = {"snapshots", v->snapshot, v->name, v->version};
	if (seal_open(&st->private_key, &id, p, n, &plain, e) < 0)
		return -1;
	return snapshot_unpack(plain.data, plain.n, &v->t, e);
}

static int load_snapshot(struct state *st, struct expert_view *v, bool code, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, manifest, reads, CASE WHEN ? THEN code END, forced FROM snapshots "
		"WHERE expert = ? AND version = ?",
		"iii", (int64_t)code, v->id, (int64_t)v->version);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0) {
		err_set(e, ERR_NOTFOUND, "expert '%s' has no version %d", v->name, v->version);
		return err_hint(e, "evctl-expert versions %s", v->name);
	}
	v->snapshot = col_int(q, 0);
	v->forced = col_int(q, 4);
	JSON_AUTO m = json_loads(col_text(q, 1), 0, NULL);
	v->reads = json_loads(col_text(q, 2), 0, NULL);
	if (!m || !v->reads)
		return err_set(
			e, ERR_STATE, "version %d of expert '%s' is damaged", v->version, v->name);
	if (manifest_from_json(&v->m, m, e) < 0)
		return -1;
	return code ? load_code(st, v, q, e) : 0;
}

static int load_draft(struct state *st, struct expert_view *v, bool code, struct err *e)
{
	STR_AUTO real = NULL;
	int r = expert_read_dir(&st->place, v->dir, &real, &v->m, code ? &v->t : NULL, e);
	if (r < 0 && e->code == ERR_NOTFOUND)
		return err_hint(e, "evctl-expert set %s --dir DIR", v->name);
	if (r < 0)
		return -1;
	if (strcmp(v->m.name, v->name) == 0)
		return 0;
	err_set(e, ERR_USAGE, "%s/%s names the expert '%s', not '%s'", v->dir, MANIFEST_FILE,
		v->m.name, v->name);
	return err_hint(e, "write `name: %s` there", v->name);
}

static int choose_version(const struct expert *x, int asked, int *version, struct err *e)
{
	*version = asked;
	if (asked >= 0)
		return 0;
	*version = x->published;
	if (x->published || (asked == EXPERT_DEFAULT && x->last_version == 0))
		return 0;
	err_set(e, ERR_NOTFOUND, "expert '%s' has nothing published", x->name);
	return err_hint(e, "evctl-expert publish %s", x->name);
}

static int load_parts(struct state *st, const char *name, int version, bool code,
	struct expert_view *v, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (expert_find(st, name, &x, e) < 0 || choose_version(&x, version, &v->version, e) < 0)
		return -1;
	v->id = x.id;
	v->name = x.name;
	v->dir = x.dir;
	x.name = x.dir = NULL;
	int r = v->version ? load_snapshot(st, v, code, e) : load_draft(st, v, code, e);
	return r < 0 ? -1 : expert_load_hosts(st, v, e);
}

/* In one read transaction, so that rows of two moments never meet in one view. */
static int load(struct state *st, const char *name, int version, bool code, struct expert_view *v,
	struct err *e)
{
	struct err quiet = {0};
	if (db_exec(st->db, e, "SAVEPOINT view", "") < 0)
		return -1;
	int r = load_parts(st, name, version, code, v, e);
	if (db_exec(st->db, r < 0 ? &quiet : e, "RELEASE view", "") < 0)
		r = -1;
	if (r < 0)
		expert_view_free(v);
	return r;
}

int expert_load(
	struct state *st, const char *name, int version, struct expert_view *v, struct err *e)
{
	return load(st, name, version, true, v, e);
}

int expert_load_meta(
	struct state *st, const char *name, int version, struct expert_view *v, struct err *e)
{
	return load(st, name, version, false, v, e);
}

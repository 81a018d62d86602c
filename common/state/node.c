#include "state/node.h"

#include "base/file.h"
#include "state/db.h"
#include "state/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOMES_MAX ((size_t)1 << 16) /* bytes of the file of homes */

/* ---- at home ------------------------------------------------------------------------------- */

static int refuse_known(
	struct state *st, const char *name, const unsigned char key[SEAL_KEY_BYTES], struct err *e)
{
	QUERY_AUTO q =
		db_query(st->db, e, "SELECT name FROM nodes WHERE name = ? OR public_key = ?", "sb",
			name, (const void *)key, (size_t)SEAL_KEY_BYTES);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	err_set(e, ERR_CONFLICT, "there is a node '%s' already", col_text(q, 0));
	return err_hint(e, "evctl-node rm %s", col_text(q, 0));
}

int node_add(struct state *st, const char *name, const unsigned char key[SEAL_KEY_BYTES],
	int64_t expires, struct err *e)
{
	if (name_check("node", name, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = refuse_known(st, name, key, e);
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO nodes (name, public_key, added, expires) "
			"VALUES (?, ?, ?, nullif(?, 0))",
			"sbii", name, (const void *)key, (size_t)SEAL_KEY_BYTES, clock_real_ms(),
			expires);
	return state_finish(st, r, "node add", name, NULL, e);
}

json_t *node_list(struct state *st, struct err *e)
{
	JSON_AUTO all = json_array();
	int r;
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT name, public_key, added, expires FROM nodes ORDER BY name", "");
	while ((r = query_step(q, e)) > 0) {
		char print[40] = "", added[32], expires[32];
		size_t n;
		const unsigned char *key = col_blob(q, 1, &n);
		if (key && n == SEAL_KEY_BYTES)
			seal_fingerprint(print, key);
		json_array_append_new(
			all, json_pack("{s:s,s:s,s:s,s:s?}", "node", col_text(q, 0), "fingerprint",
				     print, "added", clock_text(col_int(q, 2), added, sizeof added),
				     "expires",
				     col_null(q, 3)
					     ? NULL
					     : clock_text(col_int(q, 3), expires, sizeof expires)));
	}
	return r < 0 ? NULL : json_incref(all);
}

static int no_node(struct state *st, const char *name, struct err *e)
{
	return name_not_found(st, "node", name, "SELECT name FROM nodes", e, "evctl-node list");
}

json_t *node_remove(struct state *st, const char *name, struct err *e)
{
	if (state_begin(st, e) < 0)
		return NULL;
	JSON_AUTO held = db_rows(st->db, e,
		"SELECT DISTINCT b.id AS batch, b.expert, b.buyer FROM batches b, "
		"json_each(b.settings, '$.nodes') n WHERE n.value = ? ORDER BY b.started",
		"s", name);
	int r = held ? db_exec(st->db, e, "DELETE FROM nodes WHERE name = ?", "s", name) : -1;
	if (r == 0 && db_changes(st->db) == 0)
		r = no_node(st, name, e);
	if (state_finish(st, r, "node rm", name, NULL, e) < 0)
		return NULL;
	return json_incref(held);
}

int node_key(struct state *st, const char *name, unsigned char key[SEAL_KEY_BYTES], struct err *e)
{
	size_t n;
	QUERY_AUTO q = db_query(
		st->db, e, "SELECT public_key, expires FROM nodes WHERE name = ?", "s", name);
	int r = query_step(q, e);
	if (r <= 0)
		return r < 0 ? -1 : no_node(st, name, e);
	const void *p = col_blob(q, 0, &n);
	if (!col_null(q, 1) && col_int(q, 1) <= clock_real_ms()) {
		err_set(e, ERR_DENIED, "node '%s' has expired", name);
		return err_hint(e, "evctl-node rm %s, then evctl-node add", name);
	}
	if (n != SEAL_KEY_BYTES)
		return err_set(e, ERR_STATE, "node '%s' is damaged", name);
	memcpy(key, p, n);
	return 0;
}

int node_names(struct state *st, struct strv *names, struct err *e)
{
	return db_texts(st->db, e, names,
		"SELECT name FROM nodes WHERE expires IS NULL OR expires > ? ORDER BY name", "i",
		clock_real_ms());
}

int node_of_key(
	struct state *st, const unsigned char key[SEAL_KEY_BYTES], char name[65], struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e, "SELECT name FROM nodes WHERE public_key = ?", "b",
		(const void *)key, (size_t)SEAL_KEY_BYTES);
	int r = query_step(q, e);
	if (r == 0)
		return err_set(e, ERR_STATE, "a stream is of a machine that is no node");
	if (r > 0)
		snprintf(name, 65, "%.64s", col_text(q, 0));
	return r < 0 ? -1 : 0;
}

/* ---- on the node --------------------------------------------------------------------------- */

static char *joined(const char *dir, const char *name)
{
	return dir && *dir ? path_join(dir, name) : NULL;
}

/* The first that is there, else the first that can be. */
char *node_key_path(const char *named, struct err *e)
{
	char var[64];
	const char *by_env = getenv("EVCTL_NODE_KEY"), *config = getenv("XDG_CONFIG_HOME");
	if (named || (by_env && *by_env))
		return strdup(named ? named : by_env);
	char *sent = joined(getenv("CREDENTIALS_DIRECTORY"), "evctl.key");
	if (sent && file_exists(sent))
		return sent;
	free(sent);
	snprintf(var, sizeof var, "/var/lib/evctl/%lu/node.key", (unsigned long)geteuid());
	if (file_exists(var))
		return strdup(var);
	char *own = config && *config ? joined(config, "evctl/node.key")
				      : joined(getenv("HOME"), ".config/evctl/node.key");
	if (!own)
		err_set(e, ERR_KEY, "no place for the node's key: HOME is not set");
	return own;
}

static char *homes_path(const char *path, struct err *e)
{
	char *out;
	if (asprintf(&out, "%s.homes", path) >= 0)
		return out;
	err_set(e, ERR_FAIL, "out of memory");
	return NULL;
}

/* Whether the file, which need not be there, has a home's key in it; what it holds goes to b. */
static int knows_home(const char *file, const char *hex, struct buf *b, struct err *e)
{
	struct err none = {0};
	b->limit = HOMES_MAX;
	if (file_read(file, b, &none) == 0)
		return b->len && strstr(buf_str(b), hex);
	if (none.code == ERR_NOTFOUND)
		return 0;
	*e = none;
	return -1;
}

int node_trust(const char *path, const unsigned char home[SEAL_KEY_BYTES], struct err *e)
{
	BUF_AUTO b = {0};
	char hex[65];
	STR_AUTO file = homes_path(path, e);
	seal_key_hex(hex, home);
	int known = file ? knows_home(file, hex, &b, e) : -1;
	if (known != 0)
		return known < 0 ? -1 : 0;
	buf_addf(&b, "%s\n", hex);
	return file_write_atomic(file, b.data, b.len, 0600, e);
}

int node_trusts(const char *path, const unsigned char home[SEAL_KEY_BYTES], struct err *e)
{
	BUF_AUTO b = {0};
	struct err none = {0};
	char hex[65];
	STR_AUTO file = homes_path(path, e);
	if (!file)
		return -1;
	seal_key_hex(hex, home);
	if (knows_home(file, hex, &b, &none) > 0)
		return 0;
	err_set(e, ERR_DENIED, "the bundle is of a home that this node does not know");
	return err_hint(e, "if it is yours: evctl-node trust %s", hex);
}

int node_key_make(const char *path, const unsigned char home[SEAL_KEY_BYTES],
	unsigned char mine[SEAL_KEY_BYTES], struct err *e)
{
	SECRET_AUTO key = {0};
	STR_AUTO copy = strdup(path);
	if (!copy)
		return err_set(e, ERR_FAIL, "out of memory");
	if (file_exists(path)) {
		err_set(e, ERR_CONFLICT, "there is a node's key already: '%s'", path);
		return err_hint(e, "evctl-node show");
	}
	if (file_mkdirs(dirname(copy), 0700, e) < 0 || seal_new_keypair(mine, &key, e) < 0 ||
		node_trust(path, home, e) < 0)
		return -1;
	return keyfile_write(path, &key, NULL, e);
}

int node_key_load(const char *path, struct secret *key, struct err *e)
{
	const struct state_place none = {.key_fd = -1, .pass_fd = -1};
	if (keyfile_load(&none, path, false, key, e) == 0)
		return 0;
	return err_hint(e, "evctl-node init --home KEY");
}

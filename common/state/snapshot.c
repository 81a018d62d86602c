#include "base/limits.h"
#include "state/db.h"
#include "state/expert.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- the archive --------------------------------------------------------------------------- */

static const char magic[4] = {'E', 'V', 'A', '1'};

#define PACK_LIMIT (MB(LIMIT_EXPERT_MB) + MB(16))

static void add_number(struct buf *b, uint64_t v)
{
	unsigned char le[8];
	for (int i = 0; i < 8; i++)
		le[i] = (unsigned char)(v >> (8 * i));
	buf_add(b, le, sizeof le);
}

static void add_piece(struct buf *b, const void *p, size_t n)
{
	add_number(b, n);
	buf_add(b, p, n);
}

int snapshot_pack(const struct tree *t, struct buf *out, struct err *e)
{
	if (out->limit < PACK_LIMIT)
		out->limit = PACK_LIMIT;
	buf_add(out, magic, sizeof magic);
	add_number(out, t->n);
	for (size_t i = 0; i < t->n; i++) {
		add_piece(out, t->files[i].path, strlen(t->files[i].path));
		add_piece(out, t->files[i].data, t->files[i].n);
	}
	return buf_failed(out) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

struct packed {
	const unsigned char *p, *end;
};

static bool take_number(struct packed *c, uint64_t *v)
{
	*v = 0;
	if (c->end - c->p < 8)
		return false;
	for (int i = 0; i < 8; i++)
		*v |= (uint64_t)c->p[i] << (8 * i);
	c->p += 8;
	return true;
}

/* A copy of the next piece with a NUL after it, NULL where it does not fit. */
static char *take_piece(struct packed *c, size_t *n)
{
	uint64_t len;
	if (!take_number(c, &len) || len > (uint64_t)(c->end - c->p))
		return NULL;
	char *copy = malloc(len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, c->p, len);
	copy[len] = '\0';
	c->p += len;
	*n = len;
	return copy;
}

/* Relative, with plain parts only: it becomes a path in the sandbox. */
static bool path_is_plain(const char *s, size_t n)
{
	if (n == 0 || strlen(s) != n)
		return false;
	for (const char *p = s;;) {
		size_t part = strcspn(p, "/");
		if (part == 0 || (part == 1 && p[0] == '.') ||
			(part == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[part] == '\0')
			return true;
		p += part + 1;
	}
}

static int take_file(struct packed *c, struct tree *t)
{
	struct tree_file *f = &t->files[t->n];
	const char *before = t->n ? t->files[t->n - 1].path : "";
	size_t len;
	f->path = take_piece(c, &len);
	if (!f->path)
		return -1;
	t->n++; /* from here on tree_free() frees it */
	if (!path_is_plain(f->path, len) || strcmp(before, f->path) >= 0)
		return -1;
	f->data = take_piece(c, &f->n);
	t->bytes += f->n;
	return f->data && t->bytes <= MB(LIMIT_EXPERT_MB) ? 0 : -1;
}

int snapshot_unpack(const void *p, size_t n, struct tree *t, struct err *e)
{
	struct packed c = {p, (const unsigned char *)p + n};
	uint64_t count = 0;
	int r = n >= sizeof magic && memcmp(p, magic, sizeof magic) == 0 ? 0 : -1;
	c.p += r == 0 ? sizeof magic : 0;
	if (r == 0 && (!take_number(&c, &count) || count > LIMIT_EXPERT_FILES))
		r = -1;
	t->files = calloc(count ? count : 1, sizeof *t->files);
	if (!t->files)
		r = -1;
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = take_file(&c, t);
	if (r == 0 && c.p == c.end)
		return 0;
	tree_free(t);
	return err_set(e, ERR_STATE, "published code is damaged");
}

int snapshot_code_id(const struct tree *t, char out[65], struct err *e)
{
	BUF_AUTO b = {0};
	struct tree code = {.files = calloc(t->n + 1, sizeof *code.files)};
	if (!code.files)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->files[i].path, MANIFEST_FILE) != 0)
			code.files[code.n++] = t->files[i];
	int r = snapshot_pack(&code, &b, e);
	free(code.files); /* the files themselves are t's */
	if (r == 0)
		seal_sha256_hex(out, b.data, b.len);
	return r;
}

/* ---- publishing ---------------------------------------------------------------------------- */

static int put_snapshot(struct state *st, const struct expert_view *v, const json_t *findings,
	const char *verdict, bool forced, int64_t id, int version, struct err *e)
{
	BUF_AUTO plain = {0};
	BUF_AUTO code = {0};
	BUF_AUTO reads = {0};
	BUF_AUTO manifest = {0};
	JSON_AUTO m = manifest_to_json(&v->m);
	JSON_AUTO found = json_copy((json_t *)findings);
	char id_text[65];
	if (!m || !found)
		return err_set(e, ERR_FAIL, "out of memory");
	if (snapshot_code_id(&v->t, id_text, e) < 0)
		return -1;
	json_object_set_new(found, "code", json_string(id_text));
	json_to_buf(m, &manifest);
	json_to_buf(found, &reads);
	if (buf_failed(&manifest) || buf_failed(&reads))
		return err_set(e, ERR_FAIL, "out of memory");
	struct seal_id sid = {"snapshots", id, v->name, version};
	if (snapshot_pack(&v->t, &plain, e) < 0 ||
		seal_record(st->public_key, &sid, plain.data, plain.len, &code, e) < 0)
		return -1;
	return db_exec(st->db, e,
		"INSERT INTO snapshots (id, expert, version, manifest, code, reads, verdict, "
		"forced, "
		"created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"iiisbssii", id, v->id, (int64_t)version, buf_str(&manifest),
		(const void *)code.data, code.len, buf_str(&reads), verdict, (int64_t)forced,
		clock_real_ms());
}

static int put_host(struct state *st, int64_t snapshot, const struct bound_host *b, struct err *e)
{
	const struct host *h = &b->host;
	const struct route *r = &h->route;
	return db_exec(st->db, e,
		"INSERT INTO snapshot_hosts (snapshot, name, port, plain, allow_private, "
		"connect_to, ca, credential) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0))",
		"isiiisbi", snapshot, h->name, (int64_t)h->port, (int64_t)h->plain,
		(int64_t)r->allow_private, r->connect_to, (const void *)r->ca,
		r->ca ? strlen(r->ca) : (size_t)0, b->credential);
}

/*
 * The verdict was reached on hosts that were read before the write lock was taken: what is frozen
 * must be what was judged.
 */
static int check_unchanged(struct state *st, const struct expert_view *v, struct err *e)
{
	EXPERT_VIEW_AUTO now = {.id = v->id};
	if (expert_load_hosts(st, &now, e) < 0)
		return -1;
	bool same = now.nhosts == v->nhosts;
	for (size_t i = 0; same && i < v->nhosts; i++)
		same = host_same(&now.hosts[i].host, &v->hosts[i].host) &&
		       now.hosts[i].credential == v->hosts[i].credential;
	if (same)
		return 0;
	err_set(e, ERR_BUSY, "the hosts of expert '%s' changed meanwhile", v->name);
	return err_hint(e, "evctl-expert publish %s", v->name);
}

static int put_all(struct state *st, const struct expert_view *v, const json_t *findings,
	const char *verdict, bool forced, int *version, struct err *e)
{
	int64_t id, last;
	bool found;
	if (check_unchanged(st, v, e) < 0 ||
		db_number(st->db, e, &id, &found, "SELECT coalesce(max(id), 0) + 1 FROM snapshots",
			"") < 0 ||
		db_number(st->db, e, &last, &found, "SELECT last_version FROM experts WHERE id = ?",
			"i", v->id) < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOTFOUND, "no expert '%s'", v->name);
	*version = (int)last + 1;
	if (put_snapshot(st, v, findings, verdict, forced, id, *version, e) < 0)
		return -1;
	for (size_t i = 0; i < v->nhosts; i++)
		if (put_host(st, id, &v->hosts[i], e) < 0)
			return -1;
	if (expert_note_tools(st, v->id, &v->m, e) < 0)
		return -1;
	return db_exec(st->db, e,
		"UPDATE experts SET published = ?1, last_version = ?1 WHERE id = ?2", "ii",
		(int64_t)*version, v->id);
}

int expert_publish(struct state *st, const struct expert_view *v, const json_t *findings,
	const char *verdict, bool forced, int *version, struct err *e)
{
	*version = 0;
	if (state_begin(st, e) < 0)
		return -1;
	int r = put_all(st, v, findings, verdict, forced, version, e);
	json_t *hosts = json_array();
	for (size_t i = 0; i < v->nhosts; i++)
		json_array_append_new(hosts, host_json(&v->hosts[i].host));
	return state_finish(st, r, "expert publish", v->name,
		json_pack("{s:i,s:s,s:b,s:o}", "version", *version, "status", verdict, "forced",
			(int)forced, "hosts", hosts),
		e);
}

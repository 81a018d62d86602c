#include "state/batch_record.h"

#include "base/file.h"
#include "base/grow.h"
#include "state/db.h"
#include "state/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_MAX ((size_t)64 << 20)

void batch_free(struct batch *b)
{
	free(b->expert);
	free(b->buyer);
	free(b->engine);
	free(b->spool);
	json_decref(b->settings);
	*b = (struct batch){0};
}

/* ---- chunks as texts: "0-99,105" ----------------------------------------------------------- */

void batch_chunk_free(struct batch_chunk *c)
{
	free(c->spans);
	free(c->job);
	*c = (struct batch_chunk){0};
}

static int add_span(struct batch_chunk *c, int64_t first, int64_t n, struct err *e)
{
	size_t room = c->nspans;
	struct batch_span *v = grow(c->spans, c->nspans, &room, sizeof *v);
	if (!v)
		return err_set(e, ERR_FAIL, "out of memory");
	c->spans = v;
	c->spans[c->nspans++] = (struct batch_span){first, n};
	return 0;
}

int batch_chunk_add_call(struct batch_chunk *c, int64_t call, struct err *e)
{
	struct batch_span *last = c->nspans ? &c->spans[c->nspans - 1] : NULL;
	if (!last || last->first + last->n != call)
		return add_span(c, call, 1, e);
	last->n++;
	return 0;
}

bool batch_chunk_has(const struct batch_chunk *c, int64_t call)
{
	for (size_t i = 0; i < c->nspans; i++)
		if (call >= c->spans[i].first && call - c->spans[i].first < c->spans[i].n)
			return true;
	return false;
}

int64_t batch_chunk_calls(const struct batch_chunk *c)
{
	int64_t n = 0;
	for (size_t i = 0; i < c->nspans; i++)
		n += c->spans[i].n;
	return n;
}

static void spans_text(const struct batch_chunk *c, struct buf *b)
{
	for (size_t i = 0; i < c->nspans; i++) {
		const struct batch_span *s = &c->spans[i];
		buf_addf(b, "%s%lld", i ? "," : "", (long long)s->first);
		if (s->n > 1)
			buf_addf(b, "-%lld", (long long)(s->first + s->n - 1));
	}
}

static int spans_read(const char *text, struct batch_chunk *c, struct err *e)
{
	while (*text) {
		char *end;
		int64_t first = strtoll(text, &end, 10), last = first;
		if (*end == '-')
			last = strtoll(end + 1, &end, 10);
		if (end == text || last < first || (*end && *end != ','))
			return err_set(e, ERR_STATE, "a batch's chunk is damaged");
		if (add_span(c, first, last - first + 1, e) < 0)
			return -1;
		text = *end ? end + 1 : end;
	}
	return 0;
}

/* ---- making and ending --------------------------------------------------------------------- */

static json_t *start_detail(const struct batch *b)
{
	return json_pack("{s:s,s:i,s:s?,s:s,s:I}", "expert", b->expert, "version", b->version,
		"buyer", b->buyer, "engine", b->engine, "calls", (json_int_t)b->calls);
}

int batch_add(struct state *st, const struct batch *b, struct err *e)
{
	BUF_AUTO settings = {0};
	json_to_buf(b->settings, &settings);
	if (quota_take(st, b->buyer, b->expert, b->calls, false, e) < 0)
		return -1;
	if (db_exec(st->db, e,
		    "INSERT INTO batches (id, expert, version, buyer, engine, spool, settings, "
		    "public_key, calls, status, started, expires) "
		    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)",
		    "ssissssbiii", b->id, b->expert, (int64_t)b->version, b->buyer, b->engine,
		    b->spool, buf_str(&settings), (const void *)b->public_key,
		    (size_t)SEAL_KEY_BYTES, b->calls, b->started, b->expires) < 0)
		return -1;
	return audit_add(st, "batch start", b->id, start_detail(b), e);
}

int batch_add_call(struct state *st, const char *batch, int64_t call, const struct batch_call *c,
	struct err *e)
{
	return db_exec(st->db, e,
		"INSERT INTO batch_calls (batch, call, tool, name) VALUES (?, ?, ?, ?)", "siss",
		batch, call, c->tool, c->name);
}

int batch_put_chunk(struct state *st, const char *batch, const struct batch_chunk *c,
	const char *status, struct err *e)
{
	BUF_AUTO text = {0};
	spans_text(c, &text);
	return db_exec(st->db, e,
		"INSERT INTO batch_chunks (batch, chunk, attempt, calls, job, status) "
		"VALUES (?, ?, ?, ?, ?, ?)",
		"siisss", batch, c->chunk, (int64_t)c->attempt, buf_str(&text), c->job, status);
}

int batch_set_chunk(
	struct state *st, const char *batch, int64_t chunk, const char *status, struct err *e)
{
	return db_exec(st->db, e,
		"UPDATE batch_chunks SET status = ? WHERE batch = ? AND chunk = ?", "ssi", status,
		batch, chunk);
}

int batch_set_job(
	struct state *st, const char *batch, int64_t chunk, const char *job, struct err *e)
{
	return db_exec(st->db, e, "UPDATE batch_chunks SET job = ? WHERE batch = ? AND chunk = ?",
		"ssi", job, batch, chunk);
}

int batch_end(struct state *st, const char *batch, const char *status, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE batches SET status = ?, ended = ? WHERE id = ? AND ended IS NULL", "sis",
		status, clock_real_ms(), batch);
	return state_finish(st, r, "batch end", batch, json_pack("{s:s}", "status", status), e);
}

int batch_reopen(struct state *st, const char *batch, struct err *e)
{
	return db_exec(st->db, e,
		"UPDATE batches SET status = 'running', ended = NULL WHERE id = ?", "s", batch);
}

int batch_remove(struct state *st, const char *batch, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "DELETE FROM batches WHERE id = ?", "s", batch);
	return state_finish(st, r, "batch rm", batch, NULL, e);
}

/* ---- looking ------------------------------------------------------------------------------- */

static char *dup_or_null(const char *s)
{
	return s ? strdup(s) : NULL;
}

static int no_batch(const char *id, struct err *e)
{
	err_set(e, ERR_NOTFOUND, "no batch '%.40s'", id);
	return err_hint(e, "evctl-batch list");
}

int batch_find(struct state *st, const char *id, struct batch *b, struct err *e)
{
	size_t n;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT id, expert, version, buyer, engine, spool, settings, public_key, calls, "
		"status, started, expires, ended FROM batches WHERE id = ?",
		"s", id);
	int r = query_step(q, e);
	if (r <= 0)
		return r < 0 ? -1 : no_batch(id, e);
	*b = (struct batch){.expert = strdup(col_text(q, 1)),
		.version = (int)col_int(q, 2),
		.buyer = dup_or_null(col_text(q, 3)),
		.engine = strdup(col_text(q, 4)),
		.spool = strdup(col_text(q, 5)),
		.settings = col_json(q, 6),
		.calls = col_int(q, 8),
		.started = col_int(q, 10),
		.expires = col_int(q, 11),
		.live = col_null(q, 12)};
	snprintf(b->id, sizeof b->id, "%s", col_text(q, 0));
	snprintf(b->status, sizeof b->status, "%s", col_text(q, 9));
	const void *key = col_blob(q, 7, &n);
	if (!b->expert || !b->engine || !b->spool || !b->settings || n != SEAL_KEY_BYTES) {
		batch_free(b);
		return err_set(e, ERR_STATE, "batch '%s' is damaged", id);
	}
	memcpy(b->public_key, key, n);
	return 0;
}

#define BATCH_COLUMNS                                                                        \
	"b.id AS batch, b.expert, iif(b.version, b.version, 'draft') AS version, b.buyer, "  \
	"b.engine, b.calls, (SELECT count(*) FROM batch_calls c WHERE c.batch = b.id AND "   \
	"c.code IS NOT NULL) AS done, (SELECT count(*) FROM batch_calls c WHERE c.batch = "  \
	"b.id AND c.code <> 0) AS failed, b.status, b.started AS 'started:time', b.expires " \
	"AS 'expires:time', b.ended AS 'ended:time'"

json_t *batch_list(struct state *st, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT " BATCH_COLUMNS " FROM batches b ORDER BY b.started DESC, b.id", "");
}

json_t *batch_show(struct state *st, const char *id, struct err *e)
{
	JSON_AUTO b = json_take_first(db_rows(st->db, e,
		"SELECT " BATCH_COLUMNS ", b.spool FROM batches b WHERE b.id = ?", "s", id));
	JSON_AUTO streams = b ? db_rows(st->db, e,
					"SELECT name, node, frames, final AS 'final:bool', refused "
					"FROM batch_streams WHERE batch = ? ORDER BY name",
					"s", id)
			      : NULL;
	if (!b && !e->code)
		no_batch(id, e);
	if (!streams)
		return NULL;
	json_object_set(b, "streams", streams);
	return json_incref(b);
}

int batch_users(struct state *st, int64_t credential, const char *expert, const char *buyer,
	struct strv *ids, struct err *e)
{
	return db_texts(st->db, e, ids,
		"SELECT b.id FROM batches b JOIN experts x ON x.name = b.expert "
		"WHERE b.ended IS NULL AND (?2 IS NULL OR b.expert = ?2) AND (?3 IS NULL OR b.buyer = ?3) "
		"AND (EXISTS (SELECT 1 FROM snapshots s JOIN snapshot_hosts h ON h.snapshot = s.id "
		"WHERE s.expert = x.id AND s.version = b.version AND h.credential = ?1) "
		"OR b.version = 0 AND EXISTS (SELECT 1 FROM attachments a JOIN hosts h ON h.id = a.host "
		"WHERE a.expert = x.id AND h.credential = ?1)) ORDER BY b.started, b.id",
		"iss", credential, expert, buyer);
}

int batch_each_chunk(struct state *st, const char *batch,
	int (*take)(void *ctx, struct batch_chunk *c, struct err *e), void *ctx, struct err *e)
{
	int r;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT chunk, attempt, calls, job FROM batch_chunks WHERE batch = ? "
		"AND status IN ('waiting', 'out') ORDER BY chunk",
		"s", batch);
	while ((r = query_step(q, e)) > 0) {
		BATCH_CHUNK_AUTO c = {.chunk = col_int(q, 0),
			.attempt = (int)col_int(q, 1),
			.job = dup_or_null(col_text(q, 3))};
		if (spans_read(col_text(q, 2), &c, e) < 0 || take(ctx, &c, e) < 0)
			return -1;
	}
	return r;
}

int batch_each_call(struct state *st, const char *batch,
	int (*take)(void *ctx, int64_t call, int code, const struct batch_call *c, struct err *e),
	void *ctx, struct err *e)
{
	int r;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT call, code, tool, name FROM batch_calls WHERE batch = ? ORDER BY call", "s",
		batch);
	while ((r = query_step(q, e)) > 0) {
		const struct batch_call c = {col_text(q, 2), col_text(q, 3)};
		int code = col_null(q, 1) ? -1 : (int)col_int(q, 1);
		if (take(ctx, col_int(q, 0), code, &c, e) < 0)
			return -1;
	}
	return r;
}

int batch_next_chunk(struct state *st, const char *batch, int64_t *chunk, struct err *e)
{
	bool found;
	return db_number(st->db, e, chunk, &found,
		"SELECT coalesce(max(chunk) + 1, 0) FROM batch_chunks WHERE batch = ?", "s", batch);
}

/* ---- answers ------------------------------------------------------------------------------- */

/* Whether there is such a call, and whether it has an answer already. */
static int look_at_call(struct state *st, const char *batch, struct batch_answer *a, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT code IS NOT NULL FROM batch_calls WHERE batch = ? AND call = ?", "si",
		batch, a->call);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (!r)
		return err_set(e, ERR_STATE, "an answer is to no call of batch '%s'", batch);
	a->again = col_int(q, 0);
	return 0;
}

static int take_runs(struct state *st, const struct batch_news *news, size_t *fresh, struct err *e)
{
	*fresh = 0;
	for (size_t i = 0; i < news->n; i++) {
		struct batch_answer *a = &news->v[i];
		if (look_at_call(st, news->batch, a, e) < 0)
			return -1;
		if (a->run && run_import(st, a->run, a->end, e) < 0)
			return -1;
		*fresh += !a->again && !a->hold;
	}
	return 0;
}

static int put_part(
	struct state *st, const char *batch, const struct buf *lines, int64_t *part, struct err *e)
{
	BUF_AUTO record = {.limit = PART_MAX + 4096};
	bool found;
	if (db_number(st->db, e, part, &found, "SELECT coalesce(max(id), 0) + 1 FROM batch_parts",
		    "") < 0 ||
		seal_record(st->public_key, &(struct seal_id){"batch_parts", *part, batch, 1},
			lines->data, lines->len, &record, e) < 0)
		return -1;
	return db_exec(st->db, e, "INSERT INTO batch_parts (id, batch, lines) VALUES (?, ?, ?)",
		"isb", *part, batch, (const void *)record.data, record.len);
}

/* The first answer to a call is the answer. */
static int take_lines(struct state *st, const struct batch_news *news, struct err *e)
{
	BUF_AUTO lines = {.limit = PART_MAX};
	int64_t part, place = 0;
	for (size_t i = 0; i < news->n; i++) {
		if (news->v[i].again || news->v[i].hold)
			continue;
		buf_add(&lines, news->v[i].line, news->v[i].nline);
		buf_addc(&lines, '\n');
	}
	if (buf_failed(&lines))
		return err_set(e, ERR_FAIL, "out of memory");
	if (put_part(st, news->batch, &lines, &part, e) < 0)
		return -1;
	for (size_t i = 0; i < news->n; i++) {
		const struct batch_answer *a = &news->v[i];
		if (a->again || a->hold)
			continue;
		if (db_exec(st->db, e,
			    "UPDATE batch_calls SET code = ?, part = ?, place = ? "
			    "WHERE batch = ? AND call = ? AND code IS NULL",
			    "iiisi", (int64_t)a->code, part, place, news->batch, a->call) < 0)
			return -1;
		if (db_changes(st->db) == 0)
			return err_set(e, ERR_STATE, "a stream has two answers to a call");
		place++;
	}
	return 0;
}

static int note_stream(struct state *st, const struct batch_news *news, struct err *e)
{
	if (!news->stream)
		return 0;
	return db_exec(st->db, e,
		"INSERT INTO batch_streams (batch, name, node, frames, final) "
		"VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (batch, name) DO UPDATE "
		"SET frames = ?4, final = ?5",
		"sssii", news->batch, news->stream, news->node, news->frames, (int64_t)news->final);
}

int batch_take(struct state *st, const struct batch_news *news, struct err *e)
{
	size_t fresh;
	if (state_begin(st, e) < 0)
		return -1;
	int r = take_runs(st, news, &fresh, e);
	if (r == 0 && fresh)
		r = take_lines(st, news, e);
	if (r == 0)
		r = note_stream(st, news, e);
	return state_finish(st, r, "batch import", news->batch,
		json_pack("{s:s?,s:s?,s:I,s:I}", "stream", news->stream, "node", news->node,
			"answers", (json_int_t)news->n, "frames", (json_int_t)news->frames),
		e);
}

int batch_stream(struct state *st, const char *batch, const char *name, int64_t *frames,
	bool *final, char **refused, struct err *e)
{
	*frames = 0;
	*final = false;
	*refused = NULL;
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT frames, final, refused FROM batch_streams WHERE batch = ? AND name = ?",
		"ss", batch, name);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	*frames = col_int(q, 0);
	*final = col_int(q, 1);
	*refused = dup_or_null(col_text(q, 2));
	return 0;
}

int batch_refuse_stream(
	struct state *st, const char *batch, const char *name, const char *why, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"INSERT INTO batch_streams (batch, name, refused) VALUES (?1, ?2, ?3) "
		"ON CONFLICT (batch, name) DO UPDATE SET refused = ?3",
		"sss", batch, name, why);
	return state_finish(st, r, "batch refuse", batch,
		json_pack("{s:s,s:s}", "stream", name, "why", why), e);
}

/* ---- lines --------------------------------------------------------------------------------- */

void batch_lines_free(struct batch_lines *l)
{
	secret_free(&l->text);
	free(l->at);
	*l = (struct batch_lines){0};
}

static int open_part(
	struct state *st, const char *batch, int64_t part, struct batch_lines *l, struct err *e)
{
	size_t n, room = 0;
	batch_lines_free(l);
	QUERY_AUTO q = db_query(st->db, e, "SELECT lines FROM batch_parts WHERE id = ?", "i", part);
	int r = query_step(q, e);
	if (r <= 0)
		return r < 0 ? -1 : err_set(e, ERR_STATE, "a part of batch '%s' is gone", batch);
	const void *p = col_blob(q, 0, &n);
	if (seal_open(&st->private_key, &(struct seal_id){"batch_parts", part, batch, 1}, p, n,
		    &l->text, e) < 0)
		return -1;
	for (size_t i = 0; i < l->text.n; i++) {
		if (i && l->text.data[i - 1] != '\n')
			continue;
		size_t *at = grow(l->at, l->n, &room, sizeof *at);
		if (!at)
			return err_set(e, ERR_FAIL, "out of memory");
		l->at = at;
		l->at[l->n++] = i;
	}
	l->part = part;
	return 0;
}

int batch_line(struct state *st, const char *batch, int64_t call, struct batch_lines *l,
	const char **line, size_t *n, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT part, place FROM batch_calls WHERE batch = ? AND call = ? "
		"AND code IS NOT NULL",
		"si", batch, call);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	int64_t part = col_int(q, 0), place = col_int(q, 1);
	if (part != l->part && open_part(st, batch, part, l, e) < 0)
		return -1;
	if (place < 0 || (size_t)place >= l->n)
		return err_set(e, ERR_STATE, "a part of batch '%s' is damaged", batch);
	*line = l->text.data + l->at[place];
	*n = ((size_t)place + 1 < l->n ? l->at[place + 1] : l->text.n) - l->at[place] - 1;
	return 1;
}

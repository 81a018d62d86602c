#include "state/run_record.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/proc.h"
#include "state/db.h"
#include "state/objects.h"
#include "state/owner.h"
#include "state/quota.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_MS 50 /* between looks whether it is one's turn */

static const struct {
	const char *word;
	int exit_code;
} statuses[] = {
	[RUN_RUNNING] = {"running", ERR_FAIL},
	[RUN_OK] = {"ok", 0},
	[RUN_FAILED] = {"failed", ERR_TOOL},
	[RUN_TIMEOUT] = {"timeout", ERR_TIMEOUT},
	[RUN_LIMIT] = {"limit", ERR_LIMIT},
	[RUN_MISSING_KEY] = {"missing-key", ERR_MISSING_KEY},
};

const char *run_status_word(enum run_status s)
{
	return statuses[s].word;
}

int run_exit_code(enum run_status s)
{
	return statuses[s].exit_code;
}

/* ---- one run's life ------------------------------------------------------------------------ */

static int put_row(struct state *st, const struct run_start *s, const char *id, struct err *e)
{
	pid_t pid = getpid();
	char space[PROC_SPACE_MAX];
	proc_space(space);
	return db_exec(st->db, e,
		"INSERT INTO runs (id, expert, version, tool, buyer, session, status, pid, "
		"pid_start, pid_space, started) VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)",
		"ssisssiisi", id, s->expert, (int64_t)s->version, s->tool, s->buyer, s->session,
		(int64_t)pid, proc_start(pid), space, clock_real_ms());
}

/* A buyer's, who may have a quota: looked at and taken in one transaction. */
static int begin_for_buyer(
	struct state *st, const struct run_start *s, const char *id, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = quota_take(st, s->buyer, s->expert, 1, true, e);
	if (r == 0)
		r = put_row(st, s, id, e);
	if (r == 0)
		return state_commit(st, e);
	state_rollback(st);
	return -1;
}

/* Those beyond what may run at once wait for their turn; a run whose process is gone is in nobody's
 * way. */
static int begin_in_turn(struct state *st, const struct run_start *s, const char *id, struct err *e)
{
	int64_t until = clock_mono_ms() + MS(LIMIT_QUEUE_S);
	for (;;) {
		int r = begin_for_buyer(st, s, id, e);
		if (r == 0 || e->code != ERR_TURN || clock_mono_ms() >= until)
			return r;
		err_clear(e);
		run_sweep(st, &(struct err){0});
		poll(NULL, 0, TURN_MS);
	}
}

/* Not worth a wait for the disk: a run that a crash forgets has reported nothing. */
int run_begin(struct state *st, const struct run_start *s, char id[17], struct err *e)
{
	seal_random_id(id, 'r');
	db_durable(st->db, false);
	int r = s->buyer ? begin_in_turn(st, s, id, e) : put_row(st, s, id, e);
	db_durable(st->db, true);
	return r;
}

static int put_sealed(struct state *st, const char *id, const void *log, size_t nlog,
	const void *input, size_t ninput, struct err *e)
{
	return db_exec(st->db, e, "INSERT INTO logs (run, log, input) VALUES (?, ?, ?)", "sbb", id,
		log, nlog, input, ninput);
}

static int put_log(struct state *st, const char *id, const struct run_end *end, struct err *e)
{
	BUF_AUTO log = {0};
	BUF_AUTO input = {0};
	if (seal_record(st->public_key, &(struct seal_id){"logs", 0, id, 1}, end->log, end->nlog,
		    &log, e) < 0 ||
		seal_record(st->public_key, &(struct seal_id){"inputs", 0, id, 1}, end->input,
			end->ninput, &input, e) < 0)
		return -1;
	return put_sealed(st, id, log.data, log.len, input.data, input.len, e);
}

static int put_artifacts(struct state *st, const char *id, const struct run_end *end,
	struct object *objects, struct err *e)
{
	for (size_t i = 0; i < end->nartifacts; i++) {
		const struct run_artifact *a = &end->artifacts[i];
		if (objects_place(st, &objects[i], e) < 0 ||
			db_exec(st->db, e,
				"INSERT INTO artifacts (run, name, bytes, type, inline, sha256, "
				"owner_only, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				"ssisisii", id, a->name, (int64_t)a->n, a->type,
				(int64_t)a->inline_ok, objects[i].sha256, (int64_t)end->owner_only,
				clock_real_ms()) < 0)
			return -1;
	}
	return 0;
}

static int put_withheld(struct state *st, const char *id, const struct run_end *end, struct err *e)
{
	for (size_t i = 0; i < end->nwithheld; i++)
		if (db_exec(st->db, e,
			    "INSERT INTO withheld (run, position, name, why) VALUES (?, ?, ?, ?)",
			    "siss", id, (int64_t)i + 1, end->withheld[i].name,
			    end->withheld[i].why) < 0)
			return -1;
	return 0;
}

static int put_events(struct state *st, const char *id, const struct run_end *end, struct err *e)
{
	for (size_t i = 0; i < end->nevents; i++) {
		const struct net_event *v = &end->events[i];
		if (db_exec(st->db, e,
			    "INSERT INTO events (run, at, method, host, port, path, status, up, "
			    "down, ms, verdict, counted) "
			    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			    "sissisiiiisi", id, v->at, v->method, v->host, (int64_t)v->port,
			    v->path, (int64_t)v->status, (int64_t)v->up, (int64_t)v->down, v->ms,
			    v->verdict, (int64_t)v->counted) < 0)
			return -1;
	}
	return 0;
}

/* With what evctl-log usage counts, and gc of artifacts would take away. */
static void put_detail(const struct run_end *end, struct buf *out)
{
	int64_t bytes = 0;
	for (size_t i = 0; i < end->nartifacts; i++)
		bytes += (int64_t)end->artifacts[i].n;
	if (!end->detail)
		return;
	if (end->nartifacts)
		json_object_set_new(end->detail, "kept",
			json_pack("{s:I,s:I}", "artifacts", (json_int_t)end->nartifacts, "bytes",
				(json_int_t)bytes));
	json_to_buf(end->detail, out);
}

static int close_row(struct state *st, const char *id, const struct run_end *end, struct err *e)
{
	BUF_AUTO detail = {0};
	put_detail(end, &detail);
	if (db_exec(st->db, e,
		    "UPDATE runs SET status = ?, reason = ?, ended = ?, ms = ?, detail = ? "
		    "WHERE id = ? AND status = 'running'",
		    "ssiiss", run_status_word(end->status), end->reason, clock_real_ms(), end->ms,
		    end->detail ? buf_str(&detail) : NULL, id) < 0)
		return -1;
	if (db_changes(st->db) == 1)
		return 0;
	return err_set(e, ERR_CONFLICT, "run '%s' was ended by another program", id);
}

static json_t *audit_detail(struct state *st, const char *id)
{
	struct err quiet = {0};
	QUERY_AUTO q = db_query(st->db, &quiet,
		"SELECT expert, version, tool, buyer, status FROM runs WHERE id = ?", "s", id);
	if (query_step(q, &quiet) <= 0)
		return NULL;
	return json_pack("{s:s,s:I,s:s,s:s?,s:s}", "expert", col_text(q, 0), "version",
		(json_int_t)col_int(q, 1), "tool", col_text(q, 2), "buyer", col_text(q, 3),
		"status", col_text(q, 4));
}

static int finish_in(struct state *st, const char *id, const struct run_end *end,
	struct object *objects, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = close_row(st, id, end, e);
	if (r == 0)
		r = put_artifacts(st, id, end, objects, e);
	if (r == 0)
		r = put_withheld(st, id, end, e);
	if (r == 0)
		r = put_events(st, id, end, e);
	if (r == 0)
		r = put_log(st, id, end, e);
	return state_finish(st, r, "run", id, r == 0 ? audit_detail(st, id) : NULL, e);
}

static int finish_whole(struct state *st, const char *id, struct run_end *end, struct err *e)
{
	struct object *objects = calloc(end->nartifacts + 1, sizeof *objects);
	int r = objects ? 0 : err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; r == 0 && i < end->nartifacts; i++)
		r = objects_stage(st, end->artifacts[i].data, end->artifacts[i].n, &objects[i], e);
	if (r == 0)
		r = finish_in(st, id, end, objects, e);
	for (size_t i = 0; objects && i < end->nartifacts; i++)
		objects_drop(st, &objects[i]);
	free(objects);
	return r;
}

int run_finish(struct state *st, const char *id, struct run_end *end, struct err *e)
{
	int r = finish_whole(st, id, end, e);
	if (r < 0) {
		struct err quiet = {0};
		char why[600];
		snprintf(why, sizeof why, "could not be recorded: %.500s", e->msg);
		end->status = RUN_FAILED;
		end->reason = why;
		end->nartifacts = end->nwithheld = 0;
		finish_whole(st, id, end, &quiet);
		end->reason = NULL;
	}
	json_decref(end->detail);
	end->detail = NULL;
	return r;
}

/* ---- runs that were recorded elsewhere ----------------------------------------------------- */

/* 1: there is that very run already. */
static int is_known(
	struct state *st, const struct run_came *c, const struct run_end *end, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT batch IS ?2 AND call IS ?3 AND started = ?4 AND ms IS ?5 AND status = ?6 "
		"FROM runs WHERE id = ?1",
		"ssiiis", c->id, c->batch, c->call, c->started, end->ms,
		run_status_word(end->status));
	int r = query_step(q, e);
	if (r <= 0 || col_int(q, 0))
		return r;
	return err_set(e, ERR_CONFLICT, "there is another run '%s'", c->id);
}

static int put_objects(
	struct state *st, const struct run_came *c, const struct run_end *end, struct err *e)
{
	struct object *objects = calloc(end->nartifacts + 1, sizeof *objects);
	int r = objects ? 0 : err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; r == 0 && i < end->nartifacts; i++)
		r = objects_stage(st, end->artifacts[i].data, end->artifacts[i].n, &objects[i], e);
	if (r == 0)
		r = put_artifacts(st, c->id, end, objects, e);
	for (size_t i = 0; objects && i < end->nartifacts; i++)
		objects_drop(st, &objects[i]);
	free(objects);
	return r;
}

int run_import(struct state *st, const struct run_came *c, const struct run_end *end, struct err *e)
{
	BUF_AUTO detail = {0};
	int known = is_known(st, c, end, e);
	if (known)
		return known < 0 ? -1 : 0;
	put_detail(end, &detail);
	if (db_exec(st->db, e,
		    "INSERT INTO runs (id, expert, version, tool, buyer, status, reason, pid, "
		    "pid_start, started, ended, ms, detail, batch, call, node) "
		    "VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)",
		    "ssissssiiissis", c->id, c->start.expert, (int64_t)c->start.version,
		    c->start.tool, c->start.buyer, run_status_word(end->status), end->reason,
		    c->started, c->started + end->ms, end->ms,
		    end->detail ? buf_str(&detail) : NULL, c->batch, c->call, c->node) < 0 ||
		put_objects(st, c, end, e) < 0 || put_withheld(st, c->id, end, e) < 0 ||
		put_events(st, c->id, end, e) < 0 ||
		put_sealed(st, c->id, end->log, end->nlog, end->input, end->ninput, e) < 0)
		return -1;
	return 1;
}

int run_forget(struct state *st, const char *id, struct err *e)
{
	return db_exec(st->db, e, "DELETE FROM runs WHERE id = ? AND status = 'running'", "s", id);
}

/* ---- the dead ------------------------------------------------------------------------------ */

static int close_dead(struct state *st, const struct strv *ids, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = 0;
	for (size_t i = 0; r == 0 && i < ids->n; i++)
		r = db_exec(st->db, e,
			"UPDATE runs SET status = 'failed', ended = ?, ms = ? - started, "
			"reason = 'the program that ran it was ended' "
			"WHERE id = ? AND status = 'running'",
			"iis", clock_real_ms(), clock_real_ms(), ids->v[i]);
	STR_AUTO all = strv_join(ids, ", ");
	return state_finish(st, r, "run sweep", all ? all : "", NULL, e);
}

int run_sweep(struct state *st, struct err *e)
{
	STRV_AUTO ids = {0};
	if (owners_dead(st->db, "run", &ids, e) < 0)
		return -1;
	if (!ids.n)
		return 0;
	if (close_dead(st, &ids, e) < 0)
		return -1;
	return objects_sweep(st, NULL, e);
}

/* ---- looking ------------------------------------------------------------------------------- */

#define RUN_COLUMNS                                                                               \
	"r.id AS run, r.expert, iif(r.version, r.version, 'draft') AS version, r.tool, r.buyer, " \
	"r.session, r.status, r.reason, r.started AS 'started:time', r.ended AS 'ended:time', r.ms"

json_t *run_list(struct state *st, const struct run_filter *f, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT " RUN_COLUMNS
		", (SELECT count(*) FROM artifacts a WHERE a.run = r.id) AS artifacts "
		"FROM runs r WHERE (?1 IS NULL OR r.expert = ?1) "
		"AND (?2 IS NULL OR r.buyer = ?2) ORDER BY r.started DESC, r.id LIMIT ?3",
		"ssi", f->expert, f->buyer, f->limit ? f->limit : (int64_t)-1);
}

static int no_run(const char *id, struct err *e)
{
	err_set(e, ERR_NOTFOUND, "no run '%.40s'", id);
	return err_hint(e, "evctl-log runs");
}

/* A buyer (NULL: the owner) is not told whether another's run exists. */
static int check_seen(struct state *st, const char *run, const char *buyer, struct err *e)
{
	int64_t one;
	bool found;
	if (db_number(st->db, e, &one, &found,
		    "SELECT 1 FROM runs WHERE id = ?1 AND (?2 IS NULL OR buyer = ?2)", "ss", run,
		    buyer) < 0)
		return -1;
	return found ? 0 : no_run(run, e);
}

json_t *run_events(struct state *st, const char *id, struct err *e)
{
	if (check_seen(st, id, NULL, e) < 0)
		return NULL;
	return db_rows(st->db, e,
		"SELECT e.at AS 'at:time', method, host, port, path, status, up, down, ms, verdict, "
		"counted FROM events e WHERE run = ? ORDER BY id",
		"s", id);
}

json_t *run_withheld(struct state *st, const char *id, struct err *e)
{
	return db_rows(st->db, e, "SELECT name, why FROM withheld WHERE run = ? ORDER BY position",
		"s", id);
}

json_t *run_show(struct state *st, const char *id, struct err *e)
{
	JSON_AUTO run = json_take_first(db_rows(st->db, e,
		"SELECT " RUN_COLUMNS ", NULL AS artifacts, r.detail AS 'detail:json' FROM runs r "
		"WHERE r.id = ?",
		"s", id));
	JSON_AUTO files = run ? artifact_list(st, id, NULL, e) : NULL;
	JSON_AUTO withheld = files ? run_withheld(st, id, e) : NULL;
	if (!run && !e->code)
		no_run(id, e);
	if (!withheld)
		return NULL;
	json_object_set(run, "artifacts", files);
	json_object_set(run, "withheld", withheld);
	return json_incref(run);
}

int run_open_log(struct state *st, const char *id, bool input, struct secret *out, struct err *e)
{
	if (check_seen(st, id, NULL, e) < 0)
		return -1;
	QUERY_AUTO q = db_query(st->db, e, "SELECT log, input FROM logs WHERE run = ?", "s", id);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0) {
		err_set(e, ERR_NOTFOUND, "run '%s' left no log, or it was removed", id);
		return err_hint(e, "evctl-log runs");
	}
	size_t n;
	const void *p = col_blob(q, input, &n);
	return seal_open(&st->private_key, &(struct seal_id){input ? "inputs" : "logs", 0, id, 1},
		p, n, out, e);
}

static json_t *count_detail(int64_t n)
{
	return json_pack("{s:I}", "removed", (json_int_t)n);
}

int run_gc_logs(struct state *st, int64_t before, int64_t *removed, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"DELETE FROM logs WHERE run IN (SELECT id FROM runs WHERE ended < ?)", "i", before);
	*removed = r == 0 ? db_changes(st->db) : 0;
	return state_finish(st, r, "log gc", "logs", count_detail(*removed), e);
}

/* ---- artifacts ----------------------------------------------------------------------------- */

/* What a buyer (?2, or NULL for the owner) may know of. */
#define SEEN_BY "(?2 IS NULL OR (r.buyer = ?2 AND a.owner_only = 0))"

void artifact_free(struct artifact *a)
{
	free(a->run);
	free(a->name);
	free(a->type);
	free(a->buyer);
	*a = (struct artifact){0};
}

static char *dup_or_null(const char *s)
{
	return s ? strdup(s) : NULL;
}

int artifact_find(struct state *st, const char *run, const char *name, const char *buyer,
	struct artifact *a, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT a.run, a.name, a.type, r.buyer, a.bytes, a.created, a.fetched, a.inline, "
		"a.owner_only, a.sha256 FROM artifacts a JOIN runs r ON r.id = a.run "
		"WHERE a.run = ?1 AND a.name = ?3 AND " SEEN_BY,
		"sss", run, buyer, name);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0) {
		err_set(e, ERR_NOTFOUND, "run '%.40s' has no artifact '%.255s'", run, name);
		return err_hint(
			e, "evctl-artifact list%s%s", buyer ? " --buyer " : "", buyer ? buyer : "");
	}
	*a = (struct artifact){.run = strdup(col_text(q, 0)),
		.name = strdup(col_text(q, 1)),
		.type = strdup(col_text(q, 2)),
		.buyer = dup_or_null(col_text(q, 3)),
		.bytes = col_int(q, 4),
		.created = col_int(q, 5),
		.fetched = col_int(q, 6),
		.inline_ok = col_int(q, 7),
		.owner_only = col_int(q, 8)};
	strncpy(a->sha256, col_text(q, 9), sizeof a->sha256 - 1);
	if (a->run && a->name && a->type)
		return 0;
	artifact_free(a);
	return err_set(e, ERR_FAIL, "out of memory");
}

json_t *artifact_list(struct state *st, const char *run, const char *buyer, struct err *e)
{
	if (run && check_seen(st, run, buyer, e) < 0)
		return NULL;
	return db_rows(st->db, e,
		"SELECT a.run, a.name, a.bytes, a.type, a.inline AS 'inline:bool', a.sha256, "
		"a.owner_only AS 'owner_only:bool', a.created AS 'created:time', "
		"a.fetched AS 'fetched:time', r.buyer, r.expert, r.tool "
		"FROM artifacts a JOIN runs r ON r.id = a.run WHERE (?1 IS NULL OR a.run = ?1) AND " SEEN_BY
		" ORDER BY r.started DESC, a.run, a.name",
		"ss", run, buyer);
}

int artifact_names(
	struct state *st, const char *run, const char *buyer, struct strv *names, struct err *e)
{
	if (check_seen(st, run, buyer, e) < 0)
		return -1;
	return db_texts(st->db, e, names,
		"SELECT a.name FROM artifacts a JOIN runs r ON r.id = a.run WHERE a.run = ?1 "
		"AND " SEEN_BY " ORDER BY a.name",
		"ss", run, buyer);
}

int artifact_mark_fetched(struct state *st, const struct artifact *a, struct err *e)
{
	if (a->fetched)
		return 0;
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE artifacts SET fetched = ? WHERE run = ? AND name = ? AND fetched IS NULL",
		"iss", clock_real_ms(), a->run, a->name);
	return state_finish(st, r, "artifact fetch", a->run,
		json_pack("{s:s,s:s?}", "name", a->name, "buyer", a->buyer), e);
}

int artifact_remove(struct state *st, const char *run, int64_t *removed, struct err *e)
{
	if (check_seen(st, run, NULL, e) < 0 || state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e, "DELETE FROM artifacts WHERE run = ?", "s", run);
	*removed = r == 0 ? db_changes(st->db) : 0;
	if (state_finish(st, r, "artifact rm", run, count_detail(*removed), e) < 0)
		return -1;
	return objects_sweep(st, NULL, e);
}

int artifact_gc(struct state *st, int64_t before, bool unfetched, int64_t *removed, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"DELETE FROM artifacts WHERE created < ? AND (? OR fetched IS NOT NULL)", "ii",
		before, (int64_t)unfetched);
	*removed = r == 0 ? db_changes(st->db) : 0;
	if (state_finish(st, r, "artifact gc", "artifacts", count_detail(*removed), e) < 0)
		return -1;
	return objects_sweep(st, NULL, e);
}

#include "state/session.h"

#include "base/file.h"
#include "base/proc.h"
#include "state/db.h"
#include "state/owner.h"
#include "state/run_record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TERM_WAIT_MS 3000
#define KILL_WAIT_MS 5000

void session_free(struct session *s)
{
	free(s->expert);
	free(s->buyer);
	*s = (struct session){0};
}

int session_dir(const struct state *st, struct err *e)
{
	return state_subdir(st, "sessions", true, e);
}

int session_add(struct state *st, const struct session *s, struct err *e)
{
	char space[PROC_SPACE_MAX];
	proc_space(space);
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"INSERT INTO sessions (id, expert, version, buyer, pid, pid_start, pid_space, "
		"idle_s, started) "
		"SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM experts WHERE name = ?",
		"sisiisiis", s->id, (int64_t)s->version, s->buyer, (int64_t)s->pid, s->pid_start,
		space, s->idle_s, s->started, s->expert);
	if (r == 0 && db_changes(st->db) != 1)
		r = err_set(e, ERR_NOTFOUND, "no expert '%s'", s->expert);
	return state_finish(st, r, "session start", s->id,
		json_pack("{s:s,s:i,s:s?}", "expert", s->expert, "version", s->version, "buyer",
			s->buyer),
		e);
}

static int no_session(const char *id, const char *reason, struct err *e)
{
	if (reason)
		err_set(e, ERR_NOTFOUND, "session '%.40s' has ended: %s", id, reason);
	else
		err_set(e, ERR_NOTFOUND, "no session '%.40s'", id);
	return err_hint(e, reason ? "evctl-session start EXPERT" : "evctl-session list");
}

/* Neither to be called nor to be killed from here. */
static int elsewhere(const char *id, struct err *e)
{
	err_set(e, ERR_CONFLICT,
		"session '%.40s' is of another container or machine, or from before a restart", id);
	return err_hint(e, "evctl-session start EXPERT");
}

int session_find(struct state *st, const char *id, struct session *s, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT s.id, x.name, version, buyer, pid, pid_start, idle_s, started, ended, reason, "
		"pid_space FROM sessions s JOIN experts x ON x.id = s.expert WHERE s.id = ?",
		"s", id);
	int r = query_step(q, e);
	if (r < 0)
		return -1;
	if (r == 0)
		return no_session(id, NULL, e);
	if (!col_null(q, 8))
		return no_session(id, col_text(q, 9), e);
	if (!owner_is_here(col_text(q, 10)))
		return elsewhere(id, e);
	*s = (struct session){.expert = strdup(col_text(q, 1)),
		.buyer = col_null(q, 3) ? NULL : strdup(col_text(q, 3)),
		.version = (int)col_int(q, 2),
		.pid = (pid_t)col_int(q, 4),
		.pid_start = col_int(q, 5),
		.idle_s = col_int(q, 6),
		.started = col_int(q, 7)};
	snprintf(s->id, sizeof s->id, "%s", col_text(q, 0));
	s->live = proc_alive(s->pid, s->pid_start);
	if (s->live)
		return 0;
	session_free(s);
	return no_session(id, "its keeper is gone", e);
}

json_t *session_list(struct state *st, bool all, struct err *e)
{
	return db_rows(st->db, e,
		"SELECT s.id AS session, x.name AS expert, iif(version, version, 'draft') "
		"AS version, buyer, idle_s AS idle, "
		"(SELECT count(*) FROM runs r WHERE r.session = s.id) AS runs, "
		"started AS 'started:time', ended AS 'ended:time', reason "
		"FROM sessions s JOIN experts x ON x.id = s.expert "
		"WHERE ? OR ended IS NULL ORDER BY started DESC, s.id",
		"i", (int64_t)all);
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void remove_files(int dir, const char *id)
{
	char name[32];
	snprintf(name, sizeof name, "%s.sock", id);
	unlinkat(dir, name, 0);
	snprintf(name, sizeof name, "%s.end", id);
	unlinkat(dir, name, 0);
}

/* The keeper's own word for its end, if it had the time; a single line. */
static void read_reason(int dir, const char *id, char *out, size_t n)
{
	char name[32];
	snprintf(name, sizeof name, "%s.end", id);
	FD_AUTO fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, out, n - 1);
	out[len < 0 ? 0 : len] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (!out[0])
		snprintf(out, n, "its keeper was killed");
}

static int close_row(struct state *st, const char *id, const char *reason, struct err *e)
{
	if (state_begin(st, e) < 0)
		return -1;
	int r = db_exec(st->db, e,
		"UPDATE sessions SET ended = ?, reason = ? WHERE id = ? AND ended IS NULL", "iss",
		clock_real_ms(), reason, id);
	return state_finish(st, r, "session end", id, json_pack("{s:s}", "reason", reason), e);
}

static bool send_and_wait(int pidfd, int sig, int ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	return poll(&p, 1, ms) == 1;
}

/* Through a pidfd, so that a reused number cannot be hit; asked first, so that it tidies up. */
static int kill_keeper(const struct session *s, struct err *e)
{
	FD_AUTO pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (pidfd < 0 || !proc_alive(s->pid, s->pid_start) ||
		send_and_wait(pidfd, SIGTERM, TERM_WAIT_MS) ||
		send_and_wait(pidfd, SIGKILL, KILL_WAIT_MS))
		return 0;
	return err_set(e, ERR_FAIL, "the keeper of session '%s' does not end", s->id);
}

int session_end(struct state *st, const struct session *s, const char *reason, struct err *e)
{
	FD_AUTO dir = session_dir(st, e);
	if (dir < 0 || kill_keeper(s, e) < 0 || close_row(st, s->id, reason, e) < 0)
		return -1;
	remove_files(dir, s->id);
	return 0;
}

int session_sweep(struct state *st, struct err *e)
{
	STRV_AUTO ids = {0};
	if (owners_dead(st->db, "session", &ids, e) < 0)
		return -1;
	FD_AUTO dir = ids.n ? session_dir(st, e) : -1;
	if (ids.n && dir < 0)
		return -1;
	for (size_t i = 0; i < ids.n; i++) {
		char reason[128];
		read_reason(dir, ids.v[i], reason, sizeof reason);
		if (close_row(st, ids.v[i], reason, e) < 0)
			return -1;
		remove_files(dir, ids.v[i]);
	}
	return run_sweep(st, e);
}

size_t session_dead(struct state *st)
{
	STRV_AUTO ids = {0};
	struct err none = {0};
	bool told = owners_dead(st->db, "session", &ids, &none) == 0 &&
		    owners_dead(st->db, "run", &ids, &none) == 0;
	return told ? ids.n : 0;
}

#include "mcp/serve.h"
#include "base/file.h"
#include "base/proc.h"
#include "mcp/caller.h"
#include "mcp/offer.h"
#include "mcp/shelf.h"
#include "rpc/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define GRACE_MS 3000  /* for what was asked for before the end of file */
#define TICK_MS 1000   /* between tellings of progress */
#define QUEUE_MAX 256  /* calls that wait */
#define BATCH_MAX 1000 /* messages in one array */
#define TTL_MS 10000   /* grants, and with them the list, may change at any time */

/* Replies to one array of the old revisions, sent as one when the last is there. */
struct call_batch {
	json_t *replies;
	size_t pending;
};

/* A call that waits or runs. The reader makes it, the caller ends it. */
struct job {
	json_t *id, *params, *token; /* token NULL: no progress is wanted */
	enum mcp_rev rev;
	struct call_batch *batch; /* or NULL */
	bool cancelled;
	int cancel_read, cancel_write; /* closing the write end cancels; -1 while it waits */
	int64_t begun, told;	       /* CLOCK_MONOTONIC ms */
	struct job *next;
};

struct mcp_server {
	const struct serve_spec *spec;
	const char *name;
	enum mcp_rev settled; /* by `initialize`; the reader's */
	struct lines lines;
	struct shelf shelf;
	struct caller caller; /* the calling thread's */
	struct state look;    /* the reader's, once it was needed */
	pthread_t reader;
	int signals, done;    /* descriptors; done is written to when the calls are over */
	pthread_mutex_t lock; /* of what follows, and of batches */
	pthread_cond_t wake;
	struct job *first, **last, *running;
	size_t waiting;
	bool ended; /* no more calls will come */
};

/* ---- replies ------------------------------------------------------------------------------- */

/* Takes m over; NULL: this one gets no reply. */
static void reply(struct mcp_server *s, struct call_batch *b, json_t *m)
{
	if (!b && m)
		lines_send(&s->lines, m);
	if (!b)
		return;
	pthread_mutex_lock(&s->lock);
	if (m)
		json_array_append_new(b->replies, m);
	bool whole = --b->pending == 0;
	pthread_mutex_unlock(&s->lock);
	if (!whole)
		return;
	if (json_array_size(b->replies))
		lines_send(&s->lines, json_incref(b->replies));
	json_decref(b->replies);
	free(b);
}

static void reply_error(
	struct mcp_server *s, struct call_batch *b, const json_t *id, const struct mcp_error *me)
{
	reply(s, b, mcp_error_message(id, me));
}

static void refuse(
	struct mcp_server *s, struct call_batch *b, const json_t *id, int code, const char *text)
{
	MCP_ERROR_AUTO me = {0};
	mcp_fail(&me, code, NULL, "%s", text);
	reply_error(s, b, id, &me);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	json_decref(j->id);
	json_decref(j->params);
	json_decref(j->token);
	fd_close(&j->cancel_read);
	fd_close(&j->cancel_write);
	free(j);
}

static json_t *token_of(const json_t *params)
{
	json_t *t = json_object_get(json_object_get(params, "_meta"), "progressToken");
	return json_is_string(t) || json_is_integer(t) ? json_incref(t) : NULL;
}

static bool enqueue(struct mcp_server *s, struct job *j)
{
	pthread_mutex_lock(&s->lock);
	bool room = s->waiting < QUEUE_MAX && !s->ended;
	if (room) {
		*s->last = j;
		s->last = &j->next;
		s->waiting++;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}

static void add_job(struct mcp_server *s, enum mcp_rev rev, const json_t *id, json_t *params,
	struct call_batch *b)
{
	struct job *j = calloc(1, sizeof *j);
	if (!j) {
		refuse(s, b, id, MCP_INTERNAL, "out of memory");
		return;
	}
	*j = (struct job){.id = json_deep_copy(id),
		.params = json_incref(params),
		.token = token_of(params),
		.rev = rev,
		.batch = b,
		.cancel_read = -1,
		.cancel_write = -1};
	if (enqueue(s, j))
		return;
	job_free(j);
	refuse(s, b, id, MCP_INTERNAL, "too many calls at once");
}

/* Under the lock. A cancelled call gets no reply. */
static void cancel_running(struct mcp_server *s)
{
	if (!s->running)
		return;
	s->running->cancelled = true;
	fd_close(&s->running->cancel_write);
}

/* Takes what waits out of the queue: all of it, or the call of that id. */
static struct job *take_waiting(struct mcp_server *s, const json_t *id)
{
	struct job *out = NULL, **at = &s->first;
	while (*at) {
		struct job *j = *at;
		if (id && !json_equal(j->id, id)) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		j->next = out;
		out = j;
		s->waiting--;
	}
	s->last = at;
	return out;
}

static void drop_jobs(struct mcp_server *s, struct job *list)
{
	while (list) {
		struct job *j = list;
		list = j->next;
		reply(s, j->batch, NULL);
		job_free(j);
	}
}

static void cancel(struct mcp_server *s, const json_t *id)
{
	if (!json_is_string(id) && !json_is_integer(id))
		return;
	pthread_mutex_lock(&s->lock);
	struct job *dropped = take_waiting(s, id);
	if (s->running && json_equal(s->running->id, id))
		cancel_running(s);
	pthread_mutex_unlock(&s->lock);
	drop_jobs(s, dropped);
}

/* No more calls come; now: nor is any of those at hand wanted. */
static void end_calls(struct mcp_server *s, bool now)
{
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	struct job *dropped = now ? take_waiting(s, NULL) : NULL;
	if (now)
		cancel_running(s);
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	drop_jobs(s, dropped);
}

/* ---- requests that are answered at once ---------------------------------------------------- */

static json_t *capabilities(void)
{
	return json_pack("{s:{},s:{}}", "tools", "resources");
}

static json_t *instructions(const struct mcp_server *s)
{
	const char *text = s->spec->view->m.description;
	return json_sprintf("%s%sFiles that tools write are available as run artifacts, to be read "
			    "as resources.",
		text, *text ? "\n" : "");
}

static json_t *on_discover(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	(void)params, (void)me;
	return mcp_cacheable(rev,
		json_pack("{s:[s],s:o,s:o}", "supportedVersions", mcp_rev_name(MCP_2026_07_28),
			"capabilities", capabilities(), "instructions", instructions(s)),
		TTL_MS);
}

static json_t *on_ping(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	(void)s, (void)rev, (void)params, (void)me;
	return json_object();
}

/* There is one page. */
static int check_cursor(const json_t *params, struct mcp_error *me)
{
	const json_t *cursor = json_object_get(params, "cursor");
	if (!cursor || json_is_null(cursor))
		return 0;
	return mcp_fail(me, MCP_INVALID_PARAMS, NULL, "no such cursor");
}

/* Once; what others change meanwhile is seen. */
static int open_to_look(struct mcp_server *s, struct err *e)
{
	return s->look.db ? 0 : state_open(&s->look, s->spec->place, STATE_READ, e);
}

static json_t *on_tools(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	struct err e = {0};
	if (check_cursor(params, me) < 0)
		return NULL;
	JSON_AUTO grants =
		open_to_look(s, &e) == 0 ? conn_list_of(&s->look, s->spec->view->id, &e) : NULL;
	if (grants)
		return mcp_cacheable(rev, offer_list(rev, s->spec->view, grants), TTL_MS);
	mcp_fail(me, MCP_INTERNAL, NULL, "the tools cannot be listed now");
	return NULL;
}

static json_t *on_resources(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	if (check_cursor(params, me) < 0)
		return NULL;
	return mcp_cacheable(rev, json_pack("{s:o}", "resources", shelf_list(&s->shelf)), 0);
}

static json_t *on_templates(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	(void)s;
	if (check_cursor(params, me) < 0)
		return NULL;
	return mcp_cacheable(rev, json_pack("{s:[]}", "resourceTemplates"), TTL_MS);
}

static json_t *on_read(
	struct mcp_server *s, enum mcp_rev rev, const json_t *params, struct mcp_error *me)
{
	const char *uri = json_string_value(json_object_get(params, "uri"));
	if (!uri) {
		mcp_fail(me, MCP_INVALID_PARAMS, NULL, "resources/read takes a 'uri'");
		return NULL;
	}
	json_t *r = shelf_read(&s->shelf, s->spec->place, s->spec->buyer, rev, uri, me);
	return r ? mcp_cacheable(rev, r, 0) : NULL;
}

struct method {
	const char *name;
	enum mcp_rev from, to;
	json_t *(*run)(struct mcp_server *, enum mcp_rev, const json_t *, struct mcp_error *);
};

static const struct method methods[] = {
	{"ping", MCP_2024_11_05, MCP_2025_11_25, on_ping},
	{"server/discover", MCP_2026_07_28, MCP_2026_07_28, on_discover},
	{"tools/list", MCP_2024_11_05, MCP_2026_07_28, on_tools},
	{"resources/list", MCP_2024_11_05, MCP_2026_07_28, on_resources},
	{"resources/templates/list", MCP_2024_11_05, MCP_2026_07_28, on_templates},
	{"resources/read", MCP_2024_11_05, MCP_2026_07_28, on_read},
};

static const struct method *find_method(const char *name, enum mcp_rev rev)
{
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strcmp(methods[i].name, name) == 0 && rev >= methods[i].from &&
			rev <= methods[i].to)
			return &methods[i];
	return NULL;
}

static json_t *initialize(struct mcp_server *s, const json_t *params)
{
	s->settled =
		mcp_rev_initialize(json_string_value(json_object_get(params, "protocolVersion")));
	return json_pack("{s:s,s:o,s:o,s:o}", "protocolVersion", mcp_rev_name(s->settled),
		"capabilities", capabilities(), "serverInfo", mcp_server_info(s->settled, s->name),
		"instructions", instructions(s));
}

/*
 * A stream of changes that never come, since nothing here is said to change: it is acknowledged
 * with nothing in it, and stays open.
 */
static void listen_to(struct mcp_server *s, const json_t *id, const json_t *params)
{
	if (!json_is_object(json_object_get(params, "notifications"))) {
		refuse(s, NULL, id, MCP_INVALID_PARAMS, "'notifications' is needed");
		return;
	}
	lines_send(&s->lines,
		mcp_notification("notifications/subscriptions/acknowledged",
			json_pack("{s:{s:O},s:{}}", "_meta",
				"io.modelcontextprotocol/subscriptionId", id, "notifications")));
}

/* ---- messages ------------------------------------------------------------------------------ */

static void answer(struct mcp_server *s, enum mcp_rev rev, const char *name, const json_t *id,
	json_t *params, struct call_batch *b)
{
	MCP_ERROR_AUTO me = {0};
	const struct method *m = find_method(name, rev);
	json_t *result = m ? m->run(s, rev, params, &me) : NULL;
	if (result)
		reply(s, b, mcp_result(rev, id, result, s->name));
	else if (!m)
		refuse(s, b, id, MCP_NO_METHOD, "Method not found");
	else
		reply_error(s, b, id, &me);
}

static bool says_revision(const json_t *params)
{
	return json_object_get(json_object_get(params, "_meta"),
		       "io.modelcontextprotocol/protocolVersion") != NULL;
}

static void on_request(struct mcp_server *s, const char *name, const json_t *id, json_t *params,
	struct call_batch *b)
{
	MCP_ERROR_AUTO me = {0};
	enum mcp_rev rev;
	bool older = !says_revision(params);
	if (older && strcmp(name, "initialize") == 0 && !b) {
		json_t *result = initialize(s, params);
		reply(s, b, mcp_result(s->settled, id, result, s->name));
	} else if (older && strcmp(name, "ping") == 0) {
		reply(s, b, mcp_result(MCP_2025_11_25, id, json_object(), s->name));
	} else if (mcp_rev_of(params, s->settled, &rev, &me) < 0) {
		reply_error(s, b, id, &me);
	} else if (strcmp(name, "tools/call") == 0) {
		add_job(s, rev, id, params, b);
	} else if (strcmp(name, "subscriptions/listen") == 0 && mcp_stateless(rev)) {
		listen_to(s, id, params);
	} else {
		answer(s, rev, name, id, params, b);
	}
}

static void on_message(struct mcp_server *s, json_t *m, struct call_batch *b)
{
	json_t *id = json_object_get(m, "id"), *params = json_object_get(m, "params");
	const char *version = json_string_value(json_object_get(m, "jsonrpc"));
	const char *method = json_string_value(json_object_get(m, "method"));
	bool id_ok = json_is_string(id) || json_is_number(id);
	bool is_response = json_object_get(m, "result") || json_object_get(m, "error");
	if (!json_is_object(m) || !version || strcmp(version, "2.0") != 0 ||
		(id && !id_ok && !is_response) || (!method && !is_response)) {
		refuse(s, b, id_ok ? id : NULL, MCP_INVALID_REQUEST, "Invalid Request");
	} else if (!method) {
		reply(s, b, NULL); /* we ask for nothing, so it answers nothing */
	} else if (id && params && !json_is_object(params)) {
		refuse(s, b, id, MCP_INVALID_PARAMS, "params is not an object");
	} else if (id) {
		on_request(s, method, id, params, b);
	} else {
		if (strcmp(method, "notifications/cancelled") == 0)
			cancel(s, json_object_get(params, "requestId"));
		reply(s, b, NULL);
	}
}

static void on_batch(struct mcp_server *s, json_t *list)
{
	size_t i, n = json_array_size(list);
	json_t *m;
	bool known = s->settled == MCP_2024_11_05 || s->settled == MCP_2025_03_26;
	struct call_batch *b = known && n && n <= BATCH_MAX ? calloc(1, sizeof *b) : NULL;
	if (b)
		*b = (struct call_batch){json_array(), n};
	if (!b || !b->replies) {
		free(b);
		refuse(s, NULL, NULL, MCP_INVALID_REQUEST,
			known ? "Invalid Request" : "no batches in this revision");
		return;
	}
	/* The last reply frees b: not touched here once all are handed out. */
	json_array_foreach (list, i, m)
		on_message(s, m, b);
}

static void on_line(struct mcp_server *s, const char *p, size_t n)
{
	struct err e = {0};
	if (n && p[n - 1] == '\r')
		n--;
	if (!n)
		return;
	JSON_AUTO m = json_parse("message", p, n, &e);
	if (!m)
		refuse(s, NULL, NULL, MCP_PARSE, "Parse error");
	else if (json_is_array(m))
		on_batch(s, m);
	else
		on_message(s, m, NULL);
}

/* ---- the reader ---------------------------------------------------------------------------- */

/* -1 at end of file. */
static int take_input(struct mcp_server *s)
{
	const char *p;
	size_t n;
	bool end = lines_fill(&s->lines) == LINES_END;
	for (;;) {
		switch (lines_next(&s->lines, end, &p, &n)) {
		case LINES_LINE:
			on_line(s, p, n);
			break;
		case LINES_TOO_LONG:
			refuse(s, NULL, NULL, MCP_INVALID_REQUEST, "the message is too long");
			break;
		default:
			return end ? -1 : 0;
		}
	}
}

/* Under the lock, so that none comes after the reply. */
static void tell_progress(struct mcp_server *s, struct job *j, int64_t now)
{
	BUF_AUTO text = {0};
	double seconds = (double)(now - j->begun) / 1000;
	buf_addf(&text, "running for %.0f s", seconds);
	j->told = now;
	lines_send(&s->lines, mcp_notification("notifications/progress",
				      json_pack("{s:O,s:f,s:s}", "progressToken", j->token,
					      "progress", seconds, "message", buf_str(&text))));
}

/* How long poll(2) may wait: until the next telling, or the end of the grace. */
static int tick(struct mcp_server *s, int64_t deadline)
{
	int64_t now = clock_mono_ms(), next = deadline ? deadline : INT64_MAX;
	pthread_mutex_lock(&s->lock);
	struct job *j = s->running;
	if (j && j->token && !j->cancelled) {
		if (now - j->told >= TICK_MS)
			tell_progress(s, j, now);
		next = j->told + TICK_MS < next ? j->told + TICK_MS : next;
	}
	pthread_mutex_unlock(&s->lock);
	/* A call may begin meanwhile: looked at again after a tick at the latest. */
	if (next > now + TICK_MS)
		next = now + TICK_MS;
	return next <= now ? 0 : (int)(next - now);
}

static void *read_all(void *arg)
{
	struct mcp_server *s = arg;
	int64_t deadline = 0;
	enum { IN, OUT, SIGNALS, DONE };
	struct pollfd p[] = {[IN] = {.fd = s->lines.in, .events = POLLIN},
		[OUT] = {.fd = s->lines.out},
		[SIGNALS] = {.fd = s->signals, .events = POLLIN},
		[DONE] = {.fd = s->done, .events = POLLIN}};
	while (!p[DONE].revents) {
		if (poll(p, 4, tick(s, deadline)) < 0)
			continue;
		if (p[OUT].revents || p[SIGNALS].revents ||
			(deadline && clock_mono_ms() >= deadline)) {
			end_calls(s, true);
			p[IN].fd = p[OUT].fd = p[SIGNALS].fd = -1;
			deadline = 0;
		}
		if (p[IN].fd >= 0 && p[IN].revents && take_input(s) < 0) {
			end_calls(s, false);
			p[IN].fd = -1;
			deadline = clock_mono_ms() + GRACE_MS;
		}
	}
	return NULL;
}

/* ---- the caller ---------------------------------------------------------------------------- */

static struct job *next_job(struct mcp_server *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->first && !s->ended)
		pthread_cond_wait(&s->wake, &s->lock);
	struct job *j = s->first;
	int ends[2];
	if (j) {
		s->first = j->next;
		if (!s->first)
			s->last = &s->first;
		s->waiting--;
		if (pipe2(ends, O_CLOEXEC) == 0) {
			j->cancel_read = ends[0];
			j->cancel_write = ends[1];
		}
		j->begun = clock_mono_ms();
		s->running = j;
		if (j->token)
			tell_progress(s, j, j->begun);
	}
	pthread_mutex_unlock(&s->lock);
	return j;
}

static void run_job(struct mcp_server *s, struct job *j)
{
	MCP_ERROR_AUTO me = {0};
	json_t *result = NULL;
	if (j->cancel_read < 0)
		mcp_fail(&me, MCP_INTERNAL, NULL, "too many open files");
	else
		result = caller_call(&s->caller, j->rev, j->params, j->cancel_read, &me);
	pthread_mutex_lock(&s->lock);
	s->running = NULL;
	bool cancelled = j->cancelled;
	pthread_mutex_unlock(&s->lock);
	if (cancelled) {
		json_decref(result);
		reply(s, j->batch, NULL);
	} else if (result) {
		reply(s, j->batch, mcp_result(j->rev, j->id, result, s->name));
	} else {
		reply_error(s, j->batch, j->id, &me);
	}
	job_free(j);
}

/* ---- from beginning to end ----------------------------------------------------------------- */

/* Signals come through a descriptor, to the thread that can act on them. */
static int open_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	return proc_end_signals(NULL);
}

static int start(struct mcp_server *s, const struct serve_spec *spec, struct err *e)
{
	*s = (struct mcp_server){.spec = spec,
		.name = spec->view->name,
		.signals = open_signals(),
		.done = eventfd(0, EFD_CLOEXEC),
		.last = &s->first};
	s->caller = (struct caller){.in = spec->in,
		.place = spec->place,
		.expert = spec->view->name,
		.buyer = spec->buyer,
		.version = spec->view->version,
		.shelf = &s->shelf};
	lines_open(&s->lines, spec->fd_in, spec->fd_out);
	shelf_open(&s->shelf, spec->view->name);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	if (s->signals < 0 || s->done < 0 || upstream_init() < 0)
		return err_errno(e, ERR_FAIL, "cannot set up the server");
	if (pthread_create(&s->reader, NULL, read_all, s) == 0)
		return 0;
	return err_set(e, ERR_FAIL, "cannot start a thread");
}

static void stop(struct mcp_server *s)
{
	caller_close(&s->caller);
	state_close(&s->look);
	lines_close(&s->lines);
	shelf_close(&s->shelf);
	fd_close(&s->signals);
	fd_close(&s->done);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
}

int serve(const struct serve_spec *spec, struct err *e)
{
	struct mcp_server s;
	uint64_t one = 1;
	int r = start(&s, spec, e);
	if (r == 0) {
		struct job *j;
		while ((j = next_job(&s)))
			run_job(&s, j);
		fd_write_full(s.done, &one, sizeof one);
		pthread_join(s.reader, NULL);
	}
	stop(&s);
	return r;
}

#include "gate/client.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "gate/b64.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_MS 10000
#define ANSWER_MS 15000

struct gate {
	struct child child;
	int sock;
	char *ca; /* NULL until it is ready */
};

/* ---- messages: written by hand, so that a key is in one buffer that is wiped ---- */

static void put_string(struct buf *b, const char *s)
{
	buf_addc(b, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\' || c < 0x20 || c == 0x7f)
			buf_addf(b, "\\u%04x", c);
		else
			buf_addc(b, *s);
	}
	buf_addc(b, '"');
}

static void put_member(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, ",\"%s\":", name);
	if (value)
		put_string(b, value);
	else
		buf_adds(b, "null");
}

static void put_flag(struct buf *b, const char *name, bool value)
{
	buf_addf(b, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_row(struct buf *b, const struct gate_row *r)
{
	buf_addf(b, "{\"port\":%u", r->port);
	put_member(b, "host", r->host);
	put_flag(b, "default", r->is_default);
	put_flag(b, "plain", r->plain);
	put_flag(b, "allow_private", r->allow_private);
	put_member(b, "connect_to", r->connect_to);
	put_member(b, "ca", r->ca);
	put_member(b, "key", r->key);
	buf_addc(b, '}');
}

static void put_key(struct buf *b, const struct gate_key *k)
{
	buf_adds(b, "{\"value\":\"");
	b64_encode(k->value, k->len, b);
	buf_addc(b, '"');
	put_member(b, "name", k->name);
	put_flag(b, "sealed", k->sealed);
	put_flag(b, "guard", k->guard);
	put_member(b, "standin", k->sealed ? k->standin : NULL);
	buf_addc(b, '}');
}

/* Room for all of it at once: growing would leave copies of keys in freed memory. */
static size_t policy_size(const struct gate_policy *p)
{
	size_t n = 1024 + strlen(p->id) * 6;
	for (size_t i = 0; i < p->nrows; i++)
		n += 2048 + (p->rows[i].ca ? strlen(p->rows[i].ca) * 2 : 0) +
		     (p->rows[i].key ? strlen(p->rows[i].key) * 6 : 0);
	for (size_t i = 0; i < p->nkeys; i++)
		n += 1024 + p->keys[i].len * 8;
	return n;
}

static void put_policy(struct buf *b, const struct gate_policy *p)
{
	buf_addf(b, "{\"op\":\"call\",\"deadline_ms\":%lld", (long long)p->deadline_ms);
	put_member(b, "id", p->id);
	buf_adds(b, ",\"rows\":[");
	for (size_t i = 0; i < p->nrows; i++) {
		buf_adds(b, i ? "," : "");
		put_row(b, &p->rows[i]);
	}
	buf_adds(b, "],\"keys\":[");
	for (size_t i = 0; i < p->nkeys; i++) {
		buf_adds(b, i ? "," : "");
		put_key(b, &p->keys[i]);
	}
	buf_adds(b, "]}");
}

static int gone(struct err *e)
{
	return err_set(e, ERR_SANDBOX, "the gate is gone");
}

/* The gate's next message, of the kind `want`; a new reference. */
static json_t *expect(struct gate *g, const char *want, int64_t ms, struct err *e)
{
	struct buf b = {0};
	struct err why = {0};
	json_error_t bad;
	int rc = frame_recv(g->sock, &b, NULL, NULL, clock_mono_ms() + ms, &why);
	json_t *msg = rc == 1 ? json_loadb(buf_str(&b), b.len, 0, &bad) : NULL;
	buf_free(&b);
	const char *op = json_string_value(json_object_get(msg, "op"));
	if (op && strcmp(op, want) == 0)
		return msg;
	const char *text = json_string_value(json_object_get(msg, "message"));
	if (text)
		err_set(e, ERR_SANDBOX, "%s", text);
	else if (why.code == ERR_TIMEOUT)
		err_set(e, ERR_SANDBOX, "the gate does not answer");
	else
		gone(e);
	json_decref(msg);
	return NULL;
}

/* ---- the gate ---- */

static int start_child(struct gate *g, const char *path, int log_fd, int theirs, struct err *e)
{
	const char *const argv[] = {path, NULL};
	const int fds[] = {-1, -1, log_fd, theirs};
	struct child_spec spec = {.argv = argv, .fds = fds, .nfds = 4, .new_session = true};
	struct err why = {0};
	if (child_start(&g->child, &spec, &why) == 0)
		return 0;
	err_set(e, ERR_SANDBOX, "%s", why.msg);
	return err_hint(e, "see what this machine lacks: evctl doctor");
}

static int send_open(struct gate *g, const int *fds, const uint16_t *ports, size_t n, struct err *e)
{
	BUF_AUTO b = {0};
	buf_adds(&b, "{\"op\":\"open\",\"listeners\":[");
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%s{\"port\":%u}", i ? "," : "", ports[i]);
	buf_adds(&b, "]}");
	if (buf_failed(&b))
		return err_set(e, ERR_FAIL, "out of memory");
	struct err why = {0};
	return frame_send(g->sock, b.data, b.len, fds, n, &why) == 0 ? 0 : gone(e);
}

int gate_start(struct gate **out, const char *egress_path, const int *fds, const uint16_t *ports,
	size_t n, int log_fd, struct err *e)
{
	int pair[2];
	*out = NULL;
	if (n > FRAME_MAX_FDS)
		return err_set(e, ERR_USAGE, "more than %d ports to listen on", FRAME_MAX_FDS);
	struct gate *g = calloc(1, sizeof *g);
	if (!g || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(g);
		return err_errno(e, ERR_SANDBOX, "cannot start the gate");
	}
	g->child = CHILD_NONE;
	g->sock = pair[0];
	int rc = start_child(g, egress_path, log_fd, pair[1], e);
	close(pair[1]);
	if (rc == 0)
		rc = send_open(g, fds, ports, n, e);
	if (rc < 0)
		gate_stop(&g);
	*out = g;
	return rc;
}

int gate_ca(struct gate *g, const char **pem, struct err *e)
{
	if (!g->ca) {
		json_t *msg = expect(g, "ready", READY_MS, e);
		const char *ca = json_string_value(json_object_get(msg, "ca"));
		g->ca = ca ? strdup(ca) : NULL;
		json_decref(msg);
	}
	*pem = g->ca;
	return g->ca ? 0 : gone(e);
}

int gate_begin(struct gate *g, const struct gate_policy *p, struct err *e)
{
	const char *pem;
	struct buf b = {0};
	struct err why = {0};
	if (gate_ca(g, &pem, e) < 0)
		return -1;
	int rc = buf_reserve(&b, policy_size(p));
	if (rc == 0)
		put_policy(&b, p);
	if (rc < 0 || buf_failed(&b))
		rc = err_set(e, ERR_FAIL, "the gate's policy is too large");
	else if (frame_send(g->sock, b.data, b.len, NULL, 0, &why) < 0)
		rc = gone(e);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	buf_free(&b);
	if (rc < 0)
		return -1;
	json_t *ok = expect(g, "ok", ANSWER_MS, e);
	json_decref(ok);
	return ok ? 0 : -1;
}

static char *text_of(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));
	return strdup(s ? s : "");
}

static int64_t number_of(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static int take_event(struct gate_event *to, const json_t *o)
{
	to->at = number_of(o, "at");
	to->method = text_of(o, "method");
	to->host = text_of(o, "host");
	to->path = text_of(o, "path");
	to->verdict = text_of(o, "verdict");
	to->port = (uint16_t)number_of(o, "port");
	to->status = (int)number_of(o, "status");
	to->up = (uint64_t)number_of(o, "up");
	to->down = (uint64_t)number_of(o, "down");
	to->ms = number_of(o, "ms");
	return to->method && to->host && to->path && to->verdict ? 0 : -1;
}

static int take_report(struct gate_report *r, const json_t *msg)
{
	const json_t *sum = json_object_get(msg, "summary");
	const json_t *list = json_object_get(msg, "events");
	size_t n = json_array_size(list);
	r->summary = (struct gate_summary){.requests = (uint64_t)number_of(sum, "requests"),
		.refused = (uint64_t)number_of(sum, "refused"),
		.failed = (uint64_t)number_of(sum, "failed"),
		.up = (uint64_t)number_of(sum, "up"),
		.down = (uint64_t)number_of(sum, "down"),
		.truncated = (uint64_t)number_of(msg, "truncated")};
	r->events = calloc(n ? n : 1, sizeof *r->events);
	if (!r->events)
		return -1;
	for (size_t i = 0; i < n; i++) {
		r->n = i + 1;
		if (take_event(&r->events[i], json_array_get(list, i)) < 0)
			return -1;
	}
	return 0;
}

int gate_end(struct gate *g, struct gate_report *r, struct err *e)
{
	static const char end[] = "{\"op\":\"end\"}";
	struct err why = {0};
	*r = (struct gate_report){0};
	if (frame_send(g->sock, end, sizeof end - 1, NULL, 0, &why) < 0)
		return gone(e);
	json_t *msg = expect(g, "events", ANSWER_MS, e);
	if (!msg)
		return -1;
	int rc = take_report(r, msg);
	json_decref(msg);
	return rc < 0 ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

void gate_report_free(struct gate_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->events[i].method);
		free(r->events[i].host);
		free(r->events[i].path);
		free(r->events[i].verdict);
	}
	free(r->events);
	*r = (struct gate_report){0};
}

void gate_stop(struct gate **gp)
{
	struct gate *g = *gp;
	if (!g)
		return;
	fd_close(&g->sock);
	child_kill(&g->child);
	free(g->ca);
	free(g);
	*gp = NULL;
}

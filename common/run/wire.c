#include "run/wire.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 100000 /* rows, keys, events: more is nonsense */

/* ---- pieces -------------------------------------------------------------------------------- */

static void put(struct wire_out *w, const void *p, size_t n)
{
	if (w->p && n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

void wire_put_u(struct wire_out *w, uint64_t v)
{
	put(w, &v, sizeof v);
}

void wire_put_b(struct wire_out *w, const void *p, size_t n)
{
	wire_put_u(w, n);
	put(w, p, n);
}

void wire_put_s(struct wire_out *w, const char *s)
{
	wire_put_u(w, s != NULL);
	if (s)
		wire_put_b(w, s, strlen(s) + 1);
}

static const char *take(struct wire_in *w, size_t n)
{
	if (w->bad || n > w->left) {
		w->bad = true;
		return NULL;
	}
	const char *p = w->p;
	w->p += n;
	w->left -= n;
	return p;
}

uint64_t wire_get_u(struct wire_in *w)
{
	uint64_t v = 0;
	const char *p = take(w, sizeof v);
	if (p)
		memcpy(&v, p, sizeof v);
	return v;
}

const char *wire_get_b(struct wire_in *w, size_t *n)
{
	*n = wire_get_u(w);
	const char *p = take(w, *n);
	if (!p)
		*n = 0;
	return p;
}

const char *wire_get_s(struct wire_in *w)
{
	size_t n;
	if (!wire_get_u(w))
		return NULL;
	const char *p = wire_get_b(w, &n);
	if (p && n && p[n - 1] == '\0')
		return p;
	w->bad = true;
	return NULL;
}

static size_t get_count(struct wire_in *w)
{
	uint64_t n = wire_get_u(w);
	if (n <= COUNT_MAX)
		return n;
	w->bad = true;
	return 0;
}

static int bad(struct err *e)
{
	return err_set(e, ERR_FAIL, "a message of the session's keeper makes no sense");
}

/* ---- a call -------------------------------------------------------------------------------- */

static void put_rows(struct wire_out *w, const struct gate_policy *p)
{
	wire_put_u(w, p->nrows);
	for (size_t i = 0; i < p->nrows; i++) {
		const struct gate_row *r = &p->rows[i];
		wire_put_s(w, r->host);
		wire_put_u(w, r->port);
		wire_put_u(w, (uint64_t)r->is_default | (uint64_t)r->plain << 1 |
				      (uint64_t)r->allow_private << 2);
		wire_put_s(w, r->connect_to);
		wire_put_s(w, r->ca);
		wire_put_s(w, r->key);
	}
}

static void put_gate_keys(struct wire_out *w, const struct gate_policy *p)
{
	wire_put_u(w, p->nkeys);
	for (size_t i = 0; i < p->nkeys; i++) {
		const struct gate_key *k = &p->keys[i];
		wire_put_s(w, k->name);
		wire_put_b(w, k->value, k->len);
		wire_put_u(w, (uint64_t)k->sealed | (uint64_t)k->guard << 1);
		wire_put_b(w, k->standin, k->sealed ? k->len : 0);
	}
}

void wire_put_call(struct wire_out *w, const struct room_call *c)
{
	const struct sandbox_call *s = &c->call;
	wire_put_s(w, s->entry_file);
	wire_put_s(w, s->entry_func);
	wire_put_b(w, s->inputs, s->ninputs);
	wire_put_u(w, (uint64_t)s->timeout_ms);
	wire_put_u(w, s->memory);
	wire_put_s(w, c->policy.id);
	wire_put_u(w, (uint64_t)c->policy.deadline_ms);
	put_rows(w, &c->policy);
	put_gate_keys(w, &c->policy);
}

static void get_row(struct wire_in *w, struct gate_row *r)
{
	r->host = wire_get_s(w);
	r->port = (uint16_t)wire_get_u(w);
	uint64_t flags = wire_get_u(w);
	r->is_default = flags & 1;
	r->plain = flags & 2;
	r->allow_private = flags & 4;
	r->connect_to = wire_get_s(w);
	r->ca = wire_get_s(w);
	r->key = wire_get_s(w);
}

/* The code's key is the stand-in of a sealed one, and else the value. */
static void get_key(struct wire_in *w, struct gate_key *k, struct sandbox_key *code)
{
	size_t n;
	k->name = wire_get_s(w);
	k->value = wire_get_b(w, &k->len);
	uint64_t flags = wire_get_u(w);
	k->sealed = flags & 1;
	k->guard = flags & 2;
	const char *standin = wire_get_b(w, &n);
	k->standin = k->sealed ? standin : NULL;
	w->bad |= k->sealed && n != k->len;
	*code = (struct sandbox_key){k->name, k->sealed ? standin : k->value, k->len};
}

static int get_lists(struct wire_in *w, struct wire_call *c, struct err *e)
{
	size_t nrows = get_count(w);
	c->rows = calloc(nrows + 1, sizeof *c->rows);
	for (size_t i = 0; c->rows && i < nrows; i++)
		get_row(w, &c->rows[i]);
	size_t nkeys = get_count(w);
	c->gate_keys = calloc(nkeys + 1, sizeof *c->gate_keys);
	c->keys = calloc(nkeys + 1, sizeof *c->keys);
	if (!c->rows || !c->gate_keys || !c->keys)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < nkeys; i++)
		get_key(w, &c->gate_keys[i], &c->keys[i]);
	c->call.policy.rows = c->rows;
	c->call.policy.nrows = nrows;
	c->call.policy.keys = c->gate_keys;
	c->call.call.keys = c->keys;
	c->call.policy.nkeys = c->call.call.nkeys = nkeys;
	return 0;
}

void wire_call_free(struct wire_call *c)
{
	free(c->rows);
	free(c->gate_keys);
	free(c->keys);
	*c = (struct wire_call){0};
}

int wire_get_call(struct wire_in *w, struct wire_call *c, struct err *e)
{
	struct sandbox_call *s = &c->call.call;
	*c = (struct wire_call){0};
	s->entry_file = wire_get_s(w);
	s->entry_func = wire_get_s(w);
	s->inputs = wire_get_b(w, &s->ninputs);
	s->timeout_ms = (int)wire_get_u(w);
	s->memory = wire_get_u(w);
	c->call.policy.id = wire_get_s(w);
	c->call.policy.deadline_ms = (int64_t)wire_get_u(w);
	int r = get_lists(w, c, e);
	if (r == 0 && (w->bad || !s->entry_file || !s->inputs || !c->call.policy.id))
		r = bad(e);
	if (r < 0)
		wire_call_free(c);
	return r;
}

/* ---- a reply ------------------------------------------------------------------------------- */

static void put_report(struct wire_out *w, const struct gate_report *r)
{
	put(w, &r->summary, sizeof r->summary);
	wire_put_u(w, r->n);
	for (size_t i = 0; i < r->n; i++) {
		const struct gate_event *v = &r->events[i];
		wire_put_u(w, (uint64_t)v->at);
		wire_put_s(w, v->method);
		wire_put_s(w, v->host);
		wire_put_s(w, v->path);
		wire_put_u(w, v->port);
		wire_put_u(w, (uint64_t)v->status);
		wire_put_u(w, v->up);
		wire_put_u(w, v->down);
		wire_put_u(w, (uint64_t)v->ms);
		wire_put_s(w, v->verdict);
	}
}

void wire_put_reply(struct wire_out *w, const struct room_reply *r)
{
	const struct sandbox_result *s = &r->result;
	wire_put_u(w, s->status);
	wire_put_s(w, s->limit);
	wire_put_s(w, s->why);
	wire_put_b(w, s->result.data, s->result.len);
	wire_put_b(w, s->log.data, s->log.len);
	wire_put_u(w, s->log_truncated);
	wire_put_u(w, (uint64_t)s->ms);
	wire_put_u(w, (uint64_t)s->start_ms);
	wire_put_u(w, r->gate_lost);
	wire_put_s(w, r->bounds);
	wire_put_u(w, (uint64_t)r->ready_ms);
	put_report(w, &r->report);
}

static char *get_dup(struct wire_in *w)
{
	const char *s = wire_get_s(w);
	return strdup(s ? s : "");
}

static void get_event(struct wire_in *w, struct gate_event *v)
{
	v->at = (int64_t)wire_get_u(w);
	v->method = get_dup(w);
	v->host = get_dup(w);
	v->path = get_dup(w);
	v->port = (uint16_t)wire_get_u(w);
	v->status = (int)wire_get_u(w);
	v->up = wire_get_u(w);
	v->down = wire_get_u(w);
	v->ms = (int64_t)wire_get_u(w);
	v->verdict = get_dup(w);
	w->bad |= !v->method || !v->host || !v->path || !v->verdict;
}

static void get_report(struct wire_in *w, struct gate_report *r)
{
	const char *p = take(w, sizeof r->summary);
	if (p)
		memcpy(&r->summary, p, sizeof r->summary);
	size_t n = get_count(w);
	r->events = calloc(n + 1, sizeof *r->events);
	w->bad |= !r->events;
	for (; r->events && r->n < n && !w->bad; r->n++)
		get_event(w, &r->events[r->n]);
}

static void get_buf(struct wire_in *w, struct buf *b)
{
	size_t n;
	const char *p = wire_get_b(w, &n);
	b->limit = n + 1;
	buf_add(b, p ? p : "", n);
	w->bad |= buf_failed(b);
}

int wire_get_reply(struct wire_in *w, struct room_reply *r, struct err *e)
{
	struct sandbox_result *s = &r->result;
	uint64_t status = wire_get_u(w);
	s->status = status <= SANDBOX_LIMIT ? (enum sandbox_status)status : SANDBOX_FAILED;
	s->limit = wire_get_s(w);
	s->why = wire_get_s(w);
	get_buf(w, &s->result);
	get_buf(w, &s->log);
	s->log_truncated = wire_get_u(w);
	s->ms = (int)wire_get_u(w);
	s->start_ms = (int)wire_get_u(w);
	r->gate_lost = wire_get_u(w);
	const char *bounds = wire_get_s(w);
	if (bounds)
		strncpy(r->bounds, bounds, sizeof r->bounds - 1);
	r->ready_ms = (int64_t)wire_get_u(w);
	get_report(w, &r->report);
	return w->bad ? bad(e) : 0;
}

void wire_put_err(struct wire_out *w, const struct err *e)
{
	wire_put_u(w, e->code);
	wire_put_s(w, e->msg);
	wire_put_s(w, e->hint[0] ? e->hint : NULL);
}

int wire_get_err(struct wire_in *w, struct err *e)
{
	uint64_t code = wire_get_u(w);
	const char *msg = wire_get_s(w), *hint = wire_get_s(w);
	if (w->bad || !msg || code < ERR_FAIL || code > ERR_DENIED)
		return bad(e);
	err_set(e, (enum err_code)code, "%s", msg);
	return hint ? err_hint(e, "%s", hint) : -1;
}

/* ---- earlier keys -------------------------------------------------------------------------- */

void wire_put_keys(struct wire_out *w, const struct call_keys *k)
{
	wire_put_u(w, k->n);
	for (size_t i = 0; i < k->n; i++) {
		wire_put_s(w, k->v[i].name);
		wire_put_b(w, k->v[i].value.data, k->v[i].value.n);
		wire_put_u(w, k->v[i].guard);
	}
}

int wire_get_keys(struct wire_in *w, struct call_keys *k, struct err *e)
{
	size_t n = get_count(w);
	*k = (struct call_keys){.v = calloc(n + 1, sizeof *k->v)};
	int r = k->v ? 0 : err_set(e, ERR_FAIL, "out of memory");
	for (; r == 0 && k->n < n && !w->bad; k->n++) {
		struct call_key *key = &k->v[k->n];
		size_t len;
		const char *name = wire_get_s(w), *value = wire_get_b(w, &len);
		key->guard = wire_get_u(w);
		if (w->bad || !name)
			break;
		strncpy(key->name, name, sizeof key->name - 1);
		r = secret_set(&key->value, value, len, e);
	}
	if (r == 0 && k->n != n)
		r = bad(e);
	if (r < 0)
		call_keys_free(k);
	return r;
}

int wire_send(int sock, enum wire_kind kind, void (*put_what)(struct wire_out *, const void *),
	const void *what, int fd, struct err *e)
{
	SECRET_AUTO text = {0};
	struct wire_out w = {0};
	put_what(&w, what);
	if (secret_alloc(&text, w.n + 1, e) < 0)
		return -1;
	text.data[0] = (char)kind;
	w = (struct wire_out){.p = text.data + 1};
	put_what(&w, what);
	return frame_send(sock, text.data, w.n + 1, fd >= 0 ? &fd : NULL, fd >= 0, e);
}

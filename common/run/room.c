#include "run/room.h"

#include "run/keys.h"
#include "state/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int room_enter(struct room *r, const struct call_keys **earlier, struct err *e)
{
	return r->ops->enter(r, earlier, e);
}

int room_call(struct room *r, const struct room_call *c, struct room_reply *out, struct err *e)
{
	*out = (struct room_reply){.outputs = -1};
	return r->ops->call(r, c, out, e);
}

int room_done(struct room *r, struct err *e)
{
	return r->ops->done(r, e);
}

bool room_holds(struct room *r)
{
	return r->ops->holds(r);
}

bool room_alive(struct room *r)
{
	return r->ops->alive(r);
}

void room_close(struct room **r)
{
	if (*r)
		(*r)->ops->close(*r);
	*r = NULL;
}

void room_reply_free(struct room_reply *reply)
{
	if (reply->result.result.data)
		explicit_bzero(reply->result.result.data, reply->result.result.len);
	if (reply->result.log.data)
		explicit_bzero(reply->result.log.data, reply->result.log.len);
	sandbox_result_free(&reply->result);
	gate_report_free(&reply->report);
	*reply = (struct room_reply){.outputs = -1};
}

/* ---- this program's own -------------------------------------------------------------------- */

struct own_room {
	struct room room;
	struct sandbox *sandbox;
	struct gate *gate; /* NULL: no hosts */
	bool has_ca, session;
	struct call_keys earlier;
};

static int own_enter(struct room *r, const struct call_keys **earlier, struct err *e)
{
	(void)e;
	*earlier = &((struct own_room *)r)->earlier;
	return 0;
}

static bool is_known(const struct call_keys *k, const struct call_key *key)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].len == key->len && memcmp(k->v[i].value, key->value, key->len) == 0)
			return true;
	return false;
}

/* Before the code gets them: it may keep what it sees where a later call finds it. */
static int remember_keys(struct own_room *o, const struct call_keys *now, struct err *e)
{
	struct call_keys *k = &o->earlier;
	if (!o->session)
		return 0;
	struct call_key *grown = realloc(k->v, (k->n + now->n + 1) * sizeof *grown);
	if (!grown)
		return err_set(e, ERR_FAIL, "out of memory");
	k->v = grown;
	for (size_t i = 0; i < now->n; i++)
		if (!is_known(k, &now->v[i]) && call_keys_add(k, &now->v[i], e) < 0)
			return -1;
	return 0;
}

/* What ends a call, the death of its gate too. -1: nothing but what does anyhow. */
static int watch_end(const struct own_room *o, const struct room_call *c)
{
	const int fds[] = {o->gate ? gate_pidfd(o->gate) : -1, c->call.cancel_fd};
	return o->gate ? fd_any(fds, c->call.cancel_fd > 0 ? 2 : 1) : -1;
}

/* The sandbox's part, with the keys as the code may see them; end: see watch_end(). */
static int call_sandbox(struct own_room *o, const struct room_call *c, int end,
	struct sandbox_result *r, struct err *e)
{
	const struct call_keys *keys = &c->policy.keys;
	struct sandbox_call call = c->call;
	struct call_key *v = calloc(keys->n + 1, sizeof *v);
	if (!v)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < keys->n; i++)
		v[i] = call_key_for_code(&keys->v[i]);
	call.keys = (struct call_keys){v, keys->n};
	if (end >= 0)
		call.cancel_fd = end;
	int done = sandbox_call(o->sandbox, &call, r, e);
	free(v);
	return done;
}

static int wait_for_gate(struct own_room *o, struct err *e)
{
	const char *pem;
	if (!o->gate || o->has_ca)
		return 0;
	if (gate_ca(o->gate, &pem, e) < 0 || sandbox_set_ca(o->sandbox, pem, strlen(pem), e) < 0)
		return -1;
	o->has_ca = true;
	return 0;
}

static int own_call(
	struct room *r, const struct room_call *c, struct room_reply *out, struct err *e)
{
	struct own_room *o = (struct own_room *)r;
	int64_t begun = clock_mono_ms();
	if (remember_keys(o, &c->policy.keys, e) < 0 || wait_for_gate(o, e) < 0 ||
		(o->gate && gate_begin(o->gate, &c->policy, e) < 0))
		return -1;
	out->ready_ms = clock_mono_ms() - begun;
	FD_AUTO end = watch_end(o, c);
	if (o->gate && end < 0)
		return err_errno(e, ERR_SANDBOX, "cannot watch the gate");
	int done = call_sandbox(o, c, end, &out->result, e);
	struct err gone = {0};
	if (o->gate && gate_end(o->gate, &out->report, &gone) < 0)
		out->gate_lost = true;
	if (done < 0)
		return -1;
	out->outputs = sandbox_outputs(o->sandbox);
	snprintf(out->bounds, sizeof out->bounds, "%s", sandbox_bounds(o->sandbox));
	return 0;
}

static int own_done(struct room *r, struct err *e)
{
	struct own_room *o = (struct own_room *)r;
	if (!sandbox_alive(o->sandbox) || sandbox_reset_outputs(o->sandbox) == 0)
		return 0;
	return err_set(e, ERR_SANDBOX, "the outputs of the last call cannot be removed");
}

static bool own_holds(struct room *r)
{
	(void)r;
	return true;
}

static bool own_alive(struct room *r)
{
	return sandbox_alive(((struct own_room *)r)->sandbox) && !room_gate_lost(r);
}

static void own_close(struct room *r)
{
	struct own_room *o = (struct own_room *)r;
	sandbox_close(&o->sandbox);
	gate_stop(&o->gate);
	call_keys_free(&o->earlier);
	free(o);
}

static const struct room_ops own_ops = {
	own_enter, own_call, own_done, own_holds, own_alive, own_close};

/* What the spec's hosts mean to the sandbox: names, wildcards and ports, each once. */
struct places {
	struct strv names, wildcards;
	int *ports;
	size_t nports;
};

static void places_free(struct places *p)
{
	strv_free(&p->names);
	strv_free(&p->wildcards);
	free(p->ports);
}

static void add_port(struct places *p, int port)
{
	for (size_t i = 0; i < p->nports; i++)
		if (p->ports[i] == port)
			return;
	p->ports[p->nports++] = port;
}

static int places_of(struct places *p, const struct room_spec *spec, struct err *e)
{
	p->ports = calloc(spec->nhosts + 2, sizeof *p->ports);
	if (!p->ports)
		return err_set(e, ERR_FAIL, "out of memory");
	if (spec->nhosts) {
		add_port(p, 80);
		add_port(p, 443);
	}
	for (size_t i = 0; i < spec->nhosts; i++) {
		const struct host *h = &spec->hosts[i].host;
		struct strv *list = host_is_wildcard(h) ? &p->wildcards : &p->names;
		if (!strv_has(list, h->name))
			strv_add(list, h->name);
		add_port(p, h->port);
	}
	return p->names.failed || p->wildcards.failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static struct sandbox_file *files_of(const struct tree *t)
{
	struct sandbox_file *f = calloc(t->n + 1, sizeof *f);
	for (size_t i = 0; f && i < t->n; i++)
		f[i] = (struct sandbox_file){t->files[i].path, t->files[i].data, t->files[i].n};
	return f;
}

static int open_sandbox(struct own_room *o, const struct room_spec *spec, struct err *e)
{
	struct places p = {0};
	struct sandbox_file *files = files_of(spec->code);
	int r = files ? places_of(&p, spec, e) : err_set(e, ERR_FAIL, "out of memory");
	const struct sandbox_spec ss = {.files = files,
		.nfiles = spec->code->n,
		.hosts = (const char *const *)p.names.v,
		.nhosts = p.names.n,
		.wildcards = (const char *const *)p.wildcards.v,
		.nwildcards = p.wildcards.n,
		.ports = p.ports,
		.nports = p.nports,
		.preload = spec->preload,
		.npreload = spec->npreload,
		.session = spec->session,
		.share_dir = spec->share,
		.limits = {.memory = spec->memory}};
	if (r == 0)
		r = sandbox_open(&o->sandbox, &ss, e);
	places_free(&p);
	free(files);
	return r;
}

static int start_gate(struct own_room *o, const char *egress, struct err *e)
{
	int fds[FRAME_MAX_FDS];
	uint16_t ports[FRAME_MAX_FDS];
	size_t n = sandbox_listeners(o->sandbox, fds, ports, FRAME_MAX_FDS);
	if (n == 0)
		return 0;
	if (n > FRAME_MAX_FDS) {
		err_set(e, ERR_SANDBOX, "the attached hosts have too many ports: %zu", n / 2);
		return err_hint(
			e, "detach hosts until there are at most %d ports", FRAME_MAX_FDS / 2);
	}
	if (gate_start(&o->gate, egress, fds, ports, n, -1, e) < 0)
		return -1;
	/* From here on only the gate holds them: when it is gone, so is the way out. */
	sandbox_drop_listeners(o->sandbox);
	return 0;
}

int room_open(struct room **r, const struct room_spec *spec, struct err *e)
{
	struct own_room *o = calloc(1, sizeof *o);
	*r = NULL;
	if (!o)
		return err_set(e, ERR_FAIL, "out of memory");
	o->room.ops = &own_ops;
	o->session = spec->session;
	if (open_sandbox(o, spec, e) < 0 || start_gate(o, spec->egress, e) < 0) {
		own_close(&o->room);
		return -1;
	}
	*r = &o->room;
	return 0;
}

const struct sandbox *room_sandbox(const struct room *r)
{
	return r->ops == &own_ops ? ((const struct own_room *)r)->sandbox : NULL;
}

int room_gate_pidfd(const struct room *r)
{
	const struct own_room *o = (const struct own_room *)r;
	return r->ops == &own_ops && o->gate ? gate_pidfd(o->gate) : -1;
}

bool room_gate_lost(const struct room *r)
{
	const struct own_room *o = (const struct own_room *)r;
	return r->ops == &own_ops && o->gate && !gate_alive(o->gate);
}

#include "batch/batch_in.h"

#include "base/file.h"
#include "base/limits.h"
#include "batch/bundle_file.h"
#include "batch/chunk_file.h"
#include "run/asked.h"
#include "state/bundle.h"
#include "state/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR_MS ((int64_t)3600000)
#define CHUNK_MOST 500	    /* calls in a chunk where nothing else is said */
#define CHUNK_ELSEWHERE 100 /* the same on other machines */
#define CHUNKS_A_SESSION 16 /* so that no session is left to work alone for long */

int batch_dir(const struct state *st, struct err *e)
{
	return state_subdir(st, BATCH_DIR, true, e);
}

int batch_remove_spool(const struct batch *b)
{
	return file_remove_tree(AT_FDCWD, b->spool);
}

/* ---- the calls ----------------------------------------------------------------------------- */

struct preparing {
	struct state *st;
	const struct batch_order *o;
	struct expert_view view;
	struct batch b;
	int spool;
	struct strv tools; /* that are called */
	FILE *calls;
	int64_t lines; /* read so far, blank ones too */
	int64_t per_chunk;
	/* the chunk that is being filled */
	struct batch_chunk chunk;
	struct chunk_calls content;
	size_t room, bytes;
};

/* A line as it was read; input and texts live as long. */
struct read_line {
	json_t *json;
	struct buf input, name;
	struct run_request rq;
	struct err wrong; /* code ERR_NONE: it is a call */
};

static void line_free(struct read_line *l)
{
	json_decref(l->json);
	buf_free(&l->input);
	buf_free(&l->name);
	*l = (struct read_line){0};
}

static int take_id(struct read_line *l, struct err *e)
{
	json_t *id = json_object_get(l->json, "id");
	if (!id)
		return 0;
	if (!json_is_string(id) && !json_is_integer(id))
		return err_set(e, ERR_USAGE, "call: 'id' is neither text nor a whole number");
	BUF_AUTO text = {0};
	json_t *array = json_pack("[O]", id);
	json_to_buf(array, &text);
	json_decref(array);
	if (text.len > 2)
		buf_add(&l->name, text.data + 1, text.len - 2);
	json_object_del(l->json, "id");
	return 0;
}

static int read_call(
	struct preparing *p, const char *text, size_t n, struct read_line *l, struct err *e)
{
	l->input.limit = MB(LIMIT_INPUT_MB);
	l->json = json_parse("call", text, n, e);
	if (!l->json || (!p->o->plain && json_is_object(l->json) && take_id(l, e) < 0) ||
		asked_call(l->json, &l->rq, &l->input, e) < 0)
		return err_hint(e, "a call is one line: {\"tool\": \"NAME\", \"input\": {...}}");
	return run_check(&p->view, &l->rq, e) ? 0 : -1;
}

/* 1: a call, or (plain) a line that is none; 0: no more. */
static int next_line(struct preparing *p, struct read_line *l, struct err *e)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	int r = 0;
	line_free(l);
	while (!r && (n = getline(&text, &room, p->calls)) > 0) {
		p->lines++;
		if (strspn(text, " \t\r\n") == (size_t)n)
			continue;
		r = 1;
		if (read_call(p, text, (size_t)n, l, &l->wrong) == 0 || p->o->plain)
			continue;
		*e = l->wrong;
		if (e->code == ERR_NOTFOUND)
			e->code = ERR_USAGE;
		r = err_wrap(e, "line %lld of '%s'", (long long)p->lines, p->o->calls_name);
	}
	free(text);
	if (r == 0 && ferror(p->calls))
		return err_errno(e, ERR_FAIL, "cannot read '%s'", p->o->calls_name);
	return r;
}

static int rewind_calls(struct preparing *p, struct err *e)
{
	p->lines = 0;
	clearerr(p->calls);
	if (fseek(p->calls, 0, SEEK_SET) == 0)
		return 0;
	return err_errno(e, ERR_FAIL, "cannot read '%s' again", p->o->calls_name);
}

/* Each line, and what is called. */
static int check_calls(struct preparing *p, struct err *e)
{
	struct read_line l = {0};
	int r;
	while ((r = next_line(p, &l, e)) > 0) {
		p->b.calls++;
		if (!l.wrong.code && !strv_has(&p->tools, l.rq.tool))
			strv_add(&p->tools, l.rq.tool);
	}
	line_free(&l);
	if (r < 0)
		return -1;
	if (p->b.calls > BATCH_CALLS_MAX)
		return err_set(e, ERR_USAGE, "over %d calls", BATCH_CALLS_MAX);
	if (!p->b.calls && !p->o->plain)
		return err_set(e, ERR_USAGE, "'%s' has no call", p->o->calls_name);
	return rewind_calls(p, e);
}

static int check_keys(struct preparing *p, struct err *e)
{
	STRV_AUTO missing = {0};
	for (size_t i = 0; !p->o->plain && p->o->buyer && i < p->tools.n; i++)
		if (run_missing(p->st, &p->view, p->o->buyer, p->tools.v[i], &missing, e) < 0)
			return -1;
	if (!missing.n)
		return 0;
	err_set(e, ERR_MISSING_KEY, "buyer '%s' has not supplied %s", p->o->buyer, missing.v[0]);
	return err_hint(e, "evctl-cred supply %s --expert %s --buyer %s", missing.v[0],
		p->o->expert, p->o->buyer);
}

/* What cannot be read twice is copied. */
static int hold_calls(struct preparing *p, struct err *e)
{
	char chunk[65536];
	size_t n;
	p->calls = p->o->calls;
	if (fseek(p->calls, 0, SEEK_CUR) == 0)
		return 0;
	FILE *copy = tmpfile();
	if (!copy)
		return err_errno(e, ERR_FAIL, "cannot keep the calls");
	while ((n = fread(chunk, 1, sizeof chunk, p->o->calls)) > 0)
		if (fwrite(chunk, 1, n, copy) != n)
			break;
	p->calls = copy;
	if (ferror(p->o->calls) || ferror(copy) || fflush(copy) != 0)
		return err_errno(e, ERR_FAIL, "cannot keep the calls");
	return rewind_calls(p, e);
}

/* ---- chunks -------------------------------------------------------------------------------- */

static void empty_chunk(struct preparing *p)
{
	for (size_t i = 0; i < p->content.n; i++) {
		free((char *)p->content.v[i].tool);
		free((char *)p->content.v[i].input);
	}
	p->content.n = p->bytes = 0;
	batch_chunk_free(&p->chunk);
}

static int close_chunk(struct preparing *p, int64_t *number, struct err *e)
{
	if (!p->content.n)
		return 0;
	p->chunk.chunk = *number;
	p->chunk.attempt = 1;
	if (chunk_write(p->spool, p->b.id, *number, p->b.public_key, &p->content, e) < 0 ||
		batch_put_chunk(p->st, p->b.id, &p->chunk, "waiting", e) < 0)
		return -1;
	++*number;
	empty_chunk(p);
	return 0;
}

static int add_to_chunk(struct preparing *p, int64_t call, const struct read_line *l, struct err *e)
{
	if (p->content.n == p->room) {
		size_t room = p->room ? p->room * 2 : 64;
		struct chunk_call *v = realloc(p->content.v, room * sizeof *v);
		if (!v)
			return err_set(e, ERR_FAIL, "out of memory");
		p->content.v = v;
		p->room = room;
	}
	struct chunk_call *c = &p->content.v[p->content.n++];
	*c = (struct chunk_call){.call = call,
		.tool = strdup(l->rq.tool),
		.input = strndup(l->rq.input, l->rq.ninput),
		.ninput = l->rq.ninput};
	if (!c->tool || !c->input)
		return err_set(e, ERR_FAIL, "out of memory");
	p->bytes += l->rq.ninput;
	return batch_chunk_add_call(&p->chunk, call, e);
}

/* A line that is no call has its answer at once. */
static int answer_now(struct preparing *p, int64_t call, struct read_line *l, struct err *e)
{
	BUF_AUTO line = {0};
	const struct drive d = {.plain = true};
	inflow_error_line(&d, call, p->lines, &l->wrong, NULL, &line);
	struct batch_answer a = {.call = call,
		.code = (int)l->wrong.code,
		.line = buf_str(&line),
		.nline = line.len};
	const struct batch_news news = {.batch = p->b.id, .v = &a, .n = 1};
	const struct batch_call c = {NULL, NULL};
	if (batch_add_call(p->st, p->b.id, call, &c, e) < 0)
		return -1;
	return batch_take(p->st, &news, e);
}

static int put_line(
	struct preparing *p, int64_t call, struct read_line *l, int64_t *chunk, struct err *e)
{
	const struct batch_call c = {l->rq.tool, l->name.len ? buf_str(&l->name) : NULL};
	if (l->wrong.code)
		return answer_now(p, call, l, e);
	bool full = (int64_t)p->content.n == p->per_chunk ||
		    (p->content.n && p->bytes + l->rq.ninput > CHUNK_BYTES_MAX);
	if ((full && close_chunk(p, chunk, e) < 0) || add_to_chunk(p, call, l, e) < 0)
		return -1;
	return batch_add_call(p->st, p->b.id, call, &c, e);
}

static int put_calls(struct preparing *p, struct err *e)
{
	struct read_line l = {0};
	int64_t call = 0, chunk = 0;
	int r;
	while ((r = next_line(p, &l, e)) > 0 && (r = put_line(p, call, &l, &chunk, e)) == 0)
		call++;
	line_free(&l);
	if (r == 0 && call != p->b.calls)
		r = err_set(e, ERR_BUSY, "'%s' changed meanwhile", p->o->calls_name);
	if (r == 0)
		r = close_chunk(p, &chunk, e);
	empty_chunk(p);
	return r;
}

/* ---- the spool ----------------------------------------------------------------------------- */

static int make_spool(struct preparing *p, struct err *e)
{
	static const char *const parts[] = {"calls", "out", "log"};
	FD_AUTO place = batch_dir(p->st, e);
	if (place < 0)
		return -1;
	char *dir = p->o->spool ? strdup(p->o->spool) : path_join(p->st->place.dir, BATCH_DIR);
	p->b.spool = dir ? path_join(dir, p->b.id) : NULL;
	free(dir);
	if (!p->b.spool)
		return err_set(e, ERR_FAIL, "out of memory");
	if (mkdir(p->b.spool, 0700) < 0) {
		err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot make the spool '%s'", p->b.spool);
		return err_hint(e, "name a directory that is there: --spool DIR");
	}
	p->spool = open(p->b.spool, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; p->spool >= 0 && i < sizeof parts / sizeof parts[0]; i++)
		if (mkdirat(p->spool, parts[i], 0700) < 0)
			return err_errno(e, ERR_FAIL, "cannot make the spool '%s'", p->b.spool);
	return p->spool >= 0 ? 0 : err_errno(e, ERR_FAIL, "cannot open '%s'", p->b.spool);
}

/* Home itself may open it: to go on after its driver was killed. */
static int seal_to_all(struct preparing *p, const struct bundle *b, const struct secret *key,
	struct buf *out, struct err *e)
{
	const struct batch_order *o = p->o;
	unsigned char(*to)[SEAL_KEY_BYTES] = calloc(o->nnodes + 1, sizeof *to);
	int r = to ? 0 : err_set(e, ERR_FAIL, "out of memory");
	if (to)
		memcpy(to[0], p->st->public_key, SEAL_KEY_BYTES);
	for (size_t i = 0; r == 0 && i < o->nnodes; i++)
		r = node_key(p->st, o->nodes[i], to[i + 1], e);
	if (r == 0)
		r = bundle_write(b, &p->st->private_key, key,
			(const unsigned char(*)[SEAL_KEY_BYTES])to, o->nnodes + 1, out, e);
	free(to);
	return r;
}

static int fill_bundle(struct preparing *p, struct bundle *b, const struct secret *key,
	struct buf *sealed, struct buf *out, struct err *e)
{
	BUF_AUTO small = {0};
	const struct bundle_order order = {
		.view = &p->view, .buyer = p->o->buyer, .to = p->b.public_key};
	STR_AUTO tmp = path_join(p->b.spool, "state.new");
	if (!tmp)
		return err_set(e, ERR_FAIL, "out of memory");
	if (bundle_state(p->st, &order, tmp, &small, e) < 0 ||
		bundle_state_seal(b, small.data, small.len, sealed, e) < 0)
		return -1;
	b->state = sealed->data;
	b->nstate = sealed->len;
	return seal_to_all(p, b, key, out, e);
}

static int make_bundle(struct preparing *p, struct err *e)
{
	SECRET_AUTO key = {0};
	BUF_AUTO sealed = {0};
	BUF_AUTO message = {0};
	if (seal_new_keypair(p->b.public_key, &key, e) < 0)
		return -1;
	struct bundle b = {.expert = p->view.name,
		.buyer = p->o->buyer,
		.version = p->view.version,
		.timeout_ms = (int)MS(p->o->timeout_s),
		.expires = p->b.expires,
		.public_key = (const char *)p->b.public_key,
		.npublic_key = SEAL_KEY_BYTES,
		.home = (const char *)p->st->public_key,
		.nhome = SEAL_KEY_BYTES};
	memcpy(b.batch, p->b.id, sizeof b.batch);
	STR_AUTO path = path_join(p->b.spool, "bundle");
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (fill_bundle(p, &b, &key, &sealed, &message, e) < 0)
		return -1;
	return file_write_atomic(path, message.data, message.len, 0600, e);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static json_t *texts(const char *const *v, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_string(v[i]));
	return a;
}

static int name_batch(struct preparing *p, struct err *e)
{
	const struct batch_order *o = p->o;
	seal_random_id(p->b.id, 'b');
	p->b.expert = strdup(p->view.name);
	p->b.buyer = o->buyer ? strdup(o->buyer) : NULL;
	p->b.version = p->view.version;
	p->b.engine = strdup(o->engine);
	p->b.started = clock_real_ms();
	p->b.expires = p->b.started + o->expires_h * HOUR_MS;
	int64_t most = o->max_percent ? p->b.calls * o->max_failures / 100 : o->max_failures;
	p->b.settings = json_pack("{s:o,s:o,s:I,s:i,s:i,s:i,s:s?,s:I,s:b}", "nodes",
		texts(o->nodes, o->nnodes), "options", texts(o->engine_options, o->nengine_options),
		"memory", (json_int_t)manifest_most_memory(&p->view.m), "settle", o->settle_s,
		"jobs", o->jobs, "retry", o->retry, "retry_status", o->retry_status, "max_failures",
		(json_int_t)most, "plain", (int)o->plain);
	bool local = strcmp(o->engine, "local") == 0;
	int64_t least =
		!local ? CHUNK_ELSEWHERE : p->b.calls / ((int64_t)o->jobs * CHUNKS_A_SESSION);
	p->per_chunk = o->chunk		    ? o->chunk
		       : least < 1	    ? 1
		       : least > CHUNK_MOST ? CHUNK_MOST
					    : least;
	if (p->b.expert && (p->b.buyer || !o->buyer) && p->b.engine && p->b.settings)
		return 0;
	return err_set(e, ERR_FAIL, "out of memory");
}

static int record(struct preparing *p, struct err *e)
{
	if (state_begin(p->st, e) < 0)
		return -1;
	if (batch_add(p->st, &p->b, e) == 0 && put_calls(p, e) == 0)
		return state_commit(p->st, e);
	state_rollback(p->st);
	return -1;
}

/* A published version, unless a plain batch asks for a draft. */
static int load(struct preparing *p, struct err *e)
{
	const struct batch_order *o = p->o;
	int version = o->version;
	if (version == EXPERT_DEFAULT && (o->buyer || !o->plain))
		version = EXPERT_PUBLISHED;
	if (o->buyer && name_check("buyer", o->buyer, e) < 0)
		return -1;
	return expert_load(p->st, o->expert, version, &p->view, e);
}

/* What other machines are to see is no place of this one's alone. */
static int check_engine(const struct preparing *p, struct err *e)
{
	const struct batch_order *o = p->o;
	if (strcmp(o->engine, "local") == 0)
		return 0;
	STR_AUTO real = o->spool ? realpath(o->spool, NULL) : NULL;
	if (!o->spool || o->spool[0] != '/') {
		err_set(e, ERR_USAGE, "engine '%s' needs a spool that all nodes see", o->engine);
		return err_hint(e, "--spool /DIR");
	}
	if (strncmp(real ? real : o->spool, "/tmp/", 5) == 0 ||
		strcmp(real ? real : o->spool, "/tmp") == 0) {
		err_set(e, ERR_USAGE, "a spool below /tmp is not seen by nodes: '%s'", o->spool);
		return err_hint(e, "--spool /DIR, one that all nodes see");
	}
	if (strcmp(o->engine, "slurm") == 0 && slurm_here(e) < 0)
		return -1;
	if (o->nnodes)
		return 0;
	err_set(e, ERR_USAGE, "engine '%s' needs nodes that the batch is sealed to", o->engine);
	return err_hint(e, "evctl-node list; then --node NAME");
}

int batch_prepare(struct state *st, const struct batch_order *o, char id[17], struct err *e)
{
	struct preparing p = {.st = st, .o = o, .spool = -1};
	int r = check_engine(&p, e);
	if (r == 0)
		r = load(&p, e);
	if (r == 0)
		r = hold_calls(&p, e);
	if (r == 0)
		r = check_calls(&p, e);
	if (r == 0)
		r = check_keys(&p, e);
	if (r == 0)
		r = state_unlock(st, e);
	if (r == 0 && (name_batch(&p, e) < 0 || make_spool(&p, e) < 0 || make_bundle(&p, e) < 0 ||
			      record(&p, e) < 0)) {
		r = -1;
		if (p.spool >= 0)
			batch_remove_spool(&p.b);
	}
	memcpy(id, p.b.id, sizeof p.b.id);
	if (p.calls && p.calls != o->calls)
		fclose(p.calls);
	fd_close(&p.spool);
	free(p.content.v);
	strv_free(&p.tools);
	expert_view_free(&p.view);
	batch_free(&p.b);
	return r;
}

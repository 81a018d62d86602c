#include "gate/request.h"

#include "base/file.h"
#include "base/text.h"
#include "gate/decode.h"
#include "gate/swap.h"
#include "gate/vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 262144	   /* bytes of a body that are searched before anything is sent */
#define SMALL 65536	   /* of a body that is read before it is sent */
#define PACKED_MAX 1048576 /* of a compressed body, which is searched as a whole */
#define PACKED_RATIO 100   /* and may unfold to this many times as much */
#define GRACE_MS 500	   /* before the call's end: time to tell the code of a timeout */

struct refusal {
	int status; /* 0: none */
	const char *reason, *why, *hint;
};

struct request {
	struct call *call;
	struct http_conn *c;
	char *raw; /* the head's own copy: the window moves on under the body */
	size_t raw_len;
	struct http_head head;
	struct policy_verdict v;
	struct call_row *row; /* set once the verdict is yes */
	struct refusal no;
	char hint[HOST_MAX + 128];
	int64_t at, began;
	/* What goes up. */
	struct buf lines; /* method, target, and fields, each ended by a NUL */
	const char *fields[HTTP_FIELDS_MAX + 4];
	struct http_chunks chunks;
	int64_t left; /* of a body with a length */
	bool body_done, continued, started;
	uint64_t up;
	struct leak_stream guard, swap;
	struct buf ready; /* searched and swapped, not yet sent: from ready_at */
	size_t ready_at;
	/* What comes down. */
	bool head_sent, bodyless, chunked, close;
	int64_t out_left; /* of an answer with a length, else -1 */
	struct decode *decode;
	struct leak_stream unswap;
	uint64_t down;
	int status;
};

static int refuse(
	struct request *r, int status, const char *reason, const char *why, const char *hint)
{
	if (!r->no.status)
		r->no = (struct refusal){status, reason, why, hint ? hint : ""};
	return -1;
}

static int out_of_memory(struct request *r)
{
	return refuse(r, 502, "gate", "the gate is out of memory", "");
}

/* Methods have a case: "head" is another one, with a body in its answer. */
static bool is_head(const struct request *r)
{
	return r->head.method.n == 4 && memcmp(r->head.method.p, "HEAD", 4) == 0;
}

static int refuse_leak(struct request *r)
{
	char row[HOST_TEXT_MAX];
	policy_row_text(r->v.row, row);
	snprintf(r->hint, sizeof r->hint, "evctl-bind set %s CRED", row);
	return refuse(r, 403, "leak",
		"a key of this session is on its way to a host that it is not bound to", r->hint);
}

/* ---- the head ---- */

/* 1 there is one, 0 the connection ended, -1 refused. */
static int read_head(struct request *r)
{
	struct http_conn *c = r->c;
	size_t from = 0;
	http_conn_compact(c);
	for (;;) {
		ssize_t n = http_head_end(c->in ? c->in : "", c->len, &from);
		if (n > HTTP_HEAD_MAX || (n == 0 && c->len >= HTTP_HEAD_MAX))
			return refuse(
				r, 431, "head-too-large", "the request's head is over 32 KB", "");
		if (n < 0)
			return refuse(
				r, 400, "bad-request", "the head has a bare CR, LF or a NUL", "");
		if (n > 0) {
			r->raw = malloc((size_t)n + 1);
			if (!r->raw)
				return 0;
			memcpy(r->raw, c->in, (size_t)n);
			r->raw[n] = '\0';
			r->raw_len = (size_t)n;
			c->at = (size_t)n;
			return 1;
		}
		enum http_got got = http_conn_fill(c, true);
		if (got != HTTP_GOT)
			return 0;
	}
}

static int parse_head(struct request *r)
{
	const char *why = "";
	int status = http_parse(r->raw, r->raw_len, &r->head, &why);
	if (status)
		return refuse(r, status, status == 431 ? "head-too-large" : "bad-request", why, "");
	r->close = r->head.close;
	r->left = r->head.length;
	r->body_done = !r->head.chunked && r->left == 0;
	return 0;
}

static int judge(struct request *r)
{
	struct policy_where where = {
		.port = r->c->port, .tls = r->c->tls != NULL, .sni = r->c->tls ? r->c->sni : NULL};
	policy_judge(r->call->rows, r->call->nrows, &r->head, &where, &r->v);
	if (!r->v.row)
		return refuse(r, r->v.status, r->v.reason, r->v.why, r->v.hint);
	r->row = call_row(r->call, (size_t)(r->v.row - r->call->rows));
	if (!r->row)
		return out_of_memory(r);
	if (r->head.length > REQUEST_BODY_MAX)
		return refuse(r, 413, "body-too-large", "the request's body is over 10 MB", "");
	return 0;
}

static bool has_percent(const struct http_text *t)
{
	return memchr(t->p, '%', t->n) != NULL;
}

/* The target with whatever is percent-encoded in it decoded: any mixture of encoded and plain. */
static bool leaks_decoded(const struct leak *l, const struct http_text *t)
{
	char *plain = wipe_malloc(t->n + 1);
	if (!plain)
		return true;
	size_t n = text_unpercent(t->p, t->n, plain);
	bool found = leak_find(l, plain, n, NULL);
	wipe_free(plain);
	return found;
}

static const struct leak *guard_of(const struct request *r)
{
	return r->c->tls ? r->row->guard : r->row->guard_plain;
}

static int guard_head(struct request *r)
{
	const struct leak *l = guard_of(r);
	/* A name is looked up and sent in clear, so no key at all belongs in it, nor its own. */
	const struct leak *names = r->v.row->wildcard ? call_names(r->call) : NULL;
	if (r->v.row->wildcard && !names)
		return out_of_memory(r);
	if (leak_find(names, r->v.host, strlen(r->v.host), NULL))
		return refuse_leak(r);
	if (leak_empty(l))
		return 0;
	if (leak_find(l, r->raw, r->raw_len, NULL) ||
		(has_percent(&r->head.target) && leaks_decoded(l, &r->head.target))) {
		bool own = !r->c->tls && !r->v.row->plain && r->v.row->key >= 0;
		if (!own || leak_find(r->row->guard, r->raw, r->raw_len, NULL))
			return refuse_leak(r);
		char row[HOST_TEXT_MAX];
		policy_row_text(r->v.row, row);
		snprintf(r->hint, sizeof r->hint, "evctl-host set %s --plain yes", row);
		return refuse(r, 403, "plain", "a key would go over plain HTTP", r->hint);
	}
	return 0;
}

/* ---- the body, from the code ---- */

static int ask_for_body(struct request *r)
{
	r->started = true;
	if (!r->head.expect_continue || r->continued)
		return 0;
	r->continued = true;
	http_conn_puts(r->c, "HTTP/1.1 100 Continue\r\n\r\n");
	return http_conn_flush(r->c);
}

/* What is in the window of this body. 1 some, 0 need more or at the end, -1 refused. */
static int eat_body(struct request *r, const char **data, size_t *len)
{
	struct http_conn *c = r->c;
	size_t have = c->len - c->at, used;
	*len = 0;
	if (!r->head.chunked) {
		*data = c->in + c->at;
		*len = (int64_t)have < r->left ? have : (size_t)r->left;
		c->at += *len;
		r->left -= (int64_t)*len;
		r->body_done = r->left == 0;
	} else if (have) {
		int rc = http_chunks_feed(&r->chunks, c->in + c->at, have, &used, data, len);
		c->at += used;
		r->body_done = rc == 1;
		if (rc < 0)
			return refuse(r, 400, "bad-request", "the body's chunks are malformed", "");
	}
	r->up += *len;
	if (r->up > REQUEST_BODY_MAX)
		return refuse(r, 413, "body-too-large", "the request's body is over 10 MB", "");
	return *len > 0;
}

/* The next piece of body. >0 its length, 0 end, UPSTREAM_WAIT (only when !wait), UPSTREAM_STOP. */
static ssize_t next_piece(struct request *r, bool wait, const char **data)
{
	size_t len;
	if (!r->started && !r->body_done && ask_for_body(r) < 0)
		return UPSTREAM_STOP;
	while (!r->body_done) {
		int rc = eat_body(r, data, &len);
		if (rc < 0)
			return UPSTREAM_STOP;
		if (rc > 0)
			return (ssize_t)len;
		if (r->body_done || r->c->at < r->c->len)
			continue;
		enum http_got got = http_conn_fill(r->c, wait);
		if (got == HTTP_AGAIN)
			return UPSTREAM_WAIT;
		if (got != HTTP_GOT) {
			r->c->dead = true; /* it won't hear an answer either */
			return UPSTREAM_STOP;
		}
	}
	return 0;
}

static bool body_is_searched(const struct request *r)
{
	return !leak_empty(r->guard.l) || !leak_empty(r->swap.l);
}

/* One piece through guard and swap into ready. At the end (n 0): the rest of both. */
static int search_piece(struct request *r, const char *p, size_t n)
{
	struct buf passed = {0};
	int rc = n ? leak_guard(&r->guard, p, n, &passed, NULL)
		   : leak_guard_end(&r->guard, &passed, NULL);
	if (rc == 0)
		rc = leak_push(&r->swap, buf_str(&passed), passed.len, &r->ready);
	if (rc == 0 && !n)
		rc = leak_flush(&r->swap, &r->ready);
	if (passed.data)
		explicit_bzero(passed.data, passed.len);
	buf_free(&passed);
	return rc > 0 ? refuse_leak(r) : rc < 0 ? out_of_memory(r) : 0;
}

static void compact_ready(struct request *r)
{
	size_t left = r->ready.len - r->ready_at;
	if (!r->ready_at)
		return;
	memmove(r->ready.data, r->ready.data + r->ready_at, left);
	explicit_bzero(r->ready.data + left, r->ready.len - left);
	r->ready.len = left;
	r->ready_at = 0;
}

/* One more piece into ready. 1 there was one, 0 the body is all there, WAIT, STOP. */
static ssize_t make_ready(struct request *r, bool wait)
{
	const char *p = "";
	bool was_done = r->body_done;
	ssize_t n = next_piece(r, wait, &p);
	if (n < 0)
		return n;
	if (n > 0 && search_piece(r, p, (size_t)n) < 0)
		return UPSTREAM_STOP;
	if (r->body_done && !was_done && search_piece(r, "", 0) < 0)
		return UPSTREAM_STOP;
	return n > 0;
}

static ssize_t take_ready(struct request *r, void *p, size_t n)
{
	size_t have = r->ready.len - r->ready_at;
	size_t len = have < n ? have : n;
	memcpy(p, r->ready.data + r->ready_at, len);
	r->ready_at += len;
	return (ssize_t)len;
}

/* libcurl asks for body. */
static ssize_t on_read(void *arg, void *p, size_t n)
{
	struct request *r = arg;
	const char *piece;
	if (r->ready_at < r->ready.len)
		return take_ready(r, p, n);
	if (body_is_searched(r)) {
		while (r->ready_at == r->ready.len && !r->body_done) {
			compact_ready(r);
			ssize_t rc = make_ready(r, false);
			if (rc < 0)
				return rc;
		}
		return r->ready_at < r->ready.len ? take_ready(r, p, n) : 0;
	}
	ssize_t len = next_piece(r, false, &piece);
	if (len <= 0)
		return len;
	/* The window may hold more than libcurl has room for: give the rest back to ready. */
	size_t fit = (size_t)len < n ? (size_t)len : n;
	memcpy(p, piece, fit);
	if (fit < (size_t)len) {
		compact_ready(r);
		buf_add(&r->ready, piece + fit, (size_t)len - fit);
	}
	return buf_failed(&r->ready) ? UPSTREAM_STOP : (ssize_t)fit;
}

/* Possible while all of the body that was ever taken is still there. */
static bool on_rewind(void *arg)
{
	struct request *r = arg;
	if (r->up > r->ready.len)
		return !r->started;
	r->ready_at = 0;
	return true;
}

static struct http_text field_of(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->nfields; i++)
		if (http_is(h->field[i].name, name))
			return h->field[i].value;
	return (struct http_text){"", 0};
}

/* Named twice, nobody can say what it is. */
static enum decode_kind coding_of(const struct http_field *field, size_t n)
{
	enum decode_kind kind = DECODE_NONE;
	size_t seen = 0;
	for (size_t i = 0; i < n; i++) {
		if (!http_is(field[i].name, "Content-Encoding"))
			continue;
		kind = decode_kind(field[i].value);
		seen++;
	}
	return seen > 1 ? DECODE_UNKNOWN : kind;
}

struct unpack {
	struct leak_stream search;
	struct buf waste;
	size_t total, limit;
};

static int search_unpacked(void *arg, const void *p, size_t n)
{
	struct unpack *u = arg;
	u->total += n;
	if (u->total > u->limit)
		return -1;
	u->waste.len = 0;
	return leak_guard(&u->search, p, n, &u->waste, NULL) == 0 ? 0 : -1;
}

/* A compressed body under guard: all of it is here; is there a key in what it unfolds to? */
static int guard_packed(struct request *r, enum decode_kind kind)
{
	struct unpack u = {.search.l = r->guard.l, .limit = r->ready.len * PACKED_RATIO + 65536};
	struct decode *d = decode_new(kind);
	if (!d)
		return out_of_memory(r);
	int rc = decode_push(d, buf_str(&r->ready), r->ready.len, search_unpacked, &u);
	if (rc == 0)
		rc = leak_guard_end(&u.search, &u.waste, NULL);
	bool whole = decode_ended(d);
	bool leak = u.search.hits > 0;
	decode_free(&d);
	leak_stream_end(&u.search);
	if (u.waste.data)
		explicit_bzero(u.waste.data, u.waste.cap);
	buf_free(&u.waste);
	if (leak)
		return refuse_leak(r);
	if (rc == 0 && whole)
		return 0;
	return refuse(
		r, 403, "encoded-body", "the compressed body cannot be searched for keys", "");
}

/* A small body is read first, so that it can be sent again if a kept connection turns out dead. */
static int read_small(struct request *r)
{
	if (r->head.chunked || r->left > SMALL)
		return 0;
	while (!r->body_done)
		if (make_ready(r, true) < 0)
			return -1;
	return 0;
}

/*
 * Searches what can be searched before the request goes out: small bodies wholly, compressed ones
 * too (or they are refused), of large ones the beginning; the rest is searched as it streams.
 */
static int guard_body(struct request *r)
{
	if (r->body_done)
		return 0;
	if (leak_empty(r->guard.l))
		return read_small(r);
	enum decode_kind kind = coding_of(r->head.field, r->head.nfields);
	size_t most = kind == DECODE_NONE ? AHEAD : PACKED_MAX;
	if (kind == DECODE_UNKNOWN)
		return refuse(r, 403, "encoded-body",
			"a body with this Content-Encoding cannot be searched for keys", "");
	while (!r->body_done && r->ready.len < most)
		if (make_ready(r, true) < 0)
			return -1;
	if (kind == DECODE_NONE)
		return 0;
	if (!r->body_done)
		return refuse(r, 403, "encoded-body",
			"a compressed body over 1 MB cannot be searched for keys", "");
	return guard_packed(r, kind);
}

/* ---- what goes out ---- */

static int add_swapped(struct request *r, struct http_text name, struct http_text value)
{
	/* libcurl's way to say "with no value" */
	buf_add(&r->lines, name.p, name.n);
	buf_adds(&r->lines, value.n ? ": " : ";");
	if (value.n && swap_text(r->swap.l, name.p, name.n, value.p, value.n, &r->lines) < 0)
		return -1;
	buf_addc(&r->lines, '\0');
	return 0;
}

/* We decode what comes back (it is counted and searched), so only what we can decode is asked for.
 */
static const char *accept_encoding(const struct http_head *h)
{
	struct http_text asked = field_of(h, "Accept-Encoding");
	if (!asked.n)
		return NULL;
	bool gzip = http_list_has(asked, "gzip") && !field_of(h, "Range").n;
	return gzip ? "Accept-Encoding: gzip" : "Accept-Encoding: identity";
}

static int build_lines(struct request *r)
{
	const struct http_head *h = &r->head;
	size_t n = 0;
	/* One piece of memory that does not move, so that no copy of a swapped value stays behind.
	 */
	r->lines.limit = (size_t)4 * HTTP_HEAD_MAX;
	if (buf_reserve(&r->lines, (size_t)2 * HTTP_HEAD_MAX) < 0)
		return out_of_memory(r);
	buf_add(&r->lines, h->method.p, h->method.n);
	buf_addc(&r->lines, '\0');
	if (swap_text(r->swap.l, "", 0, h->target.p, h->target.n, &r->lines) < 0)
		return out_of_memory(r);
	buf_addc(&r->lines, '\0');
	size_t from = r->lines.len;
	for (size_t i = 0; i < h->nfields; i++)
		if (!http_drop_request(h, h->field[i].name) &&
			add_swapped(r, h->field[i].name, h->field[i].value) < 0)
			return out_of_memory(r);
	for (size_t at = from; at < r->lines.len; at += strlen(r->lines.data + at) + 1)
		r->fields[n++] = r->lines.data + at;
	const char *accept = accept_encoding(h);
	if (accept)
		r->fields[n++] = accept;
	r->fields[n] = NULL;
	return buf_failed(&r->lines) ? out_of_memory(r) : 0;
}

static int64_t body_length(const struct http_head *h)
{
	if (h->chunked)
		return UPSTREAM_CHUNKED;
	bool usual = http_is(h->method, "POST") || http_is(h->method, "PUT") ||
		     http_is(h->method, "PATCH");
	return h->length || usual ? h->length : UPSTREAM_NO_BODY;
}

/* ---- what comes back ---- */

static const char *phrase_of(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} known[] = {{200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"},
		{206, "Partial Content"}, {301, "Moved Permanently"}, {302, "Found"},
		{303, "See Other"}, {304, "Not Modified"}, {307, "Temporary Redirect"},
		{308, "Permanent Redirect"}, {400, "Bad Request"}, {401, "Unauthorized"},
		{403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"},
		{406, "Not Acceptable"}, {409, "Conflict"}, {410, "Gone"},
		{412, "Precondition Failed"}, {413, "Content Too Large"},
		{415, "Unsupported Media Type"}, {417, "Expectation Failed"},
		{422, "Unprocessable Content"}, {429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"}, {500, "Internal Server Error"},
		{502, "Bad Gateway"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"}};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].status == status)
			return known[i].phrase;
	return "";
}

static int put_text(struct request *r, struct http_text t)
{
	char *copy;
	if (leak_empty(r->unswap.l))
		return http_conn_put(r->c, t.p, t.n);
	copy = wipe_malloc(t.n + 1);
	if (!copy)
		return -1;
	memcpy(copy, t.p, t.n);
	leak_replace(r->unswap.l, copy, t.n);
	int rc = http_conn_put(r->c, copy, t.n);
	wipe_free(copy);
	return rc;
}

static void put_status_line(struct request *r, const struct upstream_head *h)
{
	char line[32];
	const char *phrase = phrase_of(h->status);
	snprintf(line, sizeof line, "HTTP/1.1 %d ", h->status);
	http_conn_puts(r->c, line);
	if (h->phrase.n)
		put_text(r, h->phrase);
	else
		http_conn_puts(r->c, phrase);
	http_conn_puts(r->c, "\r\n");
}

static struct http_text answer_field(const struct upstream_head *h, const char *name)
{
	for (size_t i = 0; i < h->nfields; i++)
		if (http_is(h->field[i].name, name))
			return h->field[i].value;
	return (struct http_text){"", 0};
}

static int64_t answer_length(const struct upstream_head *h)
{
	struct http_text v = answer_field(h, "Content-Length");
	if (!v.n || v.n > 15 || answer_field(h, "Transfer-Encoding").n)
		return -1;
	int64_t n = 0;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return -1;
		n = n * 10 + (v.p[i] - '0');
	}
	return n;
}

/* Sees to it that the body will be counted and searched as what it is. */
static int plan_decoding(struct request *r, const struct upstream_head *h)
{
	enum decode_kind kind = coding_of(h->field, h->nfields);
	if (r->bodyless || kind == DECODE_NONE)
		return 0;
	if (kind == DECODE_UNKNOWN || h->status == 206) {
		if (leak_empty(r->unswap.l))
			return 0;
		return refuse(r, 502, "encoded-answer",
			"the host's answer is encoded in a way that cannot be searched", "");
	}
	r->decode = decode_new(kind);
	return r->decode ? 0 : out_of_memory(r);
}

static int plan_framing(struct request *r, const struct upstream_head *h)
{
	r->bodyless = is_head(r) || h->status == 204 || h->status == 304;
	if (plan_decoding(r, h) < 0)
		return -1;
	r->out_left = r->decode ? -1 : answer_length(h);
	if (!r->bodyless && answer_length(h) > REQUEST_ANSWER_MAX)
		return refuse(r, 502, "answer-too-large", "the host's answer is over 50 MB", "");
	r->chunked = !r->bodyless && r->out_left < 0 && !r->head.http10;
	/* Ends by closing: a 1.0 client and no length, or a body of its own that it still sends. */
	r->close = r->close || r->head.http10 || !r->body_done;
	return 0;
}

static void put_framing(struct request *r, int status)
{
	char line[64];
	if (r->chunked)
		http_conn_puts(r->c, "Transfer-Encoding: chunked\r\n");
	if (r->out_left >= 0 && status != 204 && status != 304) {
		snprintf(line, sizeof line, "Content-Length: %lld\r\n", (long long)r->out_left);
		http_conn_puts(r->c, line);
	}
	if (r->close)
		http_conn_puts(r->c, "Connection: close\r\n");
	http_conn_puts(r->c, "\r\n");
}

static int on_head(void *arg, const struct upstream_head *h)
{
	struct request *r = arg;
	if (plan_framing(r, h) < 0)
		return -1;
	r->head_sent = true;
	r->status = h->status;
	put_status_line(r, h);
	for (size_t i = 0; i < h->nfields; i++) {
		struct http_text name = h->field[i].name;
		if (http_drop_response(name) || (r->decode && http_is(name, "Content-Encoding")))
			continue;
		put_text(r, name);
		http_conn_puts(r->c, ": ");
		put_text(r, h->field[i].value);
		http_conn_puts(r->c, "\r\n");
	}
	put_framing(r, h->status);
	return r->c->dead ? -1 : 0;
}

static int put_body(struct request *r, const void *p, size_t n)
{
	char line[24];
	if (!n)
		return 0;
	if (r->out_left >= 0 && (int64_t)n > r->out_left)
		return refuse(r, 502, "broken", "the host's answer is longer than it says", "");
	if (r->chunked) {
		snprintf(line, sizeof line, "%zx\r\n", n);
		http_conn_puts(r->c, line);
	}
	http_conn_put(r->c, p, n);
	if (r->chunked)
		http_conn_puts(r->c, "\r\n");
	if (r->out_left >= 0)
		r->out_left -= (int64_t)n;
	return r->c->dead ? -1 : 0;
}

/* Decoded body: counted, the value put back to the stand-in, passed on. */
static int pass_body(void *arg, const void *p, size_t n)
{
	struct request *r = arg;
	r->down += n;
	if (r->down > REQUEST_ANSWER_MAX)
		return refuse(r, 502, "answer-too-large", "the host's answer is over 50 MB", "");
	if (leak_empty(r->unswap.l))
		return put_body(r, p, n);
	struct buf out = {0};
	int rc = leak_push(&r->unswap, p, n, &out);
	rc = rc == 0 ? put_body(r, buf_str(&out), out.len) : out_of_memory(r);
	buf_free(&out);
	return rc;
}

static int on_body(void *arg, const void *p, size_t n)
{
	struct request *r = arg;
	if (r->bodyless)
		return 0;
	if (!r->decode)
		return pass_body(r, p, n);
	if (decode_push(r->decode, p, n, pass_body, r) == 0)
		return 0;
	return refuse(r, 502, "broken", "the host's answer is not in the encoding it names", "");
}

static int on_idle(void *arg)
{
	struct request *r = arg;
	return r->call->over || (r->head_sent && http_conn_flush(r->c) < 0) ? -1 : 0;
}

/* The upstream's part is done: the last bytes, and the end of the framing. */
static int end_answer(struct request *r)
{
	struct buf out = {0};
	if (r->decode && !decode_ended(r->decode))
		return refuse(r, 502, "broken", "the host's answer is cut short", "");
	int rc = leak_flush(&r->unswap, &out);
	rc = rc == 0 ? put_body(r, buf_str(&out), out.len) : out_of_memory(r);
	buf_free(&out);
	if (rc < 0)
		return -1;
	if (r->chunked)
		http_conn_puts(r->c, "0\r\n\r\n");
	else if (!r->bodyless && r->out_left > 0)
		return refuse(r, 502, "broken", "the host's answer is cut short", "");
	return http_conn_flush(r->c);
}

/* ---- the whole ---- */

static void note_end(struct request *r, enum upstream_end end, const char *why)
{
	static const struct {
		int status;
		const char *reason;
	} as[] = {[UPSTREAM_STOPPED] = {502, "client-gone"},
		[UPSTREAM_ADDRESS] = {403, "address"},
		[UPSTREAM_UNREACHABLE] = {502, "unreachable"},
		[UPSTREAM_CERTIFICATE] = {502, "certificate"},
		[UPSTREAM_TLS] = {502, "tls"},
		[UPSTREAM_TIMEOUT] = {504, "timeout"},
		[UPSTREAM_BROKEN] = {502, "broken"}};
	if (end == UPSTREAM_ADDRESS && !r->v.row->allow_private) {
		char row[HOST_TEXT_MAX];
		policy_row_text(r->v.row, row);
		snprintf(r->hint, sizeof r->hint, "evctl-host set %s%s --allow-private yes", row,
			r->v.row->wildcard && !r->v.row->connect_to ? " --connect-to ADDR:PORT"
								    : "");
	}
	refuse(r, as[end].status, as[end].reason, why, r->hint);
}

static void forward(struct request *r)
{
	const char *why;
	int64_t left = r->call->deadline - clock_mono_ms();
	struct upstream_request q = {.host = r->v.host,
		.port = r->c->port,
		.tls = r->c->tls != NULL,
		.method = r->lines.data,
		.target = r->lines.data + strlen(r->lines.data) + 1,
		.fields = r->fields,
		.length = body_length(&r->head),
		.streams = !r->body_done,
		.deadline = r->call->deadline - (left / 10 < GRACE_MS ? left / 10 : GRACE_MS),
		.wait_fd = r->c->fd,
		.arg = r,
		.read = on_read,
		.rewind = on_rewind,
		.head = on_head,
		.body = on_body,
		.idle = on_idle};
	enum upstream_end end = upstream_run(r->row->up, &q, &why);
	if (end != UPSTREAM_OK)
		note_end(r, end, why);
	else
		end_answer(r);
}

/* Everything up to the verdict that needs nobody but the code; -1 refused. */
static int prepare(struct request *r)
{
	if (parse_head(r) < 0 || judge(r) < 0 || guard_head(r) < 0)
		return -1;
	r->guard.l = guard_of(r);
	if (r->c->tls || r->v.row->plain) {
		r->swap.l = r->row->swap;
		r->unswap.l = r->row->unswap;
	}
	if (build_lines(r) < 0 || guard_body(r) < 0)
		return -1;
	return 0;
}

static void put_refusal(struct request *r)
{
	struct buf body = {0};
	char head[512];
	r->status = r->no.status;
	r->close = r->close || !r->body_done || r->status == 400;
	buf_addf(&body, "{\"error\":\"%s\",\"reason\":\"%s\"", r->no.why, r->no.reason);
	if (r->no.hint[0])
		buf_addf(&body, ",\"hint\":\"%s\"", r->no.hint);
	buf_adds(&body, "}\n");
	snprintf(head, sizeof head,
		"HTTP/1.1 %d %s\r\nX-Evctl-Gate: %s\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\n%s\r\n",
		r->status, phrase_of(r->status), r->no.reason, body.len,
		r->close ? "Connection: close\r\n" : "");
	http_conn_puts(r->c, head);
	if (!is_head(r))
		http_conn_put(r->c, body.data, body.len);
	buf_free(&body);
	http_conn_flush(r->c);
}

static void scrub_into(struct request *r, struct http_text t, char *out, size_t size)
{
	char *copy = wipe_malloc(t.n + 1);
	out[0] = '\0';
	if (!copy)
		return;
	memcpy(copy, t.p, t.n);
	copy[t.n] = '\0';
	const struct leak *scrub = call_scrub(r->call);
	if (scrub)
		leak_replace(scrub, copy, t.n);
	else
		copy[0] = '\0';
	snprintf(out, size, "%s", copy);
	wipe_free(copy);
}

static void write_event(struct request *r, struct events *events)
{
	char path[EVENT_PATH_MAX] = "", host[HOST_MAX] = "", method[40] = "-";
	struct http_text p = r->head.target;
	const char *query = p.n ? memchr(p.p, '?', p.n) : NULL;
	if (query)
		p.n = (size_t)(query - p.p);
	bool known = r->v.host[0];
	if (known) {
		scrub_into(r, p, path, sizeof path);
		scrub_into(r, (struct http_text){r->v.host, strlen(r->v.host)}, host, sizeof host);
		scrub_into(r, r->head.method, method, sizeof method);
	}
	struct event e = {.at = r->at,
		.method = method,
		.host = host,
		.path = path,
		.port = r->c->port,
		.status = r->status,
		.up = r->up,
		.down = r->down,
		.ms = clock_mono_ms() - r->began,
		.verdict = r->no.status ? r->no.reason : "allowed",
		.failed = r->no.status >= 500};
	events_add(events, &e);
}

static void clear(struct request *r)
{
	if (r->raw)
		explicit_bzero(r->raw, r->raw_len);
	free(r->raw);
	if (r->lines.data)
		explicit_bzero(r->lines.data, r->lines.len);
	buf_free(&r->lines);
	if (r->ready.data)
		explicit_bzero(r->ready.data, r->ready.cap);
	buf_free(&r->ready);
	leak_stream_end(&r->guard);
	leak_stream_end(&r->swap);
	leak_stream_end(&r->unswap);
	decode_free(&r->decode);
}

bool request_serve(struct call *call, struct events *events, struct http_conn *c, bool *clean)
{
	struct request r = {.call = call, .c = c, .out_left = -1};
	int rc = read_head(&r);
	r.at = clock_real_ms();
	r.began = clock_mono_ms();
	if (rc > 0 && prepare(&r) == 0) {
		if (call_enter(call)) {
			forward(&r);
			call_leave(call);
		} else {
			refuse(&r, 504, "timeout", "too many requests at once", "");
		}
	}
	*clean = !(r.no.status && r.head_sent);
	if (r.no.status && !r.head_sent && !c->dead)
		put_refusal(&r);
	if (rc != 0)
		write_event(&r, events);
	if (*clean && rc != 0 && !r.body_done)
		http_conn_drain(c);
	bool more = rc > 0 && *clean && !r.close && !c->dead && r.body_done && !call->over;
	clear(&r);
	return more;
}

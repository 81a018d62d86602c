#include "broker/transfer.h"
#include "base/file.h"
#include "base/limits.h"
#include "broker/scrub.h"
#include "gate/coding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELDS_MAX 100
#define FIELDS_BYTES 32000

void transfer_answer_free(struct transfer_answer *a)
{
	json_decref(a->headers);
	if (a->body.data)
		explicit_bzero(a->body.data, a->body.cap);
	buf_free(&a->body);
	*a = (struct transfer_answer){0};
}

/* ---- what is sent -------------------------------------------------------------------------- */

static int split_field(const char *line, struct http_field *f, struct err *e)
{
	const char *colon = strchr(line, ':');
	if (!colon || !http_token_ok(line, (size_t)(colon - line))) {
		err_set(e, ERR_USAGE, "not a header: '%.40s'", line);
		return err_hint(e, "--header 'Name: value'");
	}
	f->name = (struct http_text){line, (size_t)(colon - line)};
	const char *value = colon + 1 + strspn(colon + 1, " \t");
	f->value = (struct http_text){value, strlen(value)};
	if (!http_value_ok(value, f->value.n))
		return err_set(e, ERR_USAGE, "the header '%.*s' holds a control character",
			(int)f->name.n, line);
	return 0;
}

static int split_fields(const struct strv *headers, struct http_head *h, struct err *e)
{
	size_t bytes = 0;
	for (size_t i = 0; headers && i < headers->n; i++) {
		if (h->nfields == FIELDS_MAX)
			return err_set(e, ERR_USAGE, "more than %d headers", FIELDS_MAX);
		if (split_field(headers->v[i], &h->field[h->nfields++], e) < 0)
			return -1;
		bytes += strlen(headers->v[i]);
	}
	if (bytes > FIELDS_BYTES)
		return err_set(e, ERR_USAGE, "the headers are over %d bytes", FIELDS_BYTES);
	return 0;
}

int transfer_check(const struct transfer_request *q, struct err *e)
{
	struct http_head h = {0};
	size_t n = strlen(q->method);
	if (!n || n > 32 || !http_token_ok(q->method, n))
		return err_set(e, ERR_USAGE, "not a method: '%.32s'", q->method);
	/* TRACE exists to send the request back, key and all. */
	if (strcasecmp(q->method, "CONNECT") == 0 || strcasecmp(q->method, "TRACE") == 0)
		return err_set(e, ERR_USAGE, "%s does not go through the broker", q->method);
	if (q->nbody > KB(LIMIT_API_REQUEST_KB))
		return err_set(e, ERR_USAGE,
			"the request's body is over " LIMIT_TEXT(LIMIT_API_REQUEST_KB) " KB");
	return split_fields(q->headers, &h, e);
}

/* The caller's own credentials and what only hops and proxies may say. */
static bool is_callers(const struct http_head *h, struct http_text name, const char *auth)
{
	static const char *const dropped[] = {"authorization", "cookie", "forwarded", "via",
		"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port",
		"x-real-ip"};
	if (http_drop_request(h, name) || (name.n > 6 && strncasecmp(name.p, "proxy-", 6) == 0))
		return false;
	if (strncmp(auth, "header:", 7) == 0 && http_is(name, auth + 7))
		return false;
	for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
		if (http_is(name, dropped[i]))
			return false;
	return true;
}

static bool says(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->nfields; i++)
		if (http_is(h->field[i].name, name))
			return true;
	return false;
}

static const char *guess_type(const struct transfer_request *q)
{
	struct err quiet = {0};
	JSON_AUTO j = json_parse("body", q->body ? q->body : "", q->nbody, &quiet);
	if (json_is_object(j) || json_is_array(j))
		return "Content-Type: application/json";
	JSON_AUTO text = json_stringn(q->body ? q->body : "", q->nbody);
	return text ? "Content-Type: text/plain; charset=utf-8"
		    : "Content-Type: application/octet-stream";
}

static int add_caller_fields(const struct transfer_request *q, struct strv *out, struct err *e)
{
	struct http_head h = {0};
	if (split_fields(q->headers, &h, e) < 0)
		return -1;
	for (size_t i = 0; i < h.nfields; i++) {
		const struct http_field *f = &h.field[i];
		/* An empty value would make libcurl leave the field out: "Name;" sends it. */
		if (is_callers(&h, f->name, q->auth))
			strv_addf(out, f->value.n ? "%.*s: %.*s" : "%.*s;", (int)f->name.n,
				f->name.p, (int)f->value.n, f->value.p);
	}
	if (!says(&h, "User-Agent"))
		strv_add(out, "User-Agent: evctl/" EVCTL_VERSION);
	if (!says(&h, "Accept"))
		strv_add(out, "Accept: */*");
	if (q->has_body && !says(&h, "Content-Type"))
		strv_add(out, guess_type(q));
	strv_add(out, "Accept-Encoding: gzip");
	return out->failed ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

/* "Authorization: Bearer KEY" or "NAME: KEY". */
static int key_field(const struct transfer_request *q, struct secret *out, struct err *e)
{
	bool bearer = strcmp(q->auth, "bearer") == 0;
	const char *name = bearer ? "Authorization: Bearer " : q->auth + 7;
	size_t n = strlen(name), colon = bearer ? 0 : 2;
	if (secret_alloc(out, n + colon + q->key->n, e) < 0)
		return -1;
	memcpy(out->data, name, n);
	memcpy(out->data + n, ": ", colon);
	memcpy(out->data + n + colon, q->key->data, q->key->n);
	return 0;
}

/* ---- what comes back ----------------------------------------------------------------------- */

struct exchange {
	const struct transfer_request *q;
	struct transfer_answer *a;
	const struct scrub *scrub;
	struct decoding *decode;
	size_t sent;
	bool too_large;	  /* over the cap */
	bool encoded;	  /* in a coding that cannot be undone */
	bool undecodable; /* not in the coding that it names */
};

static ssize_t on_read(void *arg, void *p, size_t n)
{
	struct exchange *x = arg;
	size_t left = x->q->nbody - x->sent;
	n = n < left ? n : left;
	if (n)
		memcpy(p, (const char *)x->q->body + x->sent, n);
	x->sent += n;
	return (ssize_t)n;
}

static bool on_rewind(void *arg)
{
	((struct exchange *)arg)->sent = 0;
	return true;
}

static enum http_peer on_client(void *arg)
{
	enum http_peer peer = http_peer(((struct exchange *)arg)->q->cancel_fd);
	return peer == HTTP_CEASED ? HTTP_AWAY : peer;
}

static int add_header(struct exchange *x, const struct http_field *f)
{
	BUF_AUTO name = {.limit = 1 << 16};
	BUF_AUTO value = {.limit = 1 << 17};
	for (size_t i = 0; i < f->name.n; i++)
		buf_addc(&name, f->name.p[i] >= 'A' && f->name.p[i] <= 'Z' ? f->name.p[i] + 32
									   : f->name.p[i]);
	const json_t *old = json_object_getn(x->a->headers, buf_str(&name), name.len);
	if (old)
		buf_addf(&value, "%s, ", json_string_value(old));
	buf_add(&value, f->value.p, f->value.n);
	if (buf_failed(&name) || buf_failed(&value))
		return -1;
	JSON_AUTO key = json_text(buf_str(&name), name.len);
	return json_object_setn_new(x->a->headers, json_string_value(key), json_string_length(key),
		json_text(buf_str(&value), value.len));
}

/* Encodings are undone here, so the fields that speak of the bytes on the wire are left out. */
static int take_field(struct exchange *x, const struct http_field *f)
{
	if (http_is(f->name, "Content-Encoding")) {
		enum coding_kind kind = coding_kind(f->value);
		if (kind == CODING_UNKNOWN || (kind != CODING_NONE && x->decode)) {
			x->encoded = true;
			return 0;
		}
		if (kind != CODING_NONE && !(x->decode = coding_new(kind)))
			return -1;
		return 0;
	}
	if (http_drop_response(f->name))
		return 0;
	return add_header(x, f);
}

static int on_head(void *arg, const struct upstream_head *h)
{
	struct exchange *x = arg;
	x->a->status = h->status;
	for (size_t i = 0; i < h->nfields; i++)
		if (take_field(x, &h->field[i]) < 0)
			return -1;
	return 0;
}

static int keep(void *arg, const void *p, size_t n)
{
	struct exchange *x = arg;
	if (x->a->body.len + n > x->q->answer_max) {
		x->too_large = true;
		return -1;
	}
	buf_add(&x->a->body, p, n);
	return buf_failed(&x->a->body) ? -1 : 0;
}

static int on_body(void *arg, const void *p, size_t n)
{
	struct exchange *x = arg;
	if (x->encoded)
		return -1;
	if (!x->decode)
		return keep(x, p, n);
	x->undecodable = coding_push(x->decode, p, n, keep, x) < 0;
	return x->undecodable ? -1 : 0;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int refuse(struct transfer_answer *a, const char *verdict, enum err_code code,
	const char *why, struct err *e)
{
	a->verdict = verdict;
	return err_set(e, code, "%s", why);
}

static int judge_end(
	const struct exchange *x, enum upstream_end end, const char *why, struct err *e)
{
	static const struct {
		const char *verdict;
		enum err_code code;
	} as[] = {[UPSTREAM_STOPPED] = {"client-gone", ERR_CANCELLED},
		[UPSTREAM_ADDRESS] = {"address", ERR_DENIED},
		[UPSTREAM_UNREACHABLE] = {"unreachable", ERR_FAIL},
		[UPSTREAM_CERTIFICATE] = {"certificate", ERR_FAIL},
		[UPSTREAM_TLS] = {"tls", ERR_FAIL},
		[UPSTREAM_TIMEOUT] = {"timeout", ERR_TIMEOUT},
		[UPSTREAM_BROKEN] = {"broken", ERR_FAIL}};
	if (x->too_large) {
		char text[64];
		snprintf(text, sizeof text, "the answer is over %zu MB%s",
			x->q->answer_max / 1000000, x->decode ? " unpacked" : "");
		return refuse(x->a, "answer-too-large", ERR_LIMIT, text, e);
	}
	if (x->encoded && x->a->status && end == UPSTREAM_STOPPED)
		return refuse(x->a, "broken", ERR_FAIL,
			"the answer is in a coding that cannot be searched for the key", e);
	if (x->undecodable)
		return refuse(x->a, "broken", ERR_FAIL,
			"the answer is not in the encoding that it names", e);
	if (end == UPSTREAM_STOPPED)
		why = "cancelled";
	return refuse(x->a, as[end].verdict, as[end].code, why, e);
}

static int finish(struct exchange *x, struct err *e)
{
	struct transfer_answer *a = x->a;
	if (x->decode && !coding_ended(x->decode))
		return refuse(a, "broken", ERR_FAIL, "the answer is cut short", e);
	a->down = a->body.len;
	if (scrub_body(x->scrub, &a->body) == 0)
		return 0;
	return refuse(a, "key", ERR_FAIL,
		"the answer repeats the key in a form that cannot be cut out; it is withheld", e);
}

static int exchange(struct upstream *up, struct exchange *x, const struct strv *fields,
	const struct secret *auth, struct err *e)
{
	const struct transfer_request *q = x->q;
	const char *why;
	const char **lines = calloc(fields->n + 2, sizeof *lines);
	if (!lines)
		return err_set(e, ERR_FAIL, "out of memory");
	memcpy(lines, fields->v, fields->n * sizeof *lines);
	lines[fields->n] = auth->data; /* NULL where no key is sent */
	struct upstream_request r = {.host = q->url->host,
		.port = q->url->port,
		.tls = true,
		.method = q->method,
		.target = q->url->target,
		.fields = lines,
		.length = q->has_body ? (int64_t)q->nbody : UPSTREAM_NO_BODY,
		.deadline = q->deadline,
		.wait_fd = q->cancel_fd,
		.arg = x,
		.read = q->has_body ? on_read : NULL,
		.rewind = on_rewind,
		.head = on_head,
		.body = on_body,
		.client = on_client};
	enum upstream_end end = upstream_run(up, &r, &why);
	free(lines);
	x->a->up = x->sent;
	return end == UPSTREAM_OK ? finish(x, e) : judge_end(x, end, why, e);
}

int transfer_run(struct upstream *up, const struct transfer_request *q, struct transfer_answer *a,
	struct err *e)
{
	STRV_AUTO fields = {0};
	SECRET_AUTO auth = {0};
	SCRUB_AUTO scrub = {0};
	int64_t begun = clock_mono_ms();
	struct exchange x = {.q = q, .a = a, .scrub = &scrub};
	*a = (struct transfer_answer){
		.headers = json_object(), .body.limit = q->answer_max + 1, .verdict = "allowed"};
	/* All of it now: growing would leave copies of an echoed key in freed memory. */
	if (!a->headers || buf_reserve(&a->body, q->answer_max) < 0 ||
		scrub_make(&scrub, q->key) < 0)
		return refuse(a, "broken", ERR_FAIL, "out of memory", e);
	if (add_caller_fields(q, &fields, e) < 0 || (q->key->n && key_field(q, &auth, e) < 0))
		return -1;
	int r = exchange(up, &x, &fields, &auth, e);
	if (scrub_texts(&scrub, &a->headers) < 0)
		r = refuse(a, "broken", ERR_FAIL, "out of memory", e);
	coding_free(&x.decode);
	a->ms = clock_mono_ms() - begun;
	return r;
}

#include "front/visit.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MS MS(60) /* for a body, and */
#define BODY_MS_PER_100KB 1000
#define PACE_MS MS(20) /* in which at least */
#define PACE_BYTES KB(20)
#define HEADERS_MAX 16

/* ---- answers --------------------------------------------------------------------------------- */

void visit_answer(struct visit *v, int status, const char *type, const struct http_header *h,
	size_t n, const void *body, size_t len)
{
	struct http_header all[HEADERS_MAX] = {{"Content-Type", len ? type : NULL},
		{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
	size_t used = 3;
	for (size_t i = 0; i < n && used < HEADERS_MAX; i++)
		all[used++] = h[i];
	http_conn_allow(v->r->c, len);
	v->status = status;
	v->bytes = len;
	http_request_answer(v->r, status, all, used, body, len);
}

void visit_json(
	struct visit *v, int status, const struct http_header *h, size_t n, const json_t *body)
{
	BUF_AUTO b = {0};
	json_to_buf(body, &b);
	if (buf_failed(&b))
		v->r->c->dead = true;
	else
		visit_answer(v, status, "application/json", h, n, buf_str(&b), b.len);
}

void visit_refuse(struct visit *v, int status, const char *word, const char *text)
{
	JSON_AUTO body = json_pack("{s:{s:s,s:s}}", "error", "kind", word, "message", text);
	visit_json(v, status, NULL, 0, body);
}

/* ---- what comes ------------------------------------------------------------------------------ */

struct http_text visit_field(const struct visit *v, const char *name, bool *twice)
{
	const struct http_head *h = &v->r->head;
	struct http_text value = {0};
	*twice = false;
	for (size_t i = 0; i < h->nfields; i++) {
		if (!http_is(h->field[i].name, name))
			continue;
		*twice = *twice || value.p;
		value = h->field[i].value;
	}
	return value;
}

int visit_body(struct visit *v, size_t max, struct buf *b)
{
	struct http_request *r = v->r;
	int64_t begun = clock_mono_ms(), lap = begun;
	uint64_t at_lap = 0;
	b->limit = max + 1;
	if (r->head.length > (int64_t)max)
		return 413;
	for (;;) {
		const char *p;
		int64_t now = clock_mono_ms();
		r->c->deadline = begun + BODY_MS + (int64_t)(r->got / KB(100)) * BODY_MS_PER_100KB;
		if (now - lap >= PACE_MS) {
			if (r->got - at_lap < PACE_BYTES) {
				r->c->dead = true;
				return -1;
			}
			lap = now;
			at_lap = r->got;
		}
		ssize_t n = http_request_body(r, max, true, &p);
		if (n == 0)
			break;
		if (n < 0)
			return n == HTTP_BODY_LARGE ? 413 : n == HTTP_BODY_MALFORMED ? 400 : -1;
		buf_add(b, p, (size_t)n);
	}
	return buf_failed(b) ? 503 : 0;
}

/* ---- who comes ------------------------------------------------------------------------------- */

char *visit_origin(const struct visit *v)
{
	const struct http_text host = v->r->head.host;
	char *origin = NULL;
	if (v->f->rules.public_url)
		return strdup(v->f->rules.public_url);
	if (asprintf(&origin, "%s://%.*s", v->f->rules.tls ? "https" : "http", (int)host.n,
		    host.p) < 0)
		return NULL;
	return origin;
}

/* The token of an Authorization header, the caller's; NULL: none, or another scheme. */
static char *bearer(const struct visit *v)
{
	static const char scheme[] = "Bearer ";
	bool twice;
	struct http_text t = visit_field(v, "Authorization", &twice);
	size_t n = sizeof scheme - 1;
	if (twice || t.n <= n || !http_is((struct http_text){t.p, n}, scheme))
		return NULL;
	while (n < t.n && t.p[n] == ' ')
		n++;
	return t.n - n <= DOOR_TOKEN_MAX ? strndup(t.p + n, t.n - n) : NULL;
}

/* Where the metadata of this resource is, for the header that refuses. */
static void challenge(const struct visit *v, const char *expert, bool shown, struct buf *out)
{
	STR_AUTO origin = visit_origin(v);
	buf_adds(out, "Bearer");
	if (shown)
		buf_adds(out, " error=\"invalid_token\"");
	if (v->f->rules.issuer && origin)
		buf_addf(out,
			"%s resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp/%s\"",
			shown ? "," : "", origin, expert);
}

static void refuse_token(struct visit *v, const char *expert, bool shown)
{
	BUF_AUTO how = {0};
	if (shown && bad_tokens_add(v->f->bad, v->client)) {
		const struct http_header later = {"Retry-After", "60"};
		JSON_AUTO body = json_pack("{s:{s:s,s:s}}", "error", "kind", "denied", "message",
			"too many bad tokens from this address: wait a minute");
		visit_json(v, 429, &later, 1, body);
		return;
	}
	challenge(v, expert, shown, &how);
	const struct http_header h = {"WWW-Authenticate", buf_str(&how)};
	JSON_AUTO body = json_pack("{s:{s:s,s:s}}", "error", "kind", "denied", "message",
		shown ? "the token is not good (any more)"
		      : "a token is needed: Authorization: Bearer TOKEN");
	visit_json(v, 401, &h, 1, body);
}

bool visit_admit(struct visit *v, const char *expert, char **token, struct visitor *who)
{
	struct door_admit ask = {.id = front_link_number(v->f->link), .expert = expert};
	LINK_ANSWER_AUTO a = {0};
	*who = (struct visitor){.expert = expert};
	*token = bearer(v);
	who->token_text = ask.token = *token;
	if (!*token) {
		bool twice;
		refuse_token(v, expert, visit_field(v, "Authorization", &twice).p != NULL);
		return false;
	}
	if (front_link_ask(v->f->link, ask.id, &door_admit_fields, &ask, &door_admitted_fields,
		    &who->as, &a) < 0)
		who->as.status = 503;
	memcpy(v->buyer, who->as.buyer, sizeof v->buyer);
	switch (who->as.status) {
	case 200:
		return true;
	case 401:
		refuse_token(v, expert, true);
		return false;
	case 403:
		visit_refuse(v, 403, "denied", "this token is not for this");
		return false;
	case 404:
		visit_refuse(v, 404, "not-found", "no such expert");
		return false;
	default:
		visit_refuse(v, 503, "busy", "the door is busy: try again in a moment");
		return false;
	}
}

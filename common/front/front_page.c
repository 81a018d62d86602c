#include "front/front_page.h"

#include "base/file.h"
#include "base/grow.h"
#include "front/run_call.h"
#include "net/page_policy.h"

#include <stdlib.h>
#include <string.h>

#define HSTS "max-age=31536000"

static void refuse_plain(struct visit *v, int status, const char *text)
{
	BUF_AUTO b = {0};
	buf_addf(&b, "%s\n", text);
	visit_answer(v, status, "text/plain; charset=utf-8", NULL, 0, buf_str(&b), b.len);
}

/* ---- what is asked --------------------------------------------------------------------------- */

struct pairs {
	struct door_param *v;
	size_t n, room;
};

static void pairs_free(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		char *value = (char *)p->v[i].value;
		explicit_bzero(value, strlen(value));
		free((char *)p->v[i].name);
		free(value);
	}
	free(p->v);
}

/* -1: malformed, or too many. */
static int pairs_take(struct pairs *p, struct http_text rest)
{
	char *name, *value;
	int rc;
	if (rest.n && memmem(rest.p, rest.n, "%00", 3))
		return -1;
	while ((rc = http_pair(&rest, &name, &value)) > 0) {
		struct door_param *more =
			p->n < DOOR_PARAMS_MAX ? grow(p->v, p->n, &p->room, sizeof *more) : NULL;
		if (!more) {
			free(name);
			free(value);
			return -1;
		}
		p->v = more;
		p->v[p->n++] = (struct door_param){name, value};
	}
	return rc;
}

/* A form comes from a page of this door's own. 0, or the status to refuse it with. */
static int check_form(const struct visit *v, const char *origin)
{
	bool twice, of_type;
	struct http_text o = visit_field(v, "Origin", &twice);
	if (twice || !o.p || o.n != strlen(origin) || memcmp(o.p, origin, o.n) != 0)
		return 403;
	struct http_text type = visit_field(v, "Content-Type", &of_type);
	static const char form[] = "application/x-www-form-urlencoded";
	size_t n = sizeof form - 1;
	return type.n >= n && http_is((struct http_text){type.p, n}, form) ? 0 : 415;
}

static int take_form(struct visit *v, const char *origin, struct buf *body, struct pairs *p)
{
	int status = check_form(v, origin);
	if (status == 0)
		status = visit_body(v, MB(LIMIT_INPUT_MB), body);
	if (status == 0 && pairs_take(p, (struct http_text){buf_str(body), body->len}) < 0)
		status = 400;
	return status;
}

/* ---- what is answered ------------------------------------------------------------------------ */

/* Between the browser and whoever speaks TLS for us. */
static bool is_secure(const struct visit *v)
{
	const char *url = v->f->rules.public_url;
	return v->f->rules.tls || (url && strncmp(url, "https://", 8) == 0);
}

static void answer_page(struct visit *v, const struct door_paged *p)
{
	const struct http_header h[] = {
		{"Content-Security-Policy", p->bytes ? BYTES_POLICY : PAGE_POLICY},
		{"Referrer-Policy", "same-origin"}, {"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"}, {"X-Frame-Options", "DENY"},
		{"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
		{"X-Robots-Tag", "noindex"}, {"Location", p->location}, {"Set-Cookie", p->cookie},
		{"Content-Disposition", p->disposition},
		{"Strict-Transport-Security", v->f->rules.tls ? HSTS : NULL},
		{"Allow", p->status == 405 ? "GET, HEAD, POST" : NULL}};
	visit_answer(v, p->status, p->type, h, sizeof h / sizeof *h, p->body, p->nbody);
}

static void busy(struct visit *v)
{
	refuse_plain(v, 503, "The door is busy. Try again in a moment.");
}

/* A form has started a run: its end becomes the page. */
static void answer_run(struct visit *v, const struct door_page *asked, int fds[3],
	const struct door_paged *begun, const char *expert, const char *tool)
{
	RUN_CALL_AUTO c = {0};
	struct door_paged got = {0};
	LINK_ANSWER_AUTO a = {0};
	BUF_AUTO text = {0};
	int status = 503;
	if (run_call(fds, begun->body, begun->nbody, &c) == 0) {
		JSON_AUTO answer = run_call_answer(&c, &status);
		json_to_buf(answer, &text);
		snprintf(v->run, sizeof v->run, "%.*s", (int)sizeof v->run - 1,
			json_text_of(answer, "run"));
	}
	const struct door_result ask = {.id = front_link_number(v->f->link),
		.cookie = asked->cookie,
		.expert = expert,
		.tool = tool,
		.json = buf_str(&text),
		.njson = text.len};
	if (front_link_ask(v->f->link, ask.id, &door_result_fields, &ask, &door_paged_fields, &got,
		    &a) < 0)
		busy(v);
	else
		answer_page(v, &got);
}

static void tell_fetched(struct visit *v, const char *cookie, const char *path)
{
	/* "/archive/raw/RUN/NAME" or "/archive/get/RUN/NAME" */
	const char *run = path + strlen("/archive/get/"), *slash = strchr(run, '/');
	STR_AUTO id = slash ? strndup(run, (size_t)(slash - run)) : NULL;
	if (!id || !cookie || v->r->c->dead)
		return;
	const struct door_fetched f = {cookie, id, slash + 1};
	front_link_say(v->f->link, &door_fetched_fields, &f);
}

/* "/e/E/TOOL" */
static void names_in(const char *path, char *expert, char *tool)
{
	const char *e = strncmp(path, "/e/", 3) == 0 ? path + 3 : "";
	const char *slash = strchr(e, '/');
	snprintf(expert, DOOR_NAME_MAX + 1, "%.*s", slash ? (int)(slash - e) : (int)strlen(e), e);
	snprintf(tool, DOOR_NAME_MAX + 1, "%s", slash ? slash + 1 : "");
}

static void ask(struct visit *v, const struct door_page *page)
{
	struct door_paged got = {0};
	LINK_ANSWER_AUTO a = {0};
	char expert[DOOR_NAME_MAX + 1], tool[DOOR_NAME_MAX + 1];
	if (front_link_ask(v->f->link, page->id, &door_page_fields, page, &door_paged_fields, &got,
		    &a) < 0) {
		busy(v);
		return;
	}
	if (got.process && a.nfds == 3 && page->cookie) {
		a.nfds = 0;
		names_in(page->path, expert, tool);
		snprintf(v->expert, sizeof v->expert, "%s", expert);
		answer_run(v, page, a.fds, &got, expert, tool);
	} else if (got.status == 503 && !got.nbody) {
		busy(v);
	} else if (got.status == 401 && page->post && bad_tokens_add(v->f->bad, v->client)) {
		refuse_plain(v, 429, "Too many bad tokens from this address: wait a minute.");
	} else {
		answer_page(v, &got);
		if (got.fetched && http_request_is(v->r, "GET"))
			tell_fetched(v, page->cookie, page->path);
	}
}

void front_page(struct visit *v, const char *path)
{
	struct pairs params = {0};
	BUF_AUTO body = {.secret = true};
	bool post = http_request_is(v->r, "POST");
	bool secure = is_secure(v);
	const struct http_text target = v->r->head.target;
	const char *query = memchr(target.p, '?', target.n);
	STR_AUTO origin = visit_origin(v);
	struct http_text c = http_cookie(&v->r->head, secure ? "__Host-evctl-door" : "evctl-door");
	STR_AUTO cookie = c.p && c.n <= 128 ? strndup(c.p, c.n) : NULL;
	int status = !origin || strlen(path) > DOOR_PATH_MAX ? 400 : 0;
	if (!status && !post && !http_request_is(v->r, "GET") && !http_request_is(v->r, "HEAD"))
		status = 405;
	if (!status && post)
		status = take_form(v, origin, &body, &params);
	else if (!status && query &&
		 pairs_take(&params, (struct http_text){query + 1,
					     target.n - (size_t)(query + 1 - target.p)}) < 0)
		status = 400;
	const struct door_page page = {.id = front_link_number(v->f->link),
		.post = post,
		.secure = secure,
		.path = path,
		.cookie = cookie,
		.origin = origin,
		.params = params.v,
		.nparams = params.n};
	if (status == 0)
		ask(v, &page);
	else if (status > 0)
		refuse_plain(v, status,
			status == 403	? "Not from pages of other sites."
			: status == 405 ? "Not that way."
			: status == 413 ? "Too much."
					: "This makes no sense.");
	pairs_free(&params);
}

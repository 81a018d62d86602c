#include "monitor/desk.h"

#include "archive/bytes.h"
#include "archive/html.h"
#include "base/file.h"
#include "base/text.h"
#include "monitor/admission.h"
#include "monitor/door_view.h"
#include "state/buyer.h"
#include "state/buyer_key.h"
#include "state/buyer_token.h"

#include <stdlib.h>
#include <string.h>

#define SIGN_INS_MAX 1000
#define LIFE_MS MS(12 * 3600)
#define HEX_BYTES 32

/* A browser that has shown a token. */
struct sign_in {
	char cookie[DESK_COOKIE_SIZE], csrf[DESK_COOKIE_SIZE];
	char buyer[DOOR_NAME_MAX + 1], token[DOOR_NAME_MAX + 1];
	int64_t until, begun; /* CLOCK_MONOTONIC ms; until 0: a free place */
};

struct desk {
	struct state *st;
	const struct strv *experts;
	struct sign_in v[SIGN_INS_MAX];
};

/* What one page is made of. */
struct visit_page {
	struct desk *d;
	const struct door_page *p;
	struct sign_in *in; /* NULL: nobody is signed in */
	struct door_view view;
	struct desk_answer *a;
};

struct desk *desk_new(struct state *st, const struct strv *experts, struct err *e)
{
	struct desk *d = calloc(1, sizeof *d);
	if (!d) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	d->st = st;
	d->experts = experts;
	return d;
}

void desk_free(struct desk **d)
{
	if (*d)
		explicit_bzero(*d, sizeof **d);
	free(*d);
	*d = NULL;
}

void desk_answer_free(struct desk_answer *a)
{
	buf_free(&a->body);
	buf_free(&a->cookie);
	buf_free(&a->location);
	buf_free(&a->disposition);
}

/* ---- who is signed in ----------------------------------------------------------------------- */

static void random_hex(char out[DESK_COOKIE_SIZE])
{
	unsigned char raw[HEX_BYTES];
	seal_random(raw, sizeof raw);
	text_to_hex(raw, sizeof raw, out);
}

static bool same(const char *a, const char *b)
{
	return text_same(a, strlen(a), b, strlen(b));
}

static struct sign_in *find(struct desk *d, const char *cookie)
{
	struct err quiet = {0};
	if (!cookie || strlen(cookie) != DESK_COOKIE_SIZE - 1)
		return NULL;
	for (size_t i = 0; i < SIGN_INS_MAX; i++) {
		struct sign_in *s = &d->v[i];
		if (!s->until || !same(s->cookie, cookie))
			continue;
		if (clock_mono_ms() < s->until &&
			admission_lives(d->st, s->token, s->buyer, &quiet) > 0)
			return s;
		*s = (struct sign_in){0};
		return NULL;
	}
	return NULL;
}

bool desk_guest(struct desk *d, const char *cookie, struct desk_guest *out)
{
	const struct sign_in *s = find(d, cookie);
	if (!s)
		return false;
	memcpy(out->buyer, s->buyer, sizeof out->buyer);
	memcpy(out->token, s->token, sizeof out->token);
	return true;
}

/* A free place, or that of the oldest. */
static struct sign_in *make_place(struct desk *d)
{
	struct sign_in *oldest = d->v;
	for (size_t i = 0; i < SIGN_INS_MAX; i++) {
		if (!d->v[i].until || clock_mono_ms() >= d->v[i].until)
			return &d->v[i];
		if (d->v[i].begun < oldest->begun)
			oldest = &d->v[i];
	}
	return oldest;
}

/* ---- answers -------------------------------------------------------------------------------- */

static struct buf *page_of(struct visit_page *g, int status)
{
	g->a->paged.status = status;
	g->a->paged.type = "text/html; charset=utf-8";
	buf_clear(&g->a->body);
	return &g->a->body;
}

/* Elsewhere, by GET. */
static void go_to(struct visit_page *g, const char *path)
{
	g->a->paged.status = 303;
	buf_adds(&g->a->location, path);
	g->a->paged.location = buf_str(&g->a->location);
}

static void notice(struct visit_page *g, int status, const char *title, const char *text)
{
	door_view_notice(&g->view, title, text, page_of(g, status));
}

static void not_here(struct visit_page *g)
{
	notice(g, 404, "Not here", "There is no such page.");
}

static void failed(struct visit_page *g, const struct err *e)
{
	if (e->code == ERR_NOTFOUND)
		not_here(g);
	else if (e->code == ERR_BUSY)
		notice(g, 503, "Busy", "Try again in a moment.");
	else
		notice(g, 500, "That did not work", "It is not your fault. Try again later.");
}

static void home(struct visit_page *g, int status)
{
	struct err e = {0};
	if (door_view_home(&g->view, page_of(g, status), &e) < 0)
		failed(g, &e);
}

static void expert_page(struct visit_page *g, const char *expert, int status)
{
	struct err e = {0};
	if (door_view_expert(&g->view, expert, page_of(g, status), &e) < 0)
		failed(g, &e);
}

/* ---- signing in and out ---------------------------------------------------------------------- */

static const char *param(const struct door_page *p, const char *name)
{
	for (size_t i = 0; i < p->nparams; i++)
		if (strcmp(p->params[i].name, name) == 0)
			return p->params[i].value;
	return "";
}

/* "__Host-" where the connection is safe: no other host, and no page without TLS, can set it. */
static void put_cookie(struct visit_page *g, const char *value, int64_t life_s)
{
	bool safe = g->p->secure;
	buf_addf(&g->a->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s; Max-Age=%lld",
		safe ? "__Host-evctl-door" : "evctl-door", value, safe ? "; Secure" : "",
		(long long)life_s);
	g->a->paged.cookie = buf_str(&g->a->cookie);
}

static void let_in(struct visit_page *g, const char *buyer, const char *token, int64_t life_ms)
{
	struct sign_in *s = make_place(g->d);
	if (life_ms > LIFE_MS)
		life_ms = LIFE_MS;
	*s = (struct sign_in){.begun = clock_mono_ms(), .until = clock_mono_ms() + life_ms};
	random_hex(s->cookie);
	random_hex(s->csrf);
	snprintf(s->buyer, sizeof s->buyer, "%s", buyer);
	snprintf(s->token, sizeof s->token, "%s", token);
	put_cookie(g, s->cookie, life_ms / 1000);
	go_to(g, "/");
}

static void sign_in(struct visit_page *g)
{
	struct token_seen seen;
	struct err e = {0};
	char text[128];
	snprintf(text, sizeof text, "%s", param(g->p, "token"));
	text[strcspn(text, " \r\n\t")] = '\0';
	int found = token_find(g->d->st, text, &seen, &e);
	explicit_bzero(text, sizeof text);
	if (found <= 0 || strcmp(seen.only, "mcp") == 0) {
		g->view.wrong = found < 0 ? "The door is busy. Try again in a moment."
				: found	  ? "This token is for MCP clients only."
					  : "This token is not good (any more).";
		home(g, found < 0 ? 503 : found ? 403 : 401);
		return;
	}
	token_note_use(g->d->st, seen.id, &e);
	let_in(g, seen.buyer, seen.id, LIFE_MS);
}

static void sign_out(struct visit_page *g)
{
	explicit_bzero(g->in, sizeof *g->in);
	put_cookie(g, "", 0);
	go_to(g, "/");
}

/* ---- what a form about an expert does -------------------------------------------------------- */

static bool may_use(struct visit_page *g, const char *expert)
{
	struct err quiet = {0};
	int version;
	return admission_may(g->d->st, g->d->experts, g->in->token, g->in->buyer, expert, &version,
		       &quiet) > 0;
}

/* As a value was meant: forms turn newlines into CRLF. */
static int take_value(const char *text, struct secret *out, struct err *e)
{
	size_t n = 0, len = strlen(text);
	if (secret_alloc(out, len, e) < 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		if (!(text[i] == '\r' && text[i + 1] == '\n'))
			out->data[n++] = text[i];
	secret_truncate(out, n);
	return n ? 0 : err_set(e, ERR_USAGE, "the value is empty");
}

static int change_key(struct visit_page *g, const char *expert, const char *what, struct err *e)
{
	SECRET_AUTO value = {0};
	const char *key = param(g->p, "key"), *buyer = g->in->buyer;
	enum buyer_key_kind kind = strcmp(param(g->p, "kind"), "connection") == 0
					   ? BUYER_KEY_CONNECTION
					   : BUYER_KEY_CREDENTIAL;
	if (strcmp(what, "withdraw") == 0) {
		g->view.said = "Withdrawn.";
		return buyer_key_withdraw(g->d->st, kind, key, expert, buyer, e);
	}
	if (strcmp(what, "agree") == 0) {
		g->view.said = "Agreed.";
		return buyer_key_agree(g->d->st, kind, key, expert, buyer, e);
	}
	if (strcmp(what, "bring") != 0)
		return err_set(e, ERR_NOTFOUND, "no such form");
	g->view.said = "Kept, sealed.";
	if (take_value(param(g->p, "value"), &value, e) < 0)
		return -1;
	return buyer_key_bring(g->d->st, kind, key, expert, buyer, &value, e);
}

static void expert_form(struct visit_page *g, const char *expert)
{
	struct err e = {0};
	const char *what = param(g->p, "do");
	int r;
	if (strcmp(what, "ask") == 0) {
		g->view.said = "You have asked for it.";
		r = buyer_ask(g->d->st, g->in->buyer, expert, &e);
	} else if (!may_use(g, expert)) {
		not_here(g);
		return;
	} else {
		r = change_key(g, expert, what, &e);
	}
	if (r < 0) {
		g->view.said = NULL;
		g->view.wrong = e.code == ERR_USAGE ? e.msg : "That did not work.";
	}
	expert_page(g, expert, r < 0 ? (e.code == ERR_USAGE ? 422 : 409) : 200);
}

static void tool_page(struct visit_page *g, const char *expert, const char *tool)
{
	struct err e = {0};
	if (!g->in) {
		go_to(g, "/");
		return;
	}
	if (!g->p->post) {
		if (door_view_tool(&g->view, expert, tool, NULL, page_of(g, 200), &e) < 0)
			failed(g, &e);
		return;
	}
	if (door_view_input(&g->view, expert, tool, g->p->params, g->p->nparams, &g->a->body, &e) ==
		0) {
		snprintf(g->a->run_expert, sizeof g->a->run_expert, "%s", expert);
		snprintf(g->a->run_tool, sizeof g->a->run_tool, "%s", tool);
		return;
	}
	g->view.wrong = e.msg;
	JSON_AUTO wrong = json_pack("{s:s,s:{s:s}}", "status", "usage", "error", "message", e.msg);
	struct err other = {0};
	if (e.code != ERR_USAGE ||
		door_view_tool(&g->view, expert, tool, wrong, page_of(g, 422), &other) < 0)
		failed(g, &e);
}

/* "E" or "E/TOOL" */
static void expert_path(struct visit_page *g, const char *path)
{
	char expert[DOOR_NAME_MAX + 1];
	size_t n = strcspn(path, "/");
	if (!n || n >= sizeof expert) {
		not_here(g);
		return;
	}
	memcpy(expert, path, n);
	expert[n] = '\0';
	if (path[n] && path[n + 1])
		tool_page(g, expert, path + n + 1);
	else if (path[n])
		not_here(g);
	else if (g->p->post && g->in)
		expert_form(g, expert);
	else
		expert_page(g, expert, 200);
}

/* ---- the archive ----------------------------------------------------------------------------- */

static void archive_error(struct visit_page *g, const struct view *v, const struct err *e)
{
	bool none = e->code == ERR_NOTFOUND;
	page_message(v, true, none ? "Not here" : "This cannot be shown",
		none ? "There is no such run or artifact, or it has been removed."
		     : "Its bytes are damaged or missing.",
		page_of(g, none ? 404 : 500));
}

static void send_bytes(
	struct visit_page *g, const struct view *v, const char *run, const char *name, bool show)
{
	ARTIFACT_AUTO x = {0};
	BUF_AUTO bytes = {0};
	struct err e = {0};
	const char *type;
	bool shown;
	if (archive_bytes(v, run, name, &x, &bytes, &type, &shown, &e) < 0) {
		archive_error(g, v, &e);
		return;
	}
	if (show && !shown) {
		page_message(v, true, "Not shown", "Files of this kind are downloaded, not shown.",
			page_of(g, 415));
		return;
	}
	buf_adds(&g->a->disposition, show ? "inline" : "attachment; filename*=UTF-8''");
	if (!show)
		html_filename(&g->a->disposition, x.name);
	buf_free(&g->a->body);
	g->a->body = bytes;
	bytes = (struct buf){0};
	/* The type outlives the artifact's row. */
	buf_adds(&g->a->location, type);
	g->a->paged.status = 200;
	g->a->paged.type = buf_str(&g->a->location);
	g->a->paged.disposition = buf_str(&g->a->disposition);
	g->a->paged.bytes = g->a->paged.fetched = true;
}

/* "WHAT/RUN/NAME" */
static void archive_item(struct visit_page *g, const struct view *v, const char *path)
{
	struct err e = {0};
	size_t n = strcspn(path, "/");
	const char *rest = path[n] ? path + n + 1 : "", *slash = strchr(rest, '/');
	STR_AUTO run = strndup(rest, slash ? (size_t)(slash - rest) : strlen(rest));
	const char *name = slash ? slash + 1 : NULL;
	int r = 0;
	if (run && !name && n == 3 && strncmp(path, "run", n) == 0)
		r = page_run(v, run, page_of(g, 200), &e);
	else if (run && name && n == 4 && strncmp(path, "view", n) == 0)
		r = page_artifact(v, run, name, page_of(g, 200), &e);
	else if (run && name && n == 3 && strncmp(path, "raw", n) == 0)
		send_bytes(g, v, run, name, true);
	else if (run && name && n == 3 && strncmp(path, "get", n) == 0)
		send_bytes(g, v, run, name, false);
	else
		not_here(g);
	if (r < 0)
		archive_error(g, v, &e);
}

static const char *given(const struct door_page *p, const char *name)
{
	const char *s = param(p, name);
	return *s ? s : NULL;
}

static void archive(struct visit_page *g, const char *path)
{
	const struct view v = {g->d->st, g->in->buyer, "/archive/", "/"};
	struct err e = {0};
	const struct gallery_filter f = {.expert = given(g->p, "expert"),
		.kind = given(g->p, "kind"),
		.text = given(g->p, "text"),
		.before = given(g->p, "before")};
	if (*path)
		archive_item(g, &v, path);
	else if (page_gallery(&v, &f, page_of(g, 200), &e) < 0)
		archive_error(g, &v, &e);
}

/* ---- which page ------------------------------------------------------------------------------ */

static void fixed(struct visit_page *g, const char *type, const char *text)
{
	g->a->paged.status = 200;
	g->a->paged.type = type;
	buf_adds(&g->a->body, text);
}

/* For who is signed in; others are asked to be. */
static void of_guest(struct visit_page *g, const char *path)
{
	struct err e = {0};
	if (!g->in)
		go_to(g, "/");
	else if (strcmp(path, "/usage") == 0 && door_view_usage(&g->view, page_of(g, 200), &e) < 0)
		failed(g, &e);
	else if (strcmp(path, "/archive") == 0)
		go_to(g, "/archive/");
	else if (strncmp(path, "/archive/", 9) == 0)
		archive(g, path + 9);
}

static void route(struct visit_page *g)
{
	const char *path = g->p->path;
	const char *end = strrchr(path, '/') ? strrchr(path, '/') : path;
	bool top = strcmp(path, "/") == 0;
	if (strcmp(end, "/style.css") == 0)
		fixed(g, "text/css; charset=utf-8", page_style);
	else if (strcmp(end, "/icon.svg") == 0)
		fixed(g, "image/svg+xml", page_icon);
	else if (top && g->p->post)
		sign_in(g);
	else if (g->p->post && (!g->in || !same(param(g->p, "csrf"), g->in->csrf)))
		notice(g, 403, "Not so",
			"This form is too old, or not of this door. Open the page again.");
	else if (top)
		home(g, 200);
	else if (g->p->post && strcmp(path, "/sign-out") == 0)
		sign_out(g);
	else if (strncmp(path, "/e/", 3) == 0)
		expert_path(g, path + 3);
	else if (!g->p->post && (strcmp(path, "/usage") == 0 || strncmp(path, "/archive", 8) == 0))
		of_guest(g, path);
	else
		not_here(g);
	if (!g->a->paged.status && !g->a->run_tool[0])
		not_here(g);
}

static void open_page(struct visit_page *g)
{
	g->in = find(g->d, g->p->cookie);
	g->view = (struct door_view){.st = g->d->st,
		.buyer = g->in ? g->in->buyer : NULL,
		.token = g->in ? g->in->token : NULL,
		.csrf = g->in ? g->in->csrf : NULL,
		.origin = g->p->origin,
		.experts = g->d->experts};
}

void desk_page(struct desk *d, const struct door_page *asked, struct desk_answer *a)
{
	struct visit_page g = {.d = d, .p = asked, .a = a};
	open_page(&g);
	route(&g);
}

void desk_let_in(struct desk *d, const struct door_page *asked, const char *buyer,
	const char *token, int64_t life_ms, struct desk_answer *a)
{
	struct visit_page g = {.d = d, .p = asked, .a = a};
	open_page(&g);
	let_in(&g, buyer, token, life_ms);
}

void desk_result(struct desk *d, const struct door_result *r, struct desk_answer *a)
{
	const struct door_page asked = {.cookie = r->cookie, .path = "", .origin = ""};
	struct visit_page g = {.d = d, .p = &asked, .a = a};
	struct err e = {0};
	open_page(&g);
	JSON_AUTO answer = r->njson ? json_parse("run", r->json, r->njson, &e) : NULL;
	JSON_AUTO none = json_pack("{s:s}", "status", "failed");
	e = (struct err){0};
	if (!g.in)
		go_to(&g, "/");
	else if (door_view_tool(&g.view, r->expert, r->tool, json_is_object(answer) ? answer : none,
			 page_of(&g, 200), &e) < 0)
		failed(&g, &e);
}

void desk_fetched(struct desk *d, const struct door_fetched *f)
{
	ARTIFACT_AUTO a = {0};
	struct err quiet = {0};
	const struct sign_in *in = find(d, f->cookie);
	if (in && artifact_find(d->st, f->run, f->name, in->buyer, &a, &quiet) == 0)
		artifact_mark_fetched(d->st, &a, &quiet);
}

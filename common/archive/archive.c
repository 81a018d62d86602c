#include "archive/archive.h"
#include "archive/bytes.h"
#include "archive/html.h"
#include "archive/page.h"

#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "net/http_pool.h"
#include "net/page_policy.h"
#include "state/run_record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKEN_BYTES 16
#define HEX_SIZE (2 * TOKEN_BYTES + 1)
#define COOKIE "evctl-archive"
#define CONNECTIONS 64
#define IDLE_MS 30000
#define HEAD_MS 10000
#define STOP_MS 5000 /* for what is being sent when the archive ends */

/*
 * Who may ask. The link's token is spent by the first browser that shows it, which gets a session
 * in a cookie; one that nobody showed in time, in a terminal's history say, opens nothing any more.
 * Cookies know no ports, so any other server on 127.0.0.1 would be sent it too: the
 * cookie is bound to a path that is random for each start, which others cannot guess.
 */
struct archive {
	int listener;
	struct http_pool *pool;
	pthread_mutex_t lock; /* the state, and what is spent, are for one thread at once */
	struct view view;
	char base[HEX_SIZE + 2];
	char token[HEX_SIZE], session[HEX_SIZE];
	bool spent;
	int64_t until;		   /* clock_mono_ms(): the link opens nothing after that */
	char host[32], origin[40]; /* what an honest browser says */
	char link[192];
};

/* ---- answers ------------------------------------------------------------------------------- */

/* Made under the lock, sent without it. Zeroed: nothing can be answered, the connection ends. */
struct answer {
	int status;
	const char *type, *policy;
	struct buf disposition, cookie, body;
	bool keep; /* may be kept by the browser for an hour */
	struct artifact artifact;
	bool mark; /* the artifact counts as fetched when all of it was sent */
};

static void free_answer(struct answer *a)
{
	buf_free(&a->disposition);
	buf_free(&a->cookie);
	buf_free(&a->body);
	artifact_free(&a->artifact);
}

static int send_answer(struct http_request *r, const struct answer *a)
{
	const struct http_header headers[] = {{"Content-Type", a->type},
		{"Content-Security-Policy", a->policy}, {"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"}, {"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"}, {"X-Frame-Options", "DENY"},
		{"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
		{"X-Robots-Tag", "noindex"},
		{"Cache-Control", a->keep ? "private, max-age=3600" : "no-store"},
		{"Content-Disposition", a->disposition.data}, {"Set-Cookie", a->cookie.data},
		{"Allow", a->status == 405 ? "GET, HEAD" : NULL}};
	if (!a->status || buf_failed(&a->body) || buf_failed(&a->disposition) ||
		buf_failed(&a->cookie)) {
		r->c->dead = true; /* half a page is no page */
		return -1;
	}
	http_conn_allow(r->c, a->body.len);
	return http_request_answer(r, a->status, headers, sizeof headers / sizeof *headers,
		buf_str(&a->body), a->body.len);
}

/* What a page gets; the caller writes it into the body. */
static struct buf *page_of(struct answer *a, int status)
{
	a->status = status;
	a->type = "text/html; charset=utf-8";
	a->policy = PAGE_POLICY;
	buf_clear(&a->body);
	return &a->body;
}

static void answer_message(
	const struct archive *ar, struct answer *a, int status, const char *title, const char *text)
{
	bool let_in = status == 404 || status == 415 || status == 500;
	page_message(&ar->view, let_in, title, text, page_of(a, status));
}

/* Before it is known who asks: no word of what is here. */
static void refuse(struct answer *a, int status, const char *text)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	a->policy = BYTES_POLICY;
	buf_addf(&a->body, "%s\n", text);
}

static void answer_error(const struct archive *ar, struct answer *a, const struct err *e)
{
	if (e->code == ERR_NOTFOUND)
		answer_message(ar, a, 404, "Not here",
			"There is no such run or artifact, or it has been removed.");
	else if (e->code == ERR_BUSY)
		answer_message(ar, a, 503, "Busy",
			"Another program is changing the archive. Try again in a moment.");
	else
		answer_message(ar, a, 500, "This cannot be shown",
			ar->view.buyer ? "Its bytes are damaged or missing." : e->msg);
}

/* ---- who asks ------------------------------------------------------------------------------ */

/* The last header of that name, p NULL without; *n counts them. */
static struct http_text header(const struct http_head *h, const char *name, int *n)
{
	struct http_text value = {0};
	*n = 0;
	for (size_t i = 0; i < h->nfields; i++) {
		if (!http_is(h->field[i].name, name))
			continue;
		value = h->field[i].value;
		++*n;
	}
	return value;
}

/* In equal time, whatever differs. */
static bool same(struct http_text a, const char *b)
{
	return a.p && text_same(a.p, a.n, b, strlen(b));
}

/*
 * A page elsewhere may make a browser ask here, under a name that it has turned to 127.0.0.1 (then
 * Host tells) or as a part of itself (then Origin or Sec-Fetch-Site does, for another port too).
 */
static const char *why_refused(const struct archive *ar, const struct http_head *h, bool opening)
{
	static const char other[] = "Not for pages of other sites.";
	int n;
	struct http_text v = header(h, "Host", &n);
	if (n != 1 || !same(v, ar->host) || (h->authority.p && !same(h->authority, ar->host)))
		return "This server answers only to the address in its link.";
	v = header(h, "Origin", &n);
	if (n > 1 || (n == 1 && !same(v, ar->origin)))
		return other;
	v = header(h, "Sec-Fetch-Site", &n);
	if (n > 1 || (n == 1 && !opening && !same(v, "same-origin") && !same(v, "none")))
		return other;
	v = header(h, "Sec-Fetch-Mode", &n);
	if (opening && (n > 1 || (n == 1 && !same(v, "navigate"))))
		return "The link is opened, not fetched.";
	return NULL;
}

/* The link is spent by being looked at, so not by those who look ahead. */
static bool looks_ahead(const struct http_head *h)
{
	static const char *const says[] = {"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"};
	int n = 0;
	for (size_t i = 0; i < sizeof says / sizeof *says && n == 0; i++)
		header(h, says[i], &n);
	return n > 0;
}

static void open_link(struct archive *ar, const struct http_head *h, bool head, struct answer *a)
{
	STR_AUTO t = http_query(h->target, "t");
	if (!t || !same((struct http_text){t, strlen(t)}, ar->token)) {
		refuse(a, 403, "This is not the link that was printed.");
	} else if (ar->spent) {
		refuse(a, 403,
			"This link has been used. Start `evctl-artifact serve` again for a new "
			"one.");
	} else if (clock_mono_ms() >= ar->until) {
		refuse(a, 403,
			"This link is too old. Start `evctl-artifact serve` again for a new one.");
	} else if (head || looks_ahead(h)) {
		refuse(a, 403, "The link is opened, not fetched.");
	} else {
		ar->spent = true;
		page_welcome(&ar->view, page_of(a, 200));
		buf_addf(&a->cookie, COOKIE "=%s; Path=%s; HttpOnly; SameSite=Strict", ar->session,
			ar->base);
	}
}

/* ---- what is asked ------------------------------------------------------------------------- */

/* "RUN/NAME" or "RUN"; the name may hold slashes. NULL without memory. */
static char *split_path(const char *path, const char **name)
{
	char *run = strdup(path);
	char *slash = run ? strchr(run, '/') : NULL;
	*name = NULL;
	if (slash) {
		*slash = '\0';
		*name = path + (slash - run) + 1;
	}
	return run;
}

static void answer_gallery(const struct archive *ar, const struct http_head *h, struct answer *a)
{
	struct err e = {0};
	STR_AUTO expert = http_query(h->target, "expert");
	STR_AUTO kind = http_query(h->target, "kind");
	STR_AUTO text = http_query(h->target, "text");
	STR_AUTO before = http_query(h->target, "before");
	struct gallery_filter f = {.expert = expert, .kind = kind, .text = text, .before = before};
	if (page_gallery(&ar->view, &f, page_of(a, 200), &e) < 0)
		answer_error(ar, a, &e);
}

static void answer_run(const struct archive *ar, const char *run, struct answer *a)
{
	struct err e = {0};
	if (page_run(&ar->view, run, page_of(a, 200), &e) < 0)
		answer_error(ar, a, &e);
}

static void answer_view(
	const struct archive *ar, const char *run, const char *name, struct answer *a)
{
	struct err e = {0};
	if (page_artifact(&ar->view, run, name, page_of(a, 200), &e) < 0)
		answer_error(ar, a, &e);
}

/* No Range: a whole file or none, which also tells when it was fetched. */
static void answer_bytes(const struct archive *ar, const char *run, const char *name, bool show,
	bool head, struct answer *a)
{
	struct artifact *x = &a->artifact;
	struct err e = {0};
	BUF_AUTO bytes = {0};
	const char *type;
	bool sound;
	if (archive_bytes(&ar->view, run, name, x, &bytes, &type, &sound, &e) < 0) {
		answer_error(ar, a, &e);
		return;
	}
	if (show && !sound) {
		answer_message(
			ar, a, 415, "Not shown", "Files of this kind are downloaded, not shown.");
		return;
	}
	a->status = 200;
	a->type = type;
	a->policy = BYTES_POLICY;
	buf_adds(&a->disposition, show ? "inline" : "attachment; filename*=UTF-8''");
	if (!show)
		html_filename(&a->disposition, x->name);
	a->body = bytes;
	bytes = (struct buf){0};
	a->mark = ar->view.buyer && !head;
}

static void answer_fixed(struct answer *a, const char *type, const char *text)
{
	a->status = 200;
	a->type = type;
	a->policy = BYTES_POLICY;
	a->keep = true;
	buf_adds(&a->body, text);
}

/* path: beneath the base, for one who was let in. */
static void route(const struct archive *ar, const struct http_head *h, const char *path, bool head,
	struct answer *a)
{
	size_t n = strcspn(path, "/");
	const char *name = NULL;
	STR_AUTO run = path[n] ? split_path(path + n + 1, &name) : NULL;
	if (!*path)
		answer_gallery(ar, h, a);
	else if (run && n == 3 && memcmp(path, "run", 3) == 0 && !name)
		answer_run(ar, run, a);
	else if (run && name && n == 4 && memcmp(path, "view", 4) == 0)
		answer_view(ar, run, name, a);
	else if (run && name && n == 3 && memcmp(path, "raw", 3) == 0)
		answer_bytes(ar, run, name, true, head, a);
	else if (run && name && n == 3 && memcmp(path, "get", 3) == 0)
		answer_bytes(ar, run, name, false, head, a);
	else
		answer_message(ar, a, 404, "Not here", "There is no such page.");
}

static bool holds_nul(struct http_text target)
{
	return memmem(target.p, target.n, "%00", 3) != NULL;
}

/* Under the lock. */
static void answer_request(struct archive *ar, const struct http_request *r, struct answer *a)
{
	const struct http_head *h = &r->head;
	bool head = http_request_is(r, "HEAD");
	size_t base = strlen(ar->base);
	STR_AUTO url = http_path(h->target);
	bool inside = url && strncmp(url, ar->base, base) == 0;
	const char *path = inside ? url + base : "";
	bool opening = inside && strcmp(path, "open") == 0;
	const char *why = why_refused(ar, h, opening);
	if (holds_nul(h->target))
		refuse(a, 400, "Not an address.");
	else if (why)
		refuse(a, 403, why);
	else if (!head && !http_request_is(r, "GET"))
		refuse(a, 405, "This is only to be looked at.");
	else if (!inside)
		refuse(a, 404, "Open the link that evctl-artifact printed.");
	else if (opening)
		open_link(ar, h, head, a);
	else if (strcmp(path, "style.css") == 0)
		answer_fixed(a, "text/css; charset=utf-8", page_style);
	else if (strcmp(path, "icon.svg") == 0)
		answer_fixed(a, "image/svg+xml", page_icon);
	else if (!same(http_cookie(h, COOKIE), ar->session))
		refuse(a, 403, "Open the link that evctl-artifact printed.");
	else
		route(ar, h, path, head, a);
}

static void on_request(void *arg, struct http_request *r, int bad, const char *why)
{
	struct archive *ar = arg;
	struct answer a = {0};
	struct err quiet = {0};
	if (bad) {
		refuse(&a, bad, why);
	} else {
		pthread_mutex_lock(&ar->lock);
		answer_request(ar, r, &a);
		pthread_mutex_unlock(&ar->lock);
	}
	if (send_answer(r, &a) == 0 && a.mark) {
		pthread_mutex_lock(&ar->lock);
		artifact_mark_fetched(ar->view.st, &a.artifact, &quiet);
		pthread_mutex_unlock(&ar->lock);
	}
	free_answer(&a);
}

/* ---- starting and ending ------------------------------------------------------------------- */

static void random_hex(char out[HEX_SIZE])
{
	unsigned char raw[TOKEN_BYTES];
	seal_random(raw, sizeof raw);
	text_to_hex(raw, sizeof raw, out);
}

static int listen_on(int port, int *actual, struct err *e)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	FD_AUTO fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(e, ERR_FAIL, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, CONNECTIONS) < 0) {
		err_errno(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_FAIL,
			"cannot listen on port %d", port);
		return err_hint(e, "leave --port out, and any free one is taken");
	}
	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return err_errno(e, ERR_FAIL, "cannot find out the port");
	*actual = ntohs(at.sin_port);
	int out = fd;
	fd = -1;
	return out;
}

int archive_open(struct archive **out, struct state *st, int port, const char *buyer, struct err *e)
{
	char base[HEX_SIZE];
	int actual = 0;
	ARCHIVE_AUTO a = calloc(1, sizeof *a);
	if (!a)
		return err_set(e, ERR_FAIL, "out of memory");
	random_hex(base);
	random_hex(a->token);
	random_hex(a->session);
	snprintf(a->base, sizeof a->base, "/%s/", base);
	a->view = (struct view){.st = st, .buyer = buyer, .base = a->base};
	pthread_mutex_init(&a->lock, NULL);
	a->listener = listen_on(port, &actual, e);
	a->pool = http_pool_new(CONNECTIONS, e);
	if (a->listener < 0 || !a->pool)
		return -1;
	snprintf(a->host, sizeof a->host, "127.0.0.1:%d", actual);
	snprintf(a->origin, sizeof a->origin, "http://%s", a->host);
	a->until = clock_mono_ms() + (int64_t)ARCHIVE_LINK_MIN * 60 * 1000;
	snprintf(a->link, sizeof a->link, "%s%sopen?t=%s", a->origin, a->base, a->token);
	*out = a;
	a = NULL;
	return 0;
}

const char *archive_link(const struct archive *a)
{
	return a->link;
}

void archive_close(struct archive **a)
{
	struct archive *ar = *a;
	*a = NULL;
	if (!ar)
		return;
	fd_close(&ar->listener);
	http_pool_free(&ar->pool);
	pthread_mutex_destroy(&ar->lock);
	explicit_bzero(ar, sizeof *ar);
	free(ar);
}

int archive_serve(struct archive *a, struct err *e)
{
	sigset_t before;
	struct http_service service = {
		.idle_ms = IDLE_MS, .head_ms = HEAD_MS, .answer = on_request, .arg = a};
	int r;
	FD_AUTO signals = proc_end_signals(&before);
	r = signals < 0 ? err_errno(e, ERR_FAIL, "cannot wait for signals")
			: http_pool_run(a->pool, a->listener, signals, http_serve, &service, e);
	while (http_pool_end(a->pool, STOP_MS) < 0)
		; /* no thread waits for anything without a limit, and all of them use the state */
	struct signalfd_siginfo seen; /* taken, so that none strikes when it is let through */
	while (r == 0 && read(signals, &seen, sizeof seen) > 0)
		;
	if (signals >= 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

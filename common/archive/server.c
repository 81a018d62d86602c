#include "archive/archive.h"
#include "archive/html.h"
#include "archive/page.h"

#include "base/file.h"
#include "base/magic.h"
#include "state/objects.h"
#include "state/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#define TOKEN_BYTES 16
#define HEX_SIZE (2 * TOKEN_BYTES + 1)
#define COOKIE "evctl-archive"
#define CONNECTIONS 64
#define IDLE_S 30

/*
 * Who may ask. The link's token is spent by the first browser that shows it, which gets a session
 * in a cookie; one that nobody showed in time, in a terminal's history say, opens nothing any more.
 * Cookies know no ports, so any other server on 127.0.0.1 would be sent it too: the
 * cookie is bound to a path that is random for each start, which others cannot guess.
 */
struct archive {
	struct MHD_Daemon *daemon;
	struct view view;
	char base[HEX_SIZE + 2];
	char token[HEX_SIZE], session[HEX_SIZE];
	bool spent;
	int64_t until;		   /* clock_mono_ms(): the link opens nothing after that */
	char host[32], origin[40]; /* what an honest browser says */
	char link[192];
};

/* ---- answers ------------------------------------------------------------------------------- */

#define PAGE_POLICY                                                                            \
	"default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; form-action " \
	"'self'; base-uri 'none'; frame-ancestors 'none'"
/* For bytes that runs made: nothing of them can act, wherever they are opened. */
#define BYTES_POLICY                                                                        \
	"default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; " \
	"frame-ancestors 'none'; sandbox"

struct answer {
	unsigned status;
	const char *type, *policy, *disposition, *cookie;
	bool keep; /* may be kept by the browser for an hour */
};

static void add_headers(struct MHD_Response *r, const struct answer *a)
{
	const char *const headers[][2] = {{"Content-Type", a->type},
		{"Content-Security-Policy", a->policy}, {"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"}, {"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"}, {"X-Frame-Options", "DENY"},
		{"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
		{"X-Robots-Tag", "noindex"},
		{"Cache-Control", a->keep ? "private, max-age=3600" : "no-store"},
		{"Content-Disposition", a->disposition}, {"Set-Cookie", a->cookie},
		{"Allow", a->status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET, HEAD" : NULL}};
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (headers[i][1])
			MHD_add_response_header(r, headers[i][0], headers[i][1]);
}

/* Takes the buffer's memory over. */
static enum MHD_Result send_buf(struct MHD_Connection *c, const struct answer *a, struct buf *body)
{
	size_t n = body->len;
	bool failed = buf_failed(body);
	char *data = n ? buf_detach(body) : NULL;
	if (failed || (n && !data))
		return MHD_NO; /* closes the connection: half a page is no page */
	struct MHD_Response *r = MHD_create_response_from_buffer(
		n, data, n ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!r) {
		free(data);
		return MHD_NO;
	}
	add_headers(r, a);
	enum MHD_Result ok = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result send_page(struct MHD_Connection *c, unsigned status, struct buf *page)
{
	struct answer a = {
		.status = status, .type = "text/html; charset=utf-8", .policy = PAGE_POLICY};
	return send_buf(c, &a, page);
}

static enum MHD_Result send_message(struct archive *ar, struct MHD_Connection *c, unsigned status,
	const char *title, const char *text)
{
	BUF_AUTO page = {0};
	bool let_in = status == MHD_HTTP_NOT_FOUND || status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE ||
		      status == MHD_HTTP_INTERNAL_SERVER_ERROR;
	page_message(&ar->view, let_in, title, text, &page);
	return send_page(c, status, &page);
}

/* Before it is known who asks: no word of what is here. */
static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *text)
{
	BUF_AUTO body = {0};
	struct answer a = {
		.status = status, .type = "text/plain; charset=utf-8", .policy = BYTES_POLICY};
	buf_addf(&body, "%s\n", text);
	return send_buf(c, &a, &body);
}

static enum MHD_Result send_error(struct archive *ar, struct MHD_Connection *c, const struct err *e)
{
	if (e->code == ERR_NOTFOUND)
		return send_message(ar, c, MHD_HTTP_NOT_FOUND, "Not here",
			"There is no such run or artifact, or it has been removed.");
	if (e->code == ERR_BUSY)
		return send_message(ar, c, MHD_HTTP_SERVICE_UNAVAILABLE, "Busy",
			"Another program is changing the archive. Try again in a moment.");
	return send_message(ar, c, MHD_HTTP_INTERNAL_SERVER_ERROR, "This cannot be shown",
		ar->view.buyer ? "Its bytes are damaged or missing." : e->msg);
}

/* ---- who asks ------------------------------------------------------------------------------ */

struct header_count {
	const char *name, *value;
	int n;
};

static enum MHD_Result count_header(
	void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct header_count *h = cls;
	(void)kind;
	if (strcasecmp(key, h->name) == 0) {
		h->value = value ? value : "";
		h->n++;
	}
	return MHD_YES;
}

/* The one header of that name, NULL without; *n counts them. */
static const char *header(struct MHD_Connection *c, const char *name, int *n)
{
	struct header_count h = {.name = name};
	MHD_get_connection_values(c, MHD_HEADER_KIND, count_header, &h);
	*n = h.n;
	return h.value;
}

static bool same(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned char differ = 0;
	if (!a || strlen(a) != n)
		return false;
	for (size_t i = 0; i < n; i++) /* in equal time, whatever differs */
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

/*
 * A page elsewhere may make a browser ask here, under a name that it has turned to 127.0.0.1 (then
 * Host tells) or as a part of itself (then Origin or Sec-Fetch-Site does, for another port too).
 */
static const char *why_refused(struct archive *ar, struct MHD_Connection *c, bool opening)
{
	int n;
	const char *v = header(c, "Host", &n);
	if (n != 1 || strcmp(v, ar->host) != 0)
		return "This server answers only to the address in its link.";
	v = header(c, "Origin", &n);
	if (n > 1 || (n == 1 && strcmp(v, ar->origin) != 0))
		return "Not for pages of other sites.";
	v = header(c, "Sec-Fetch-Site", &n);
	if (n > 1 ||
		(n == 1 && !opening && strcmp(v, "same-origin") != 0 && strcmp(v, "none") != 0))
		return "Not for pages of other sites.";
	v = header(c, "Sec-Fetch-Mode", &n);
	if (opening && (n > 1 || (n == 1 && strcmp(v, "navigate") != 0)))
		return "The link is opened, not fetched.";
	return NULL;
}

/* The link is spent by being looked at, so not by those who look ahead. */
static bool looks_ahead(struct MHD_Connection *c)
{
	int n;
	return header(c, "Sec-Purpose", &n) || header(c, "Purpose", &n) || header(c, "X-Moz", &n) ||
	       header(c, "X-Purpose", &n);
}

static enum MHD_Result open_link(struct archive *ar, struct MHD_Connection *c, bool head)
{
	const char *t = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "t");
	BUF_AUTO page = {0};
	BUF_AUTO cookie = {0};
	if (!same(t, ar->token))
		return refuse(c, MHD_HTTP_FORBIDDEN, "This is not the link that was printed.");
	if (ar->spent)
		return refuse(c, MHD_HTTP_FORBIDDEN,
			"This link has been used. Start `evctl-artifact serve` again for a new "
			"one.");
	if (clock_mono_ms() >= ar->until)
		return refuse(c, MHD_HTTP_FORBIDDEN,
			"This link is too old. Start `evctl-artifact serve` again for a new one.");
	if (head || looks_ahead(c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "The link is opened, not fetched.");
	ar->spent = true;
	page_welcome(&ar->view, &page);
	buf_addf(&cookie, COOKIE "=%s; Path=%s; HttpOnly; SameSite=Strict", ar->session, ar->base);
	struct answer a = {.status = MHD_HTTP_OK,
		.type = "text/html; charset=utf-8",
		.policy = PAGE_POLICY,
		.cookie = buf_str(&cookie)};
	return send_buf(c, &a, &page);
}

/* ---- what is asked ------------------------------------------------------------------------- */

/* One for each request, until it is over: an artifact counts as fetched when all of it was sent. */
struct request {
	struct archive *ar;
	struct artifact artifact;
	int calls;
	bool mark, cut; /* cut: a NUL in the address, which ends it early for us */
};

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

static enum MHD_Result send_gallery(struct archive *ar, struct MHD_Connection *c)
{
	struct err e = {0};
	BUF_AUTO page = {0};
	struct gallery_filter f = {
		.expert = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "expert"),
		.kind = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "kind"),
		.text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "text"),
		.before = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "before")};
	if (page_gallery(&ar->view, &f, &page, &e) < 0)
		return send_error(ar, c, &e);
	return send_page(c, MHD_HTTP_OK, &page);
}

static enum MHD_Result send_run(struct archive *ar, struct MHD_Connection *c, const char *run)
{
	struct err e = {0};
	BUF_AUTO page = {0};
	if (page_run(&ar->view, run, &page, &e) < 0)
		return send_error(ar, c, &e);
	return send_page(c, MHD_HTTP_OK, &page);
}

static enum MHD_Result send_view(
	struct archive *ar, struct MHD_Connection *c, const char *run, const char *name)
{
	struct err e = {0};
	BUF_AUTO page = {0};
	if (page_artifact(&ar->view, run, name, &page, &e) < 0)
		return send_error(ar, c, &e);
	return send_page(c, MHD_HTTP_OK, &page);
}

/* The bytes decide, not the record: what is not of sound structure and of its type is never shown.
 */
static bool may_show(const struct artifact *a, const struct buf *bytes)
{
	struct magic m = magic_of(bytes->data, bytes->len);
	return a->inline_ok && m.inline_ok && strcmp(m.type, a->type) == 0;
}

/* No Range: a whole file or none, which also tells when it was fetched. */
static enum MHD_Result send_bytes(struct request *rq, struct MHD_Connection *c, const char *run,
	const char *name, bool show, bool head)
{
	struct archive *ar = rq->ar;
	struct artifact *a = &rq->artifact;
	struct err e = {0};
	BUF_AUTO bytes = {0};
	BUF_AUTO disposition = {0};
	if (artifact_find(ar->view.st, run, name, ar->view.buyer, a, &e) < 0 ||
		objects_read(ar->view.st, a->sha256, (size_t)a->bytes, &bytes, &e) < 0)
		return send_error(ar, c, &e);
	bool sound = may_show(a, &bytes);
	if (show && !sound)
		return send_message(ar, c, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "Not shown",
			"Files of this kind are downloaded, not shown.");
	buf_adds(&disposition, show ? "inline" : "attachment; filename*=UTF-8''");
	if (!show)
		html_filename(&disposition, a->name);
	struct answer an = {.status = MHD_HTTP_OK,
		.type = sound ? a->type : "application/octet-stream",
		.policy = BYTES_POLICY,
		.disposition = buf_str(&disposition)};
	rq->mark = ar->view.buyer && !head;
	return send_buf(c, &an, &bytes);
}

static enum MHD_Result send_fixed(struct MHD_Connection *c, const char *type, const char *text)
{
	BUF_AUTO body = {0};
	struct answer a = {
		.status = MHD_HTTP_OK, .type = type, .policy = BYTES_POLICY, .keep = true};
	buf_adds(&body, text);
	return send_buf(c, &a, &body);
}

static enum MHD_Result route(
	struct request *rq, struct MHD_Connection *c, const char *path, bool head)
{
	struct archive *ar = rq->ar;
	size_t n = strcspn(path, "/");
	const char *name;
	if (!*path)
		return send_gallery(ar, c);
	STR_AUTO run = path[n] ? split_path(path + n + 1, &name) : NULL;
	if (run && n == 3 && memcmp(path, "run", 3) == 0 && !name)
		return send_run(ar, c, run);
	if (run && name && n == 4 && memcmp(path, "view", 4) == 0)
		return send_view(ar, c, run, name);
	if (run && name && n == 3 && memcmp(path, "raw", 3) == 0)
		return send_bytes(rq, c, run, name, true, head);
	if (run && name && n == 3 && memcmp(path, "get", 3) == 0)
		return send_bytes(rq, c, run, name, false, head);
	return send_message(ar, c, MHD_HTTP_NOT_FOUND, "Not here", "There is no such page.");
}

static enum MHD_Result answer_request(
	struct request *rq, struct MHD_Connection *c, const char *url, const char *method)
{
	struct archive *ar = rq->ar;
	bool head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
	size_t base = strlen(ar->base);
	bool inside = strncmp(url, ar->base, base) == 0;
	const char *path = inside ? url + base : "";
	bool opening = inside && strcmp(path, "open") == 0;
	const char *why = why_refused(ar, c, opening);
	if (rq->cut)
		return refuse(c, MHD_HTTP_BAD_REQUEST, "Not an address.");
	if (why)
		return refuse(c, MHD_HTTP_FORBIDDEN, why);
	if (!head && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "This is only to be looked at.");
	if (!inside)
		return refuse(c, MHD_HTTP_NOT_FOUND, "Open the link that evctl-artifact printed.");
	if (opening)
		return open_link(ar, c, head);
	if (strcmp(path, "style.css") == 0)
		return send_fixed(c, "text/css; charset=utf-8", page_style);
	if (strcmp(path, "icon.svg") == 0)
		return send_fixed(c, "image/svg+xml", page_icon);
	if (!same(MHD_lookup_connection_value(c, MHD_COOKIE_KIND, COOKIE), ar->session))
		return refuse(c, MHD_HTTP_FORBIDDEN, "Open the link that evctl-artifact printed.");
	return route(rq, c, path, head);
}

/* Sees the address as it was sent. */
static void *on_address(void *cls, const char *uri, struct MHD_Connection *c)
{
	struct request *rq = calloc(1, sizeof *rq);
	(void)c;
	if (rq)
		*rq = (struct request){.ar = cls, .cut = strstr(uri, "%00") != NULL};
	return rq;
}

/* The first call has the headers, the next ones a body, which nobody needs. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_n, void **state)
{
	struct request *rq = *state;
	(void)cls;
	(void)version;
	(void)upload;
	if (!rq)
		return MHD_NO;
	if (!rq->calls++)
		return MHD_YES;
	if (*upload_n) {
		*upload_n = 0;
		return MHD_YES;
	}
	return answer_request(rq, c, url, method);
}

static void on_completed(
	void *cls, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode how)
{
	struct request *rq = *state;
	struct err quiet = {0};
	(void)cls;
	(void)c;
	if (!rq)
		return;
	if (rq->mark && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		artifact_mark_fetched(rq->ar->view.st, &rq->artifact, &quiet);
	artifact_free(&rq->artifact);
	free(rq);
	*state = NULL;
}

/* ---- starting and ending ------------------------------------------------------------------- */

static void random_hex(char out[HEX_SIZE])
{
	unsigned char raw[TOKEN_BYTES];
	seal_random(raw, sizeof raw);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
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
		return err_errno(e, ERR_FAIL, "cannot tell the port");
	*actual = ntohs(at.sin_port);
	int out = fd;
	fd = -1;
	return out;
}

static int start_daemon(struct archive *a, int *listener, struct err *e)
{
	a->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, a,
		MHD_OPTION_LISTEN_SOCKET, *listener, MHD_OPTION_URI_LOG_CALLBACK, on_address, a,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!a->daemon)
		return err_set(e, ERR_FAIL, "the page server cannot be started");
	*listener = -1; /* the daemon's now */
	return 0;
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
	FD_AUTO listener = listen_on(port, &actual, e);
	if (listener < 0 || start_daemon(a, &listener, e) < 0)
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
	if (!*a)
		return;
	if ((*a)->daemon)
		MHD_stop_daemon((*a)->daemon);
	explicit_bzero(*a, sizeof **a);
	free(*a);
	*a = NULL;
}

static int wait_and_run(struct archive *a, int signals, bool *stop, struct err *e)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	MHD_UNSIGNED_LONG_LONG ms;
	int wait = -1;
	if (MHD_get_timeout(a->daemon, &ms) == MHD_YES)
		wait = ms > 1000 ? 1000 : (int)ms;
	struct pollfd p[2] = {
		{.fd = info->epoll_fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	if (poll(p, 2, wait) < 0 && errno != EINTR)
		return err_errno(e, ERR_FAIL, "cannot wait for requests");
	*stop = p[1].revents != 0;
	MHD_run(a->daemon);
	return 0;
}

int archive_serve(struct archive *a, struct err *e)
{
	sigset_t ends, before;
	bool stop = false;
	int r = 0;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	FD_AUTO signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (signals < 0)
		r = err_errno(e, ERR_FAIL, "cannot wait for signals");
	while (r == 0 && !stop)
		r = wait_and_run(a, signals, &stop, e);
	struct signalfd_siginfo seen; /* taken, so that it does not strike when it is let through */
	if (stop)
		(void)!read(signals, &seen, sizeof seen);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

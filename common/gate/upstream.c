#include "gate/upstream.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/vault.h"
#include "net/addr.h"

#include <curl/curl.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_HEAD_KB 64
#define ANSWER_FIELDS 100 /* as http.client takes them */
#define LOOK_MS 1000	  /* for a client's end behind what it has sent already */
#define KEPT 4		  /* connections of one handle */
#define SOCKS 16
#define IDLE_MAX 64 /* handles kept for one row */

/* An easy handle with a multi of its own, so that its connections stay with the row. */
struct handle {
	CURLM *multi;
	CURL *easy;
	int sock[SOCKS]; /* those opened last, which may be closed by now; 0: none */
	unsigned nsocks;
	struct handle *next;
};

struct upstream {
	bool allow_private;
	struct curl_slist *connect_to;
	int ca_fd;
	char ca_path[32]; /* "" for the system's roots */
	pthread_mutex_t lock;
	struct handle *idle;
	int nidle;
};

int upstream_init(void)
{
	return curl_global_init_mem(CURL_GLOBAL_DEFAULT, wipe_malloc, wipe_free, wipe_realloc,
		       wipe_strdup, wipe_calloc) == CURLE_OK
		       ? 0
		       : -1;
}

/* libcurl with GnuTLS reads roots from a file only: an anonymous one, reached by descriptor. */
static int keep_ca(struct upstream *u, const char *ca)
{
	u->ca_fd = fd_from_bytes("ca", ca, strlen(ca));
	if (u->ca_fd < 0)
		return -1;
	snprintf(u->ca_path, sizeof u->ca_path, "/proc/self/fd/%d", u->ca_fd);
	return 0;
}

static int keep_connect_to(struct upstream *u, const char *connect_to)
{
	STR_AUTO any = NULL;
	if (asprintf(&any, "::%s", connect_to) < 0) {
		any = NULL;
		return -1;
	}
	u->connect_to = curl_slist_append(NULL, any);
	return u->connect_to ? 0 : -1;
}

struct upstream *upstream_new(const struct route *r, struct err *e)
{
	struct upstream *u = calloc(1, sizeof *u);
	if (!u) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&u->lock, NULL);
	u->allow_private = r->allow_private;
	u->ca_fd = -1;
	if ((r->ca && keep_ca(u, r->ca) < 0) ||
		(r->connect_to && keep_connect_to(u, r->connect_to) < 0)) {
		err_errno(e, ERR_FAIL, "cannot set up the way to a host");
		upstream_free(&u);
	}
	return u;
}

static void handle_free(struct handle *h)
{
	curl_easy_cleanup(h->easy);
	curl_multi_cleanup(h->multi);
	free(h);
}

void upstream_free(struct upstream **up)
{
	struct upstream *u = *up;
	if (!u)
		return;
	while (u->idle) {
		struct handle *h = u->idle;
		u->idle = h->next;
		handle_free(h);
	}
	curl_slist_free_all(u->connect_to);
	fd_close(&u->ca_fd);
	pthread_mutex_destroy(&u->lock);
	free(u);
	*up = NULL;
}

static struct handle *handle_new(void)
{
	struct handle *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (h->multi && h->easy) {
		curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)KEPT);
		return h;
	}
	if (h->easy)
		curl_easy_cleanup(h->easy);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	free(h);
	return NULL;
}

/* The handle used last has the connection most likely to be alive. */
static struct handle *handle_take(struct upstream *u)
{
	pthread_mutex_lock(&u->lock);
	struct handle *h = u->idle;
	if (h) {
		u->idle = h->next;
		u->nidle--;
	}
	pthread_mutex_unlock(&u->lock);
	return h ? h : handle_new();
}

static void handle_give(struct upstream *u, struct handle *h)
{
	pthread_mutex_lock(&u->lock);
	bool keep = u->nidle < IDLE_MAX;
	if (keep) {
		h->next = u->idle;
		u->idle = h;
		u->nidle++;
	}
	pthread_mutex_unlock(&u->lock);
	if (!keep)
		handle_free(h);
}

/* ---- one transfer ---- */

struct transfer {
	const struct upstream_request *q;
	struct upstream *u;
	struct handle *h;
	struct curl_slist *fields;
	bool paused; /* the body's reader has nothing now */
	enum http_peer client;
	bool stopped;	    /* a callback said so */
	bool addr_refused;  /* at least one address */
	bool addr_accepted; /* at least one address */
	bool once;	    /* it may not be sent again */
	bool body_begun;    /* some of the body was read, or its end */
	bool stale;	    /* the kept connection is not to be trusted; nothing was sent */
	int sendings;
	bool not_server; /* the peer's certificate is not one for servers */
	bool wants_cert; /* the peer asked for a client's */
	bool bad_head;	 /* the answer's */
	const char *why; /* what was wrong, where it is known so well; static */
	/* The answer's head: its bytes, and fields as offsets until it is whole. */
	struct buf head;
	struct {
		size_t name, name_len, value, value_len;
	} at[ANSWER_FIELDS];
	size_t nfields;
	int status;
	size_t phrase, phrase_len;
	bool head_done;
};

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = arg;
	enum addr_kind kind = addr_judge(&a->addr, a->addrlen, NULL);
	int type = a->socktype & ~(SOCK_CLOEXEC | SOCK_NONBLOCK); /* libcurl 8 adds them itself */
	if (purpose != CURLSOCKTYPE_IPCXN || type != SOCK_STREAM ||
		!addr_allowed(kind, t->u->allow_private)) {
		t->addr_refused = true;
		return CURL_SOCKET_BAD;
	}
	t->addr_accepted = true;
	int fd = socket(a->family, type | SOCK_CLOEXEC, a->protocol);
	t->h->sock[t->h->nsocks++ % SOCKS] = fd;
	return fd;
}

static int blame(struct transfer *t, const char *why)
{
	t->why = why;
	return -1;
}

static int closed_early(struct transfer *t)
{
	return blame(t, "the host closed the connection before it answered");
}

static int head_large(struct transfer *t)
{
	return blame(t, "the head of the host's answer is over " LIMIT_TEXT(ANSWER_HEAD_KB) " KB");
}

/*
 * libcurl asks GnuTLS whether the certificate is valid for the name, not whether it is one for a
 * server: a client's, from the same CA, would do.
 */
static int look_at_certificate(struct transfer *t)
{
	struct curl_tlssessioninfo *tls = NULL;
	unsigned status = 0;
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER};
	t->not_server = curl_easy_getinfo(t->h->easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK ||
			!tls || tls->backend != CURLSSLBACKEND_GNUTLS || !tls->internals ||
			gnutls_certificate_verify_peers(tls->internals, &purpose, 1, &status) < 0 ||
			status;
	if (t->not_server)
		return CURL_PREREQFUNC_ABORT;
	t->wants_cert = gnutls_certificate_client_get_request_status(tls->internals);
	return CURL_PREREQFUNC_OK;
}

/* Nothing has come in since its last answer: neither its end nor what announces it. libcurl does
 * not tell the connection's socket before there was a request, but its port. */
static bool is_quiet(const struct handle *h, int local_port)
{
	char c;
	for (size_t i = 0; i < SOCKS; i++)
		if (h->sock[i] > 0 && fd_port(h->sock[i]) == local_port)
			return recv(h->sock[i], &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
			       (errno == EAGAIN || errno == EWOULDBLOCK);
	return false;
}

/* Called when there is a connection, new or kept, before anything goes over it. */
static int before_request(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = arg;
	bool fresh = t->addr_accepted;
	(void)ip, (void)local_ip, (void)port;
	if (t->once && t->sendings++) {
		closed_early(t);
		return CURL_PREREQFUNC_ABORT;
	}
	if (fresh)
		return t->q->tls ? look_at_certificate(t) : CURL_PREREQFUNC_OK;
	t->stale = t->once && !is_quiet(t->h, local_port);
	return t->stale ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static size_t read_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	ssize_t got = t->q->read(t->q->arg, p, size * n);
	if (got == UPSTREAM_WAIT) {
		t->paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (got < 0) {
		t->stopped = true;
		return CURL_READFUNC_ABORT;
	}
	t->body_begun = true;
	return (size_t)got;
}

/* libcurl from 8.7 on asks also before it has read anything, as after a handle's last transfer had
 * a body. */
static int seek_body(void *arg, curl_off_t offset, int origin)
{
	struct transfer *t = arg;
	bool start = offset == 0 && origin == SEEK_SET;
	bool ok = start && (!t->body_begun || (t->q->rewind && t->q->rewind(t->q->arg)));
	return ok ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void head_reset(struct transfer *t, const char *line, size_t n)
{
	t->head.len = 0;
	t->nfields = 0;
	t->status = 0;
	const char *sp = memchr(line, ' ', n);
	size_t at = sp ? (size_t)(sp - line) + 1 : n;
	for (size_t i = at; i < n && i < at + 3 && line[i] >= '0' && line[i] <= '9'; i++)
		t->status = t->status * 10 + line[i] - '0';
	at = at + 4 < n ? at + 4 : n;
	t->phrase = 0;
	t->phrase_len = http_value_ok(line + at, n - at) ? n - at : 0;
	buf_add(&t->head, line + at, t->phrase_len);
}

/* A line that is no field is left out: some servers do send such, and nobody can rely on it. */
static int head_field(struct transfer *t, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	size_t name_len = colon ? (size_t)(colon - line) : 0, from = name_len + 1;
	if (!http_token_ok(line, name_len))
		return 0;
	while (from < n && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (n > from && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (!http_value_ok(line + from, n - from))
		return 0;
	if (t->nfields == ANSWER_FIELDS)
		return blame(t, "the host's answer has over " LIMIT_TEXT(ANSWER_FIELDS) " headers");
	size_t base = t->head.len;
	buf_add(&t->head, line, n);
	t->at[t->nfields].name = base;
	t->at[t->nfields].name_len = name_len;
	t->at[t->nfields].value = base + from;
	t->at[t->nfields++].value_len = n - from;
	return buf_failed(&t->head) ? head_large(t) : 0;
}

static int head_whole(struct transfer *t)
{
	struct http_field field[ANSWER_FIELDS];
	const char *p = buf_str(&t->head);
	if (t->status < 200)
		return t->status >= 100 && t->status != 101 ? 0 : -1;
	if (t->status > 599)
		return -1;
	for (size_t i = 0; i < t->nfields; i++)
		field[i] = (struct http_field){{p + t->at[i].name, t->at[i].name_len},
			{p + t->at[i].value, t->at[i].value_len}};
	struct upstream_head h = {.status = t->status,
		.phrase = {p + t->phrase, t->phrase_len},
		.field = field,
		.nfields = t->nfields};
	t->head_done = true;
	if (t->q->head(t->q->arg, &h) == 0)
		return 0;
	t->stopped = true;
	return -1;
}

/* One line of the answer's head; trailers, which come after the body, are passed over. */
static size_t take_line(char *line, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n, whole = len;
	int rc;
	if (t->head_done)
		return whole;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		head_reset(t, line, len);
		rc = 0;
	} else {
		rc = len ? head_field(t, line, len) : head_whole(t);
	}
	if (rc == 0)
		return whole;
	t->bad_head = !t->stopped;
	return 0;
}

static size_t take_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n;
	if (!t->head_done || t->q->body(t->q->arg, p, len) < 0) {
		t->stopped = t->head_done;
		return CURL_WRITEFUNC_ERROR;
	}
	return len;
}

static int set_fields(struct transfer *t)
{
	/* What libcurl would add of its own. */
	static const char *const without[] = {"Accept:", "Expect:", NULL};
	struct curl_slist *list = NULL;
	for (size_t i = 0; without[i]; i++) {
		struct curl_slist *more = curl_slist_append(list, without[i]);
		if (!more)
			return -1;
		t->fields = list = more;
	}
	for (size_t i = 0; t->q->fields[i]; i++)
		if (!curl_slist_append(list, t->q->fields[i]))
			return -1;
	return curl_easy_setopt(t->h->easy, CURLOPT_HTTPHEADER, t->fields) == CURLE_OK ? 0 : -1;
}

/*
 * HTTP/2 where it is offered, but not for bodies that stream: when the other side answers before it
 * has all of one, libcurl 7.88 spins until the deadline instead of ending.
 */
static long http_version(const struct upstream_request *q)
{
	return q->tls && !q->streams ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1;
}

/*
 * A kept connection may die under a request, and libcurl then sends it again over another. That is
 * only for what may arrive twice, with a body that can be started over: nobody can tell whether the
 * server has acted on what it read before it closed.
 */
static bool goes_once(const struct upstream_request *q)
{
	static const char *const idempotent[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
	for (size_t i = 0; i < sizeof idempotent / sizeof idempotent[0]; i++)
		if (strcmp(q->method, idempotent[i]) == 0)
			return q->streams;
	return true;
}

static int set_rules(struct transfer *t)
{
	CURL *c = t->h->easy;
	CURLcode rc = CURLE_OK;
	rc |= curl_easy_setopt(c, CURLOPT_PROXY, "");
	rc |= curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	rc |= curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, t->q->tls ? "https" : "http");
	rc |= curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	rc |= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	rc |= curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* else it waits for a dead resolver */
	rc |= curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	rc |= curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	rc |= curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* The system's roots are one file: the directory holds the same ones, at twice the time. */
	rc |= curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	if (t->u->ca_path[0])
		rc |= curl_easy_setopt(c, CURLOPT_CAINFO, t->u->ca_path);
	if (t->u->connect_to)
		rc |= curl_easy_setopt(c, CURLOPT_CONNECT_TO, t->u->connect_to);
	rc |= curl_easy_setopt(c, CURLOPT_HTTP_VERSION, http_version(t->q));
	rc |= curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	rc |= curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t);
	rc |= curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, before_request);
	rc |= curl_easy_setopt(c, CURLOPT_PREREQDATA, t);
	rc |= curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 65536L);
	rc |= curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 65536L);
	return rc == CURLE_OK ? 0 : -1;
}

/* The method is only a word to libcurl here: what it does follows from body or no body. */
static int set_method(struct transfer *t)
{
	CURL *c = t->h->easy;
	const struct upstream_request *q = t->q;
	CURLcode rc = CURLE_OK;
	if (strcmp(q->method, "HEAD") == 0)
		return curl_easy_setopt(c, CURLOPT_NOBODY, 1L) == CURLE_OK ? 0 : -1;
	if (q->length == UPSTREAM_NO_BODY) {
		rc |= curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
	} else {
		rc |= curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
		rc |= curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->length);
		rc |= curl_easy_setopt(c, CURLOPT_READFUNCTION, read_body);
		rc |= curl_easy_setopt(c, CURLOPT_READDATA, t);
		rc |= curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, seek_body);
		rc |= curl_easy_setopt(c, CURLOPT_SEEKDATA, t);
	}
	rc |= curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
	return rc == CURLE_OK ? 0 : -1;
}

static int set_up(struct transfer *t)
{
	char url[300];
	CURL *c = t->h->easy;
	CURLcode rc = CURLE_OK;
	snprintf(url, sizeof url, "http%s://%s:%u/", t->q->tls ? "s" : "", t->q->host, t->q->port);
	if (set_rules(t) < 0 || set_method(t) < 0 || set_fields(t) < 0)
		return -1;
	rc |= curl_easy_setopt(c, CURLOPT_URL, url);
	rc |= curl_easy_setopt(c, CURLOPT_REQUEST_TARGET, t->q->target);
	rc |= curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_line);
	rc |= curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
	rc |= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	rc |= curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
	return rc == CURLE_OK ? 0 : -1;
}

/*
 * Waits for either side. 0 go on, else how it ended. libcurl can't wait for a peer's end alone, so
 * it waits for input of one that was quiet, which both bring; while input is left lying, which
 * would wake it all the time, it looks again once in a while.
 */
static enum upstream_end wait_more(struct transfer *t)
{
	bool listens = t->paused || t->client == HTTP_QUIET;
	struct curl_waitfd w = {
		.fd = t->q->wait_fd, .events = listens ? CURL_WAIT_POLLIN : CURL_WAIT_POLLPRI};
	int64_t left = t->q->deadline - clock_mono_ms();
	int64_t most = t->client == HTTP_TALKS ? LOOK_MS : 60000;
	if (left <= 0)
		return UPSTREAM_TIMEOUT;
	if (curl_multi_poll(t->h->multi, &w, w.fd >= 0, (int)(left > most ? most : left), NULL))
		return UPSTREAM_BROKEN;
	t->client = t->q->client(t->q->arg);
	if (t->client == HTTP_AWAY)
		return UPSTREAM_STOPPED;
	if (t->paused && (w.revents & CURL_WAIT_POLLIN)) {
		t->paused = false;
		curl_easy_pause(t->h->easy, CURLPAUSE_CONT);
	}
	return UPSTREAM_OK;
}

static enum upstream_end judge_code(struct transfer *t, CURLcode code)
{
	if (t->stopped)
		return UPSTREAM_STOPPED;
	if (t->bad_head)
		return UPSTREAM_BROKEN;
	if (t->not_server) {
		blame(t, "the host's certificate is not one for a server");
		return UPSTREAM_CERTIFICATE;
	}
	if (code != CURLE_OK && t->wants_cert && !t->head.len)
		blame(t, "the host asks for a client's certificate, and the gate has none");
	switch (code) {
	case CURLE_SEND_FAIL_REWIND:
	case CURLE_GOT_NOTHING:
		if (!t->why)
			closed_early(t);
		return UPSTREAM_BROKEN;
		/* A line of a head over libcurl's limit; its word for that was another before 8.6.
		 */
#if LIBCURL_VERSION_NUM >= 0x080600
	case CURLE_TOO_LARGE:
#endif
	case CURLE_OUT_OF_MEMORY:
		head_large(t);
		return UPSTREAM_BROKEN;
	case CURLE_OK:
		return t->head_done ? UPSTREAM_OK : UPSTREAM_BROKEN;
	case CURLE_COULDNT_CONNECT:
		return t->addr_refused && !t->addr_accepted ? UPSTREAM_ADDRESS
							    : UPSTREAM_UNREACHABLE;
	case CURLE_COULDNT_RESOLVE_HOST:
		return UPSTREAM_UNREACHABLE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
		return UPSTREAM_CERTIFICATE;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CIPHER:
		return UPSTREAM_TLS;
	case CURLE_OPERATION_TIMEDOUT:
		return UPSTREAM_TIMEOUT;
	default:
		return UPSTREAM_BROKEN;
	}
}

static enum upstream_end transfer(struct transfer *t)
{
	for (;;) {
		int running, left;
		if (curl_multi_perform(t->h->multi, &running) != CURLM_OK)
			return UPSTREAM_BROKEN;
		if (t->q->idle && t->q->idle(t->q->arg) < 0)
			return UPSTREAM_STOPPED;
		if (!running) {
			CURLMsg *m = curl_multi_info_read(t->h->multi, &left);
			return m && m->msg == CURLMSG_DONE ? judge_code(t, m->data.result)
							   : UPSTREAM_BROKEN;
		}
		enum upstream_end end = wait_more(t);
		if (end != UPSTREAM_OK)
			return end;
	}
}

static const char *explain(enum upstream_end end)
{
	switch (end) {
	case UPSTREAM_OK:
	case UPSTREAM_STOPPED:
		return "";
	case UPSTREAM_ADDRESS:
		return "the name leads to a private, local or metadata address";
	case UPSTREAM_UNREACHABLE:
		return "the host cannot be reached";
	case UPSTREAM_CERTIFICATE:
		return "the host's certificate is not valid for it";
	case UPSTREAM_TLS:
		return "no TLS connection with the host";
	case UPSTREAM_TIMEOUT:
		return "the host did not answer in time";
	case UPSTREAM_BROKEN:
		break;
	}
	return "the host's answer is malformed or cut short";
}

/* Whether what may be sent twice died with a kept connection, which newer libcurls leave at that
 * over HTTP/2. */
static bool died_kept(const struct transfer *t, enum upstream_end end)
{
	return end == UPSTREAM_BROKEN && !t->once && !t->addr_accepted && !t->bad_head &&
	       !t->head.len;
}

/* Over a kept connection, or else over a new one. 0/-1. */
static int go(struct transfer *t, enum upstream_end *end)
{
	for (int tries = 0; tries == 0 || (tries == 1 && (t->stale || died_kept(t, *end)));
		tries++) {
		long fresh = tries;
		t->stale = false;
		t->why = NULL;
		t->sendings = 0;
		if (curl_easy_setopt(t->h->easy, CURLOPT_FRESH_CONNECT, fresh) != CURLE_OK ||
			curl_multi_add_handle(t->h->multi, t->h->easy) != CURLM_OK)
			return -1;
		*end = transfer(t);
		curl_multi_remove_handle(t->h->multi, t->h->easy);
	}
	return 0;
}

enum upstream_end upstream_run(
	struct upstream *u, const struct upstream_request *q, const char **why)
{
	struct transfer t = {.q = q,
		.u = u,
		.h = handle_take(u),
		.once = goes_once(q),
		.head.limit = KIB(ANSWER_HEAD_KB)};
	enum upstream_end end = UPSTREAM_BROKEN;
	*why = "out of memory";
	if (!t.h)
		return end;
	if (set_up(&t) == 0 && go(&t, &end) == 0) {
		*why = t.why && end != UPSTREAM_STOPPED ? t.why : explain(end);
	}
	/* No option, header or pointer of this request outlives it; the connections do. */
	curl_easy_reset(t.h->easy);
	curl_slist_free_all(t.fields);
	if (t.head.data)
		explicit_bzero(t.head.data, t.head.cap);
	buf_free(&t.head);
	handle_give(u, t.h);
	return end;
}

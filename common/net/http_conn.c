#include "net/http_conn.h"

#include "base/file.h"
#include "net/http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WINDOW (HTTP_HEAD_MAX + 16384)
#define RECORD 16384
#define DRAIN_MS 5000
#define DRAIN_BYTES ((size_t)256 << 20)

/* ---- what all share ---- */

/* The name that the client said, "" where it said none; -1 where it is no name. */
static int name_asked(gnutls_session_t s, char out[HOST_MAX])
{
	char raw[512];
	size_t n = sizeof raw;
	unsigned type;
	const char *why;
	int rc = gnutls_server_name_get(s, raw, &n, &type, 0);
	out[0] = '\0';
	if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
		return 0;
	if (rc < 0 || type != GNUTLS_NAME_DNS)
		return -1;
	return host_normalise(raw, strnlen(raw, n), out, &why);
}

static int choose_leaf(gnutls_session_t s, const struct gnutls_cert_retr_st *info,
	gnutls_pcert_st **certs, unsigned *ncerts, gnutls_ocsp_data_st **ocsp, unsigned *nocsp,
	gnutls_privkey_t *key, unsigned *flags)
{
	struct http_conn *c = gnutls_session_get_ptr(s);
	(void)info;
	if (name_asked(s, c->sni) < 0)
		return -1;
	struct http_leaf *leaf = c->shared->leaf(c->shared->arg, c->sni);
	if (!leaf)
		return -1;
	*certs = leaf->certs;
	*ncerts = leaf->ncerts;
	*ocsp = NULL;
	*nocsp = 0;
	*key = leaf->key;
	*flags = 0;
	return 0;
}

static void http_tls_free(struct http_tls *t)
{
	if (t->cred)
		gnutls_certificate_free_credentials(t->cred);
	if (t->priority)
		gnutls_priority_deinit(t->priority);
	*t = (struct http_tls){0};
}

int http_tls_init(struct http_tls *t, http_leaf_fn *leaf, void *arg, struct err *e)
{
	static const char suites[] =
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-128-GCM:"
		"+CHACHA20-POLY1305:+AES-256-GCM:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"
		":%SERVER_PRECEDENCE"; /* the cheapest cipher: nobody is between the two */
	*t = (struct http_tls){.leaf = leaf, .arg = arg};
	if (gnutls_certificate_allocate_credentials(&t->cred) < 0 ||
		gnutls_priority_init(&t->priority, suites, NULL) < 0) {
		http_tls_free(t);
		return err_set(e, ERR_SANDBOX, "cannot set up TLS");
	}
	gnutls_certificate_set_retrieve_function3(t->cred, choose_leaf);
	return 0;
}

/* ---- waiting ---- */

/* 0 when ready, -1 when the time is over. A hang-up counts as ready: the next call sees it. */
static int wait_for(const struct http_conn *c, short events)
{
	int64_t now = clock_mono_ms(), until = c->deadline;
	if (c->patience && now + c->patience < until)
		until = now + c->patience;
	for (;; now = clock_mono_ms()) {
		int64_t left = until - now;
		if (left <= 0)
			return -1;
		struct pollfd p = {.fd = c->fd, .events = events};
		int n = poll(&p, 1, left > 60000 ? 60000 : (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
	}
}

static bool again(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == EINTR;
}

enum http_peer http_peer(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
	if (poll(&p, 1, 0) <= 0)
		return HTTP_QUIET;
	if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
		return HTTP_AWAY;
	return p.revents & POLLRDHUP ? HTTP_CEASED : HTTP_TALKS;
}

/* ---- opening ---- */

int http_conn_sniff(struct http_conn *c)
{
	unsigned char first;
	for (;;) {
		ssize_t n = recv(c->fd, &first, 1, MSG_PEEK);
		if (n == 1)
			return first == 22; /* a TLS handshake record */
		if (n == 0 || !again(errno) || wait_for(c, POLLIN) < 0)
			return -1;
	}
}

int http_conn_handshake(struct http_conn *c)
{
	static const gnutls_datum_t alpn = {(unsigned char *)"http/1.1", 8};
	if (gnutls_init(&c->tls,
		    GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) < 0)
		return -1;
	gnutls_session_set_ptr(c->tls, c);
	gnutls_transport_set_int(c->tls, c->fd);
	gnutls_handshake_set_timeout(c->tls, GNUTLS_INDEFINITE_TIMEOUT); /* ours is the deadline */
	if (gnutls_priority_set(c->tls, c->shared->priority) < 0 ||
		gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, c->shared->cred) < 0 ||
		gnutls_alpn_set_protocols(c->tls, &alpn, 1, 0) < 0)
		return -1;
	for (;;) {
		int rc = gnutls_handshake(c->tls);
		if (rc == GNUTLS_E_SUCCESS)
			return 0;
		if (gnutls_error_is_fatal(rc))
			return -1;
		bool out = gnutls_record_get_direction(c->tls);
		if (rc == GNUTLS_E_AGAIN && wait_for(c, out ? POLLOUT : POLLIN) < 0)
			return -1;
	}
}

/* ---- reading ---- */

static ssize_t receive(struct http_conn *c, void *p, size_t n)
{
	if (!c->tls) {
		ssize_t got = recv(c->fd, p, n, 0);
		return got >= 0 ? got : again(errno) ? HTTP_AGAIN : HTTP_FAILED;
	}
	ssize_t got;
	do
		got = gnutls_record_recv(c->tls, p, n);
	while (got == GNUTLS_E_INTERRUPTED);
	if (got >= 0)
		return got;
	return got == GNUTLS_E_AGAIN ? HTTP_AGAIN : HTTP_FAILED;
}

void http_conn_compact(struct http_conn *c)
{
	if (!c->at)
		return;
	memmove(c->in, c->in + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	c->in[c->len] = '\0';
}

enum http_got http_conn_fill(struct http_conn *c, bool wait)
{
	if (!c->in && !(c->in = malloc(WINDOW + 1)))
		return HTTP_FAILED;
	if (c->at == c->len)
		c->at = c->len = 0;
	if (c->len == WINDOW)
		http_conn_compact(c);
	if (c->len == WINDOW)
		return HTTP_FAILED;
	for (;;) {
		ssize_t got = receive(c, c->in + c->len, WINDOW - c->len);
		if (got > 0) {
			c->len += (size_t)got;
			c->in[c->len] = '\0';
			if (c->len > c->high)
				c->high = c->len;
			return HTTP_GOT;
		}
		if (got != HTTP_AGAIN || !wait)
			return (enum http_got)got;
		if (wait_for(c, POLLIN) < 0)
			return HTTP_FAILED;
	}
}

/* One that waits between two requests holds no window: there may be thousands. */
static void drop_window(struct http_conn *c)
{
	if (c->in)
		explicit_bzero(c->in, c->high);
	free(c->in);
	c->in = NULL;
	c->at = c->len = c->high = 0;
}

static bool first_byte(struct http_conn *c)
{
	if (c->at < c->len)
		return true;
	if (!c->tls || !gnutls_record_check_pending(c->tls)) {
		drop_window(c);
		if (wait_for(c, POLLIN) < 0)
			return false;
	}
	return http_conn_fill(c, true) == HTTP_GOT;
}

bool http_conn_await(struct http_conn *c)
{
	c->idle =
		true; /* before it is looked whether this ends: http_pool_end() does the reverse */
	bool got = !(c->ending && *c->ending) && first_byte(c);
	c->idle = false;
	return got;
}

/* ---- writing ---- */

static ssize_t transmit(struct http_conn *c, const void *p, size_t n)
{
	if (!c->tls) {
		ssize_t put = send(c->fd, p, n, MSG_NOSIGNAL);
		return put >= 0 ? put : again(errno) ? HTTP_AGAIN : HTTP_FAILED;
	}
	ssize_t put = gnutls_record_send(c->tls, p, n);
	if (put >= 0)
		return put;
	return put == GNUTLS_E_AGAIN || put == GNUTLS_E_INTERRUPTED ? HTTP_AGAIN : HTTP_FAILED;
}

static int transmit_all(struct http_conn *c, const char *p, size_t n)
{
	while (n && !c->dead) {
		/* GnuTLS wants the very same bytes again after AGAIN, and so it gets them. */
		ssize_t put = transmit(c, p, n > RECORD ? RECORD : n);
		if (put > 0) {
			p += put;
			n -= (size_t)put;
		} else if (put != HTTP_AGAIN || wait_for(c, POLLOUT) < 0) {
			c->dead = true;
		}
	}
	return c->dead ? -1 : 0;
}

int http_conn_flush(struct http_conn *c)
{
	int rc = c->out.len ? transmit_all(c, c->out.data, c->out.len) : 0;
	c->out.len = 0;
	return rc < 0 || c->dead ? -1 : 0;
}

int http_conn_put(struct http_conn *c, const void *p, size_t n)
{
	while (n >= RECORD && !c->out.len) {
		if (transmit_all(c, p, RECORD) < 0)
			return -1;
		p = (const char *)p + RECORD;
		n -= RECORD;
	}
	while (n) {
		size_t room = RECORD - c->out.len;
		size_t take = n < room ? n : room;
		buf_add(&c->out, p, take);
		if (buf_failed(&c->out))
			c->dead = true;
		p = (const char *)p + take;
		n -= take;
		if (c->out.len == RECORD && http_conn_flush(c) < 0)
			return -1;
	}
	return c->dead ? -1 : 0;
}

int http_conn_puts(struct http_conn *c, const char *s)
{
	return http_conn_put(c, s, strlen(s));
}

void http_conn_allow(struct http_conn *c, size_t n)
{
	c->deadline = clock_mono_ms() + 20000 + (int64_t)n;
}

/* ---- ending ---- */

void http_conn_drain(struct http_conn *c)
{
	int64_t limit = clock_mono_ms() + DRAIN_MS;
	if (c->deadline > limit)
		c->deadline = limit;
	if (c->dead || http_conn_flush(c) < 0)
		return;
	if (c->tls)
		gnutls_bye(c->tls, GNUTLS_SHUT_WR);
	shutdown(c->fd, SHUT_WR);
	for (size_t total = 0; total < DRAIN_BYTES;) {
		char waste[16384];
		ssize_t n = recv(c->fd, waste, sizeof waste, 0); /* undecrypted: nobody reads it */
		if (n == 0 || (n < 0 && !again(errno)))
			return;
		if (n > 0)
			total += (size_t)n;
		else if (wait_for(c, POLLIN) < 0)
			return;
	}
}

void http_conn_close(struct http_conn *c, bool clean)
{
	if (clean && !c->dead && http_conn_flush(c) == 0 && c->tls)
		gnutls_bye(c->tls, GNUTLS_SHUT_WR);
	if (!clean) {
		struct linger reset = {.l_onoff = 1};
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	}
	if (c->tls)
		gnutls_deinit(c->tls);
	c->tls = NULL;
	fd_close(&c->fd);
	drop_window(c);
	buf_free(&c->out);
}

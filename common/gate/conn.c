#include "gate/conn.h"

#include "base/file.h"
#include "gate/http.h"

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

static int name_asked(gnutls_session_t s, char out[HOST_MAX])
{
	char raw[512];
	size_t n = sizeof raw;
	unsigned type;
	const char *why;
	if (gnutls_server_name_get(s, raw, &n, &type, 0) < 0 || type != GNUTLS_NAME_DNS)
		return -1;
	return host_normalise(raw, strnlen(raw, n), out, &why);
}

static int choose_leaf(gnutls_session_t s, const struct gnutls_cert_retr_st *info,
	gnutls_pcert_st **certs, unsigned *ncerts, gnutls_ocsp_data_st **ocsp, unsigned *nocsp,
	gnutls_privkey_t *key, unsigned *flags)
{
	struct conn *c = gnutls_session_get_ptr(s);
	(void)info;
	if (name_asked(s, c->sni) < 0)
		return -1;
	struct ca_leaf *leaf = ca_leaf(c->shared->ca, c->sni);
	if (!leaf)
		return -1;
	*certs = &leaf->cert;
	*ncerts = 1;
	*ocsp = NULL;
	*nocsp = 0;
	*key = leaf->key;
	*flags = 0;
	return 0;
}

int conn_tls_init(struct conn_tls *t, struct ca *ca, struct err *e)
{
	static const char suites[] =
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:"
		"+CHACHA20-POLY1305:+AES-256-GCM:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"
		":%SERVER_PRECEDENCE"; /* the cheapest cipher: nobody is between the two */
	*t = (struct conn_tls){.ca = ca};
	if (gnutls_certificate_allocate_credentials(&t->cred) < 0 ||
		gnutls_priority_init(&t->priority, suites, NULL) < 0) {
		conn_tls_free(t);
		return err_set(e, ERR_SANDBOX, "cannot set up TLS");
	}
	gnutls_certificate_set_retrieve_function3(t->cred, choose_leaf);
	return 0;
}

void conn_tls_free(struct conn_tls *t)
{
	if (t->cred)
		gnutls_certificate_free_credentials(t->cred);
	if (t->priority)
		gnutls_priority_deinit(t->priority);
	*t = (struct conn_tls){0};
}

/* ---- waiting ---- */

/* 0 when ready, -1 when the time is over. A hang-up counts as ready: the next call sees it. */
static int wait_for(const struct conn *c, short events)
{
	for (;;) {
		int64_t left = c->deadline - clock_mono_ms();
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

/* ---- opening ---- */

int conn_sniff(struct conn *c)
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

int conn_handshake(struct conn *c)
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
			return c->sni[0] ? 0 : -1;
		if (gnutls_error_is_fatal(rc))
			return -1;
		bool out = gnutls_record_get_direction(c->tls);
		if (rc == GNUTLS_E_AGAIN && wait_for(c, out ? POLLOUT : POLLIN) < 0)
			return -1;
	}
}

/* ---- reading ---- */

static ssize_t receive(struct conn *c, void *p, size_t n)
{
	if (!c->tls) {
		ssize_t got = recv(c->fd, p, n, 0);
		return got >= 0 ? got : again(errno) ? CONN_AGAIN : CONN_FAILED;
	}
	ssize_t got;
	do
		got = gnutls_record_recv(c->tls, p, n);
	while (got == GNUTLS_E_INTERRUPTED);
	if (got >= 0)
		return got;
	return got == GNUTLS_E_AGAIN ? CONN_AGAIN : CONN_FAILED;
}

void conn_compact(struct conn *c)
{
	if (!c->at)
		return;
	memmove(c->in, c->in + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	c->in[c->len] = '\0';
}

enum conn_got conn_fill(struct conn *c, bool wait)
{
	if (!c->in && !(c->in = malloc(WINDOW + 1)))
		return CONN_FAILED;
	if (c->at == c->len)
		c->at = c->len = 0;
	if (c->len == WINDOW)
		conn_compact(c);
	if (c->len == WINDOW)
		return CONN_FAILED;
	for (;;) {
		ssize_t got = receive(c, c->in + c->len, WINDOW - c->len);
		if (got > 0) {
			c->len += (size_t)got;
			c->in[c->len] = '\0';
			return CONN_GOT;
		}
		if (got != CONN_AGAIN || !wait)
			return (enum conn_got)got;
		if (wait_for(c, POLLIN) < 0)
			return CONN_FAILED;
	}
}

/* ---- writing ---- */

static ssize_t transmit(struct conn *c, const void *p, size_t n)
{
	if (!c->tls) {
		ssize_t put = send(c->fd, p, n, MSG_NOSIGNAL);
		return put >= 0 ? put : again(errno) ? CONN_AGAIN : CONN_FAILED;
	}
	ssize_t put = gnutls_record_send(c->tls, p, n);
	if (put >= 0)
		return put;
	return put == GNUTLS_E_AGAIN || put == GNUTLS_E_INTERRUPTED ? CONN_AGAIN : CONN_FAILED;
}

static int transmit_all(struct conn *c, const char *p, size_t n)
{
	while (n && !c->dead) {
		/* GnuTLS wants the very same bytes again after AGAIN, and so it gets them. */
		ssize_t put = transmit(c, p, n > RECORD ? RECORD : n);
		if (put > 0) {
			p += put;
			n -= (size_t)put;
		} else if (put != CONN_AGAIN || wait_for(c, POLLOUT) < 0) {
			c->dead = true;
		}
	}
	return c->dead ? -1 : 0;
}

int conn_flush(struct conn *c)
{
	int rc = c->out.len ? transmit_all(c, c->out.data, c->out.len) : 0;
	c->out.len = 0;
	return rc < 0 || c->dead ? -1 : 0;
}

int conn_put(struct conn *c, const void *p, size_t n)
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
		if (c->out.len == RECORD && conn_flush(c) < 0)
			return -1;
	}
	return c->dead ? -1 : 0;
}

int conn_puts(struct conn *c, const char *s)
{
	return conn_put(c, s, strlen(s));
}

/* ---- ending ---- */

void conn_drain(struct conn *c)
{
	int64_t limit = clock_mono_ms() + DRAIN_MS;
	if (c->deadline > limit)
		c->deadline = limit;
	if (c->dead || conn_flush(c) < 0)
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

void conn_close(struct conn *c, bool clean)
{
	if (clean && !c->dead && conn_flush(c) == 0 && c->tls)
		gnutls_bye(c->tls, GNUTLS_SHUT_WR);
	if (!clean) {
		struct linger reset = {.l_onoff = 1};
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	}
	if (c->tls)
		gnutls_deinit(c->tls);
	c->tls = NULL;
	fd_close(&c->fd);
	if (c->in)
		explicit_bzero(c->in, WINDOW);
	free(c->in);
	c->in = NULL;
	buf_free(&c->out);
}

/*
 * A client that is faster than what it measures: threads, each with a TLS connection of its own
 * (or a new one for each request), asking for one path again and again.
 *
 *   load PORT NAME CA.pem THREADS REQUESTS keep|close get|put PATH [BYTES]
 *
 * Prints requests a second, the median latency in milliseconds, and MB a second, as JSON.
 */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct job {
	int port, requests;
	const char *name, *path;
	bool keep, put;
	size_t bytes;
	gnutls_certificate_credentials_t cred;
};

struct worker {
	const struct job *job;
	pthread_t thread;
	int fd;
	gnutls_session_t tls;
	double *ms;
	size_t moved;
	char buf[65536];
};

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

static void open_tls(struct worker *w)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->job->port)};
	int on = 1, rc;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(w->fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("cannot connect");
	gnutls_init(&w->tls, GNUTLS_CLIENT);
	gnutls_set_default_priority(w->tls);
	gnutls_server_name_set(w->tls, GNUTLS_NAME_DNS, w->job->name, strlen(w->job->name));
	gnutls_session_set_verify_cert(w->tls, w->job->name, 0);
	gnutls_credentials_set(w->tls, GNUTLS_CRD_CERTIFICATE, w->job->cred);
	gnutls_transport_set_int(w->tls, w->fd);
	do
		rc = gnutls_handshake(w->tls);
	while (rc < 0 && !gnutls_error_is_fatal(rc));
	if (rc < 0)
		die(gnutls_strerror(rc));
}

static void close_tls(struct worker *w)
{
	gnutls_deinit(w->tls);
	close(w->fd);
	w->tls = NULL;
}

static void send_all(struct worker *w, const char *p, size_t n)
{
	while (n) {
		ssize_t put = gnutls_record_send(w->tls, p, n);
		if (put < 0 && put != GNUTLS_E_AGAIN && put != GNUTLS_E_INTERRUPTED)
			die("cannot send");
		p += put > 0 ? put : 0;
		n -= put > 0 ? (size_t)put : 0;
	}
}

static ssize_t receive(struct worker *w, char *p, size_t n)
{
	ssize_t got;
	do
		got = gnutls_record_recv(w->tls, p, n);
	while (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED);
	return got;
}

/* Reads one answer of known length; its status must be 200. */
static void read_answer(struct worker *w)
{
	size_t have = 0;
	char *end = NULL;
	while (!end) {
		ssize_t got = receive(w, w->buf + have, sizeof w->buf - 1 - have);
		if (got <= 0)
			die("no answer");
		have += (size_t)got;
		w->buf[have] = '\0';
		end = strstr(w->buf, "\r\n\r\n");
	}
	char *length = strcasestr(w->buf, "content-length:");
	if (w->buf[9] != '2' || !length)
		die(w->buf);
	size_t left = strtoul(length + 15, NULL, 10), body = have - (size_t)(end + 4 - w->buf);
	w->moved += left;
	left -= body;
	while (left) {
		ssize_t got = receive(w, w->buf, left < sizeof w->buf ? left : sizeof w->buf);
		if (got <= 0)
			die("answer cut short");
		left -= (size_t)got;
	}
}

static void send_request(struct worker *w)
{
	const struct job *j = w->job;
	static char zeros[16384];
	int n = snprintf(w->buf, sizeof w->buf, "%s %s HTTP/1.1\r\nHost: %s\r\n%s",
		j->put ? "PUT" : "GET", j->path, j->name, j->keep ? "" : "Connection: close\r\n");
	if (j->put)
		n += snprintf(w->buf + n, 99, "Content-Length: %zu\r\n", j->bytes);
	n += snprintf(w->buf + n, 9, "\r\n");
	send_all(w, w->buf, (size_t)n);
	for (size_t left = j->put ? j->bytes : 0; left;) {
		size_t k = left < sizeof zeros ? left : sizeof zeros;
		send_all(w, zeros, k);
		left -= k;
		w->moved += k;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	for (int i = 0; i < w->job->requests; i++) {
		double start = now_ms();
		if (!w->tls)
			open_tls(w);
		send_request(w);
		read_answer(w);
		if (!w->job->keep)
			close_tls(w);
		w->ms[i] = now_ms() - start;
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	if (argc < 9)
		die("usage: PORT NAME CA THREADS REQUESTS keep|close get|put PATH [BYTES]");
	struct job job = {.port = atoi(argv[1]),
		.name = argv[2],
		.requests = atoi(argv[5]),
		.keep = !strcmp(argv[6], "keep"),
		.put = !strcmp(argv[7], "put"),
		.path = argv[8],
		.bytes = argc > 9 ? strtoul(argv[9], NULL, 10) : 0};
	int n = atoi(argv[4]);
	size_t all = (size_t)n * (size_t)job.requests, moved = 0;
	struct worker *w = calloc((size_t)n, sizeof *w);
	double *ms = calloc(all, sizeof *ms);
	gnutls_certificate_allocate_credentials(&job.cred);
	if (!w || !ms ||
		gnutls_certificate_set_x509_trust_file(job.cred, argv[3], GNUTLS_X509_FMT_PEM) < 1)
		die("no CA");
	double start = now_ms();
	for (int i = 0; i < n; i++) {
		w[i].job = &job;
		w[i].ms = ms + (size_t)i * (size_t)job.requests;
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		moved += w[i].moved;
	}
	double took = now_ms() - start;
	qsort(ms, all, sizeof *ms, by_size);
	printf("{\"rps\": %.1f, \"ms\": %.4f, \"mbs\": %.1f}\n", (double)all / took * 1e3,
		ms[all / 2], (double)moved / took / 1e3);
	return 0;
}

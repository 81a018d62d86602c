/*
 * Load for a server of MCP over HTTP(S): so many clients, each on a connection of its own, kept
 * alive, sending one body again and again. door_load HOST PORT tls|plain CLIENTS CALLS HEADS BODY:
 * the last two are files, HEADS without its Content-Length and empty line. Prints calls a second,
 * the median and the 99th percentile of a call's ms, and the processor seconds of this program.
 */
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *host, *port;
static int tls;
static char *request;
static size_t request_len;
static int calls;
static double *took;

struct client {
	pthread_t thread;
	int first, fd, bad;
	gnutls_session_t s;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "re");
	char *b = malloc(1 << 20);
	if (!f || !b)
		exit(2);
	*n = fread(b, 1, 1 << 20, f);
	fclose(f);
	return b;
}

static int dial(struct client *c)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *ai;
	int on = 1;
	if (getaddrinfo(host, port, &hints, &ai) != 0)
		return -1;
	c->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(c->fd, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (rc < 0 || !tls)
		return rc;
	gnutls_certificate_credentials_t cred;
	gnutls_certificate_allocate_credentials(&cred);
	gnutls_init(&c->s, GNUTLS_CLIENT);
	gnutls_set_default_priority(c->s);
	gnutls_server_name_set(c->s, GNUTLS_NAME_DNS, host, strlen(host));
	gnutls_credentials_set(c->s, GNUTLS_CRD_CERTIFICATE, cred);
	gnutls_transport_set_int(c->s, c->fd);
	do
		rc = gnutls_handshake(c->s);
	while (rc < 0 && !gnutls_error_is_fatal(rc));
	return rc < 0 ? -1 : 0;
}

static ssize_t get(struct client *c, char *p, size_t n)
{
	return tls ? gnutls_record_recv(c->s, p, n) : recv(c->fd, p, n, 0);
}

static ssize_t put(struct client *c, const char *p, size_t n)
{
	return tls ? gnutls_record_send(c->s, p, n) : send(c->fd, p, n, MSG_NOSIGNAL);
}

/* An answer with a length, or chunked to a last chunk. */
static int call(struct client *c)
{
	static _Thread_local char b[1 << 18];
	size_t len = 0;
	if (put(c, request, request_len) != (ssize_t)request_len)
		return -1;
	for (;;) {
		ssize_t n = get(c, b + len, sizeof b - 1 - len);
		if (n <= 0)
			return -1;
		len += (size_t)n;
		b[len] = '\0';
		char *end = strstr(b, "\r\n\r\n");
		if (!end)
			continue;
		char *length = strcasestr(b, "content-length:");
		size_t head = (size_t)(end + 4 - b);
		if (length && length < end && len >= head + strtoul(length + 15, NULL, 10))
			break;
		if ((!length || length > end) && strstr(end, "\r\n0\r\n\r\n"))
			break;
	}
	return strncmp(b, "HTTP/1.1 200", 12) == 0 ? 0 : -1;
}

static void *work(void *arg)
{
	struct client *c = arg;
	if (dial(c) < 0) {
		c->bad = calls;
		return NULL;
	}
	for (int i = 0; i < calls; i++) {
		double begun = now();
		c->bad += call(c) < 0;
		took[c->first + i] = now() - begun;
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t nhead, nbody;
	struct rusage u;
	if (argc != 8)
		return 2;
	host = argv[1];
	port = argv[2];
	tls = strcmp(argv[3], "tls") == 0;
	int n = atoi(argv[4]);
	calls = atoi(argv[5]);
	char *head = read_file(argv[6], &nhead), *body = read_file(argv[7], &nbody);
	request = malloc(nhead + nbody + 64);
	request_len = (size_t)sprintf(
		request, "%.*sContent-Length: %zu\r\n\r\n", (int)nhead, head, nbody);
	memcpy(request + request_len, body, nbody);
	request_len += nbody;
	took = calloc((size_t)(n * calls), sizeof *took);
	struct client *all = calloc((size_t)n, sizeof *all);
	double begun = now();
	for (int i = 0; i < n; i++) {
		all[i].first = i * calls;
		pthread_create(&all[i].thread, NULL, work, &all[i]);
	}
	int bad = 0;
	for (int i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		bad += all[i].bad;
	}
	double all_s = now() - begun;
	qsort(took, (size_t)(n * calls), sizeof *took, by_value);
	getrusage(RUSAGE_SELF, &u);
	printf("%.1f %.3f %.3f %.3f %d\n", n * calls / all_s, took[n * calls / 2] * 1e3,
		took[n * calls * 99 / 100] * 1e3,
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
		bad);
	return bad != 0;
}

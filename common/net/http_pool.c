#include "net/http_pool.h"

#include "base/file.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define STACK 524288
#define END_MS 5000 /* for threads to notice that all is over */
#define RETRY_MS 20 /* until it is looked again whether there is room */

/* A connection and its thread, in the pool's list while it lives. */
struct seat {
	struct http_pool *pool;
	http_serve_fn *serve;
	void *arg;
	struct http_conn c;
	struct seat *prev, *next;
};

struct http_pool {
	pthread_attr_t attr;
	pthread_mutex_t lock;
	pthread_cond_t gone;
	struct seat *seats; /* the newest first */
	size_t n, max;
	atomic_bool ending;
};

struct http_pool *http_pool_new(size_t max, struct err *e)
{
	struct http_pool *p = calloc(1, sizeof *p);
	pthread_condattr_t mono;
	if (!p) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	p->max = max;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&p->gone, &mono);
	pthread_condattr_destroy(&mono);
	pthread_mutex_init(&p->lock, NULL);
	pthread_attr_init(&p->attr);
	pthread_attr_setdetachstate(&p->attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&p->attr, STACK);
	return p;
}

void http_pool_free(struct http_pool **p)
{
	if (!*p)
		return;
	pthread_attr_destroy(&(*p)->attr);
	pthread_mutex_destroy(&(*p)->lock);
	pthread_cond_destroy(&(*p)->gone);
	free(*p);
	*p = NULL;
}

static void link_seat(struct http_pool *p, struct seat *s)
{
	s->next = p->seats;
	if (p->seats)
		p->seats->prev = s;
	p->seats = s;
	p->n++;
}

static void unlink_seat(struct http_pool *p, struct seat *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		p->seats = s->next;
	if (s->next)
		s->next->prev = s->prev;
	p->n--;
}

static void *seat_main(void *arg)
{
	struct seat *s = arg;
	struct http_pool *p = s->pool;
	bool clean = s->serve(&s->c, s->arg);
	/* What the end of the pool waits for touches nothing of it after; and off the list before
	 * the descriptor is closed, so that nobody shuts down somebody else's number. */
	pthread_mutex_lock(&p->lock);
	unlink_seat(p, s);
	pthread_cond_signal(&p->gone);
	pthread_mutex_unlock(&p->lock);
	http_conn_close(&s->c, clean);
	free(s);
	return NULL;
}

bool http_pool_room(struct http_pool *p)
{
	struct seat *oldest = NULL;
	pthread_mutex_lock(&p->lock);
	bool room = p->n < p->max;
	for (struct seat *s = room ? NULL : p->seats; s; s = s->next)
		oldest = s->c.idle ? s : oldest;
	if (oldest)
		shutdown(oldest->c.fd, SHUT_RDWR);
	pthread_mutex_unlock(&p->lock);
	return room;
}

static int start(struct http_pool *p, struct seat *s)
{
	pthread_t thread;
	pthread_mutex_lock(&p->lock);
	link_seat(p, s);
	int rc = pthread_create(&thread, &p->attr, seat_main, s);
	if (rc)
		unlink_seat(p, s);
	pthread_mutex_unlock(&p->lock);
	return rc ? -1 : 0;
}

bool http_pool_accept(struct http_pool *p, int listener, const struct http_conn *like,
	http_serve_fn *serve, void *arg)
{
	int on = 1;
	while (http_pool_room(p)) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return errno != EMFILE && errno != ENFILE && errno != ENOMEM &&
			       errno != ENOBUFS;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		struct seat *s = calloc(1, sizeof *s);
		if (s) {
			*s = (struct seat){.pool = p, .serve = serve, .arg = arg, .c = *like};
			s->c.fd = fd;
			s->c.ending = &p->ending;
		}
		if (!s || start(p, s) < 0) {
			close(fd);
			free(s);
			return false;
		}
	}
	return true;
}

int http_pool_run(
	struct http_pool *p, int listener, int stop, http_serve_fn *serve, void *arg, struct err *e)
{
	static const struct http_conn plain;
	for (bool room = true;; room = room && http_pool_room(p)) {
		struct pollfd w[2] = {{.fd = stop, .events = POLLIN},
			{.fd = room ? listener : -1, .events = POLLIN}};
		if (poll(w, 2, room ? -1 : RETRY_MS) < 0 && errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait for connections");
		if (w[0].revents)
			return 0;
		room = !w[1].revents || http_pool_accept(p, listener, &plain, serve, arg);
	}
}

/* ---- the end ---- */

static void shut(struct http_pool *p, bool all)
{
	for (struct seat *s = p->seats; s; s = s->next)
		if (all || s->c.idle)
			shutdown(s->c.fd, SHUT_RDWR);
}

static int wait_gone(struct http_pool *p, int ms)
{
	struct timespec until;
	int rc = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (ms % 1000) * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	while (p->n && rc == 0)
		rc = pthread_cond_timedwait(&p->gone, &p->lock, &until);
	return p->n ? -1 : 0;
}

int http_pool_end(struct http_pool *p, int grace)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true; /* before it is looked who is idle: see http_conn_await() */
	shut(p, false);
	int rc = grace ? wait_gone(p, grace) : -1;
	if (rc < 0) {
		shut(p, true);
		rc = wait_gone(p, END_MS);
	}
	p->ending = false;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* ---- requests ---- */

/* True: another may follow. */
static bool serve_one(const struct http_service *sv, struct http_conn *c)
{
	struct http_request r = {0};
	const char *why = "";
	int bad = http_request_read(&r, c, &why);
	if (bad >= 0)
		sv->answer(sv->arg, &r, bad, why);
	if (bad >= 0 && !r.body_done)
		http_conn_drain(c);
	bool more = bad == 0 && !r.close && !c->dead && r.body_done;
	http_request_end(&r);
	return more;
}

bool http_serve(struct http_conn *c, void *service)
{
	const struct http_service *sv = service;
	bool more = true;
	c->patience = sv->idle_ms;
	while (more) {
		c->deadline = clock_mono_ms() + sv->idle_ms;
		if (!http_conn_await(c))
			break;
		c->deadline = clock_mono_ms() + sv->head_ms;
		more = serve_one(sv, c);
	}
	return !c->dead;
}

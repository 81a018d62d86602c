#include "front/front_metrics.h"

#include "base/file.h"
#include "net/http_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define SERIES_MAX 2000 /* what is beyond is counted under no name */
#define CONNECTIONS 8
#define WAIT_MS MS(10)

/* Answers of one status about one expert. */
struct series {
	char expert[DOOR_NAME_MAX + 1];
	int status;
	uint64_t n, ms, bytes;
};

struct front_metrics {
	pthread_mutex_t lock;
	struct series v[SERIES_MAX];
	size_t n;
	struct front *f;
	struct http_pool *pool;
	struct http_service service;
	int listener, stop;
};

struct front_metrics *front_metrics_new(void)
{
	struct front_metrics *m = calloc(1, sizeof *m);
	if (m)
		pthread_mutex_init(&m->lock, NULL);
	return m;
}

/* Under the lock. Names that anybody may make up are only kept where the answer says that there is
 * such an expert. */
static struct series *find(struct front_metrics *m, const char *expert, int status)
{
	const char *name =
		status == 401 || status == 404 || status == 429 || status == 421 ? "" : expert;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].status == status && strcmp(m->v[i].expert, name) == 0)
			return &m->v[i];
	if (m->n == SERIES_MAX)
		return &m->v[SERIES_MAX - 1];
	struct series *s = &m->v[m->n++];
	snprintf(s->expert, sizeof s->expert, "%s", name);
	s->status = status;
	return s;
}

void front_metrics_note(struct front_metrics *m, const struct visit *v)
{
	pthread_mutex_lock(&m->lock);
	struct series *s = find(m, v->expert, v->status);
	s->n++;
	s->ms += (uint64_t)(clock_mono_ms() - v->began);
	s->bytes += v->bytes;
	pthread_mutex_unlock(&m->lock);
}

static void put_series(const struct front_metrics *m, struct buf *b)
{
	buf_adds(b, "# HELP evctl_door_requests_total Requests answered, by expert and status.\n"
		    "# TYPE evctl_door_requests_total counter\n");
	for (size_t i = 0; i < m->n; i++)
		buf_addf(b, "evctl_door_requests_total{expert=\"%s\",status=\"%d\"} %llu\n",
			m->v[i].expert, m->v[i].status, (unsigned long long)m->v[i].n);
	buf_adds(b, "# HELP evctl_door_seconds_total Time to the answer's end.\n"
		    "# TYPE evctl_door_seconds_total counter\n");
	for (size_t i = 0; i < m->n; i++)
		buf_addf(b, "evctl_door_seconds_total{expert=\"%s\",status=\"%d\"} %.3f\n",
			m->v[i].expert, m->v[i].status, (double)m->v[i].ms / 1000);
	buf_adds(b, "# HELP evctl_door_sent_bytes_total Bytes of answers' bodies.\n"
		    "# TYPE evctl_door_sent_bytes_total counter\n");
	for (size_t i = 0; i < m->n; i++)
		buf_addf(b, "evctl_door_sent_bytes_total{expert=\"%s\",status=\"%d\"} %llu\n",
			m->v[i].expert, m->v[i].status, (unsigned long long)m->v[i].bytes);
}

static void put_sums(const struct front_metrics *m, struct buf *b)
{
	uint64_t refused[2] = {0};
	size_t sessions, waiting;
	for (size_t i = 0; i < m->n; i++) {
		refused[0] += m->v[i].status == 401 || m->v[i].status == 403 ? m->v[i].n : 0;
		refused[1] += m->v[i].status == 429 ? m->v[i].n : 0;
	}
	talks_count(m->f->sessions, &sessions, &waiting);
	buf_addf(b,
		"# HELP evctl_door_sessions Processes that serve sessions now.\n"
		"# TYPE evctl_door_sessions gauge\nevctl_door_sessions %zu\n"
		"# HELP evctl_door_waiting_bytes Replies that nobody has taken yet.\n"
		"# TYPE evctl_door_waiting_bytes gauge\nevctl_door_waiting_bytes %zu\n"
		"# HELP evctl_door_refused_total Requests refused, by what for.\n"
		"# TYPE evctl_door_refused_total counter\n"
		"evctl_door_refused_total{kind=\"token\"} %llu\n"
		"evctl_door_refused_total{kind=\"many\"} %llu\n",
		sessions, waiting, (unsigned long long)refused[0], (unsigned long long)refused[1]);
}

static void answer(void *arg, struct http_request *r, int bad, const char *why)
{
	struct front_metrics *m = arg;
	BUF_AUTO b = {0};
	STR_AUTO path = bad ? NULL : http_path(r->head.target);
	const struct http_header h[] = {
		{"Content-Type", "text/plain; version=0.0.4"}, {"Cache-Control", "no-store"}};
	int status = bad ? bad : 404;
	if (path && strcmp(path, "/metrics") == 0) {
		status = 200;
		pthread_mutex_lock(&m->lock);
		put_series(m, &b);
		put_sums(m, &b);
		pthread_mutex_unlock(&m->lock);
	} else {
		buf_addf(&b, "%s\n", bad ? why : "GET /metrics");
	}
	http_conn_allow(r->c, b.len);
	http_request_answer(r, status, h, 2, buf_str(&b), b.len);
}

static void *serve_all(void *arg)
{
	struct front_metrics *m = arg;
	struct err quiet = {0};
	http_pool_run(m->pool, m->listener, m->stop, http_serve, &m->service, &quiet);
	return NULL;
}

int front_metrics_serve(struct front_metrics *m, struct front *f, int listener, struct err *e)
{
	pthread_t t;
	m->f = f;
	m->listener = listener;
	m->stop = eventfd(0, EFD_CLOEXEC); /* never */
	m->pool = http_pool_new(CONNECTIONS, e);
	m->service = (struct http_service){
		.idle_ms = WAIT_MS, .head_ms = WAIT_MS, .answer = answer, .arg = m};
	if (!m->pool || m->stop < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (pthread_create(&t, NULL, serve_all, m))
		return err_set(e, ERR_FAIL, "cannot start a thread");
	pthread_detach(t);
	return 0;
}

#include "gate/client.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "base/text.h"
#include "gate/message.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_MS 10000
#define ANSWER_MS 15000

struct gate {
	struct child child;
	int sock;
	int journal; /* gate/message.h; -1: none */
	char *ca;    /* NULL until it is ready */
};

static int gone(struct err *e)
{
	return err_set(e, ERR_SANDBOX, "the gate is gone");
}

static int say(struct gate *g, const struct fields *f, const void *what, const int *fds, size_t n,
	struct err *e)
{
	BUF_AUTO b = {.limit = GATE_MESSAGE_MAX, .secret = true};
	struct err why = {0};
	if (field_write(&b, f, what, e) < 0)
		return -1;
	return frame_send(g->sock, b.data, b.len, fds, n, &why) == 0 ? 0 : gone(e);
}

/* The gate's next message into b, which is to be one of these; else an error. */
static int hear(
	struct gate *g, const struct fields *f, void *to, int64_t ms, struct buf *b, struct err *e)
{
	struct err why = {0};
	struct gate_word said = {0};
	b->limit = GATE_MESSAGE_MAX;
	int rc = frame_recv(g->sock, b, NULL, NULL, clock_mono_ms() + ms, &why);
	if (rc == 1 && field_read(b, f, to) == 0)
		return 0;
	if (rc == 1 && field_read(b, &gate_error_fields, &said) == 0)
		return err_set(e, ERR_SANDBOX, "%s", said.text);
	if (why.code == ERR_TIMEOUT)
		return err_set(e, ERR_SANDBOX, "the gate does not answer");
	return gone(e);
}

/* ---- the gate ---- */

static int start_child(struct gate *g, const char *path, int log_fd, int theirs, struct err *e)
{
	const char *const argv[] = {path, NULL};
	const int fds[] = {-1, -1, log_fd, theirs, g->journal};
	struct child_spec spec = {.argv = argv, .fds = fds, .nfds = 5, .new_session = true};
	struct err why = {0};
	if (child_start(&g->child, &spec, &why) == 0)
		return 0;
	err_set(e, ERR_SANDBOX, "%s", why.msg);
	return err_hint(e, "see what this machine lacks: evctl doctor");
}

/* Of a size that the gate can't change under its reader. */
static int make_journal(void)
{
	FD_AUTO fd = memfd_create("events", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, GATE_JOURNAL_MAX) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -1;
	int keep = fd;
	fd = -1;
	return keep;
}

int gate_start(struct gate **out, const char *egress_path, const int *fds, const uint16_t *ports,
	size_t n, int log_fd, struct err *e)
{
	int pair[2];
	*out = NULL;
	if (n > FRAME_MAX_FDS)
		return err_set(e, ERR_USAGE, "more than %d ports to listen on", FRAME_MAX_FDS);
	struct gate *g = calloc(1, sizeof *g);
	if (!g || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(g);
		return err_errno(e, ERR_SANDBOX, "cannot start the gate");
	}
	g->child = CHILD_NONE;
	g->sock = pair[0];
	g->journal = make_journal();
	int rc = start_child(g, egress_path, log_fd, pair[1], e);
	close(pair[1]);
	const struct gate_opening opening = {(uint16_t *)ports, n};
	if (rc == 0)
		rc = say(g, &gate_open_fields, &opening, fds, n, e);
	if (rc < 0)
		gate_stop(&g);
	*out = g;
	return rc;
}

int gate_ca(struct gate *g, const char **pem, struct err *e)
{
	BUF_AUTO b = {0};
	struct gate_word ca = {0};
	if (!g->ca && hear(g, &gate_ready_fields, &ca, READY_MS, &b, e) == 0)
		g->ca = strdup(ca.text);
	*pem = g->ca;
	return g->ca ? 0 : gone(e);
}

int gate_begin(struct gate *g, const struct gate_policy *p, struct err *e)
{
	BUF_AUTO b = {0};
	const char *pem;
	if (gate_ca(g, &pem, e) < 0 || say(g, &gate_policy_fields, p, NULL, 0, e) < 0)
		return -1;
	return hear(g, &gate_ok_fields, NULL, ANSWER_MS, &b, e);
}

/* Of a gate that may have been taken over: what it says ends up in records and on terminals. */
static bool is_text(const struct gate_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct net_event *v = &r->events[i];
		const char *const said[] = {v->method, v->host, v->path, v->verdict};
		for (size_t k = 0; k < 4; k++)
			if (!text_is_utf8(said[k], strlen(said[k])))
				return false;
	}
	return true;
}

/* A report of what is in the journal, put together as the gate would have sent it. */
static int read_journal(const struct gate *g, struct gate_report *r)
{
	struct gate_journal head;
	struct err quiet = {0};
	if (g->journal < 0 || pread(g->journal, &head, sizeof head, 0) != sizeof head)
		return -1;
	uint32_t n = (uint32_t)head.state, used = (uint32_t)(head.state >> 32);
	const struct gate_report sums = {.summary = head.summary};
	r->text.limit = GATE_MESSAGE_MAX;
	if (used > GATE_JOURNAL_MAX - sizeof head ||
		field_write(&r->text, &gate_report_fields, &sums, &quiet) < 0)
		return -1;
	/* It ends with the number of events, which was none. */
	for (size_t i = 0; i < sizeof n; i++)
		r->text.data[r->text.len - sizeof n + i] = (char)(n >> 8 * i);
	bool room = buf_reserve(&r->text, used) == 0;
	if (!room ||
		pread(g->journal, r->text.data + r->text.len, used, sizeof head) != (ssize_t)used)
		return -1;
	r->text.len += used;
	return field_read(&r->text, &gate_report_fields, r);
}

int gate_end(struct gate *g, struct gate_report *r, struct err *e)
{
	*r = (struct gate_report){0};
	if (say(g, &gate_end_fields, NULL, NULL, 0, e) == 0 &&
		hear(g, &gate_report_fields, r, ANSWER_MS, &r->text, e) == 0 && is_text(r))
		return 0;
	child_kill(&g->child);
	gate_report_free(r);
	if (read_journal(g, r) < 0 || !is_text(r))
		gate_report_free(r);
	return gone(e);
}

bool gate_alive(const struct gate *g)
{
	struct pollfd p = {.fd = g->child.pidfd, .events = POLLIN};
	return p.fd >= 0 && poll(&p, 1, 0) == 0;
}

int gate_pidfd(const struct gate *g)
{
	return g->child.pidfd;
}

void gate_report_free(struct gate_report *r)
{
	field_free(&gate_report_fields, r);
	buf_free(&r->text);
	*r = (struct gate_report){0};
}

void gate_stop(struct gate **gp)
{
	struct gate *g = *gp;
	if (!g)
		return;
	fd_close(&g->sock);
	fd_close(&g->journal);
	child_kill(&g->child);
	free(g->ca);
	free(g);
	*gp = NULL;
}

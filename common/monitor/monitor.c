#include "monitor/monitor.h"

#include "base/file.h"
#include "base/proc.h"
#include "monitor/admission.h"
#include "monitor/certificate.h"
#include "monitor/desk.h"
#include "monitor/process.h"
#include "state/buyer.h"
#include "state/buyer_token.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TICK_MS 500	/* between looks at tokens, grants and versions */
#define END_MS MS(5)	/* for a process to end when its token has */
#define LEAVE_MS MS(10) /* for one whose front is through with it */
#define DRAIN_MS MS(35) /* for the front, when all ends */
#define FRONTS_A_MINUTE 5
#define MINUTE_MS 60000

/* A message that waits for what evctl-introspect says. */
struct parked {
	uint64_t number;
	struct buf text;
	struct parked *next;
};

struct monitor {
	struct state *st;
	const struct monitor_spec *spec;
	struct certificate *cert; /* NULL: no TLS */
	struct desk *desk;
	struct foreign *foreign; /* NULL: no tokens but ours */
	struct parked *parked;
	struct child front;
	int sock, signals;
	int64_t born[FRONTS_A_MINUTE]; /* of the last fronts, in a ring */
	size_t nborn;
	struct process *first;
	int64_t looked, ends; /* CLOCK_MONOTONIC ms; ends 0: not yet */
};

static void note(const struct monitor *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void note(const struct monitor *m, const char *fmt, ...)
{
	BUF_AUTO b = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	m->spec->note(m->spec->ctx, buf_str(&b));
}

/* ---- to the front --------------------------------------------------------------------------- */

static void say(
	struct monitor *m, const struct fields *f, const void *what, const int *fds, size_t n)
{
	BUF_AUTO b = {.limit = DOOR_MESSAGE_MAX, .secret = true};
	struct err quiet = {0};
	if (m->sock < 0 || field_write(&b, f, what, &quiet) < 0)
		return;
	frame_send(m->sock, b.data, b.len, fds, n, &quiet);
}

static void tell_ended(struct monitor *m, struct process *p)
{
	const struct door_end end = {p->number};
	if (p->told)
		return;
	p->told = true;
	say(m, &door_ended_fields, &end, NULL, 0);
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Who shows a token, and what for: 200, or what to answer; 0: to be looked at again when the number
 * is told of. */
struct entry {
	int status, version;
	uint64_t number;
	int64_t until; /* ms, of a foreign token */
	char buyer[DOOR_NAME_MAX + 1], token[DOOR_NAME_MAX + 1];
};

/* Of a token that is good: 200, 404 or 503. */
static int judge_expert(struct monitor *m, const char *token, const char *buyer, const char *expert,
	int *version, struct err *e)
{
	int may = admission_may(m->st, m->spec->experts, token, buyer, expert, version, e);
	return may < 0 ? 503 : may ? 200 : 404;
}

/* One of an authorization server's. */
static void enter_foreign(
	struct monitor *m, const char *token, const char *expert, struct entry *out)
{
	struct foreign_seen seen = {0};
	struct err e = {0};
	enum foreign_word word = foreign_look(m->foreign, token, expert, &seen, &out->number);
	out->status = word == FOREIGN_ASKED ? 0 : word == FOREIGN_BUSY ? 503 : 401;
	if (word != FOREIGN_YES)
		return;
	STR_AUTO buyer = buyer_of_subject(m->st, m->spec->foreign->rules.issuer, seen.subject, &e);
	if (!buyer) {
		out->status = e.code == ERR_NOTFOUND ? 403 : 503;
		return;
	}
	snprintf(out->buyer, sizeof out->buyer, "%s", buyer);
	snprintf(out->token, sizeof out->token, "%s", seen.id);
	out->until = seen.until;
	out->status = expert ? judge_expert(m, seen.id, buyer, expert, &out->version, &e) : 200;
}

static void enter(struct monitor *m, const char *token, const char *expert, struct entry *out)
{
	struct token_seen seen;
	struct err e = {0};
	*out = (struct entry){.status = 401};
	if (m->foreign && strncmp(token, "evb_", 4) != 0) {
		enter_foreign(m, token, expert, out);
		return;
	}
	int found = token_find(m->st, token, &seen, &e);
	if (found <= 0) {
		out->status = found < 0 ? 503 : 401;
		return;
	}
	memcpy(out->buyer, seen.buyer, sizeof seen.buyer);
	memcpy(out->token, seen.id, sizeof seen.id);
	if (strcmp(seen.only, "pages") == 0)
		out->status = 403;
	else
		out->status =
			expert ? judge_expert(m, seen.id, seen.buyer, expert, &out->version, &e)
			       : 200;
	if (out->status == 200)
		token_note_use(m->st, seen.id, &e);
	if (out->status == 503)
		note(m, "a visitor was turned away: %s", e.msg);
}

/* Keeps a message until its number is told of. */
static int park(struct monitor *m, const struct buf *b, uint64_t number)
{
	struct parked *p = calloc(1, sizeof *p);
	if (!p)
		return -1;
	p->number = number;
	p->text = (struct buf){.limit = DOOR_MESSAGE_MAX, .secret = true};
	buf_add(&p->text, b->data, b->len);
	p->next = m->parked;
	m->parked = p;
	return 0;
}

static int on_admit(struct monitor *m, const struct buf *b)
{
	struct door_admit ask = {0};
	struct entry who;
	if (field_read(b, &door_admit_fields, &ask) < 0)
		return -1;
	enter(m, ask.token, ask.expert, &who);
	if (!who.status)
		return park(m, b, who.number);
	struct door_admitted said = {.id = ask.id, .status = who.status, .version = who.version};
	memcpy(said.buyer, who.buyer, sizeof said.buyer);
	memcpy(said.token, who.token, sizeof said.token);
	say(m, &door_admitted_fields, &said, NULL, 0);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

static bool has_room(const struct monitor *m, const char *buyer)
{
	int64_t all = 0, of_buyer = 0;
	for (const struct process *p = m->first; p; p = p->next) {
		all += !p->kill_at;
		of_buyer += !p->kill_at && strcmp(p->buyer, buyer) == 0;
	}
	return all < m->spec->rules.sessions && of_buyer < m->spec->rules.sessions_each;
}

static struct process *launch(
	struct monitor *m, const struct process_spec *what, int fds[PROCESS_FDS], size_t *nfds)
{
	struct err e = {0};
	struct process *p =
		has_room(m, what->buyer) ? process_start(m->st, what, fds, nfds, &e) : NULL;
	if (e.code)
		note(m, "cannot serve a visitor: %s", e.msg);
	if (!p)
		return NULL;
	p->next = m->first;
	m->first = p;
	return p;
}

static int on_start(struct monitor *m, const struct buf *b)
{
	struct door_start ask = {0};
	struct entry who;
	int fds[PROCESS_FDS];
	size_t nfds = 0;
	if (field_read(b, &door_start_fields, &ask) < 0)
		return -1;
	enter(m, ask.token, ask.expert, &who);
	if (!who.status)
		return park(m, b, who.number);
	struct door_started said = {.id = ask.id, .status = who.status, .version = who.version};
	if (said.status == 200) {
		const struct process_spec what = {.token = who.token,
			.buyer = who.buyer,
			.expert = ask.expert,
			.tool = ask.tool,
			.version = who.version};
		struct process *p = m->ends ? NULL : launch(m, &what, fds, &nfds);
		said.status = p ? 200 : 503;
		said.process = p ? p->number : 0;
	}
	say(m, &door_started_fields, &said, fds, said.status == 200 ? nfds : 0);
	for (size_t i = 0; i < nfds && said.process; i++)
		fd_close(&fds[i]);
	return 0;
}

static int on_end(struct monitor *m, const struct buf *b)
{
	struct door_end end = {0};
	if (field_read(b, &door_end_fields, &end) < 0)
		return -1;
	for (struct process *p = m->first; p; p = p->next)
		if (p->number == end.process && !p->kill_at)
			p->kill_at = clock_mono_ms() + LEAVE_MS;
	return 0;
}

/* What is over, or should be. */
static void reap(struct monitor *m, bool all)
{
	int64_t now = clock_mono_ms();
	for (struct process **at = &m->first; *at;) {
		struct process *p = *at;
		bool over = child_wait(&p->child, NULL, now) == 1;
		if (!over && !all && !(p->kill_at && now >= p->kill_at)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		tell_ended(m, p);
		process_free(&p);
	}
}

/* May it go on being used? A token that is gone ends what it began. */
static void look_at(struct monitor *m, struct process *p)
{
	struct err e = {0};
	int version;
	int lives = admission_lives(m->st, p->token, p->buyer, &e);
	if (p->token[0] == ADMISSION_FOREIGN && !foreign_lives(m->foreign, p->token))
		lives = 0;
	if (lives < 0)
		return; /* looked at again in a moment */
	if (!lives && !p->kill_at) {
		tell_ended(m, p);
		process_end(p, END_MS);
		return;
	}
	int may = lives ? judge_expert(m, p->token, p->buyer, p->expert, &version, &e) : 404;
	if (!p->told && (may == 404 || (may == 200 && version != p->version)))
		tell_ended(m, p);
}

static void look(struct monitor *m)
{
	int64_t now = clock_mono_ms();
	if (now - m->looked < TICK_MS)
		return;
	m->looked = now;
	reap(m, false);
	for (struct process *p = m->first; p; p = p->next)
		look_at(m, p);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* A form has asked for a run: the front gets it, with the input. */
static void start_run(struct monitor *m, const char *cookie, struct desk_answer *a,
	int fds[PROCESS_FDS], size_t *nfds)
{
	struct desk_guest guest;
	struct err e = {0};
	int version = 0;
	bool in = cookie && desk_guest(m->desk, cookie, &guest) &&
		  judge_expert(m, guest.token, guest.buyer, a->run_expert, &version, &e) == 200;
	const struct process_spec what = {.token = in ? guest.token : "",
		.buyer = in ? guest.buyer : "",
		.expert = a->run_expert,
		.tool = a->run_tool,
		.version = version};
	struct process *p = in && !m->ends ? launch(m, &what, fds, nfds) : NULL;
	a->paged.process = p ? p->number : 0;
	a->paged.status = p ? 200 : 503;
	if (!p)
		buf_clear(&a->body);
}

static void answer_page(struct monitor *m, uint64_t id, const char *cookie, struct desk_answer *a)
{
	int fds[PROCESS_FDS];
	size_t nfds = 0;
	if (a->run_tool[0])
		start_run(m, cookie, a, fds, &nfds);
	a->paged.id = id;
	a->paged.body = buf_str(&a->body);
	a->paged.nbody = a->body.len;
	if (buf_failed(&a->body) || a->body.len > DOOR_BODY_MAX)
		a->paged = (struct door_paged){.id = id, .status = 503};
	say(m, &door_paged_fields, &a->paged, fds, a->paged.process ? nfds : 0);
	for (size_t i = 0; i < nfds && a->paged.process; i++)
		fd_close(&fds[i]);
}

/* What is pasted into the form to sign in, where it is no token of ours; NULL. */
static const char *foreign_paste(const struct monitor *m, const struct door_page *ask)
{
	if (!m->foreign || !ask->post || strcmp(ask->path, "/") != 0)
		return NULL;
	for (size_t i = 0; i < ask->nparams; i++)
		if (strcmp(ask->params[i].name, "token") == 0)
			return strncmp(ask->params[i].value, "evb_", 4) != 0 ? ask->params[i].value
									     : NULL;
	return NULL;
}

static int make_page(
	struct monitor *m, const struct buf *b, const struct door_page *ask, struct desk_answer *a)
{
	struct entry who = {.status = 401};
	const char *paste = foreign_paste(m, ask);
	if (paste)
		enter(m, paste, NULL, &who);
	if (!who.status)
		return park(m, b, who.number);
	if (who.status == 200)
		desk_let_in(m->desk, ask, who.buyer, who.token, who.until - clock_real_ms(), a);
	else
		desk_page(m->desk, ask, a);
	answer_page(m, ask->id, ask->cookie, a);
	return 0;
}

static int on_page(struct monitor *m, const struct buf *b)
{
	struct door_page ask = {0};
	DESK_ANSWER_AUTO a = {0};
	if (field_read(b, &door_page_fields, &ask) < 0)
		return -1;
	int r = make_page(m, b, &ask, &a);
	field_free(&door_page_fields, &ask);
	return r;
}

static int on_result(struct monitor *m, const struct buf *b)
{
	struct door_result r = {0};
	DESK_ANSWER_AUTO a = {0};
	if (field_read(b, &door_result_fields, &r) < 0)
		return -1;
	desk_result(m->desk, &r, &a);
	answer_page(m, r.id, NULL, &a);
	return 0;
}

static int on_fetched(struct monitor *m, const struct buf *b)
{
	struct door_fetched f = {0};
	if (field_read(b, &door_fetched_fields, &f) < 0)
		return -1;
	desk_fetched(m->desk, &f);
	return 0;
}

/* ---- handshakes ----------------------------------------------------------------------------- */

static int on_sign(struct monitor *m, const struct buf *b)
{
	struct door_sign ask = {0};
	BUF_AUTO signature = {0};
	if (field_read(b, &door_sign_fields, &ask) < 0)
		return -1;
	bool fine = m->cert && certificate_sign(m->cert, ask.algorithm, ask.hashed, ask.data, ask.n,
				       &signature) == 0;
	const struct door_signed said = {
		.id = ask.id, .data = buf_str(&signature), .n = fine ? signature.len : 0};
	say(m, &door_signed_fields, &said, NULL, 0);
	return 0;
}

/* On SIGHUP. What cannot be read leaves the one there is. */
static void reload(struct monitor *m)
{
	struct err e = {0};
	if (!m->spec->cert)
		return;
	struct certificate *fresh = certificate_load(m->spec->cert, m->spec->key, &e);
	if (!fresh) {
		note(m, "the certificate stays as it was: %s", e.msg);
		return;
	}
	certificate_free(&m->cert);
	m->cert = fresh;
	say(m, &door_chain_fields, certificate_chain(m->cert), NULL, 0);
}

/* ---- the front ------------------------------------------------------------------------------ */

static int start_front(struct monitor *m, struct err *e)
{
	const int more[] = {m->spec->listener, m->spec->metrics};
	int r = process_helper(
		"evctl-front", more, m->spec->metrics >= 0 ? 2 : 1, &m->front, &m->sock, e);
	m->born[m->nborn++ % FRONTS_A_MINUTE] = clock_mono_ms();
	if (r < 0)
		return -1;
	say(m, &door_rules_fields, &m->spec->rules, NULL, 0);
	if (m->cert)
		say(m, &door_chain_fields, certificate_chain(m->cert), NULL, 0);
	return 0;
}

static void parked_free(struct parked *p)
{
	buf_free(&p->text);
	free(p);
}

/* Of a front that is no more. */
static void drop_parked(struct monitor *m)
{
	while (m->parked) {
		struct parked *p = m->parked;
		m->parked = p->next;
		parked_free(p);
	}
}

/* It died: its sessions end, and another comes, unless they die too often. */
static int replace_front(struct monitor *m, struct err *e)
{
	fd_close(&m->sock);
	child_kill(&m->front);
	reap(m, true);
	drop_parked(m);
	if (m->ends)
		return 0;
	int64_t oldest = m->born[m->nborn % FRONTS_A_MINUTE];
	if (m->nborn >= FRONTS_A_MINUTE && clock_mono_ms() - oldest < MINUTE_MS)
		return err_set(e, ERR_FAIL, "the front dies as often as it is started");
	note(m, "the front died: there is another");
	return start_front(m, e);
}

static int on_message(struct monitor *m, const struct buf *b)
{
	static const struct {
		const struct fields *f;
		int (*take)(struct monitor *, const struct buf *);
	} words[] = {{&door_admit_fields, on_admit}, {&door_start_fields, on_start},
		{&door_end_fields, on_end}, {&door_page_fields, on_page},
		{&door_result_fields, on_result}, {&door_fetched_fields, on_fetched},
		{&door_sign_fields, on_sign}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (field_is(b, words[i].f))
			return words[i].take(m, b);
	return -1;
}

/* What waited for an answer that has come is looked at again. */
static void resume(struct monitor *m)
{
	uint64_t number = foreign_take(m->foreign);
	struct parked *all = m->parked;
	m->parked = NULL;
	while (all) {
		struct parked *p = all;
		all = p->next;
		if (number && p->number != number) {
			p->next = m->parked;
			m->parked = p;
			continue;
		}
		on_message(m, &p->text);
		parked_free(p);
	}
}

/* One message. A front that makes no sense is none any more. */
static int hear(struct monitor *m, struct err *e)
{
	BUF_AUTO b = {.limit = DOOR_MESSAGE_MAX, .secret = true};
	struct err quiet = {0};
	if (frame_recv(m->sock, &b, NULL, NULL, clock_mono_ms() + MS(10), &quiet) == 1 &&
		on_message(m, &b) == 0)
		return 0;
	return replace_front(m, e);
}

/* ---- from beginning to end ------------------------------------------------------------------ */

static int open_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	return proc_end_signals(NULL);
}

static void take_signals(struct monitor *m)
{
	struct signalfd_siginfo s;
	while (read(m->signals, &s, sizeof s) == sizeof s) {
		if (s.ssi_signo == SIGHUP) {
			reload(m);
		} else if (!m->ends) {
			m->ends = clock_mono_ms() + DRAIN_MS;
			say(m, &door_drain_fields, NULL, NULL, 0);
		}
	}
}

static int serve(struct monitor *m, struct err *e)
{
	for (;;) {
		struct pollfd w[3] = {{.fd = m->signals, .events = POLLIN},
			{.fd = m->sock, .events = POLLIN},
			{.fd = foreign_fd(m->foreign), .events = POLLIN}};
		if (poll(w, 3, TICK_MS) < 0 && errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait");
		if (w[0].revents)
			take_signals(m);
		if (w[1].revents && hear(m, e) < 0)
			return -1;
		if (w[2].revents)
			resume(m);
		if (m->ends && (m->sock < 0 || clock_mono_ms() >= m->ends))
			return 0;
		look(m);
	}
}

/* What systemd waits for; elsewhere nothing. sd_notify(3) has the protocol. */
static void say_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	if (!n || n >= sizeof to.sun_path)
		return;
	FD_AUTO fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(to.sun_path, path, n);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	if (fd >= 0)
		(void)!sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

/* Each may clear up what it has begun. */
static void end_processes(struct monitor *m)
{
	int64_t until = clock_mono_ms() + END_MS;
	for (struct process *p = m->first; p; p = p->next)
		process_end(p, END_MS);
	while (m->first && clock_mono_ms() < until) {
		reap(m, false);
		if (m->first)
			poll(NULL, 0, 20);
	}
	reap(m, true);
}

int monitor_run(struct state *st, const struct monitor_spec *spec, struct err *e)
{
	struct monitor m = {
		.st = st, .spec = spec, .front = CHILD_NONE, .sock = -1, .signals = open_signals()};
	int r = m.signals < 0 ? err_errno(e, ERR_FAIL, "cannot take signals") : 0;
	if (r == 0 && !(m.desk = desk_new(st, spec->experts, e)))
		r = -1;
	if (r == 0 && spec->cert && !(m.cert = certificate_load(spec->cert, spec->key, e)))
		r = -1;
	if (r == 0 && spec->foreign && !(m.foreign = foreign_new(spec->foreign, e)))
		r = -1;
	if (r == 0)
		r = start_front(&m, e);
	if (r == 0) {
		say_ready();
		r = serve(&m, e);
	}
	child_kill(&m.front);
	end_processes(&m);
	fd_close(&m.sock);
	fd_close(&m.signals);
	drop_parked(&m);
	foreign_free(&m.foreign);
	certificate_free(&m.cert);
	desk_free(&m.desk);
	return r;
}

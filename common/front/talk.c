#include "front/talk.h"

#include "base/file.h"
#include "base/text.h"
#include "rpc/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#define REPLIES_MAX MB(256)  /* of all sessions, waiting to be taken */
#define LIFE_MS MS(8 * 3600) /* of a process */
#define IDLE_LEAST_MS MS(60) /* before one makes room for another */
#define WRITE_MS MS(10)	     /* for a process to take a line */
#define SWEEP_MS 1000
#define LISTENERS_MAX 2 /* of a token */

/* A message that waits for its client. */
struct letter {
	json_t *m;
	size_t bytes;
	bool last;
	struct letter *next;
};

struct asked_for {
	struct talk *of; /* held */
	int64_t number;
	json_t *id, *token; /* the client's; token NULL: it wants no progress */
	int wake;	    /* eventfd */
	struct letter *first, **end;
	bool over;
	struct asked_for *next;
};

struct talk {
	struct talks *all;
	struct lines lines; /* the process's output, and its input */
	uint64_t process;
	int version;
	bool modern;
	char id[TALK_ID_SIZE];
	char expert[DOOR_NAME_MAX + 1], buyer[DOOR_NAME_MAX + 1], token[DOOR_NAME_MAX + 1];
	enum mcp_rev rev;
	int holds;	  /* the reader has one */
	int listeners;	  /* of those */
	bool ended, dead; /* no further request; no further word */
	int64_t born, used, last_number;
	struct asked_for *asked;
	struct talk *next;
};

struct talks {
	struct front_link *link;
	const struct door_rules *rules;
	pthread_mutex_t lock; /* of all that is here, and in each, but for lines */
	struct talk *first;
	size_t n, waiting;
};

struct talks *talks_new(struct front_link *link, const struct door_rules *rules)
{
	struct talks *all = calloc(1, sizeof *all);
	if (!all)
		return NULL;
	all->link = link;
	all->rules = rules;
	pthread_mutex_init(&all->lock, NULL);
	return all;
}

void talks_count(struct talks *all, size_t *n, size_t *bytes)
{
	pthread_mutex_lock(&all->lock);
	*n = all->n;
	*bytes = all->waiting;
	pthread_mutex_unlock(&all->lock);
}

/* ---- one goes ------------------------------------------------------------------------------ */

static void unlink_talk(struct talk *s)
{
	for (struct talk **at = &s->all->first; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		s->all->n--;
		return;
	}
}

/* Under the lock: the process gets its end of file. */
static void shut(struct talk *s)
{
	s->ended = true;
	if (s->lines.out >= 0) {
		pthread_mutex_lock(&s->lines.lock);
		fd_close(&s->lines.out);
		s->lines.gone = true;
		pthread_mutex_unlock(&s->lines.lock);
	}
}

void talk_release(struct talk **held)
{
	struct talk *s = *held;
	*held = NULL;
	if (!s)
		return;
	struct talks *all = s->all;
	pthread_mutex_lock(&all->lock);
	s->used = clock_mono_ms();
	bool free_it = --s->holds == 0;
	if (free_it)
		unlink_talk(s);
	else if (s->ended && s->holds == 1 + s->listeners)
		shut(s); /* the reader's is the last hold, until the process is gone */
	pthread_mutex_unlock(&all->lock);
	if (!free_it)
		return;
	lines_close(&s->lines);
	fd_close(&s->lines.in);
	free(s);
}

bool talk_listen(struct talk *s)
{
	int n = 0;
	pthread_mutex_lock(&s->all->lock);
	for (struct talk *other = s->all->first; other; other = other->next)
		if (strcmp(other->token, s->token) == 0)
			n += other->listeners;
	bool room = n < LISTENERS_MAX;
	s->listeners += room;
	pthread_mutex_unlock(&s->all->lock);
	return room;
}

void talk_unlisten(struct talk **held)
{
	pthread_mutex_lock(&(*held)->all->lock);
	(*held)->listeners--;
	pthread_mutex_unlock(&(*held)->all->lock);
	talk_release(held);
}

void talk_end(struct talk *s)
{
	pthread_mutex_lock(&s->all->lock);
	s->ended = true;
	pthread_mutex_unlock(&s->all->lock);
}

const char *talk_id(const struct talk *s)
{
	return s->id;
}

bool talk_over(const struct talk *s)
{
	pthread_mutex_lock(&s->all->lock);
	bool over = s->ended || s->dead;
	pthread_mutex_unlock(&s->all->lock);
	return over;
}

enum mcp_rev talk_rev(const struct talk *s)
{
	pthread_mutex_lock(&s->all->lock);
	enum mcp_rev rev = s->rev;
	pthread_mutex_unlock(&s->all->lock);
	return rev;
}

void talk_settle(struct talk *s, enum mcp_rev rev)
{
	pthread_mutex_lock(&s->all->lock);
	s->rev = rev;
	pthread_mutex_unlock(&s->all->lock);
}

/* ---- what its process says ----------------------------------------------------------------- */

static void ring(const struct asked_for *x)
{
	uint64_t one = 1;
	(void)!write(x->wake, &one, sizeof one);
}

static struct asked_for *find_number(struct talk *s, const json_t *number)
{
	struct asked_for *x = s->asked;
	while (x && !(json_is_integer(number) && json_integer_value(number) == x->number))
		x = x->next;
	return x;
}

/* Under the lock. Takes m over; what has no room is over. */
static void deliver(struct asked_for *x, json_t *m, size_t bytes, bool last)
{
	struct talks *all = x->of->all;
	struct letter *l = all->waiting + bytes <= REPLIES_MAX ? calloc(1, sizeof *l) : NULL;
	if (l) {
		*l = (struct letter){.m = m, .bytes = bytes, .last = last};
		*x->end = l;
		x->end = &l->next;
		all->waiting += bytes;
	} else {
		json_decref(m);
		x->over = x->over || last;
	}
	ring(x);
}

/* Under the lock. */
static void take_message(struct talk *s, json_t *m, size_t bytes)
{
	json_t *params = json_object_get(m, "params");
	bool reply = !json_object_get(m, "method");
	const json_t *number = json_object_get(reply ? m : params, reply ? "id" : "progressToken");
	struct asked_for *x = find_number(s, number);
	if (x && reply) {
		json_object_set(m, "id", x->id);
		deliver(x, json_incref(m), bytes, true);
	} else if (x && x->token) {
		json_object_set(params, "progressToken", x->token);
		deliver(x, json_incref(m), bytes, false);
	}
}

static void on_line(struct talk *s, const char *p, size_t n)
{
	struct err quiet = {0};
	JSON_AUTO m = json_parse("reply", p, n, &quiet);
	if (!m)
		return;
	pthread_mutex_lock(&s->all->lock);
	take_message(s, m, n);
	pthread_mutex_unlock(&s->all->lock);
}

static bool read_some(struct talk *s)
{
	const char *p;
	size_t n;
	bool end = lines_fill(&s->lines) == LINES_END;
	for (;;) {
		enum lines_got got = lines_next(&s->lines, end, &p, &n);
		if (got == LINES_LINE)
			on_line(s, p, n);
		else if (got != LINES_TOO_LONG)
			return !end;
		else
			return false; /* a reply that nobody can have: the process is of no use */
	}
}

static void *read_all(void *arg)
{
	struct talk *s = arg;
	while (read_some(s))
		;
	pthread_mutex_lock(&s->all->lock);
	s->ended = s->dead = true;
	for (struct asked_for *x = s->asked; x; x = x->next) {
		x->over = true;
		ring(x);
	}
	shut(s);
	pthread_mutex_unlock(&s->all->lock);
	const struct door_end end = {s->process};
	front_link_say(s->all->link, &door_end_fields, &end);
	talk_release(&s);
	return NULL;
}

/* ---- one begins ---------------------------------------------------------------------------- */

static int make_id(char id[TALK_ID_SIZE])
{
	unsigned char raw[TALK_ID_SIZE / 2];
	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		return -1;
	text_to_hex(raw, sizeof raw, id);
	return 0;
}

/* With two holds: the reader's and the caller's. */
static struct talk *begin(struct talks *all, const struct visitor *who, bool modern,
	const struct door_started *started, const int fds[2])
{
	pthread_t thread;
	struct talk *s = calloc(1, sizeof *s);
	if (!s || make_id(s->id) < 0) {
		free(s);
		return NULL;
	}
	s->all = all;
	s->modern = modern;
	s->process = started->process;
	s->version = started->version;
	s->holds = 2;
	s->born = s->used = clock_mono_ms();
	snprintf(s->expert, sizeof s->expert, "%s", who->expert);
	snprintf(s->buyer, sizeof s->buyer, "%s", who->as.buyer);
	snprintf(s->token, sizeof s->token, "%s", who->as.token);
	lines_open(&s->lines, fds[1], fds[0]);
	s->lines.patience = WRITE_MS;
	pthread_mutex_lock(&all->lock);
	s->next = all->first;
	all->first = s;
	all->n++;
	int rc = pthread_create(&thread, NULL, read_all, s);
	if (rc)
		unlink_talk(s);
	pthread_mutex_unlock(&all->lock);
	if (!rc) {
		pthread_detach(thread);
		return s;
	}
	s->lines.in = s->lines.out = -1; /* the caller's still */
	lines_close(&s->lines);
	free(s);
	return NULL;
}

static bool is_idle(const struct talk *s)
{
	return !s->ended && s->holds == 1 + s->listeners && !s->asked;
}

/* The one that has been idle for the longest, of a buyer's or of all, ends if it has been for a
 * minute. */
static bool make_room(struct talks *all, const char *buyer)
{
	struct talk *longest = NULL;
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s; s = s->next)
		if (is_idle(s) && (!buyer || strcmp(s->buyer, buyer) == 0) &&
			(!longest || s->used < longest->used))
			longest = s;
	if (longest && clock_mono_ms() - longest->used < IDLE_LEAST_MS)
		longest = NULL;
	if (longest)
		shut(longest);
	pthread_mutex_unlock(&all->lock);
	return longest != NULL;
}

static size_t count_of(struct talks *all, const char *buyer)
{
	size_t n = 0;
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s; s = s->next)
		n += !s->ended && (!buyer || strcmp(s->buyer, buyer) == 0);
	pthread_mutex_unlock(&all->lock);
	return n;
}

/* The monitor holds to both limits as well: it says 503 beyond them. */
static bool has_room(struct talks *all, const char *buyer)
{
	bool each =
		count_of(all, buyer) < (size_t)all->rules->sessions_each || make_room(all, buyer);
	return each && (count_of(all, NULL) < (size_t)all->rules->sessions || make_room(all, NULL));
}

static int start(struct talks *all, const struct visitor *who, bool modern, struct talk **out)
{
	if (!has_room(all, who->as.buyer))
		return 503;
	const struct door_start ask = {.id = front_link_number(all->link),
		.token = who->token_text,
		.expert = who->expert};
	struct door_started got = {0};
	LINK_ANSWER_AUTO a = {0};
	if (front_link_ask(all->link, ask.id, &door_start_fields, &ask, &door_started_fields, &got,
		    &a) < 0)
		return 503;
	if (got.status != 200)
		return got.status;
	*out = a.nfds == 2 ? begin(all, who, modern, &got, a.fds) : NULL;
	if (*out)
		a.nfds = 0;
	return *out ? 0 : 503;
}

int talk_open(struct talks *all, const struct visitor *who, struct talk **out)
{
	return start(all, who, false, out);
}

/* Under the lock. */
static bool is_good(const struct talk *s, const struct visitor *who)
{
	return !s->ended && strcmp(s->expert, who->expert) == 0 &&
	       strcmp(s->buyer, who->as.buyer) == 0 && strcmp(s->token, who->as.token) == 0 &&
	       s->version == who->as.version && clock_mono_ms() - s->born < LIFE_MS;
}

struct talk *talk_find(struct talks *all, const struct visitor *who, const char *id)
{
	struct talk *found = NULL;
	if (strlen(id) != TALK_ID_SIZE - 1)
		return NULL;
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s && !found; s = s->next)
		if (!s->modern && text_same(s->id, TALK_ID_SIZE - 1, id, TALK_ID_SIZE - 1))
			found = s;
	if (found && !is_good(found, who)) {
		bool old = strcmp(found->token, who->as.token) == 0 &&
			   strcmp(found->expert, who->expert) == 0;
		if (old && is_idle(found))
			shut(found); /* of a version that is published no more, say */
		found = NULL;
	}
	if (found)
		found->holds++;
	pthread_mutex_unlock(&all->lock);
	return found;
}

/* The one with the fewest holds; *idle: it has none but the reader's. */
static struct talk *least_busy(struct talks *all, const struct visitor *who, bool *idle)
{
	struct talk *best = NULL;
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s; s = s->next) {
		bool ours = s->modern && !s->ended && strcmp(s->token, who->as.token) == 0 &&
			    strcmp(s->expert, who->expert) == 0;
		if (ours && is_good(s, who)) {
			if (!best || s->holds < best->holds)
				best = s;
		} else if (ours && is_idle(s)) {
			shut(s);
		}
	}
	*idle = best && is_idle(best);
	if (best)
		best->holds++;
	pthread_mutex_unlock(&all->lock);
	return best;
}

int talk_borrow(struct talks *all, const struct visitor *who, struct talk **out)
{
	bool idle;
	struct talk *s = least_busy(all, who, &idle);
	if (idle) {
		*out = s;
		return 0;
	}
	int status = start(all, who, true, out);
	if (status == 503 && s) {
		*out = s; /* it waits behind the others */
		return 0;
	}
	talk_release(&s);
	return status;
}

int talks_sweep(struct talks *all)
{
	int64_t now = clock_mono_ms();
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s; s = s->next)
		if (is_idle(s) &&
			(now - s->used >= all->rules->idle_ms || now - s->born >= LIFE_MS))
			shut(s);
	pthread_mutex_unlock(&all->lock);
	return SWEEP_MS;
}

void talks_ended(struct talks *all, uint64_t process)
{
	pthread_mutex_lock(&all->lock);
	for (struct talk *s = all->first; s; s = s->next) {
		if (s->process != process)
			continue;
		s->ended = true;
		if (s->holds == 1 + s->listeners)
			shut(s);
	}
	pthread_mutex_unlock(&all->lock);
}

/* ---- requests ------------------------------------------------------------------------------ */

/* The client's progressToken gives way to the number; returns it, the caller's, or NULL. */
static json_t *swap_token(json_t *m, int64_t number)
{
	json_t *meta = json_object_get(json_object_get(m, "params"), "_meta");
	json_t *token = json_object_get(meta, "progressToken");
	if (!json_is_string(token) && !json_is_integer(token))
		return NULL;
	json_incref(token);
	json_object_set_new(meta, "progressToken", json_integer(number));
	return token;
}

static void asked_free(struct asked_for *x)
{
	json_decref(x->id);
	json_decref(x->token);
	fd_close(&x->wake);
	free(x);
}

struct asked_for *asked_open(struct talk *s, json_t *m)
{
	struct asked_for *x = calloc(1, sizeof *x);
	int wake = x ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (wake < 0) {
		free(x);
		return NULL;
	}
	pthread_mutex_lock(&s->all->lock);
	int64_t number = ++s->last_number;
	*x = (struct asked_for){.of = s,
		.number = number,
		.id = json_incref(json_object_get(m, "id")),
		.token = swap_token(m, number),
		.wake = wake,
		.end = &x->first,
		.next = s->asked};
	json_object_set_new(m, "id", json_integer(number));
	bool alive = !s->dead;
	if (alive) {
		s->asked = x;
		s->holds++;
	}
	pthread_mutex_unlock(&s->all->lock);
	if (!alive) {
		asked_free(x);
		return NULL;
	}
	lines_send(&s->lines, json_incref(m));
	return x;
}

int asked_fd(const struct asked_for *x)
{
	return x->wake;
}

enum asked_got asked_take(struct asked_for *x, json_t **m)
{
	struct talks *all = x->of->all;
	uint64_t count;
	enum asked_got got = ASKED_WAIT;
	pthread_mutex_lock(&all->lock);
	struct letter *l = x->first;
	if (l) {
		x->first = l->next;
		if (!x->first)
			x->end = &x->first;
		all->waiting -= l->bytes;
		*m = l->m;
		got = l->last ? ASKED_REPLY : ASKED_PROGRESS;
		free(l);
	} else if (x->over) {
		got = ASKED_OVER;
	} else {
		(void)!read(x->wake, &count, sizeof count);
	}
	pthread_mutex_unlock(&all->lock);
	return got;
}

static void say_cancelled(struct talk *s, int64_t number)
{
	lines_send(&s->lines, mcp_notification("notifications/cancelled",
				      json_pack("{s:I}", "requestId", (json_int_t)number)));
}

void asked_cancel(struct asked_for *x)
{
	say_cancelled(x->of, x->number);
}

void asked_close(struct asked_for **at)
{
	struct asked_for *x = *at;
	*at = NULL;
	if (!x)
		return;
	struct talk *s = x->of;
	json_t *m;
	enum asked_got got;
	while ((got = asked_take(x, &m)) == ASKED_PROGRESS || got == ASKED_REPLY)
		json_decref(m);
	pthread_mutex_lock(&s->all->lock);
	for (struct asked_for **p = &s->asked; *p; p = &(*p)->next) {
		if (*p != x)
			continue;
		*p = x->next;
		break;
	}
	pthread_mutex_unlock(&s->all->lock);
	asked_free(x);
	talk_release(&s);
}

void talk_notify(struct talk *s, json_t *m)
{
	const char *method = json_text_of(m, "method");
	if (strcmp(method, "notifications/cancelled") != 0) {
		lines_send(&s->lines, json_incref(m));
		return;
	}
	const json_t *id = json_object_get(json_object_get(m, "params"), "requestId");
	int64_t number = 0;
	pthread_mutex_lock(&s->all->lock);
	for (struct asked_for *x = s->asked; x; x = x->next)
		if (json_equal(x->id, id))
			number = x->number;
	pthread_mutex_unlock(&s->all->lock);
	if (number)
		say_cancelled(s, number);
}

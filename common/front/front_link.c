#include "front/front_link.h"

#include "base/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_AT 2 /* behind tag and version: base/field.h */

/* Somebody who waits. */
struct asker {
	uint64_t number;
	struct link_answer *to;
	bool done;
	pthread_cond_t wake;
	struct asker *next;
};

struct front_link {
	int sock; /* borrowed */
	link_word_fn *word;
	void *arg;
	pthread_mutex_t lock, writing;
	struct asker *askers;
	uint64_t last;
	bool gone;
};

struct front_link *front_link_new(int sock, link_word_fn *word, void *arg)
{
	struct front_link *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	l->sock = sock;
	l->word = word;
	l->arg = arg;
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->writing, NULL);
	return l;
}

void link_answer_free(struct link_answer *a)
{
	for (size_t i = 0; i < a->nfds; i++)
		fd_close(&a->fds[i]);
	buf_free(&a->b);
	a->nfds = 0;
}

uint64_t front_link_number(struct front_link *l)
{
	pthread_mutex_lock(&l->lock);
	uint64_t n = ++l->last;
	pthread_mutex_unlock(&l->lock);
	return n;
}

static int send_message(struct front_link *l, const struct fields *f, const void *what)
{
	BUF_AUTO b = {.limit = DOOR_MESSAGE_MAX, .secret = true};
	struct err quiet = {0};
	if (field_write(&b, f, what, &quiet) < 0)
		return -1;
	pthread_mutex_lock(&l->writing);
	int rc = frame_send(l->sock, b.data, b.len, NULL, 0, &quiet);
	pthread_mutex_unlock(&l->writing);
	return rc;
}

void front_link_say(struct front_link *l, const struct fields *f, const void *what)
{
	send_message(l, f, what);
}

/* Under the lock. */
static struct asker *take_asker(struct front_link *l, uint64_t number)
{
	for (struct asker **at = &l->askers; *at; at = &(*at)->next) {
		struct asker *found = *at;
		if (found->number != number)
			continue;
		*at = found->next;
		return found;
	}
	return NULL;
}

int front_link_ask(struct front_link *l, uint64_t number, const struct fields *ask,
	const void *question, const struct fields *answer, void *to, struct link_answer *a)
{
	struct asker me = {.number = number, .to = a, .wake = PTHREAD_COND_INITIALIZER};
	*a = (struct link_answer){0};
	pthread_mutex_lock(&l->lock);
	me.next = l->askers;
	l->askers = &me;
	pthread_mutex_unlock(&l->lock);
	int rc = send_message(l, ask, question);
	pthread_mutex_lock(&l->lock);
	while (rc == 0 && !me.done && !l->gone)
		pthread_cond_wait(&me.wake, &l->lock);
	if (!me.done)
		take_asker(l, number);
	pthread_mutex_unlock(&l->lock);
	pthread_cond_destroy(&me.wake);
	return me.done ? field_read(&a->b, answer, to) : -1;
}

static bool hand_over(struct front_link *l, struct link_answer *got)
{
	uint64_t number = 0;
	if (got->b.len < NUMBER_AT + sizeof number)
		return false;
	for (size_t i = sizeof number; i-- > 0;)
		number = number << 8 | (unsigned char)got->b.data[NUMBER_AT + i];
	pthread_mutex_lock(&l->lock);
	struct asker *to = take_asker(l, number);
	if (to) {
		*to->to = *got;
		*got = (struct link_answer){0};
		to->done = true;
		pthread_cond_signal(&to->wake);
	}
	pthread_mutex_unlock(&l->lock);
	return to != NULL;
}

static void end_all(struct front_link *l)
{
	pthread_mutex_lock(&l->lock);
	l->gone = true;
	for (struct asker *a = l->askers; a; a = a->next)
		pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&l->lock);
}

int front_link_run(struct front_link *l, struct err *e)
{
	int rc;
	bool sense = true;
	do {
		LINK_ANSWER_AUTO got = {.b.limit = DOOR_MESSAGE_MAX, .nfds = LINK_FDS_MAX};
		rc = frame_recv(l->sock, &got.b, got.fds, &got.nfds, -1, e);
		if (rc <= 0)
			got.nfds = 0;
		else
			sense = l->word(l->arg, &got.b) || hand_over(l, &got);
	} while (rc > 0 && sense);
	end_all(l);
	return sense ? rc : err_set(e, ERR_FAIL, "the monitor makes no sense");
}

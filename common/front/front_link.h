/*
 * The front's end of the socket to its monitor: questions from any thread, answers handed to who
 * asked. One thread reads.
 */
#ifndef EVCTL_FRONT_FRONT_LINK_H
#define EVCTL_FRONT_FRONT_LINK_H

#include "door/door_message.h"

#define LINK_FDS_MAX 3

struct front_link;

/* What the monitor says without being asked; in the reading thread. False: it makes no sense. */
typedef bool link_word_fn(void *arg, const struct buf *b);

struct front_link *front_link_new(int sock, link_word_fn *word, void *arg);
/* A number for a question: the first member of what asks. */
uint64_t front_link_number(struct front_link *l);
/* Where an answer is put. */
struct link_answer {
	struct buf b; /* what the struct points into; the caller frees */
	int fds[LINK_FDS_MAX];
	size_t nfds;
};
void link_answer_free(struct link_answer *a);
#define LINK_ANSWER_AUTO __attribute__((cleanup(link_answer_free))) struct link_answer
/*
 * Asks, and waits for the answer of that kind: 0, or -1 when there is none to be had (too long, or
 * the monitor is gone, and with it the front in a moment).
 */
int front_link_ask(struct front_link *l, uint64_t number, const struct fields *ask,
	const void *question, const struct fields *answer, void *to, struct link_answer *a);
/* Says what is not answered. */
void front_link_say(struct front_link *l, const struct fields *f, const void *what);
/* Reads until the monitor is gone (0) or says what makes no sense (-1). */
int front_link_run(struct front_link *l, struct err *e);

#endif

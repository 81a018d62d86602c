/*
 * One request to the door, from its head to its line in the log.
 */
#ifndef EVCTL_FRONT_VISIT_H
#define EVCTL_FRONT_VISIT_H

#include "front/bad_tokens.h"
#include "front/front_link.h"
#include "front/talk.h"
#include "net/http_request.h"

#include <stdatomic.h>

/* What all visits share. */
struct front {
	struct door_rules rules;
	struct front_link *link;
	struct talks *sessions;
	struct bad_tokens *bad;
	atomic_bool draining; /* no new calls */
	struct front_metrics *metrics;
};

struct visit {
	struct front *f;
	struct http_request *r;
	int64_t began; /* CLOCK_MONOTONIC ms */
	const struct client *client;
	/* For the log. */
	char buyer[DOOR_NAME_MAX + 1], expert[DOOR_NAME_MAX + 1], method[64], run[20];
	int status;
	uint64_t bytes; /* of the answer's body */
};

/* A whole answer, never kept by anybody. Headers with a NULL value are left out. */
void visit_answer(struct visit *v, int status, const char *type, const struct http_header *h,
	size_t n, const void *body, size_t len);
void visit_json(
	struct visit *v, int status, const struct http_header *h, size_t n, const json_t *body);
/* {"error": WORD} with a sentence: for who has no other form for it. */
void visit_refuse(struct visit *v, int status, const char *word, const char *text);

/*
 * The whole body into b, within the time and speed that the door gives. 0; -1 when there is nobody
 * to answer; else the status.
 */
int visit_body(struct visit *v, size_t max, struct buf *b);
/*
 * Lets in who shows a good token for this expert: fills who, whose texts are the caller's. False:
 * what there is to say has been said (401, 403, 404, 429, 503).
 */
bool visit_admit(struct visit *v, const char *expert, char **token, struct visitor *who);

/* The scheme, host and port that the browser sees, as "https://HOST:PORT"; NULL without memory. */
char *visit_origin(const struct visit *v);
/* The only field of a name; p NULL: none. *twice: there are more. */
struct http_text visit_field(const struct visit *v, const char *name, bool *twice);

#endif

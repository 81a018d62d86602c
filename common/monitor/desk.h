/*
 * The door's pages: who is signed in, and what each page says. Cookies end with the monitor.
 */
#ifndef EVCTL_MONITOR_DESK_H
#define EVCTL_MONITOR_DESK_H

#include "door/door_message.h"
#include "state/state.h"

#define DESK_COOKIE_SIZE 65

/* One answer, whose texts it owns. */
struct desk_answer {
	struct door_paged paged; /* but for id and process; what points does so into what follows */
	struct buf body, cookie, location, disposition;
	/* Set: a form asks for this tool to be run with what is in body. */
	char run_expert[DOOR_NAME_MAX + 1], run_tool[DOOR_NAME_MAX + 1];
};
void desk_answer_free(struct desk_answer *a);
#define DESK_ANSWER_AUTO __attribute__((cleanup(desk_answer_free))) struct desk_answer

/* Who a cookie is of. */
struct desk_guest {
	char buyer[DOOR_NAME_MAX + 1], token[DOOR_NAME_MAX + 1];
};

struct desk;
/* Which experts are offered at all: NULL or empty, all. Borrowed. */
struct desk *desk_new(struct state *st, const struct strv *experts, struct err *e);
void desk_free(struct desk **d);
/* The page, or what a form on it has done. */
void desk_page(struct desk *d, const struct door_page *asked, struct desk_answer *a);
/* Signs one in who has shown something else than a token of ours, for so long. */
void desk_let_in(struct desk *d, const struct door_page *asked, const char *buyer,
	const char *token, int64_t life_ms, struct desk_answer *a);
/* The page of a run's end. */
void desk_result(struct desk *d, const struct door_result *r, struct desk_answer *a);
/* An artifact went out whole. */
void desk_fetched(struct desk *d, const struct door_fetched *f);
/* Whose cookie it is; false: nobody's, any more. */
bool desk_guest(struct desk *d, const char *cookie, struct desk_guest *out);

#endif

/*
 * The processes of one expert each that the monitor starts for a buyer (evctl-mcp), as the front
 * has them: lines of JSON to and from, requests under numbers of the front's own.
 *
 * A session of the older era is a client's, by its id; one of the newer serves whoever shows the
 * same token, one call after the other. Each has a thread that always reads, so that none stands
 * still for a client that doesn't.
 */
#ifndef EVCTL_FRONT_TALK_H
#define EVCTL_FRONT_TALK_H

#include "base/json.h"
#include "door/door_message.h"
#include "front/front_link.h"
#include "rpc/rev.h"

#define TALK_ID_SIZE 33

struct talks;
struct talk;
/* One request, or one notification that wants no reply. */
struct asked_for;

/* Who asks for what: as the monitor has admitted it. */
struct visitor {
	const char *token_text; /* as shown */
	const char *expert;
	struct door_admitted as;
};

struct talks *talks_new(struct front_link *link, const struct door_rules *rules);
/* Ends those that have been idle for too long; how long until the next might be, ms. */
int talks_sweep(struct talks *all);
/* The monitor says that a process is over, or not to be used any more. */
void talks_ended(struct talks *all, uint64_t process);
/* How many there are, and the bytes of replies that wait: for the metrics. */
void talks_count(struct talks *all, size_t *n, size_t *bytes);

/*
 * A new session of the older era. 0, or the status to answer: 401, 403, 404, 503. The caller has a
 * hold on it, to be released.
 */
int talk_open(struct talks *all, const struct visitor *who, struct talk **out);
/* The one of that id, if it is this visitor's and still good; NULL. */
struct talk *talk_find(struct talks *all, const struct visitor *who, const char *id);
/* For a request of the newer era: one that is idle, else a new one, else the least busy. */
int talk_borrow(struct talks *all, const struct visitor *who, struct talk **out);
void talk_release(struct talk **s);
/* No further request finds it; it goes when it is released. */
void talk_end(struct talk *s);
/*
 * A stream that hangs on the session and does not keep it: false when its token has two already.
 * Then to be ended by talk_unlisten() rather than talk_release().
 */
bool talk_listen(struct talk *s);
void talk_unlisten(struct talk **s);
const char *talk_id(const struct talk *s);
bool talk_over(const struct talk *s);
/* What `initialize` settled on; of the older era. */
enum mcp_rev talk_rev(const struct talk *s);
void talk_settle(struct talk *s, enum mcp_rev rev);

/*
 * Sends a request on, with a number in place of its id and of its progressToken; m is changed and
 * borrowed. NULL: the process takes nothing any more.
 */
struct asked_for *asked_open(struct talk *s, json_t *m);
/* Sends what wants no reply; a cancellation by the client's id finds its number. */
void talk_notify(struct talk *s, json_t *m);
/* Readable when there is something to take, or the process is over. */
int asked_fd(const struct asked_for *x);
enum asked_got {
	ASKED_WAIT,	/* nothing yet */
	ASKED_PROGRESS, /* a notification */
	ASKED_REPLY,	/* with the client's id again */
	ASKED_OVER,	/* there will be none */
};
/* Takes the next message, the caller's. */
enum asked_got asked_take(struct asked_for *x, json_t **m);
/* Has the process stop working on it. */
void asked_cancel(struct asked_for *x);
/* What still comes for it is dropped. */
void asked_close(struct asked_for **x);

#endif

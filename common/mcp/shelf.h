/*
 * The artifacts of this server's own session, as MCP resources: what its calls made, and nothing
 * else that is in the archive; of the newer era, which has no sessions, a buyer may read any of the
 * buyer's own that the expert made. Added to by the thread that calls, read by the one that
 * answers.
 */
#ifndef EVCTL_MCP_SHELF_H
#define EVCTL_MCP_SHELF_H

#include "rpc/rev.h"
#include "state/state.h"

#include <pthread.h>

struct shelf_item {
	char run[17];
	char *name, *type, *uri;
	size_t bytes;
};

struct shelf {
	const char *expert;
	pthread_mutex_t lock;
	struct shelf_item *v;
	size_t n, cap;
};

void shelf_open(struct shelf *s, const char *expert); /* borrowed */
void shelf_close(struct shelf *s);
/* "evctl://artifact/RUN/NAME", percent-encoded; the caller frees. NULL without memory. */
char *shelf_uri(const char *run, const char *name);
int shelf_add(struct shelf *s, const char *run, const char *name, const char *type, size_t bytes);
/* {uri, name, mimeType, size} of one. */
json_t *shelf_resource(const char *run, const char *name, const char *type, size_t bytes);
json_t *shelf_list(struct shelf *s);
/*
 * {contents: [...]} of resources/read. buyer as the server's; reading counts as a fetch when there
 * is one. Opens the state for itself. NULL with the error to answer.
 */
json_t *shelf_read(struct shelf *s, const struct state_place *place, const char *buyer,
	enum mcp_rev rev, const char *uri, struct mcp_error *me);

/* The contents of a resource: text where it is text, else base64. */
json_t *shelf_contents(const char *uri, const char *type, const void *p, size_t n);

#endif

/*
 * The result of tools/call, built up: text first, then pictures and sound while they are small,
 * then every artifact as a link (or, where the revision has none, embedded).
 */
#ifndef EVCTL_MCP_CONTENT_H
#define EVCTL_MCP_CONTENT_H

#include "rpc/rev.h"
#include "mcp/shelf.h"
#include "run/run.h"

struct content {
	enum mcp_rev rev;
	json_t *items;
	json_t *structured; /* or NULL */
	bool is_error;
	char run[17]; /* for the result's _meta; "": none */
	size_t media; /* bytes of pictures and sound so far */
};

void content_open(struct content *c, enum mcp_rev rev);
void content_text(struct content *c, const char *p, size_t n);
void content_textf(struct content *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One artifact that is on the shelf; data may be NULL where the bytes are not at hand. */
void content_file(struct content *c, const char *run, const struct run_file *f);
/* {content, isError, structuredContent?}; what was built is handed over. */
json_t *content_close(struct content *c);

/* A recorded run as the buyer may see it. structured: its result goes there too. */
void content_outcome(struct content *c, const struct run_outcome *o, bool structured);

#endif

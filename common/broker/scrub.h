/*
 * Takes the connection's key out of what an API sends back: raw, percent-encoded, in base64, hex
 * and JSON escapes (gate/leak.h) it is replaced by asterisks of the same form; where it stands in a
 * form that cannot be cut out (folded base64, HTML entities, inside a gzip file, ...) the whole is
 * withheld. What a server transforms freely passes.
 */
#ifndef EVCTL_BROKER_SCRUB_H
#define EVCTL_BROKER_SCRUB_H

#include "base/json.h"
#include "gate/leak.h"
#include "state/seal.h"

struct scrub {
	struct leak *l;
	bool searches; /* long enough to be told from chance in a form that is not cut out */
};
#define SCRUB_AUTO __attribute__((cleanup(scrub_free))) struct scrub

/* -1 without memory. */
int scrub_make(struct scrub *s, const struct secret *key);
void scrub_free(struct scrub *s); /* harmless when zeroed */
/* A short text, in place. */
void scrub_text(const struct scrub *s, char *p, size_t n);
/* A body, in place or rewritten (JSON). 0, or -1: it must be withheld. */
int scrub_body(const struct scrub *s, struct buf *body);

#endif

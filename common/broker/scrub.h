/*
 * Takes the connection's key out of what an API sends back: asterisks stand in its place, in the
 * spelling that it was in (guard/leak.h). A gzip file with it is withheld.
 */
#ifndef EVCTL_BROKER_SCRUB_H
#define EVCTL_BROKER_SCRUB_H

#include "base/json.h"
#include "guard/leak.h"
#include "state/seal.h"

struct scrub {
	struct leak *l;
};
#define SCRUB_AUTO __attribute__((cleanup(scrub_free))) struct scrub

/* -1 without memory. */
int scrub_make(struct scrub *s, const struct secret *key);
void scrub_free(struct scrub *s); /* harmless when zeroed */
/* A short text, in place. */
void scrub_text(const struct scrub *s, char *p, size_t n);
/* All texts of *v, which becomes another. 0, or -1 without memory: it is gone then. */
int scrub_texts(const struct scrub *s, json_t **v);
/* A body, in place. 0, or -1: it must be withheld. */
int scrub_body(const struct scrub *s, struct buf *body);

#endif

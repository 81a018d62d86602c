/*
 * Where we are inside a JSON value: a chain of members and indexes on the stack, made as the walk
 * goes down and only turned into text when there is something to say.
 */
#ifndef EVCTL_MANIFEST_PLACE_H
#define EVCTL_MANIFEST_PLACE_H

#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"

#include <stddef.h>

struct value_place {
	const struct value_place *up; /* NULL: this is the whole value */
	const char *key;	      /* a member's name, or NULL: index counts */
	size_t index;
};

/* "input.month", "input[3].x"; names that are no plain words as ["\u001b"]; long ways are cut. */
void place_show(const char *root, const struct value_place *at, struct buf *b);
/* The steps from the top: names, and indexes as decimals. */
void place_steps(const struct value_place *at, struct strv *out);
/* A value as printable ASCII; the caller frees; NULL without memory. */
char *place_value(const json_t *v);

#endif

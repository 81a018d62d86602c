/* YAML as evctl writes it: block style, what is not plainly a word quoted as JSON. */
#ifndef EVCTL_MANIFEST_YAML_TEXT_H
#define EVCTL_MANIFEST_YAML_TEXT_H

#include "base/json.h"

/* A value on one line. */
void yaml_scalar(const json_t *v, struct buf *out);
/* A list of scalars on one line: [a, b]. */
void yaml_flow(const json_t *list, struct buf *out);
/*
 * What stands after a key and its ':' at this indent, to the end of the line: an object that holds
 * something in lines of its own, all else on the key's line. As deep as v is, which is bounded.
 */
void yaml_after_key(const json_t *v, int indent, struct buf *out);

#endif

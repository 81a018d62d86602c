/*
 * Local `$ref`: "#" and "#/a/b", JSON Pointers in a URI fragment (~0, ~1 and %XX undone).
 */
#ifndef EVCTL_MANIFEST_SCHEMA_REF_H
#define EVCTL_MANIFEST_SCHEMA_REF_H

#include "base/json.h"

/* What ref means in root, borrowed; NULL if it isn't local or there is no such place. */
json_t *schema_ref(const json_t *root, const char *ref);

#endif

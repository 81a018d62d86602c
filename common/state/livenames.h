/*
 * Live names for completion, straight from the state file: read-only, without the private key, at
 * most 1,000, each by an index. Silent on any error.
 */
#ifndef EVCTL_STATE_LIVENAMES_H
#define EVCTL_STATE_LIVENAMES_H

#include "base/complete.h"

/* Appends "name" or "name\tdescription" lines. */
void livenames(const struct name_request *q, struct strv *out);

#endif

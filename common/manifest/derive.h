/*
 * What the code says of a manifest's inputs: a tool without `input:` gets the schema of its entry
 * function, one with gets it held against the function's parameters. A pure function of expert.yaml
 * and the Python beside it.
 *
 * Of a function whose parameters cannot be told (manifest/scan say so by SCAN_ENTRY_UNKNOWN, or a
 * decorator may change them) nothing is made up: no `input:` stays none, and a schema stays as it
 * is; a decorated one gets a schema that requires and refuses nothing.
 */
#ifndef EVCTL_MANIFEST_DERIVE_H
#define EVCTL_MANIFEST_DERIVE_H

#include "manifest/tree.h"

/*
 * Fills in each tool's input, description and faults. Code that cannot be read is no error here:
 * who runs or verifies it will say so. -1 without memory.
 */
int derive_from_tree(struct manifest *m, const struct tree *t, struct err *e);
/* The same for a directory that was not read as a whole; only files that names lead to are. */
int derive_from_dir(struct manifest *m, int dirfd, struct err *e);

#endif

/* A first expert.yaml, made of the Python that is in a directory: what `evctl-expert init` writes.
 */
#ifndef EVCTL_MANIFEST_STARTER_H
#define EVCTL_MANIFEST_STARTER_H

#include "manifest/manifest.h"

/*
 * entries: "FILE.py:FUNCTION" or "FILE.py" (a script), from the directory; none: the public
 * functions of its Python files at the top, but for files that others of them import, and tests.
 * The text goes into yaml, what it says into the zeroed m. ERR_NOTFOUND where there is nothing that
 * could be a tool, or an entry is not there.
 */
int starter_make(struct manifest *m, const char *dir, const struct strv *entries, struct buf *yaml,
	struct err *e);
/* Where a directory lacks an expert.yaml (the error in e) and has Python: the command that writes
 * one. */
void starter_offer(const char *dir, struct err *e);

#endif

/*
 * What the scanner knows of an expert's code, for running it: which keys a tool reads, and which of
 * the sandbox's modules its zygote may import ahead.
 */
#ifndef EVCTL_RUN_READS_H
#define EVCTL_RUN_READS_H

#include "base/strv.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"
#include "scan/scan.h"

/* All *.py files, resolved. NULL where the scanner gives up (too big, no memory). */
struct scan *reads_scan(const struct tree *t);
/* Names that running this entry reads and cannot do without, each once. s may be NULL. */
void reads_required(const struct scan *s, const char *entry, struct strv *names);
/* Modules of the sandbox that the tools' files import unguarded, each once. s may be NULL. */
void reads_preload(const struct scan *s, const struct manifest *m, struct strv *modules);

#endif

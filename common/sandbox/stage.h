/*
 * Filling the sandbox's own files through descriptors into its tmpfs: code, hosts, authority, cell.
 * Nothing of it touches a disk.
 */
#ifndef EVCTL_SANDBOX_STAGE_H
#define EVCTL_SANDBOX_STAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/mounts.h"
#include "sandbox/sandbox.h"

#include <sys/types.h>

/* What it will take, for the tmpfs's limits. -1 with ERR_USAGE for a path that may not be. */
int stage_measure(const struct sandbox_spec *spec, size_t *bytes, unsigned *inodes, struct err *e);
/* uid owns what is written; dir is the stage, tmp its /tmp. */
int stage_fill(int dir, int tmp, uid_t uid, const struct sandbox_spec *spec, const struct mounts *m,
	struct err *e);
int stage_set_ca(int dir, uid_t uid, const char *pem, size_t n, struct err *e);
/* Removes all that is in outputs/, however deep; every process inside must be dead. */
int stage_empty(int outputs, uid_t uid);
/* Removes what calls left in /scratch, but for outputs/; stage is the sandbox's own directory. */
int stage_clear_scratch(int stage, uid_t uid);
/* Which files a call that began then (ns) left in /scratch and /tmp, but for outputs/, as
 * sandbox/strays.h has them; every process inside must be dead. */
void stage_strays(int scratch, int tmp, uid_t uid, int64_t since_ns, struct buf *out);
/* So that /tmp and /dev/shm are as they were at first; share as in struct sandbox_spec. */
int stage_renew(int tmp, int shm, uid_t uid, const char *share);

#endif

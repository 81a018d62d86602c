/*
 * What of this machine Python needs to see inside, found by looking: the real interpreter, its
 * library, the packages, libc's directory, and every link on the way. All of it is below /usr
 * (which is bound from an overlay, see launch.h); anything else is an error, never a wider bind.
 */
#ifndef EVCTL_SANDBOX_MOUNTS_H
#define EVCTL_SANDBOX_MOUNTS_H

#include "base/err.h"
#include "base/strv.h"

struct mounts {
	char *python;	     /* the real path, below /usr; owned */
	char *loader;	     /* the real path of its ELF interpreter; owned */
	struct strv binds;   /* real paths below /usr, none inside another; sorted */
	struct strv links;   /* pairs: path, target; paths outside the binds */
	struct strv modules; /* sys.path: library, its lib-dynload, dist-packages */
	struct strv masks;   /* names in /proc that tell of the host: "cmdline", "sys/"; sorted */
	struct strv hidden;  /* what of the binds is left out, as paths below /usr: "lib/x/y" */
};

#define MOUNTS_PYTHON "/usr/bin/python3"

/*
 * cell is the directory whose file `packages` says which of the system's packages are shown, and
 * `hidden` which other files are not (share/cell/build); NULL: the standard library, all of it.
 */
int mounts_find(struct mounts *m, const char *cell, struct err *e);
void mounts_free(struct mounts *m);

#endif

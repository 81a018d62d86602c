/* A zip archive in memory: files that are small and few, compressed where that helps. */
#ifndef EVCTL_BASE_ZIP_H
#define EVCTL_BASE_ZIP_H

#include "base/buf.h"
#include "base/err.h"

struct zip {
	struct buf out;
	struct buf list; /* the directory, that follows the files */
	unsigned n;
};
#define ZIP_AUTO __attribute__((cleanup(zip_free))) struct zip

/* name is UTF-8 with '/' between its parts; all of one archive stays under 4 GB and 65,535 files.
 */
int zip_add(struct zip *z, const char *name, const void *p, size_t n, struct err *e);
/* No more files; the archive is z->out. */
int zip_end(struct zip *z, struct err *e);
void zip_free(struct zip *z);

#endif

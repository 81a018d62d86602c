/* An artifact's bytes, as they may be shown or handed out. */
#ifndef EVCTL_ARCHIVE_BYTES_H
#define EVCTL_ARCHIVE_BYTES_H

#include "archive/page.h"
#include "state/run_record.h"

/*
 * Reads one into a and bytes, the caller's. *type is what to send it as; the bytes decide, not the
 * record: what is not of sound structure and of its type is data. *shown: it may be shown in a
 * page. ERR_NOTFOUND as page_artifact().
 */
int archive_bytes(const struct view *v, const char *run, const char *name, struct artifact *a,
	struct buf *bytes, const char **type, bool *shown, struct err *e);

#endif

/*
 * The archive as a page: a gallery of runs and their artifacts on 127.0.0.1, for one browser that
 * was handed a one-time link. No JavaScript. Images, short clips and sound of verified structure
 * are shown, fetched whole; everything else is downloaded.
 *
 * A buyer, when named, sees only artifacts of that buyer's runs that are not the owner's alone, and
 * what is fetched in full is marked fetched. The owner's looking marks nothing.
 */
#ifndef EVCTL_ARCHIVE_ARCHIVE_H
#define EVCTL_ARCHIVE_ARCHIVE_H

#include "state/state.h"

struct archive;

/*
 * Listens on 127.0.0.1. port 0: any free one; ERR_CONFLICT if it is taken. buyer may be NULL; with
 * one, st must be open for writing. Both are borrowed until archive_close().
 */
int archive_open(struct archive **a, struct state *st, int port, const char *buyer, struct err *e);
#define ARCHIVE_LINK_MIN 10
/*
 * "http://127.0.0.1:PORT/.../open?t=TOKEN": good for one browser, once, within
 * ARCHIVE_LINK_MIN minutes. What it opened stays open. Owned by the archive.
 */
const char *archive_link(const struct archive *a);
/* Serves until SIGINT, SIGTERM or SIGHUP. */
int archive_serve(struct archive *a, struct err *e);
void archive_close(struct archive **a);
#define ARCHIVE_AUTO __attribute__((cleanup(archive_close))) struct archive *

#endif

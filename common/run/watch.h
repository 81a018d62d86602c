/*
 * Waiting for a directory's files to change, by looking at it a few times a second: that sees what
 * editors, version control and network file systems do alike.
 */
#ifndef EVCTL_RUN_WATCH_H
#define EVCTL_RUN_WATCH_H

#include "base/buf.h"
#include "base/err.h"

struct watch;

/* Remembers how all is now. What is in not_dir (NULL: nowhere), and hidden, is not looked at. */
int watch_open(struct watch **w, const char *dir, const char *not_dir, struct err *e);
/*
 * Waits until it is otherwise than it was at the last look, and still for a moment; remembers that.
 * names gets what changed, "a.py, b.py". ERR_NOTFOUND once the directory is gone.
 */
int watch_wait(struct watch *w, struct buf *names, struct err *e);
void watch_close(struct watch **w);

#endif

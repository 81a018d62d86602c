/*
 * Lines of JSON over two descriptors. Reading is for one thread; writing is for any, a whole line
 * at a time. A line over the limit is skipped to its end and told of as such.
 */
#ifndef EVCTL_RPC_LINES_H
#define EVCTL_RPC_LINES_H

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdbool.h>

#define LINES_LINE_MAX (MB(LIMIT_INPUT_MB) + MB(2)) /* bytes: an input, and what is around it */

struct lines {
	int in, out; /* borrowed */
	struct buf line;
	size_t scanned; /* of line: no newline in there */
	bool skipping;	/* behind a line that was too long */
	bool gone;	/* nobody takes what is written */
	int patience;	/* ms for an end that does not block to take some of it; 0: for ever */
	pthread_mutex_t lock;
};

void lines_open(struct lines *w, int in, int out);
void lines_close(struct lines *w);

enum lines_got { LINES_LINE, LINES_AGAIN, LINES_TOO_LONG, LINES_END };

/* Takes in what is there (blocks if nothing is). AGAIN: then call lines_next(). END at end of file.
 */
enum lines_got lines_fill(struct lines *w);
/*
 * The next whole line without its newline, *p valid until the next call here. At the end of file
 * the last line needs no newline.
 */
enum lines_got lines_next(struct lines *w, bool at_end, const char **p, size_t *n);

/* Writes one message and its newline; takes m over. Does nothing once nobody listens. */
void lines_send(struct lines *w, json_t *m);

#endif

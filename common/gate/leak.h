/*
 * Finds secrets, and replaces them, in whole buffers and in streams, in the forms that code and
 * servers commonly give them: as they are, percent-encoded, in base64 at each of the three offsets
 * and in both alphabets, in hex (bytes together, or parted by ':' or ' '), in UTF-16, escaped for
 * JSON, HTML, XML, CSV. What code transforms freely is not found.
 *
 * Build once (leak_new, leak_add..., leak_seal), then it is const and may be used by many threads.
 * Values and forms are kept in locked memory and wiped.
 */
#ifndef EVCTL_GATE_LEAK_H
#define EVCTL_GATE_LEAK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct leak;

enum leak_forms {
	LEAK_RAW = 1,
	LEAK_PERCENT = 2,
	LEAK_BASE64 = 4,
	LEAK_HEX = 8,
	LEAK_JSON = 16,
	LEAK_LOWER = 32, /* lower-cased, as in a host name */
	LEAK_UTF16 = 64,
	LEAK_MARKUP = 128, /* HTML, XML, CSV */
	LEAK_ALL = LEAK_RAW | LEAK_PERCENT | LEAK_BASE64 | LEAK_HEX | LEAK_JSON | LEAK_UTF16 |
		   LEAK_MARKUP,
	LEAK_PLAIN = LEAK_RAW | LEAK_PERCENT | LEAK_JSON,
};

struct leak *leak_new(void);
/*
 * Adds a value in the given forms. id is handed back by hits. With instead (of length n too),
 * replacing puts the same form of it; without, asterisks in the same form. Either way the text
 * keeps its length. Values under 4 bytes are only looked for raw. 0/-1 (memory, or sealed).
 */
int leak_add(struct leak *l, unsigned id, const void *value, size_t n, const void *instead,
	unsigned forms);
/* Builds the tables; nothing can be added after. */
int leak_seal(struct leak *l);
void leak_free(struct leak **l);
bool leak_empty(const struct leak *l); /* also for NULL */

/* Whole buffers. The first hit's id in *id (may be NULL). */
bool leak_find(const struct leak *l, const void *p, size_t n, unsigned *id);
/* The first hit at or after from: its place, with its length and id; n when there is none. */
size_t leak_next(
	const struct leak *l, const void *p, size_t n, size_t from, size_t *len, unsigned *id);
/* Replaces in place; how many. */
size_t leak_replace(const struct leak *l, void *p, size_t n);

/*
 * Streams. What could be the beginning of a secret is held back until more is seen, so that of a
 * secret split across chunks not one byte gets out. Valid when zeroed but for l.
 */
struct leak_stream {
	const struct leak *l;
	struct buf held;
	size_t hits;
};

/* Appends to out what may go on, replaced. 0, or -1 when memory or out's limit runs out. */
int leak_push(struct leak_stream *s, const void *p, size_t n, struct buf *out);
/* At the end of the stream: appends the rest. */
int leak_flush(struct leak_stream *s, struct buf *out);
/*
 * For stopping instead of replacing: as leak_push(), but 1 at the first hit, with *id set; out then
 * holds only what came before the secret.
 */
int leak_guard(struct leak_stream *s, const void *p, size_t n, struct buf *out, unsigned *id);
/* At the end of such a stream: the rest; 1 if what was held back is a secret after all. */
int leak_guard_end(struct leak_stream *s, struct buf *out, unsigned *id);
void leak_stream_end(struct leak_stream *s); /* wipes and frees */

#endif

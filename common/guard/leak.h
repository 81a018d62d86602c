/*
 * Finds secrets in what leaves, and replaces them, as a decoder would read them: the one guard of
 * requests, answers, results, artifacts, names and logs.
 *
 * The text is read raw and with its escapes undone once, twice, three times (guard/escape.h: all
 * kinds together, with and without quoted-printable, which would eat what follows a plain '='),
 * and in the columns of a hex dump. In each reading, letters lose their case, and what decoders
 * disagree on is dropped: white space, NUL, '+', quotes, backslashes. The last eight bytes of what
 * is left are one word; a filter of bits says whether some spelling of some secret (guard/spell.h:
 * forms, each also in base64, base64 twice, base32, hex) begins with that word. If so, its other
 * characters are made and compared as the text comes. At the end a slow and obvious second reading
 * of that place must give the secret, or it is none: so the looseness of the search raises no
 * alarm.
 *
 * Linear in the text; memory is 24 bytes a spelling and the spellings themselves, whatever the
 * number of hosts (leak_share), and what is held back of a stream: from the first byte that may be
 * a secret's to where that is known. Values of under LEAK_LOOSE bytes are looked for as they are.
 * Not found: two different codings in each other, other codings, free mixtures inside of one.
 *
 * Build once (leak_new, leak_add..., leak_seal), then it is const and may be used by many threads.
 * Values are kept in locked memory and wiped.
 */
#ifndef EVCTL_GUARD_LEAK_H
#define EVCTL_GUARD_LEAK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LEAK_LOOSE 12 /* bytes: shorter ones would be found by chance in other spellings */

struct leak;

struct leak *leak_new(void);
/*
 * Adds a value. id is handed back by hits. With instead (of length n too), replacing puts it in the
 * same spelling; without, asterisks. Either way the text keeps its length. 0/-1 (memory, or
 * sealed).
 */
int leak_add(struct leak *l, unsigned id, const void *value, size_t n, const void *instead);
/* Builds the tables; nothing can be added after. */
int leak_seal(struct leak *l);
/* The same tables, for the values that want() picks; l must outlive it. NULL without memory. */
struct leak *leak_share(const struct leak *l,
	bool (*want)(void *arg, unsigned id, const void *value, size_t n), void *arg);
void leak_free(struct leak **l);
bool leak_empty(const struct leak *l); /* also for NULL */

/* Whole buffers. The first hit's id in *id (may be NULL). */
bool leak_find(const struct leak *l, const void *p, size_t n, unsigned *id);
/* The first hit at or after from: its place, with its length and id; n when there is none. */
size_t leak_next(
	const struct leak *l, const void *p, size_t n, size_t from, size_t *len, unsigned *id);
/* Replaces in place; how many, or -1: one is there in a spelling that cannot be replaced. */
ssize_t leak_replace(const struct leak *l, void *p, size_t n);

/*
 * Streams. What could be the beginning of a secret is held back until more is seen, so that of a
 * secret split across chunks not one byte gets out. Valid when zeroed but for l.
 */
struct leak_stream {
	const struct leak *l;
	struct buf held;
	size_t passed; /* of what is held: gone on, and looked at together with what follows */
	struct leak_search *search;
	size_t hits;
	bool stuck; /* one could not be replaced: the stream is over */
};

/* Appends to out what may go on, replaced. 0, or -1: stuck, or memory or out's limit runs out. */
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

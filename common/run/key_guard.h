/*
 * Keeps the values of keys out of what a run hands over: finds them in results, artifacts and
 * names, blanks them in results, scrubs them from logs. Built for one call from its keys and, in a
 * session, those of the calls before, which the code may have kept.
 */
#ifndef EVCTL_RUN_KEY_GUARD_H
#define EVCTL_RUN_KEY_GUARD_H

#include "base/buf.h"
#include "guard/leak.h"
#include "run/keys.h"

struct guard {
	struct leak *found; /* values long enough to be told from chance */
	struct leak *logs;  /* shorter ones too: a log is scrubbed rather more than less */
	char (*names)[65];
	bool *guarded;
	size_t n;
};
#define GUARD_AUTO __attribute__((cleanup(guard_free))) struct guard

/* earlier may be NULL. */
int guard_make(struct guard *g, const struct call_keys *now, const struct call_keys *earlier,
	struct err *e);
void guard_free(struct guard *g);

/* The name of the first key whose value is in there, or NULL. */
const char *guard_find(const struct guard *g, const void *p, size_t n);
/* The same of a file: also in what is packed inside of it (guard/unpack.h). */
const char *guard_find_file(const struct guard *g, const void *p, size_t n);
/*
 * Replaces each value in b by "[EV_KEYS:NAME]", or by "[withheld]" for a buyer. The names hit are
 * added to names once each. 0, or -1 without memory (b is then empty).
 */
int guard_blank(const struct guard *g, bool buyer, struct buf *b, struct strv *names);
/* In place, keeping the length. */
void guard_scrub(const struct guard *g, void *p, size_t n);

#endif

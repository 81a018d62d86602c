/* The search through one text, as it comes: inside guard/ only. */
#ifndef EVCTL_GUARD_SEARCH_H
#define EVCTL_GUARD_SEARCH_H

#include "guard/escape.h"
#include "guard/keyring.h"

/* How the text is read: raw, undone 1..3 times, the same with quoted-printable, hex dumps. */
enum { READ_RAW = 0, ROUNDS = 3, READ_QUOTED = 4, READ_DUMP = 7, READ_DUMP_SWAPPED, READINGS };

struct leak_reading {
	uint64_t word;	     /* the last kept characters */
	uint64_t from[WORD]; /* where each begins in the raw text, a ring */
	unsigned n;
};

/* Characters of one reading that may be an escape for the next. */
struct undoing {
	uint8_t c[2 * ESCAPE_MAX];
	uint64_t from[2 * ESCAPE_MAX], to[2 * ESCAPE_MAX];
	size_t n;
};

/* Within a hex dump: behind an offset come groups of digits, to the end of the line. */
struct dump {
	unsigned run; /* of hex digits, before: an offset? */
	bool on;
	unsigned gap, bytes;
	uint8_t c[8]; /* the group so far */
	uint64_t from[8], to[8];
	unsigned n;
};

struct leak_candidate {
	uint64_t start;
	uint32_t what; /* pattern; of an exact one the value */
	uint32_t next; /* the character that must come next */
	uint64_t end;  /* of one that is whole and waits for the character behind it; else 0 */
	uint8_t reading;
	bool exact;
};

struct leak_hit {
	uint64_t start, end;
	uint32_t what;
	uint8_t reading;
	bool exact;
	bool crowd; /* too much at once looked like secrets to compare it all */
};

struct leak_search {
	const struct leak *l;
	const uint8_t *p; /* what is there of the text, from base on */
	uint64_t base, at;
	size_t n;
	/*
	 * Mostly all readings are one. own[r]: reading r has differed from the one it is made of
	 * for too few characters to be one with it again. From round `quoted` on, those with
	 * quoted-printable have differed from those without. apart: any of it, or a candidate.
	 */
	bool apart, own[READINGS];
	unsigned quoted;
	struct leak_reading reading[READINGS];
	struct undoing undoing[READ_DUMP]; /* what makes reading r; [0] is none */
	size_t at_work[READINGS];	   /* candidates of each */
	struct dump dump;
	struct leak_candidate *cand;
	size_t ncand, room;
	bool found, failed;
	struct leak_hit hit;
};

/* Begins, or begins anew at a place. */
void search_start(struct leak_search *s, const struct leak *l, uint64_t at);
/*
 * Goes on through p[0..n), which begins at base and holds all that search_safe() said. True at a
 * hit (s->hit) that nothing overlaps any more, or with stop at the first.
 */
bool search_run(
	struct leak_search *s, const void *p, size_t n, uint64_t base, bool last, bool stop);
/*
 * What comes before this place is no part of a secret. *go: what may be passed on, the same or
 * more: three characters at the end of a line, which some spelling often begins with, hold up no
 * log.
 */
uint64_t search_safe(struct leak_search *s, uint64_t *go);
void search_end(struct leak_search *s);

/* ---- confirm.c: the slow reading ---- */

/* Whether raw[0..n), read as the hit says, is the secret. */
bool confirm(const struct leak *l, const struct leak_hit *h, const uint8_t *raw, size_t n);
/*
 * Puts its replacement there, in the same spelling; false when that cannot be. Of a coding also the
 * characters at its edges change, which it shares with its neighbours: so many bytes are there.
 */
bool confirm_replace(const struct leak *l, const struct leak_hit *h, uint8_t *raw, size_t n,
	size_t before, size_t after);

#endif

/*
 * Memory that is given back all at once. What arena_alloc() returns is zeroed, 8-aligned, and lives
 * until arena_free(). It never returns NULL: without memory, or past the limit, it
 * jumps to the innermost struct fail, so that code that builds trees needs no error paths. Whoever
 * sets a fail up owns nothing else at that moment but arenas, so a jump leaks nothing.
 */
#ifndef EVCTL_SCAN_ARENA_H
#define EVCTL_SCAN_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum fail_what { FAIL_SYNTAX = 1, FAIL_CODING, FAIL_MEMORY, FAIL_LIMIT };

/* Where to jump, and what happened. line counts from 1, col is bytes from 0. */
struct fail {
	jmp_buf at;
	enum fail_what what;
	uint32_t line, col;
	const char *message; /* static storage */
};

struct arena {
	char *at, *end;
	struct arena_chunk *chunks;
	size_t used, limit; /* bytes taken from the system, and how many may be */
	struct fail *fail;  /* never NULL while the arena is in use */
};

void arena_free(struct arena *a);
void *arena_more(struct arena *a, size_t n);
/* A copy with a NUL behind it. */
char *arena_copy(struct arena *a, const void *p, size_t n);
_Noreturn void fail_jump(struct fail *f, enum fail_what what);

/* As arena_alloc(), but not zeroed. */
static inline void *arena_raw(struct arena *a, size_t n)
{
	n = (n + 7) & ~(size_t)7;
	if ((size_t)(a->end - a->at) < n)
		return arena_more(a, n);
	void *p = a->at;
	a->at += n;
	return p;
}

static inline void *arena_alloc(struct arena *a, size_t n)
{
	return memset(arena_raw(a, n), 0, n);
}

#endif

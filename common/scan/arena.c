#include "scan/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST ((size_t)128 << 10) /* big enough that calloc() maps fresh zero pages */
#define CHUNK_MOST ((size_t)2 << 20)

struct arena_chunk {
	struct arena_chunk *next;
	size_t pad; /* keeps what follows 16-aligned */
};

_Noreturn void fail_jump(struct fail *f, enum fail_what what)
{
	f->what = what;
	longjmp(f->at, 1);
}

void arena_free(struct arena *a)
{
	for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct arena){.limit = a->limit};
}

void *arena_more(struct arena *a, size_t n)
{
	size_t size = CHUNK_FIRST;
	while (size < a->used / 4 && size < CHUNK_MOST)
		size *= 2;
	if (n > a->limit || a->used > a->limit - n)
		fail_jump(a->fail, FAIL_LIMIT);
	if (size < n + sizeof(struct arena_chunk))
		size = n + sizeof(struct arena_chunk);
	struct arena_chunk *c = calloc(1, size);
	if (!c)
		fail_jump(a->fail, FAIL_MEMORY);
	c->next = a->chunks;
	a->chunks = c;
	a->used += size;
	char *p = (char *)(c + 1);
	/* A big block does not end the use of the chunk at hand. */
	if (size - sizeof(*c) - n < (size_t)(a->end - a->at))
		return p;
	a->at = p + n;
	a->end = (char *)c + size;
	return p;
}

char *arena_copy(struct arena *a, const void *p, size_t n)
{
	char *s = arena_alloc(a, n + 1);
	if (n)
		memcpy(s, p, n);
	return s;
}

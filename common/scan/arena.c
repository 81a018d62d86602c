#include "scan/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_FIRST ((size_t)128 << 10)
#define CHUNK_MOST ((size_t)16 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size; /* all of it */
};

_Noreturn void fail_jump(struct fail *f, enum fail_what what)
{
	f->what = what;
	longjmp(f->at, 1);
}

static void drop_chunks(struct arena_chunk *c)
{
	for (struct arena_chunk *next; c; c = next) {
		next = c->next;
		free(c);
	}
}

void arena_free(struct arena *a)
{
	drop_chunks(a->chunks);
	*a = (struct arena){.limit = a->limit};
}

/* Much memory is asked for in huge pages: to touch small ones one by one costs as much as the work.
 */
static struct arena_chunk *new_chunk(size_t size)
{
	if (size < HUGE_PAGE)
		return malloc(size);
	struct arena_chunk *c = NULL;
	if (posix_memalign((void **)&c, HUGE_PAGE, size) != 0)
		return NULL;
	madvise(c, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
	return c;
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
	struct arena_chunk *c = new_chunk(size);
	if (!c)
		fail_jump(a->fail, FAIL_MEMORY);
	c->next = a->chunks;
	c->size = size;
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
	char *s = arena_raw(a, n + 1);
	if (n)
		memcpy(s, p, n);
	s[n] = '\0';
	return s;
}

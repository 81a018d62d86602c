#include "base/vault.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A page that holds the size of all, the pages that are used, a page that faults. */
void *vault_new(size_t n)
{
	size_t page = page_size(), room = n ? (n + 15) & ~(size_t)15 : 16;
	if (n > SIZE_MAX / 2)
		return NULL;
	size_t used = (room + page - 1) & ~(page - 1), size = used + 2 * page;
	char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (mprotect(p, page + used, PROT_READ | PROT_WRITE) < 0) {
		munmap(p, size);
		return NULL;
	}
	*(size_t *)p = size;
	(void)mprotect(p, page, PROT_READ);
	/* Best effort: an ordinary user may lock only so much, and a run must not fail for it. */
	(void)mlock(p + page, used);
	(void)madvise(p + page, used, MADV_DONTDUMP);
	(void)madvise(p + page, used, MADV_WIPEONFORK);
	return p + page + used - room;
}

void vault_free(void *p)
{
	if (!p)
		return;
	size_t page = page_size();
	char *head = (char *)p - ((uintptr_t)p & (page - 1)) - page;
	size_t size = *(size_t *)head;
	explicit_bzero(head + page, size - 2 * page);
	munmap(head, size);
}

void *wipe_malloc(size_t n)
{
	return malloc(n);
}

void *wipe_calloc(size_t n, size_t size)
{
	return calloc(n, size);
}

char *wipe_strdup(const char *s)
{
	return strdup(s);
}

void wipe_free(void *p)
{
	if (!p)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

void *wipe_realloc(void *p, size_t n)
{
	size_t old = p ? malloc_usable_size(p) : 0;
	if (p && n <= old && n >= old / 2)
		return p;
	void *q = malloc(n);
	if (!q || !p)
		return q;
	memcpy(q, p, old < n ? old : n);
	wipe_free(p);
	return q;
}

#include "gate/vault.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct vault_head {
	size_t size; /* of the mapping */
	max_align_t data[];
};

void *vault_new(size_t n)
{
	if (n > SIZE_MAX / 2)
		return NULL;
	size_t size = (sizeof(struct vault_head) + n + 4095) & ~(size_t)4095;
	struct vault_head *v =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return NULL;
	/* Best effort: an ordinary user may lock only so much, and a run must not fail for it. */
	mlock(v, size);
	madvise(v, size, MADV_DONTDUMP);
	madvise(v, size, MADV_WIPEONFORK);
	v->size = size;
	return v->data;
}

void vault_free(void *p)
{
	if (!p)
		return;
	struct vault_head *v = (struct vault_head *)((char *)p - offsetof(struct vault_head, data));
	size_t size = v->size;
	explicit_bzero(v, size);
	munmap(v, size);
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

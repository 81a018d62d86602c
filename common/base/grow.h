/*
 * Arrays that grow by one at a time.
 */
#ifndef EVCTL_BASE_GROW_H
#define EVCTL_BASE_GROW_H

#include <stddef.h>
#include <stdlib.h>

/*
 * An array of members of size bytes, n of them in use, with room for one more: v itself, or where
 * it was moved to; *room says how many it holds. NULL without memory, v is then as it was.
 */
static inline void *grow(void *v, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	if (n < *room)
		return v;
	void *grown = reallocarray(v, more, size);
	if (grown)
		*room = more;
	return grown;
}

#endif

#include "base/grow.h"

#include <stdlib.h>

void *grow(void *v, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	if (n < *room)
		return v;
	void *grown = reallocarray(v, more, size);
	if (grown)
		*room = more;
	return grown;
}

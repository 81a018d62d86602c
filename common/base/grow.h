/*
 * Arrays that grow by one at a time.
 */
#ifndef EVCTL_BASE_GROW_H
#define EVCTL_BASE_GROW_H

#include <stddef.h>

/*
 * An array of members of size bytes, n of them in use, with room for one more: v itself, or where
 * it was moved to; *room says how many it holds. NULL without memory, v is then as it was.
 */
void *grow(void *v, size_t n, size_t *room, size_t size);

#endif

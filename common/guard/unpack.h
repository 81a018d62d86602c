/*
 * What is packed inside of a file: members of zip archives (so of docx and the like), gzip,
 * deflated streams of PDF, compressed text of PNG, in each other two deep. Each is found by its own
 * mark, wherever that is. Bounded: what would unfold to more than UNPACK_MAX in all is not looked
 * into.
 */
#ifndef EVCTL_GUARD_UNPACK_H
#define EVCTL_GUARD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#define UNPACK_MAX ((size_t)128 << 20)
#define UNPACK_DEPTH 2

/* Whether look() says so of some unpacked part; also without memory. */
bool unpack_any(
	const void *p, size_t n, bool (*look)(void *arg, const void *p, size_t n), void *arg);

#endif

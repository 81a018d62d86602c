/*
 * What bytes are, by looking at them; names and what the tool says are not believed. Pure.
 */
#ifndef EVCTL_BASE_MAGIC_H
#define EVCTL_BASE_MAGIC_H

#include <stdbool.h>
#include <stddef.h>

struct magic {
	const char *type; /* media type; static */
	bool inline_ok;	  /* PNG, JPEG, GIF, WebP, MP4, WebM, MP3, M4A, WAV of sound structure */
};

struct magic magic_of(const void *p, size_t n);

#endif

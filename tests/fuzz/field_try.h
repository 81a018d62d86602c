/* Bytes as one message: what is read of them says the same, byte for byte, when it is written again. */
#ifndef EVCTL_TESTS_FUZZ_FIELD_TRY_H
#define EVCTL_TESTS_FUZZ_FIELD_TRY_H

#include "base/field.h"

#include <stdlib.h>
#include <string.h>

/* any: room for the message's struct, size bytes of it. */
static void field_try(const struct buf *b, const struct fields *f, void *any, size_t size)
{
	BUF_AUTO again = {.limit = b->len};
	struct err e = {0};
	memset(any, 0, size);
	if (!field_is(b, f) || field_read(b, f, any) < 0)
		return;
	if (field_write(&again, f, any, &e) < 0 || again.len != b->len ||
		memcmp(again.data, b->data, b->len) != 0)
		abort();
	field_free(f, any);
}

#endif

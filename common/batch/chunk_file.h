/* A chunk's calls, in the spool: sealed to the bundle's key. */
#ifndef EVCTL_BATCH_CHUNK_FILE_H
#define EVCTL_BATCH_CHUNK_FILE_H

#include "base/field.h"
#include "state/seal.h"

#define CHUNK_BYTES_MAX ((size_t)32 << 20) /* of inputs; one that is larger goes alone */

struct chunk_call {
	int64_t call;
	const char *tool, *input;
	size_t ninput;
};
struct chunk_calls {
	struct chunk_call *v;
	size_t n;
};

/* Writes calls/NUMBER beneath the spool. */
int chunk_write(int spool, const char *batch, int64_t chunk, const unsigned char to[SEAL_KEY_BYTES],
	const struct chunk_calls *c, struct err *e);
/* Fills c, to be freed by chunk_free(); its texts point into *text. */
int chunk_read(int spool, const char *batch, int64_t chunk, const struct secret *key,
	struct chunk_calls *c, struct secret *text, struct err *e);
void chunk_free(struct chunk_calls *c);

#endif

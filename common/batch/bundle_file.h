/*
 * What a task needs to work on a batch: a small state (state/bundle.h), and the key to it sealed to
 * each that may have it. Made at home; an entry is a box from home's key, with a hash of the rest,
 * so that whoever opens it knows who made it and that all of it is as it was made.
 */
#ifndef EVCTL_BATCH_BUNDLE_FILE_H
#define EVCTL_BATCH_BUNDLE_FILE_H

#include "base/field.h"
#include "state/seal.h"

#define BUNDLE_KEY_BYTES (SEAL_KEY_BYTES + 16) /* the private key, and the hash */
#define BUNDLE_ENTRY_BYTES (8 + SEAL_BOX_MORE + BUNDLE_KEY_BYTES)

struct bundle {
	char batch[17];
	const char *expert;
	const char *buyer; /* NULL: the builder */
	int version, timeout_ms;
	int64_t expires;
	const char *public_key, *home; /* SEAL_KEY_BYTES each: its own, and home's */
	size_t npublic_key, nhome;
	const char *state; /* sealed to its own key */
	size_t nstate;
	const char *entries;
	size_t nentries;
};

/* The message of a bundle without entries becomes one with them. key: its private key. */
int bundle_write(const struct bundle *b, const struct secret *home, const struct secret *key,
	const unsigned char (*to)[SEAL_KEY_BYTES], size_t nto, struct buf *out, struct err *e);
/* Reads a message, which must outlive b; ERR_STATE where it is none. */
int bundle_read(const struct buf *message, struct bundle *b, struct err *e);
/* What is to be handed to a task that has no key of its own: BUNDLE_KEY_BYTES. */
int bundle_key_of(
	const struct bundle *b, const struct secret *key, struct secret *out, struct err *e);
/* The same from the entry for the owner of `mine`: ERR_DENIED there is none, ERR_STATE. */
int bundle_key_find(
	const struct bundle *b, const struct secret *mine, struct secret *out, struct err *e);
/* Whether the key is this very bundle's, untouched; ERR_STATE, or ERR_DENIED: it has expired. */
int bundle_check(const struct bundle *b, const struct secret *key, struct err *e);
/* The small state's bytes. */
int bundle_state_open(
	const struct bundle *b, const struct secret *key, struct secret *out, struct err *e);
int bundle_state_seal(
	const struct bundle *b, const void *p, size_t n, struct buf *out, struct err *e);

#endif

#include "batch/bundle_file.h"

#include "base/file.h"

#include <string.h>

#define TEXT_MOST 256
#define STATE_MOST ((size_t)200 << 20)
#define ENTRIES_MOST ((size_t)16 << 20)

static const struct fields bundle_fields = FIELDS('B', 1, FIELD_CHARS(struct bundle, batch),
	FIELD_TEXT(struct bundle, expert, TEXT_MOST),
	FIELD_TEXT_OR_NULL(struct bundle, buyer, TEXT_MOST), FIELD_NUMBER(struct bundle, version),
	FIELD_NUMBER(struct bundle, timeout_ms), FIELD_NUMBER(struct bundle, expires),
	FIELD_BYTES(struct bundle, public_key, npublic_key, SEAL_KEY_BYTES),
	FIELD_BYTES(struct bundle, home, nhome, SEAL_KEY_BYTES),
	FIELD_BYTES(struct bundle, state, nstate, STATE_MOST),
	FIELD_BYTES(struct bundle, entries, nentries, ENTRIES_MOST));

static const unsigned char *bytes(const char *p)
{
	return (const unsigned char *)p;
}

static int hash_of(const struct bundle *b, unsigned char hash[SEAL_HASH_BYTES], struct err *e)
{
	struct bundle bare = *b;
	BUF_AUTO message = {.limit = STATE_MOST + 65536};
	bare.entries = NULL;
	bare.nentries = 0;
	if (field_write(&message, &bundle_fields, &bare, e) < 0)
		return -1;
	seal_hash(hash, message.data, message.len, NULL, 0);
	return 0;
}

int bundle_key_of(
	const struct bundle *b, const struct secret *key, struct secret *out, struct err *e)
{
	unsigned char hash[SEAL_HASH_BYTES];
	if (hash_of(b, hash, e) < 0 || secret_alloc(out, BUNDLE_KEY_BYTES, e) < 0)
		return -1;
	memcpy(out->data, key->data, SEAL_KEY_BYTES);
	memcpy(out->data + SEAL_KEY_BYTES, hash, BUNDLE_KEY_BYTES - SEAL_KEY_BYTES);
	return 0;
}

/* 8 bytes of the public key tell whose an entry is. */
int bundle_write(const struct bundle *b, const struct secret *home, const struct secret *key,
	const unsigned char (*to)[SEAL_KEY_BYTES], size_t nto, struct buf *out, struct err *e)
{
	SECRET_AUTO whole = {0};
	BUF_AUTO entries = {.limit = ENTRIES_MOST};
	if (bundle_key_of(b, key, &whole, e) < 0)
		return -1;
	for (size_t i = 0; i < nto; i++) {
		buf_add(&entries, to[i], 8);
		if (seal_box(home, to[i], whole.data, whole.n, &entries, e) < 0)
			return -1;
	}
	struct bundle with = *b;
	with.entries = buf_str(&entries);
	with.nentries = entries.len;
	out->limit = STATE_MOST + ENTRIES_MOST + 65536;
	return field_write(out, &bundle_fields, &with, e);
}

int bundle_read(const struct buf *message, struct bundle *b, struct err *e)
{
	*b = (struct bundle){0};
	if (field_read(message, &bundle_fields, b) == 0 && b->npublic_key == SEAL_KEY_BYTES &&
		b->nhome == SEAL_KEY_BYTES && b->nentries % BUNDLE_ENTRY_BYTES == 0)
		return 0;
	return err_set(e, ERR_STATE, "the bundle is damaged, or of another version of evctl");
}

int bundle_key_find(
	const struct bundle *b, const struct secret *mine, struct secret *out, struct err *e)
{
	unsigned char me[SEAL_KEY_BYTES];
	seal_public_of(mine, me);
	for (size_t at = 0; at < b->nentries; at += BUNDLE_ENTRY_BYTES)
		if (memcmp(b->entries + at, me, 8) == 0)
			return seal_box_open(mine, bytes(b->home), b->entries + at + 8,
				BUNDLE_ENTRY_BYTES - 8, out, e);
	err_set(e, ERR_DENIED, "the bundle is not sealed to this machine's key");
	return err_hint(e, "at home: evctl-node add, then start a batch");
}

int bundle_check(const struct bundle *b, const struct secret *key, struct err *e)
{
	unsigned char hash[SEAL_HASH_BYTES], pair[SEAL_KEY_BYTES];
	if (key->n != BUNDLE_KEY_BYTES)
		return err_set(e, ERR_STATE, "the bundle's key is none");
	struct secret half = {key->data, SEAL_KEY_BYTES};
	if (hash_of(b, hash, e) < 0)
		return -1;
	seal_public_of(&half, pair);
	if (memcmp(key->data + SEAL_KEY_BYTES, hash, BUNDLE_KEY_BYTES - SEAL_KEY_BYTES) != 0 ||
		memcmp(pair, b->public_key, sizeof pair) != 0)
		return err_set(e, ERR_STATE, "the bundle was changed after it was made");
	if (clock_real_ms() < b->expires)
		return 0;
	err_set(e, ERR_DENIED, "the bundle of batch '%s' has expired", b->batch);
	return err_hint(e, "start another batch; --expires says for how long");
}

int bundle_state_seal(
	const struct bundle *b, const void *p, size_t n, struct buf *out, struct err *e)
{
	return seal_record(
		bytes(b->public_key), &(struct seal_id){"bundles", 0, b->batch, 1}, p, n, out, e);
}

int bundle_state_open(
	const struct bundle *b, const struct secret *key, struct secret *out, struct err *e)
{
	const struct secret half = {key->data, SEAL_KEY_BYTES};
	return seal_open(
		&half, &(struct seal_id){"bundles", 0, b->batch, 1}, b->state, b->nstate, out, e);
}

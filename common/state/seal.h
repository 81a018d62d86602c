/*
 * Secrets and sealed records: the only includer of sodium.h. A secret lives in locked, guarded
 * memory that no core dump holds, and is wiped when freed.
 *
 * A sealed record is: 1 byte of format, a fresh data key sealed to the state's X25519 public key
 * (crypto_box_seal), a nonce, and XChaCha20-Poly1305 over the plain bytes with the record's table,
 * id, name and version as associated data, so that rows cannot be swapped for one another.
 */
#ifndef EVCTL_STATE_SEAL_H
#define EVCTL_STATE_SEAL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define SEAL_KEY_BYTES 32
#define SEAL_HASH_BYTES 32

struct secret {
	char *data; /* n bytes and a NUL that is not counted; NULL when empty */
	size_t n;
};
#define SECRET_AUTO __attribute__((cleanup(secret_free))) struct secret

int secret_alloc(struct secret *s, size_t n, struct err *e);
/* Copies n bytes in; the source is the caller's to wipe. */
int secret_set(struct secret *s, const void *p, size_t n, struct err *e);
void secret_free(struct secret *s);
/* Keeps the first n bytes and wipes the rest. */
void secret_truncate(struct secret *s, size_t n);

/* Makes this process undumpable and undebuggable by its user, and libsodium ready. */
int seal_process(struct err *e);
/* What functions that have returned left of secrets: copies that the compiler put on the stack. */
void seal_wipe_stack(void);

struct seal_id {
	const char *table; /* "credentials", ... */
	int64_t id;
	const char *name;
	int64_t version;
};

int seal_new_keypair(
	unsigned char public_key[SEAL_KEY_BYTES], struct secret *private_key, struct err *e);
void seal_public_of(const struct secret *private_key, unsigned char public_key[SEAL_KEY_BYTES]);
/* Needs only the public key. Appends the record to out. */
int seal_record(const unsigned char public_key[SEAL_KEY_BYTES], const struct seal_id *id,
	const void *p, size_t n, struct buf *out, struct err *e);
/* ERR_KEY if the key is not the one it was sealed to, ERR_STATE if the record was tampered with. */
int seal_open(const struct secret *private_key, const struct seal_id *id, const void *record,
	size_t n, struct secret *out, struct err *e);
/* The same record sealed to another public key: the data key is sealed anew, the bytes stay. */
int seal_again(const struct secret *private_key, const unsigned char to[SEAL_KEY_BYTES],
	const void *record, size_t n, struct buf *out, struct err *e);

/* From one key pair to another: only the two can make it or open it. Appends to out. */
int seal_box(const struct secret *from, const unsigned char to[SEAL_KEY_BYTES], const void *p,
	size_t n, struct buf *out, struct err *e);
/* ERR_STATE where it is not what `from` sent to this key. */
int seal_box_open(const struct secret *to, const unsigned char from[SEAL_KEY_BYTES],
	const void *box, size_t n, struct secret *out, struct err *e);
#define SEAL_BOX_MORE 40 /* bytes of a box beside what it holds */

/* A stream of messages in an order of their own, the last of which is marked (secretstream). */
#define SEAL_STREAM_HEAD 24
#define SEAL_STREAM_MORE 17 /* bytes of a message beside what it holds */
struct seal_stream {
	_Alignas(16) unsigned char state[64];
};
int seal_stream_begin(struct seal_stream *s, const unsigned char key[SEAL_KEY_BYTES],
	unsigned char head[SEAL_STREAM_HEAD], struct err *e);
int seal_stream_add(
	struct seal_stream *s, const void *p, size_t n, bool last, struct buf *out, struct err *e);
int seal_stream_open(struct seal_stream *s, const unsigned char key[SEAL_KEY_BYTES],
	const unsigned char head[SEAL_STREAM_HEAD], struct err *e);
/* Fills out (cleared first). ERR_STATE: it is not the next message of this stream. */
int seal_stream_next(
	struct seal_stream *s, const void *p, size_t n, bool *last, struct buf *out, struct err *e);
void seal_stream_wipe(struct seal_stream *s);

/* The private key's file: one line of text; wrapped by a passphrase (Argon2id) or not. */
int seal_key_to_text(const struct secret *private_key, const struct secret *passphrase,
	struct secret *text, struct err *e);
bool seal_key_is_wrapped(const struct secret *text);
int seal_key_from_text(const struct secret *text, const struct secret *passphrase,
	struct secret *private_key, struct err *e);

/* BLAKE2b-256 of up to several pieces, and SHA-256 as lower-case hex (65 bytes with NUL). */
void seal_hash(
	unsigned char out[SEAL_HASH_BYTES], const void *a, size_t na, const void *b, size_t nb);
void seal_sha256_hex(char out[65], const void *p, size_t n);
/* "ab12 cd34 ..." of a public key: 32 hex digits in fours; out holds 40. */
void seal_fingerprint(char out[40], const unsigned char public_key[SEAL_KEY_BYTES]);
/* A public key as 64 hex digits, and back; out holds 65. -1 where the text is none. */
void seal_key_hex(char out[65], const unsigned char public_key[SEAL_KEY_BYTES]);
int seal_key_from_hex(const char *text, unsigned char public_key[SEAL_KEY_BYTES]);
void seal_random(void *p, size_t n);
/* A random identifier: prefix and 15 characters of [a-z0-9] without look-alikes; out holds 17. */
void seal_random_id(char out[17], char prefix);

#endif

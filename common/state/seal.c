#include "state/seal.h"
#include "base/proc.h"
#include "base/vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

#define STACK_BYTES 65536 /* deeper than any call here goes */

#define FORMAT 1
#define WRAPPED_KEY (crypto_box_SEALBYTES + crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define HEAD (1 + WRAPPED_KEY + NONCE)

static const char plain_prefix[] = "evctl-key-1 ";
static const char wrapped_prefix[] = "evctl-key-1-passphrase ";

int secret_alloc(struct secret *s, size_t n, struct err *e)
{
	*s = (struct secret){0};
	if (sodium_init() < 0)
		return err_set(e, ERR_FAIL, "libsodium cannot be set up");
	char *p = vault_new(n + 1);
	if (!p)
		return err_set(e, ERR_FAIL, "out of locked memory");
	*s = (struct secret){p, n};
	return 0;
}

int secret_set(struct secret *s, const void *p, size_t n, struct err *e)
{
	if (secret_alloc(s, n, e) < 0)
		return -1;
	if (n)
		memcpy(s->data, p, n);
	return 0;
}

void secret_free(struct secret *s)
{
	vault_free(s->data);
	*s = (struct secret){0};
}

void secret_truncate(struct secret *s, size_t n)
{
	if (n >= s->n)
		return;
	sodium_memzero(s->data + n, s->n - n);
	s->n = n;
}

int seal_process(struct err *e)
{
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){NO_CORE, NO_CORE});
	if (sodium_init() < 0)
		return err_set(e, ERR_FAIL, "libsodium cannot be set up");
	return 0;
}

void seal_wipe_stack(void)
{
	sodium_stackzero(STACK_BYTES);
}

int seal_new_keypair(
	unsigned char public_key[SEAL_KEY_BYTES], struct secret *private_key, struct err *e)
{
	if (secret_alloc(private_key, SEAL_KEY_BYTES, e) < 0)
		return -1;
	crypto_box_keypair(public_key, (unsigned char *)private_key->data);
	return 0;
}

void seal_public_of(const struct secret *private_key, unsigned char public_key[SEAL_KEY_BYTES])
{
	crypto_scalarmult_base(public_key, (const unsigned char *)private_key->data);
}

/* Lengths go before the texts, so that no two identities have the same bytes. */
static void associated_data(struct buf *b, const struct seal_id *id)
{
	buf_addf(b, "evctl %zu:%s %lld %zu:%s %lld", strlen(id->table), id->table,
		(long long)id->id, strlen(id->name), id->name, (long long)id->version);
}

int seal_record(const unsigned char public_key[SEAL_KEY_BYTES], const struct seal_id *id,
	const void *p, size_t n, struct buf *out, struct err *e)
{
	unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
	BUF_AUTO ad = {0};
	associated_data(&ad, id);
	if (out->limit < n + HEAD + TAG)
		out->limit = n + HEAD + TAG;
	if (buf_failed(&ad) || buf_reserve(out, HEAD + n + TAG) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	unsigned char *at = (unsigned char *)out->data + out->len;
	randombytes_buf(key, sizeof key);
	at[0] = FORMAT;
	int r = crypto_box_seal(at + 1, key, sizeof key, public_key);
	randombytes_buf(at + 1 + WRAPPED_KEY, NONCE);
	unsigned long long len = 0;
	crypto_aead_xchacha20poly1305_ietf_encrypt(at + HEAD, &len, p, n,
		(const unsigned char *)ad.data, ad.len, NULL, at + 1 + WRAPPED_KEY, key);
	sodium_memzero(key, sizeof key);
	if (r < 0)
		return err_set(e, ERR_STATE, "the state's public key is damaged");
	out->len += HEAD + len;
	return 0;
}

static int open_data_key(const struct secret *private_key, const unsigned char *at, size_t n,
	unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES], struct err *e)
{
	if (!at || n < HEAD + TAG || at[0] != FORMAT)
		return err_set(e, ERR_STATE, "a sealed record is damaged");
	unsigned char public_key[SEAL_KEY_BYTES];
	seal_public_of(private_key, public_key);
	if (crypto_box_seal_open(key, at + 1, WRAPPED_KEY, public_key,
		    (const unsigned char *)private_key->data) == 0)
		return 0;
	err_set(e, ERR_KEY, "the private key does not open this record");
	return err_hint(e, "evctl-state status shows the fingerprint of the key that does");
}

int seal_open(const struct secret *private_key, const struct seal_id *id, const void *record,
	size_t n, struct secret *out, struct err *e)
{
	unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
	const unsigned char *at = record;
	BUF_AUTO ad = {0};
	if (open_data_key(private_key, at, n, key, e) < 0)
		return -1;
	associated_data(&ad, id);
	int r = secret_alloc(out, n - HEAD - TAG, e);
	if (r == 0 && crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)out->data, NULL,
			      NULL, at + HEAD, n - HEAD, (const unsigned char *)ad.data, ad.len,
			      at + 1 + WRAPPED_KEY, key) < 0) {
		secret_free(out);
		r = err_set(e, ERR_STATE, "a sealed record of '%s' was tampered with", id->name);
		err_hint(e, "evctl-state restore BACKUP");
	}
	sodium_memzero(key, sizeof key);
	return r;
}

int seal_again(const struct secret *private_key, const unsigned char to[SEAL_KEY_BYTES],
	const void *record, size_t n, struct buf *out, struct err *e)
{
	unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
	if (open_data_key(private_key, record, n, key, e) < 0)
		return -1;
	if (out->limit < n)
		out->limit = n;
	buf_add(out, record, n);
	int r = buf_failed(out)
			? -1
			: crypto_box_seal((unsigned char *)out->data + 1, key, sizeof key, to);
	sodium_memzero(key, sizeof key);
	return r < 0 ? err_set(e, ERR_FAIL, "cannot seal a record to the new key") : 0;
}

/* ---- between two keys, and in order -------------------------------------------------------- */

_Static_assert(SEAL_BOX_MORE == crypto_box_NONCEBYTES + crypto_box_MACBYTES, "");
_Static_assert(SEAL_STREAM_HEAD == crypto_secretstream_xchacha20poly1305_HEADERBYTES, "");
_Static_assert(SEAL_STREAM_MORE == crypto_secretstream_xchacha20poly1305_ABYTES, "");
_Static_assert(
	sizeof(struct seal_stream) >= sizeof(crypto_secretstream_xchacha20poly1305_state), "");

int seal_box(const struct secret *from, const unsigned char to[SEAL_KEY_BYTES], const void *p,
	size_t n, struct buf *out, struct err *e)
{
	if (buf_reserve(out, n + SEAL_BOX_MORE) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	unsigned char *at = (unsigned char *)out->data + out->len;
	randombytes_buf(at, crypto_box_NONCEBYTES);
	if (crypto_box_easy(at + crypto_box_NONCEBYTES, p, n, at, to,
		    (const unsigned char *)from->data) < 0)
		return err_set(e, ERR_KEY, "a public key is damaged");
	out->len += n + SEAL_BOX_MORE;
	return 0;
}

int seal_box_open(const struct secret *to, const unsigned char from[SEAL_KEY_BYTES],
	const void *box, size_t n, struct secret *out, struct err *e)
{
	const unsigned char *at = box;
	if (n < SEAL_BOX_MORE)
		return err_set(e, ERR_STATE, "a sealed message is cut short");
	if (secret_alloc(out, n - SEAL_BOX_MORE, e) < 0)
		return -1;
	if (crypto_box_open_easy((unsigned char *)out->data, at + crypto_box_NONCEBYTES,
		    n - crypto_box_NONCEBYTES, at, from, (const unsigned char *)to->data) == 0)
		return 0;
	secret_free(out);
	return err_set(e, ERR_STATE, "a sealed message is not from whom it says, or damaged");
}

static crypto_secretstream_xchacha20poly1305_state *stream_state(struct seal_stream *s)
{
	return (void *)s->state;
}

int seal_stream_begin(struct seal_stream *s, const unsigned char key[SEAL_KEY_BYTES],
	unsigned char head[SEAL_STREAM_HEAD], struct err *e)
{
	if (crypto_secretstream_xchacha20poly1305_init_push(stream_state(s), head, key) == 0)
		return 0;
	return err_set(e, ERR_FAIL, "cannot begin a stream");
}

int seal_stream_add(
	struct seal_stream *s, const void *p, size_t n, bool last, struct buf *out, struct err *e)
{
	unsigned long long len = 0;
	if (buf_reserve(out, n + SEAL_STREAM_MORE) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	crypto_secretstream_xchacha20poly1305_push(stream_state(s),
		(unsigned char *)out->data + out->len, &len, p, n, NULL, 0,
		last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
	out->len += len;
	return 0;
}

int seal_stream_open(struct seal_stream *s, const unsigned char key[SEAL_KEY_BYTES],
	const unsigned char head[SEAL_STREAM_HEAD], struct err *e)
{
	if (crypto_secretstream_xchacha20poly1305_init_pull(stream_state(s), head, key) == 0)
		return 0;
	return err_set(e, ERR_STATE, "a stream's head is damaged");
}

int seal_stream_next(
	struct seal_stream *s, const void *p, size_t n, bool *last, struct buf *out, struct err *e)
{
	unsigned long long len = 0;
	unsigned char tag = 0;
	buf_clear(out);
	if (n < SEAL_STREAM_MORE)
		return err_set(e, ERR_STATE, "a stream's message is cut short");
	if (buf_reserve(out, n) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (crypto_secretstream_xchacha20poly1305_pull(
		    stream_state(s), (unsigned char *)out->data, &len, &tag, p, n, NULL, 0) < 0)
		return err_set(e, ERR_STATE, "a stream's message is damaged, or out of its place");
	out->len = len;
	out->data[len] = '\0';
	*last = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
	return 0;
}

void seal_stream_wipe(struct seal_stream *s)
{
	sodium_memzero(s, sizeof *s);
}

/* ---- the private key's file ---------------------------------------------------------------- */

#define SALT crypto_pwhash_SALTBYTES
#define BOX_NONCE crypto_secretbox_NONCEBYTES
#define BOX_TAG crypto_secretbox_MACBYTES
#define WRAP_BYTES (SALT + BOX_NONCE + SEAL_KEY_BYTES + BOX_TAG)

static int wrap_key_of(const struct secret *passphrase, const unsigned char *salt,
	struct secret *out, struct err *e)
{
	if (secret_alloc(out, crypto_secretbox_KEYBYTES, e) < 0)
		return -1;
	if (crypto_pwhash((unsigned char *)out->data, out->n, passphrase->data, passphrase->n, salt,
		    crypto_pwhash_OPSLIMIT_MODERATE, crypto_pwhash_MEMLIMIT_MODERATE,
		    crypto_pwhash_ALG_ARGON2ID13) < 0)
		return err_set(e, ERR_FAIL, "not enough memory for the passphrase (256 MiB)");
	return 0;
}

static int to_line(const char *prefix, const void *p, size_t n, struct secret *text, struct err *e)
{
	size_t len = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL);
	size_t plen = strlen(prefix);
	if (secret_alloc(text, plen + len, e) < 0)
		return -1;
	memcpy(text->data, prefix, plen);
	sodium_bin2base64(text->data + plen, len, p, n, sodium_base64_VARIANT_ORIGINAL);
	text->data[plen + len - 1] = '\n'; /* in place of the NUL */
	return 0;
}

int seal_key_to_text(const struct secret *private_key, const struct secret *passphrase,
	struct secret *text, struct err *e)
{
	if (!passphrase)
		return to_line(plain_prefix, private_key->data, private_key->n, text, e);
	unsigned char all[WRAP_BYTES];
	SECRET_AUTO wrap = {0};
	randombytes_buf(all, SALT + BOX_NONCE);
	if (wrap_key_of(passphrase, all, &wrap, e) < 0)
		return -1;
	crypto_secretbox_easy(all + SALT + BOX_NONCE, (unsigned char *)private_key->data,
		private_key->n, all + SALT, (unsigned char *)wrap.data);
	return to_line(wrapped_prefix, all, sizeof all, text, e);
}

static bool starts_with(const struct secret *text, const char *prefix)
{
	size_t n = strlen(prefix);
	return text->n >= n && memcmp(text->data, prefix, n) == 0;
}

bool seal_key_is_wrapped(const struct secret *text)
{
	return starts_with(text, wrapped_prefix);
}

static int bad_key_file(struct err *e)
{
	err_set(e, ERR_KEY, "this is not an evctl private key");
	return err_hint(e, "name the file that evctl init wrote: --key-file FILE");
}

int seal_key_from_text(const struct secret *text, const struct secret *passphrase,
	struct secret *private_key, struct err *e)
{
	bool wrapped = seal_key_is_wrapped(text);
	const char *prefix = wrapped ? wrapped_prefix : plain_prefix;
	if (!starts_with(text, prefix))
		return bad_key_file(e);
	SECRET_AUTO raw = {0};
	size_t plen = strlen(prefix), len = 0;
	if (secret_alloc(&raw, WRAP_BYTES, e) < 0)
		return -1;
	if (sodium_base642bin((unsigned char *)raw.data, raw.n, text->data + plen, text->n - plen,
		    "\r\n ", &len, NULL, sodium_base64_VARIANT_ORIGINAL) < 0 ||
		len != (wrapped ? WRAP_BYTES : SEAL_KEY_BYTES))
		return bad_key_file(e);
	if (!wrapped)
		return secret_set(private_key, raw.data, SEAL_KEY_BYTES, e);
	SECRET_AUTO wrap = {0};
	if (!passphrase)
		return err_set(e, ERR_KEY, "the private key is wrapped by a passphrase");
	if (wrap_key_of(passphrase, (unsigned char *)raw.data, &wrap, e) < 0 ||
		secret_alloc(private_key, SEAL_KEY_BYTES, e) < 0)
		return -1;
	if (crypto_secretbox_open_easy((unsigned char *)private_key->data,
		    (unsigned char *)raw.data + SALT + BOX_NONCE, SEAL_KEY_BYTES + BOX_TAG,
		    (unsigned char *)raw.data + SALT, (unsigned char *)wrap.data) == 0)
		return 0;
	secret_free(private_key);
	err_set(e, ERR_KEY, "wrong passphrase");
	return err_hint(e, "try again, or give it by --passphrase-fd N");
}

/* ---- small things -------------------------------------------------------------------------- */

void seal_hash(
	unsigned char out[SEAL_HASH_BYTES], const void *a, size_t na, const void *b, size_t nb)
{
	crypto_generichash_state st;
	crypto_generichash_init(&st, NULL, 0, SEAL_HASH_BYTES);
	crypto_generichash_update(&st, a, na);
	if (b)
		crypto_generichash_update(&st, b, nb);
	crypto_generichash_final(&st, out, SEAL_HASH_BYTES);
}

void seal_sha256_hex(char out[65], const void *p, size_t n)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	crypto_hash_sha256(sum, p, n);
	sodium_bin2hex(out, 65, sum, sizeof sum);
}

void seal_fingerprint(char out[40], const unsigned char public_key[SEAL_KEY_BYTES])
{
	unsigned char sum[SEAL_HASH_BYTES];
	seal_hash(sum, public_key, SEAL_KEY_BYTES, NULL, 0);
	for (size_t i = 0; i < 16; i += 2)
		snprintf(out + i / 2 * 5, 40 - i / 2 * 5, "%02x%02x%s", sum[i], sum[i + 1],
			i < 14 ? " " : "");
}

void seal_key_hex(char out[65], const unsigned char public_key[SEAL_KEY_BYTES])
{
	sodium_bin2hex(out, 65, public_key, SEAL_KEY_BYTES);
}

int seal_key_from_hex(const char *text, unsigned char public_key[SEAL_KEY_BYTES])
{
	size_t n = 0;
	if (strlen(text) != 2 * SEAL_KEY_BYTES || sodium_hex2bin(public_key, SEAL_KEY_BYTES, text,
							  2 * SEAL_KEY_BYTES, NULL, &n, NULL) < 0)
		return -1;
	return n == SEAL_KEY_BYTES ? 0 : -1;
}

void seal_random(void *p, size_t n)
{
	if (sodium_init() < 0)
		abort();
	randombytes_buf(p, n);
}

static uint32_t seal_random_below(uint32_t bound)
{
	if (sodium_init() < 0)
		abort();
	return randombytes_uniform(bound);
}

void seal_random_id(char out[17], char prefix)
{
	static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";
	out[0] = prefix;
	for (int i = 1; i < 16; i++)
		out[i] = letters[seal_random_below(sizeof letters - 1)];
	out[16] = '\0';
}

/* Outcome streams and bundles: whole, cut at each byte, with each bit of a byte turned, of others,
 * expired. */
#include "../lib/tap.h"
#include "base/file.h"
#include "batch/bundle_file.h"
#include "batch/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct tap tap;

struct keys {
	struct secret home, node, other;
	unsigned char home_public[SEAL_KEY_BYTES], node_public[SEAL_KEY_BYTES],
		other_public[SEAL_KEY_BYTES];
};

static int make_keys(struct keys *k, struct err *e)
{
	return seal_new_keypair(k->home_public, &k->home, e) < 0 ||
			       seal_new_keypair(k->node_public, &k->node, e) < 0 ||
			       seal_new_keypair(k->other_public, &k->other, e) < 0
		       ? -1
		       : 0;
}

/* Three calls and an end. */
static int write_stream(const struct keys *k, struct buf *all, struct err *e)
{
	struct outcome_writer w;
	const struct outcome_head head = {"bbbbbbbbbbbbbbbb", 7};
	FD_AUTO fd = memfd_create("stream", MFD_CLOEXEC);
	if (outcome_begin(&w, fd, &head, &k->node, k->home_public, e) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		struct outcome_word word = {.call = i, .code = 11};
		snprintf(word.msg, sizeof word.msg, "call %d", i);
		if (outcome_add(&w, &outcome_word_fields, &word, false, e) < 0)
			return -1;
	}
	const struct outcome_word end = {.call = -1};
	if (outcome_add(&w, &outcome_end_fields, &end, true, e) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_read_all(fd, all);
}

struct read_back {
	int messages;
	bool last, wrong; /* wrong: a message that was never written */
	enum err_code code;
};

/* from: whose it must be; NULL: anybody's. */
static struct read_back read_stream(
	const struct secret *home, const unsigned char *from, const void *p, size_t n)
{
	struct read_back got = {0};
	struct err e = {0};
	FD_AUTO fd = memfd_create("stream", MFD_CLOEXEC);
	struct outcome_reader r = {.fd = fd};
	BUF_AUTO b = {0};
	int more = fd_write_full(fd, p, n) < 0 ? -1 : outcome_open(&r, home, &e);
	while (more > 0 && (more = outcome_next(&r, &b, &e)) > 0) {
		struct outcome_word word = {0};
		char want[32];
		snprintf(want, sizeof want, "call %d", got.messages);
		if (r.last)
			continue;
		if (field_read(&b, &outcome_word_fields, &word) < 0 || word.call != got.messages ||
			strcmp(word.msg, want) != 0)
			got.wrong = true;
		got.messages++;
	}
	if (from && r.open && memcmp(r.from, from, sizeof r.from) != 0)
		return (struct read_back){.code = ERR_STATE};
	got.last = r.last;
	got.code = more < 0 ? e.code : ERR_NONE;
	return got;
}

static void test_whole(const struct keys *k, const struct buf *all)
{
	struct read_back got = read_stream(&k->home, k->node_public, all->data, all->len);
	went(&tap, got.messages == 3 && got.last && !got.wrong && !got.code,
		"a stream is read back", NULL);
	got = read_stream(&k->other, NULL, all->data, all->len);
	went(&tap, got.code == ERR_STATE && !got.messages, "but not by another's key", NULL);
	got = read_stream(
		&k->home, NULL, "no stream at all, but long enough to hold a head of one", 55);
	went(&tap, got.code == ERR_STATE, "what is none is refused", NULL);
}

/* It gives the messages that are whole, says nothing is wrong, and does not say it is at its end.
 */
static void test_cut(const struct keys *k, const struct buf *all)
{
	int bad = 0, most = 0;
	for (size_t n = 0; n < all->len; n++) {
		struct read_back got = read_stream(&k->home, k->node_public, all->data, n);
		bad += got.code || got.last || got.wrong || got.messages < most;
		most = got.messages > most ? got.messages : most;
	}
	went(&tap, bad == 0 && most == 3, "cut at each byte it is worth what it holds", NULL);
}

/* Messages before the byte stay; none after it is taken for one, nor is the whole for whole. */
static void test_turned(const struct keys *k, struct buf *all)
{
	int bad = 0;
	for (size_t i = 0; i < all->len; i++)
		for (int bit = 0; bit < 8; bit++) {
			all->data[i] ^= (char)(1 << bit);
			struct read_back got =
				read_stream(&k->home, k->node_public, all->data, all->len);
			bad += got.wrong || got.last;
			all->data[i] ^= (char)(1 << bit);
		}
	went(&tap, bad == 0, "with any bit turned it is never taken for whole", NULL);
}

static int make_bundle(
	const struct keys *k, int64_t expires, struct secret *key, struct buf *out, struct err *e)
{
	unsigned char mine[SEAL_KEY_BYTES];
	BUF_AUTO state = {0};
	if (seal_new_keypair(mine, key, e) < 0)
		return -1;
	struct bundle b = {.batch = "bbbbbbbbbbbbbbbb",
		.expert = "s",
		.version = 1,
		.expires = expires,
		.public_key = (const char *)mine,
		.npublic_key = sizeof mine,
		.home = (const char *)k->home_public,
		.nhome = SEAL_KEY_BYTES};
	if (bundle_state_seal(&b, "the state", 9, &state, e) < 0)
		return -1;
	b.state = state.data;
	b.nstate = state.len;
	return bundle_write(&b, &k->home, key, &k->node_public, 1, out, e);
}

/* As a node opens it. */
static enum err_code open_bundle(const struct secret *node, const struct buf *message, bool *read)
{
	struct err e = {0};
	struct bundle b;
	SECRET_AUTO key = {0};
	SECRET_AUTO state = {0};
	*read = false;
	if (bundle_read(message, &b, &e) < 0 || bundle_key_find(&b, node, &key, &e) < 0 ||
		bundle_check(&b, &key, &e) < 0 || bundle_state_open(&b, &key, &state, &e) < 0)
		return e.code;
	*read = state.n == 9 && memcmp(state.data, "the state", 9) == 0;
	return ERR_NONE;
}

static void test_bundle(const struct keys *k)
{
	struct err e = {0};
	SECRET_AUTO key = {0};
	BUF_AUTO message = {0};
	BUF_AUTO old = {0};
	SECRET_AUTO old_key = {0};
	bool read;
	int64_t now = clock_real_ms();
	went(&tap, make_bundle(k, now + 3600000, &key, &message, &e) == 0, "a bundle", &e);
	went(&tap, open_bundle(&k->node, &message, &read) == ERR_NONE && read,
		"is opened by its node", NULL);
	went(&tap, open_bundle(&k->other, &message, &read) == ERR_DENIED, "and by no other", NULL);
	went(&tap,
		make_bundle(k, now - 1, &old_key, &old, &e) == 0 &&
			open_bundle(&k->node, &old, &read) == ERR_DENIED,
		"one that has expired: exit 15", &e);
	int bad = 0;
	for (size_t i = 0; i < message.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			message.data[i] ^= (char)(1 << bit);
			enum err_code code = open_bundle(&k->node, &message, &read);
			bad += code == ERR_NONE || read;
			message.data[i] ^= (char)(1 << bit);
		}
	went(&tap, bad == 0, "with any bit turned it is refused", NULL);
	went(&tap, BUNDLE_ENTRY_BYTES <= 100, "a node costs at most 100 bytes", NULL);
}

int main(void)
{
	struct keys k = {0};
	struct err e = {0};
	BUF_AUTO all = {0};
	went(&tap,
		seal_process(&e) == 0 && make_keys(&k, &e) == 0 && write_stream(&k, &all, &e) == 0,
		"a stream is written", &e);
	test_whole(&k, &all);
	test_cut(&k, &all);
	test_turned(&k, &all);
	test_bundle(&k);
	secret_free(&k.home);
	secret_free(&k.node);
	secret_free(&k.other);
	return tap_done(&tap);
}

/*
 * libFuzzer: bytes as an outcome stream, as each of its messages, and as a bundle. What must hold:
 * no stream that nobody's key made gives a message; what is read says the same, byte for byte, when
 * it is written again; a bundle has no key for whom it was not sealed to.
 */
#include "base/file.h"
#include "batch/bundle_file.h"
#include "batch/outcome.h"
#include "field_try.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static union {
	struct outcome_run run;
	struct outcome_call call;
	struct outcome_word word;
} any;

static void try_stream(const struct secret *key, const uint8_t *data, size_t n)
{
	struct err e = {0};
	FD_AUTO fd = memfd_create("stream", MFD_CLOEXEC);
	struct outcome_reader r = {.fd = fd};
	if (fd_write_full(fd, data, n) < 0 || outcome_open(&r, key, &e) > 0)
		abort();
}

static void try_bundle(const struct secret *key, const struct buf *b)
{
	struct err e = {0};
	struct bundle bundle;
	SECRET_AUTO found = {0};
	if (bundle_read(b, &bundle, &e) == 0 && bundle_key_find(&bundle, key, &found, &e) == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	unsigned char mine[SEAL_KEY_BYTES];
	SECRET_AUTO key = {0};
	BUF_AUTO b = {.limit = n + 1};
	buf_add(&b, data, n);
	if (buf_failed(&b) || seal_new_keypair(mine, &key, &e) < 0)
		return 0;
	field_try(&b, &outcome_run_fields, &any, sizeof any);
	field_try(&b, &outcome_call_fields, &any, sizeof any);
	field_try(&b, &outcome_word_fields, &any, sizeof any);
	field_try(&b, &outcome_end_fields, &any, sizeof any);
	try_stream(&key, data, n);
	try_bundle(&key, &b);
	return 0;
}

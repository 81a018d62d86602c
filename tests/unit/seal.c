/* Sealed records: opened only by their own key, under their own identity, unchanged. */
#include "../lib/tap.h"
#include "state/state.h"

#include <stdio.h>
#include <string.h>

static struct tap tap;

static enum err_code open_code(
	const struct secret *key, const struct seal_id *id, const struct buf *rec)
{
	SECRET_AUTO out = {0};
	struct err e = {0};
	if (seal_open(key, id, rec->data, rec->len, &out, &e) < 0)
		return e.code;
	return out.n == 5 && memcmp(out.data, "value", 5) == 0 ? ERR_NONE : ERR_FAIL;
}

static void test_records(void)
{
	unsigned char pub[SEAL_KEY_BYTES], pub2[SEAL_KEY_BYTES];
	SECRET_AUTO key = {0};
	SECRET_AUTO key2 = {0};
	BUF_AUTO rec = {0};
	BUF_AUTO again = {0};
	struct err e = {0};
	struct seal_id id = {"credentials", 7, "CRM_KEY", 3};
	ok(&tap, seal_new_keypair(pub, &key, &e) == 0 && seal_new_keypair(pub2, &key2, &e) == 0,
		"two keys");
	ok(&tap, seal_record(pub, &id, "value", 5, &rec, &e) == 0,
		"sealed with the public key alone");
	ok(&tap, memmem(rec.data, rec.len, "value", 5) == NULL, "the value is not in the record");
	ok(&tap, open_code(&key, &id, &rec) == ERR_NONE, "opens");
	ok(&tap, open_code(&key2, &id, &rec) == ERR_KEY, "another key does not");
	struct seal_id other = id;
	other.table = "connections";
	ok(&tap, open_code(&key, &other, &rec) == ERR_STATE, "not in another table");
	other = id;
	other.id = 8;
	ok(&tap, open_code(&key, &other, &rec) == ERR_STATE, "not in another row");
	other = id;
	other.name = "CRM_KEZ";
	ok(&tap, open_code(&key, &other, &rec) == ERR_STATE, "not under another name");
	other = id;
	other.version = 2;
	ok(&tap, open_code(&key, &other, &rec) == ERR_STATE, "not as an older version");
	ok(&tap,
		seal_again(&key, pub2, rec.data, rec.len, &again, &e) == 0 &&
			open_code(&key2, &id, &again) == ERR_NONE &&
			open_code(&key, &id, &again) == ERR_KEY,
		"sealed again: the new key opens it, the old one does not");
	bool all = true;
	for (size_t i = 0; i < rec.len; i++) {
		rec.data[i] ^= 1;
		all &= open_code(&key, &id, &rec) != ERR_NONE;
		rec.data[i] ^= 1;
	}
	ok(&tap, all, "no bit can be changed");
	for (size_t n = 0; n < rec.len; n++) {
		struct buf cut = {.data = rec.data, .len = n};
		all &= open_code(&key, &id, &cut) != ERR_NONE;
	}
	ok(&tap, all, "no byte can be cut off");
	ok(&tap, open_code(&key, &id, &rec) == ERR_NONE, "control: it still opens");
}

static void test_masks(void)
{
	static const struct {
		const char *value, *tail;
	} rows[] = {{"1234567890123456", "3456"}, {"123456789012345", ""},
		{"aaaaaaaaaaaaaaaaaa\n", ""}, {"aaaaaaaaaaaaaaaaa\xc3\xa9", ""}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		SECRET_AUTO s = {0};
		struct err e = {0};
		char tail[5];
		secret_set(&s, rows[i].value, strlen(rows[i].value), &e);
		secret_tail(tail, &s);
		ok(&tap, strcmp(tail, rows[i].tail) == 0, "what a mask shows");
	}
}

int main(void)
{
	test_records();
	test_masks();
	return tap_done(&tap);
}

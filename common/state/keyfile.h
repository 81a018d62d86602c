/*
 * The private key's file: where it is looked for, who may read it, and writing a new one.
 */
#ifndef EVCTL_STATE_KEYFILE_H
#define EVCTL_STATE_KEYFILE_H

#include "state/seal.h"
#include "state/state_place.h"

#include <stdbool.h>

/* Where a passphrase is read from: a descriptor, or -1 to ask; and the option that names it. */
struct passphrase_source {
	int fd;
	const char *option;
};

/* Where a new private key goes, borrowed from the place; ERR_KEY where nothing says. */
const char *keyfile_new_path(const struct state_place *place, struct err *e);
/*
 * Loads the first of the places in evctl-contract(7) that exists; ERR_KEY if none does. *from is
 * owned, *by what named it ("EVCTL_KEY_FILE", "HOME", ...). Where a file FILE.FINGERPRINT of the
 * wanted public key lies beside it, that one is loaded: a change of keys that was cut short, a
 * restored older state, and states that share a key file need it.
 */
int keyfile_find(const struct state_place *place, const unsigned char public_key[SEAL_KEY_BYTES],
	struct secret *key, char **from, const char **by, struct err *e);
/* "FILE.FINGERPRINT"; the caller frees, NULL without memory. */
char *keyfile_beside(const char *path, const unsigned char public_key[SEAL_KEY_BYTES]);
/* 1 if a passphrase wraps the key in this file, else 0. */
int keyfile_is_wrapped(const char *path, struct err *e);
/*
 * Loads one file, with the place's passphrase if one wraps it; ERR_KEY with the chmod that mends it
 * when others may read it.
 */
int keyfile_load(const struct state_place *place, const char *path, bool group_ok,
	struct secret *key, struct err *e);
/*
 * Writes a new file, 0600. passphrase NULL: unwrapped; else wrapped by one that is read from there,
 * or asked for twice.
 */
int keyfile_write(const char *path, const struct secret *key,
	const struct passphrase_source *passphrase, struct err *e);

#endif

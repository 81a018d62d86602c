/*
 * The private key's file: where it is looked for, who may read it, and writing a new one.
 */
#ifndef EVCTL_STATE_KEYFILE_H
#define EVCTL_STATE_KEYFILE_H

#include "base/program.h"
#include "state/seal.h"

/* Where a new private key goes: --key-file, $EVCTL_KEY_FILE, the named state directory, else XDG.
 */
char *keyfile_place(const struct invocation *in, const char *dir, struct err *e);
/*
 * Loads the first of the places in evctl-contract(7) that exists; ERR_KEY if none does. *from is
 * owned. Where a file FILE.FINGERPRINT of the wanted public key lies beside it, that one is loaded:
 * a change of keys that was cut short, a restored older state, and states that share a key file
 * need it.
 */
int keyfile_find(const struct invocation *in, const char *dir,
	const unsigned char public_key[SEAL_KEY_BYTES], struct secret *key, char **from,
	struct err *e);
/* "FILE.FINGERPRINT"; the caller frees, NULL without memory. */
char *keyfile_beside(const char *path, const unsigned char public_key[SEAL_KEY_BYTES]);
/* 1 if a passphrase wraps the key in this file, else 0. */
int keyfile_is_wrapped(const char *path, struct err *e);
/* Loads one file; ERR_KEY with the chmod that mends it when others may read it. */
int keyfile_load(const struct invocation *in, const char *path, bool group_ok, struct secret *key,
	struct err *e);
/*
 * Writes a new file, 0600. passphrase NULL: unwrapped; else wrapped by one that is read from the
 * descriptor which the option of that name gives, or asked for twice.
 */
int keyfile_write(const struct invocation *in, const char *path, const struct secret *key,
	const char *passphrase, struct err *e);

#endif

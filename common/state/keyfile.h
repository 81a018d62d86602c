/*
 * The private key's file: where it is looked for, who may read it, and writing a new one.
 */
#ifndef EVCTL_STATE_KEYFILE_H
#define EVCTL_STATE_KEYFILE_H

#include "base/program.h"
#include "state/seal.h"

/* Where a new private key goes: --key-file, $EVCTL_KEY_FILE, the named state directory, else XDG. */
char *keyfile_place(const struct invocation *in, const char *dir, struct err *e);
/* Loads the first of the contract's places that exists. ERR_KEY if none does. *from is owned. */
int keyfile_find(const struct invocation *in, const char *dir, struct secret *key, char **from,
	struct err *e);
/* Loads one file; ERR_KEY with the chmod that mends it when others may read it. */
int keyfile_load(const struct invocation *in, const char *path, bool group_ok, struct secret *key,
	struct err *e);
/* Writes a new file, 0600, wrapped by a passphrase (asked for, or --passphrase-fd) if wanted. */
int keyfile_write(const struct invocation *in, const char *path, const struct secret *key,
	bool passphrase, struct err *e);

#endif

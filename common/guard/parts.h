/*
 * What of a credential is a secret in itself, and looked for by itself: the value without white
 * space around it, the lines of one with several (but armour, certificates and public keys), the
 * secret-named members of one that is JSON, the password of "user:password" and of an address, and
 * a part of a long one.
 */
#ifndef EVCTL_GUARD_PARTS_H
#define EVCTL_GUARD_PARTS_H

#include "guard/leak.h"

/* Calls take() for each, which points into value or into memory for secrets; 0, or its -1. */
int parts_each(
	const void *value, size_t n, int (*take)(void *arg, const void *p, size_t n), void *arg);
/* All of them into l. */
int parts_add(struct leak *l, unsigned id, const void *value, size_t n);
/* A word of one kind of character, and short: anybody's guess, and in any text by chance. */
bool parts_guessable(const void *value, size_t n);

#endif

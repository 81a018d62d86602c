/*
 * Whether a file looks like a key, by its name and its bytes. A guess for people to look at, and no
 * guard: the gate and the seal are that.
 */
#ifndef EVCTL_MANIFEST_SECRETISH_H
#define EVCTL_MANIFEST_SECRETISH_H

#include <stddef.h>

/* A static phrase that says why ("a private key"), or NULL. name has no directory. */
const char *secretish_why(const char *name, const char *data, size_t n);

#endif

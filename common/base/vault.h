/*
 * Memory for secrets, the one kind that there is: pages of its own between guard pages, locked
 * where the limit allows, kept out of core dumps and of forked children, and wiped when freed.
 * Whole pages each, so for few and long-lived things: struct secret (state/seal.h) and a secret
 * struct buf (base/buf.h) are made of it.
 */
#ifndef EVCTL_BASE_VAULT_H
#define EVCTL_BASE_VAULT_H

#include <stddef.h>

/* Zeroed, 16-aligned, its end at the guard page; NULL without memory. */
void *vault_new(size_t n);
void vault_free(void *p);

/* malloc-alikes that wipe what they free: for libraries that secrets pass through. */
void *wipe_malloc(size_t n);
void *wipe_calloc(size_t n, size_t size);
void *wipe_realloc(void *p, size_t n);
char *wipe_strdup(const char *s);
void wipe_free(void *p);

#endif

/*
 * Memory for secrets: its own pages, locked where the limit allows, kept out of core dumps and of
 * forked children, and wiped when freed. Whole pages each, so for few and long-lived things.
 */
#ifndef EVCTL_GATE_VAULT_H
#define EVCTL_GATE_VAULT_H

#include <stddef.h>

/* Zeroed; NULL without memory. */
void *vault_new(size_t n);
void vault_free(void *p);

/* malloc-alikes that wipe what they free: for libraries that secrets pass through. */
void *wipe_malloc(size_t n);
void *wipe_calloc(size_t n, size_t size);
void *wipe_realloc(void *p, size_t n);
char *wipe_strdup(const char *s);
void wipe_free(void *p);

#endif

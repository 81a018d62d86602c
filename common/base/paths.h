/*
 * Where the installed parts are, by the place of the running program: PREFIX/bin beside
 * PREFIX/share/evctl and PREFIX/libexec/evctl, and the same shape in a build directory. Nothing
 * comes from the environment. Paths are absolute and the caller's to free.
 */
#ifndef EVCTL_BASE_PATHS_H
#define EVCTL_BASE_PATHS_H

#include "base/err.h"

char *paths_self(struct err *e);
/* The directory that holds cell/. ERR_SANDBOX if it is not there. */
char *paths_share(struct err *e);
/* What is at TAIL from this program's own directory, or NULL if nothing is. */
char *paths_beside(const char *tail, struct err *e);
/* A program that other programs start: "evctl-egress", ... ERR_SANDBOX if it is not there. */
char *paths_helper(const char *name, struct err *e);

#endif

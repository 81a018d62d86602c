/*
 * Writing artifacts where somebody wants them: beneath a directory, under names that came from a
 * tool. Names are followed through real directories only, never through a link, never upwards; a
 * file appears whole or not at all.
 */
#ifndef EVCTL_RUN_DELIVER_H
#define EVCTL_RUN_DELIVER_H

#include "run/run.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens, and if asked makes, a directory. */
int deliver_dir(const char *path, bool make, struct err *e);
/* Writes dir/NAME, making directories on the way. ERR_CONFLICT if it exists and overwrite is false.
 */
int deliver_file(int dir, const char *name, const void *p, size_t n, bool overwrite, struct err *e);
/* ERR_CONFLICT where one of that name is there, as far as can be told before. */
int deliver_check(int dir, const char *name, struct err *e);
/* Before a run: a directory that can take its files, made if need be. ERR_CONFLICT where things are
 * in it and overwrite is false. */
int deliver_ready(const char *dir, bool overwrite, struct err *e);
/* What a run kept, into a directory that is made if need be. */
int deliver_files(const char *dir, const struct run_outcome *o, bool overwrite, struct err *e);

#endif

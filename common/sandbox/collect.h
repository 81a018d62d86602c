/*
 * Reading what a call left in outputs/, after every process of it is dead. The directory is
 * hostile: only regular files with one name, held by this file system, not sparse, with clean names
 * count; all else is withheld and named. Work is bounded whatever is in there.
 */
#ifndef EVCTL_SANDBOX_COLLECT_H
#define EVCTL_SANDBOX_COLLECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* NULL for it: the limits of base/limits.h. */
struct collect_limits {
	size_t file;  /* bytes of one file */
	size_t total; /* bytes of all */
	size_t files; /* how many */
};

struct collected_file {
	char *name; /* "a/b.png"; UTF-8 without control characters; owned */
	char *data; /* size bytes; owned; NULL when size is 0 */
	size_t size;
	const char *type; /* media type by content; static */
	bool inline_ok;	  /* may be shown inside a page or a chat */
};

struct withheld_file {
	char *name;  /* where it is clean as above, else with the bad bytes as \xNN; cut; owned */
	char *whole; /* its bytes as they are, to be searched and not shown; owned */
	const char *why; /* static: "link", "pipe", "too large", ... */
};

struct collected {
	struct collected_file *files; /* in byte order of name */
	size_t nfiles;
	struct withheld_file *withheld; /* in byte order of name; at most COLLECT_MAX_WITHHELD */
	size_t nwithheld;
	size_t more_withheld; /* not named above */
	bool over_cap;	      /* a file was withheld for a cap: exit 13 */
};

#define COLLECT_MAX_WITHHELD 100

/* 0 (also with files withheld), -1 when the directory itself cannot be read. */
int collect_outputs(
	int dirfd, struct collected *out, const struct collect_limits *limits, struct err *e);
void collected_free(struct collected *c);

#endif

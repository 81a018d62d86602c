/*
 * Secrets from people and descriptors, straight into locked memory.
 */
#ifndef EVCTL_STATE_PROMPT_H
#define EVCTL_STATE_PROMPT_H

#include "state/seal.h"

/*
 * Asks on the terminal without echo. ERR_USAGE where stdin is none or the line is longer than a
 * terminal takes, ERR_CANCELLED at end of file or Ctrl-C; other signals strike when the echo is
 * back.
 */
int prompt_hidden(const char *what, struct secret *out, struct err *e);
/* Reads to end of file from the descriptor that an option named; drops one newline if trim. */
int prompt_from_fd(
	int fd, const char *option, size_t max, bool trim, struct secret *out, struct err *e);

struct secret_source {
	const char *file;  /* --from-file: a path, or "-" for stdin; NULL: not given */
	int fd;		   /* --from-fd; -1: not given */
	bool trim;	   /* --trim: drop one newline at the end */
	bool newline_kept; /* set where the value came from a file that ends in one */
};
/* Is there a source, so that nobody need be asked? */
bool secret_is_named(const struct secret_source *from);
/*
 * A secret value from its source, or from a hidden prompt where none is given. for_header also
 * refuses CR and LF. ERR_USAGE when empty, over 64 KiB, with NUL, or without any source.
 */
int secret_input(struct secret_source *from, const char *what, bool for_header, struct secret *out,
	struct err *e);

#endif

/*
 * Secrets from people and descriptors, straight into locked memory.
 */
#ifndef EVCTL_STATE_PROMPT_H
#define EVCTL_STATE_PROMPT_H

#include "state/paste.h"
#include "state/seal.h"

/* What was typed at a prompt. */
struct prompt_seen {
	size_t lines; /* 0: nobody was asked */
	bool dropped; /* more came after the value's end, and is not in it */
};
/*
 * Asks on the terminal without echo, for one line where seen is NULL; else for a value, which may
 * have lines, as state/paste.h says. ERR_USAGE where stdin is none, a line is longer than a
 * terminal takes or a paste breaks off, ERR_CANCELLED at end of file or Ctrl-C; other signals
 * strike when the echo is back.
 */
int prompt_hidden(const char *what, struct secret *out, struct prompt_seen *seen, struct err *e);
/* A passphrase: reads to end of file from the descriptor that an option named, drops one newline.
 */
int prompt_from_fd(int fd, const char *option, size_t max, struct secret *out, struct err *e);

struct secret_source {
	const char *file; /* --from-file: a path, or "-" for stdin; NULL: not given */
	int fd;		  /* --from-fd; -1: not given */
	bool trim;	  /* --trim: drop what is around the value */
	/* Told by secret_input(): what is around the value, and kept; what was typed. */
	struct paste_around around;
	struct prompt_seen seen;
};
/* Is there a source, so that nobody need be asked? */
bool secret_is_named(const struct secret_source *from);
/*
 * A secret value from its source, or from a hidden prompt where none is given. for_header also
 * refuses CR and LF. ERR_USAGE when empty, over 64 KiB, with NUL, or without any source.
 */
int secret_input(struct secret_source *from, const char *what, bool for_header, struct secret *out,
	struct err *e);
/* A value masked: bullets, and its last four characters where it has enough. */
void secret_hint(struct buf *out, const struct secret *s);

#endif

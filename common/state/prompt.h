/*
 * Secrets from people and descriptors, straight into locked memory.
 */
#ifndef EVCTL_STATE_PROMPT_H
#define EVCTL_STATE_PROMPT_H

#include "base/program.h"
#include "state/seal.h"

/*
 * Asks on the terminal without echo. ERR_USAGE where stdin is none or the line is longer than a
 * terminal takes, ERR_CANCELLED at end of file or Ctrl-C; other signals strike when the echo is
 * back.
 */
int prompt_hidden(const char *what, struct secret *out, struct err *e);
/* Reads to end of file from the descriptor that an option names; drops one newline if trim. */
int prompt_from_fd(const struct invocation *in, const char *option, size_t max, bool trim,
	struct secret *out, struct err *e);

#endif

/* What a program says on stderr, and what it asks there. Every message is one line. */
#ifndef EVCTL_BASE_SAY_H
#define EVCTL_BASE_SAY_H

#include "base/program.h"

/* "evctl-cred: error: ..." and its hint; with -o json one JSON line. */
void say_error(const struct invocation *in, const struct err *e);
/* Notes and warnings on stderr: "evctl-cred: note: ..."; with -o json {"note": {"message": ...}}.
 */
void say_note(const struct invocation *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void say_warn(const struct invocation *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Asks on the terminal before something is destroyed. 0 when --yes was given or the answer is yes;
 * ERR_CANCELLED on no; ERR_USAGE with a hint where there is no terminal.
 */
int say_confirm(const struct invocation *in, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

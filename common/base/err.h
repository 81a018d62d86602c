/*
 * The one error value. Every fallible function takes a `struct err *` last and returns 0/-1 (or a
 * pointer/NULL). The first err_set() wins; callers on the way up may wrap it with context; main
 * prints it once (base/program.c). Nothing in common/ prints or exits.
 *
 * Messages: lower case, cause first, the subject in single quotes, never a secret value.
 */
#ifndef EVCTL_BASE_ERR_H
#define EVCTL_BASE_ERR_H

#include <stdbool.h>

/* The exit codes of every program; scripts rely on the numbers (evctl-contract(7)). */
enum err_code {
	ERR_NONE = 0,
	ERR_FAIL = 1,	      /* a failure not listed below */
	ERR_USAGE = 2,	      /* bad arguments or bad input */
	ERR_NOTFOUND = 3,     /* no such thing */
	ERR_KEY = 4,	      /* the private key is missing or wrong */
	ERR_CONFLICT = 5,     /* exists already, or is in use */
	ERR_BUSY = 6,	      /* locked by someone else for more than 10 s */
	ERR_FINDINGS = 7,     /* a check found something */
	ERR_SANDBOX = 8,      /* the sandbox or gate cannot be set up here; nothing was run */
	ERR_STATE = 9,	      /* the state file is too new, damaged, or missing */
	ERR_CANCELLED = 10,   /* by the user */
	ERR_TOOL = 11,	      /* the tool failed */
	ERR_TIMEOUT = 12,     /* the tool ran out of time */
	ERR_LIMIT = 13,	      /* the tool hit a limit */
	ERR_MISSING_KEY = 14, /* a key that the buyer must supply is missing */
	ERR_DENIED = 15,      /* denied by policy */
	/* Others with the same exit codes: the system keeps the lowest eight bits. */
	ERR_TURN = 256 + 6,   /* as many of the buyer's calls run as may at once, for 10 s */
	ERR_QUOTA = 256 + 15, /* the buyer has had what was agreed */
};
#define ERR_EXIT_CODE(code) ((int)(code)&255)

struct err {
	enum err_code code;
	char msg[2048];
	char hint[1024];
};

/* Records code and message unless an error is recorded already. */
void err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set(), followed by ": " and the text of errno. */
void err_errno(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Says what to run to mend it; the last hint wins. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "CONTEXT: " before the recorded message. */
void err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Each is -1 to whoever calls it, and to the compilers and analysers that look no further than
 * this. */
static inline int err_failed(void)
{
	return -1;
}
#define err_set(...) (err_set(__VA_ARGS__), err_failed())
#define err_errno(...) (err_errno(__VA_ARGS__), err_failed())
#define err_hint(...) (err_hint(__VA_ARGS__), err_failed())
#define err_wrap(...) (err_wrap(__VA_ARGS__), err_failed())

/* Forgets what is recorded, for a caller that has dealt with it. */
void err_clear(struct err *e);

/* The word for a code in JSON errors ("usage", "conflict", ...); static storage. */
const char *err_kind(enum err_code code);

#endif

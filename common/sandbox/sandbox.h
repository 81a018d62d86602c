/*
 * The sealed sandbox: one cell (Python under bubblewrap, in namespaces of its own, no way out but
 * the loopback listeners handed to the gate). One sandbox runs one call (session false: no fork,
 * the sandbox is used up by it) or many (session true: a warm zygote forks each).
 *
 * Sizes are bytes, times milliseconds. Nothing here prints. What the spec points at must live until
 * sandbox_open() returns; it is copied. The sandbox dies with the thread that opened it
 * (PR_SET_PDEATHSIG follows threads), so open it from one that lasts.
 *
 * Code, inputs and keys reach the cell through descriptors and one message a call, never by argv,
 * environment or disk. The message is wiped here once sent. In a session only the forked child of
 * the call reads it.
 */
#ifndef EVCTL_SANDBOX_SANDBOX_H
#define EVCTL_SANDBOX_SANDBOX_H

#include "base/buf.h"
#include "base/call_key.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of the expert, placed at /tool/PATH, read-only. PATH is relative, without "." or "..". */
struct sandbox_file {
	const char *path;
	const void *data;
	size_t n;
};

/* 0 in any field: the default, of base/limits.h. */
struct sandbox_limits {
	size_t memory;	/* of all processes where a cgroup is had, else of each */
	size_t scratch; /* /scratch, /tmp and /dev/shm together */
	size_t result;
	size_t log;
	unsigned processes; /* processes and threads of a call */
};

struct sandbox_spec {
	const struct sandbox_file *files;
	size_t nfiles;
	const char *const *hosts; /* exact names, resolved to loopback */
	size_t nhosts;
	const char *const *wildcards; /* "*.x.y": names below resolve to loopback, in Python only */
	size_t nwildcards;
	const int *ports; /* listen on these; none: no listener at all */
	size_t nports;
	const char *const *preload; /* modules of the sandbox that a session's zygote imports */
	size_t npreload;
	bool session;
	const char *share_dir; /* holds cell/cell.pyc, cell/cell.py and cell/fontlist.json */
	struct sandbox_limits limits;
};

struct sandbox_call {
	const char *entry_file; /* relative to /tool */
	const char *entry_func; /* NULL: run the file as __main__, its stdout is the result */
	const char *inputs;	/* JSON text of an object */
	size_t ninputs;
	struct call_keys keys; /* as the code may see them: stand-ins are not looked at */
	int timeout_ms;	       /* 0: LIMIT_CALL_S; counted from sandbox_call() */
	size_t memory;	       /* 0: the sandbox's; never more than that */
	/* Called with each piece of log as it comes (not capped, not scrubbed); NULL: nobody. */
	void (*on_log)(void *ctx, const char *p, size_t n);
	void *log_ctx;
	bool fresh;    /* /scratch is emptied first: nothing of earlier calls is there */
	int cancel_fd; /* readable or hung up: the call is ended, as failed; 0: none */
};

enum sandbox_status {
	SANDBOX_OK,
	SANDBOX_FAILED,	 /* raised, exited, crashed, or gave something that is no result */
	SANDBOX_TIMEOUT, /* still there at the deadline */
	SANDBOX_LIMIT,	 /* see limit */
};

struct sandbox_result {
	enum sandbox_status status;
	const char *limit; /* "memory", "processes", "result", "disk" or NULL; static */
	const char *why;   /* for the owner only: one line, static; NULL when OK */
	size_t too_long;   /* bytes of a result that is over its limit */
	struct buf result; /* JSON text of a function, UTF-8 stdout of a script; empty unless OK */
	struct buf log;	   /* stdout (of functions), stderr and tracebacks, up to the limit */
	bool log_truncated;
	int ms;	      /* from sandbox_call() to every process of the call being dead */
	int start_ms; /* of those, waited for the sandbox to be ready */
	/* Bytes of /scratch that a session's calls have left there, for good if nobody removes
	 * them. */
	size_t scratch;
	struct buf strays; /* files written beside outputs/, by name, for the owner; or nothing */
};

struct sandbox;

/*
 * Makes the sandbox and its listeners; Python inside may still be starting on return.
 * ERR_SANDBOX with a reason and a hint where this machine cannot give all of it.
 */
int sandbox_open(struct sandbox **sb, const struct sandbox_spec *spec, struct err *e);

/*
 * The listening sockets (127.0.0.1, and ::1 where there is IPv6, for each port) and their ports, to
 * be handed to the gate; they stay the sandbox's own. Returns how many. After the drop only the
 * gate holds them: when it ends, connections are refused.
 */
size_t sandbox_listeners(const struct sandbox *sb, int *fds, uint16_t *ports, size_t room);
void sandbox_drop_listeners(struct sandbox *sb);

/* Makes PEM the only certificate authority known inside. Before the first call. */
int sandbox_set_ca(struct sandbox *sb, const char *pem, size_t n, struct err *e);

/*
 * Runs one call. Every process of it is dead on return. -1 with ERR_SANDBOX means that the sandbox
 * never came up (nothing was run) or was dead already; whatever the tool does is a result. Buffers
 * in r are (re)filled; free them with sandbox_result_free(). A session goes on after any result
 * unless sandbox_alive() says that it had to be killed. /tmp and /dev/shm are then as at first;
 * what is in /scratch stays.
 */
int sandbox_call(struct sandbox *sb, const struct sandbox_call *call, struct sandbox_result *r,
	struct err *e);
void sandbox_result_free(struct sandbox_result *r);

/* The directory that is /scratch/outputs inside; owned by the sandbox. Read it after a call. */
int sandbox_outputs(const struct sandbox *sb);
/* Empties it, between calls of a session. 0/-1 (then close the sandbox). */
int sandbox_reset_outputs(struct sandbox *sb);

/* Whether another call can be made. */
bool sandbox_alive(const struct sandbox *sb);
/* Becomes readable when the sandbox is dead; for poll(2) in a session keeper. -1 when gone. */
int sandbox_pidfd(const struct sandbox *sb);
/* How memory and processes are bounded: "cgroup2", "cgroup1" or "rlimit". */
const char *sandbox_bounds(const struct sandbox *sb);

/* Kills everything inside, waits until it is proven dead, frees. Sets *sb to NULL. */
void sandbox_close(struct sandbox **sb);

#endif

/*
 * What the Python code of one tool directory reads from EV_KEYS, found without running it.
 * Pure: the caller reads the files and hands over their bytes; nothing here does I/O, save that
 * iconv(3) loads a converter for a file that declares an encoding which is not decoded by hand.
 *
 * Use: scan_new(), scan_add_file() once a *.py file, scan_resolve(), then the accessors. All
 * results belong to the scan and live until scan_free(); strings are NUL-terminated UTF-8 without
 * control characters being removed (a key may be any str literal: escape it before showing it).
 * Lines and columns count from 1 and 0, as CPython's ast has them; columns are bytes.
 *
 * A file that does not parse is a result (scan_syntax_errors), not an error; so is one whose text
 * cannot be told for its encoding: it is passed over, and scan_dynamics() says so. Errors are: no
 * memory, or a directory too big to be analysed (ERR_LIMIT); the scan is then only good for
 * scan_free(). Hostile input costs time and memory linear in its size, never the stack.
 */
#ifndef EVCTL_SCAN_SCAN_H
#define EVCTL_SCAN_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A file over this many bytes is not parsed; it is reported as a syntax error. */
#define SCAN_FILE_MAX ((size_t)16000000)

struct scan;
struct python; /* base/python.h */

/*
 * For a Python that is the caller's and outlives the scan; NULL: one of 3.11 that has every module.
 * Returns NULL without memory.
 */
struct scan *scan_new(const struct python *python);
void scan_free(struct scan *s);

/*
 * Parses a file. relpath is relative to the tool's directory, '/' between the parts, no "./" in
 * front; it and the bytes are copied. 0/-1.
 */
int scan_add_file(struct scan *s, const char *relpath, const void *bytes, size_t n, struct err *e);
/* After the last file: scopes, names across files, reads. 0/-1. */
int scan_resolve(struct scan *s, struct err *e);

struct scan_read {
	const char *name, *file;
	int line;
	bool required;	     /* else optional */
	bool at_import;	     /* read when its file is imported */
	const char *instead; /* the key without which only it is read, or NULL */
};
struct scan_dynamic {
	const char *file;
	int line;
	const char *why;
	const char *hint; /* how to mend it, NULL if by naming the key */
};
struct scan_env {
	const char *name, *file;
	int line;
	const char *why; /* how it comes to be looked for there; NULL if by mistake */
};
struct scan_place {
	const char *file;
	int line;
};
struct scan_syntax {
	const char *file;
	int line, column;    /* both from 1; columns are characters */
	const char *message; /* CPython 3.11's; never holds source text */
	const char *needs;   /* the Python that knows this syntax ("3.12"), NULL if none does */
};
/* A literal text that names a host to ask over HTTP. */
struct scan_url {
	const char *host; /* lower case */
	int port;	  /* 443 stands for 80 too, as with hosts that are declared */
	const char *file;
	int line;
};
struct scan_import {
	const char *module; /* dotted and absolute, as imported: "requests.adapters" */
	const char *top;    /* its first part: "requests" */
	const char *file;
	int line;
	int dots;	/* of a relative one, else 0 */
	bool guarded;	/* an ImportError is caught around it, or it is never run here */
	bool certain;	/* run whenever its file is: at module level, under no condition */
	bool main_only; /* if so, only where its file is run as a script */
	/*
	 * It does not import: neither the sandbox nor the directory has it. module is then the
	 * shortest part of the name that is not there; as written (".lib") if its file is at the
	 * top of the directory, where there is no package that it could be relative to.
	 */
	bool missing;
	bool inside;	     /* what it begins with is the directory's */
	const char *lacking; /* the directory's file, or Python's module, that has not the name; or
				NULL */
	const char *target;  /* the directory's file that it is, or NULL */
};

/* Sorted by file, line, name; no duplicates. *n may be 0, and then the pointer is still valid. */
const struct scan_read *scan_reads(const struct scan *s, size_t *n);
const struct scan_dynamic *scan_dynamics(const struct scan *s, size_t *n);
/* Where EV_KEYS is sought in globals(), where it never is. */
const struct scan_place *scan_not_in_globals(const struct scan *s, size_t *n);
const struct scan_env *scan_env_mistakes(const struct scan *s, size_t *n);
const struct scan_syntax *scan_syntax_errors(const struct scan *s, size_t *n);
const struct scan_import *scan_imports(const struct scan *s, size_t *n);

/* Sorted by host, port, file and line; of files that parse. */
const struct scan_url *scan_urls(struct scan *s, size_t *n);

/* The files in the order in which they were added. */
size_t scan_file_count(const struct scan *s);
const char *scan_file_name(const struct scan *s, size_t i);
/* Whether a file's module may have a name; true where that cannot be told. */
bool scan_may_bind(struct scan *s, size_t file, const char *name, size_t n);
/*
 * By any import; only by those around which no KeyError is caught; or only by those that are
 * certain when the entry is imported, or run as a script.
 */
enum scan_reach { SCAN_PERHAPS, SCAN_UNCAUGHT, SCAN_SURELY, SCAN_SURELY_AS_SCRIPT };
/*
 * Sets reached[i] for each file i that running the entry file imports, directly or not, itself and
 * the __init__.py of every package on the way included; the others are cleared. reached has
 * scan_file_count() members. -1 if there is no such file (all cleared).
 */
int scan_reach(const struct scan *s, const char *entry, enum scan_reach how, bool *reached);

#endif

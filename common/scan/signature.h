/*
 * What a tool's entry function takes, from the source alone: its parameters, with what their
 * annotations, defaults and docstring say of them. A pure function of the files' bytes.
 *
 * A file is only asked for when a name leads there, so that a directory need not be read as a
 * whole. What cannot be told is SCAN_TYPE_ANY, or SCAN_ENTRY_UNKNOWN: nothing is said of a function
 * that might be untrue when it runs.
 */
#ifndef EVCTL_SCAN_SIGNATURE_H
#define EVCTL_SCAN_SIGNATURE_H

#include "scan/scan.h"

/* Where the files come from. */
struct scan_source {
	/* Hands a file over with scan_add_file(): 1, 0 there is none, -1 error. */
	int (*add)(void *ctx, struct scan *s, const char *path, struct err *e);
	void *ctx;
};

enum scan_type_kind {
	SCAN_TYPE_ANY,
	SCAN_TYPE_NULL,
	SCAN_TYPE_BOOL,
	SCAN_TYPE_INT,
	SCAN_TYPE_FLOAT,
	SCAN_TYPE_STR,
	SCAN_TYPE_LIST,	  /* of[0] is what it holds */
	SCAN_TYPE_DICT,	  /* of[0] is what its members hold */
	SCAN_TYPE_CONSTS, /* one of consts */
	SCAN_TYPE_UNION,  /* one of `of` */
	SCAN_TYPE_OBJECT, /* of fields */
};

enum scan_made { SCAN_MADE_NONE, SCAN_MADE_ENUM, SCAN_MADE_DATACLASS };

struct scan_type {
	enum scan_type_kind kind;
	enum scan_made made; /* the class that values are written as in code, where JSON has none */
	const struct scan_type **of;
	const char **consts; /* JSON texts */
	const struct scan_param *fields;
	size_t n;	 /* of whichever it has */
	const char *doc; /* of an object's class, NULL if none */
};

enum scan_param_kind {
	SCAN_PARAM_POSITIONAL, /* only that */
	SCAN_PARAM_PLAIN,
	SCAN_PARAM_REST,     /* *args */
	SCAN_PARAM_KEYWORDS, /* **kwargs */
};

struct scan_param {
	const char *name;
	enum scan_param_kind kind;
	bool required;	      /* has no default */
	const char *fallback; /* the default as JSON text, NULL if none or not a constant */
	const struct scan_type *type;
	const char *doc; /* one line, NULL if none */
};

struct scan_function {
	const char *file; /* where it is written */
	int line;
	bool yields;
	bool wrapped; /* by a decorator that may change what it takes */
	const struct scan_param *params;
	size_t n;
	const char *doc; /* the docstring's first paragraph in one line, NULL if none */
};

enum scan_entry {
	SCAN_ENTRY_GONE,    /* nothing binds that name in the file */
	SCAN_ENTRY_UNKNOWN, /* something does, and what cannot be told */
	SCAN_ENTRY_FUNCTION,
};

/*
 * What running the file and then calling that name of it would call. out is filled for
 * SCAN_ENTRY_FUNCTION and lives as long as the scan. s may be new. 0/-1 (as scan_add_file()).
 */
int scan_entry_function(struct scan *s, const struct scan_source *from, const char *file,
	const char *name, enum scan_entry *found, struct scan_function *out, struct err *e);
/* Names of functions that a file of the scan has at module level; *n of them, in its order. */
const char *const *scan_function_names(struct scan *s, const char *file, size_t *n);

#endif

/*
 * What the Python of the sandbox has: its version, and the modules that import there. Asked of that
 * Python when evctl is built or installed (share/cell/build), and read here from the file `python`
 * beside the cell.
 */
#ifndef EVCTL_BASE_PYTHON_H
#define EVCTL_BASE_PYTHON_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct python_names {
	const char **v; /* sorted */
	size_t n;
};

struct python_table { /* sorted lines, mapped; NULL: not there, and nothing is known */
	const char *text;
	size_t n;
};

struct python {
	struct buf text;	     /* what the names below point into */
	int minor;		     /* of 3.minor */
	struct python_names modules; /* dotted */
	struct python_names open;    /* modules whose submodules are not among these */
	struct python_names loaded;  /* there before a tool's code begins */
	struct python_table names;   /* "MODULE NAME": what each has */
	struct python_table needs;   /* "IMPORTED MODULE NAME": what an import takes from others */
};
#define PYTHON_AUTO __attribute__((cleanup(python_free))) struct python

void python_free(struct python *p);
/* Fills a zeroed one from a file and those beside it; ERR_SANDBOX with the mend if it is missing or
 * damaged. */
int python_read(struct python *p, const char *file, struct err *e);
/* The same from where this program was installed. */
int python_load(struct python *p, struct err *e);
/* Whether a dotted name imports inside, as far as it can be told: "os.path", "numpy.anything". */
bool python_imports(const struct python *p, const char *module);
/* Whether a module of the standard library has a name, or may have it. */
bool python_may_have(const struct python *p, const char *module, const char *name);
/* Whether a file of this name, however it comes before Python's own, is never imported. */
bool python_is_loaded(const struct python *p, const char *module);
/* The next name that importing one module takes from another, after NULL the first. n is its
 * length; NULL after the last. */
const char *python_next_need(const struct python *p, const char *imported, const char *module,
	const char *after, size_t *n);

#endif

/*
 * What names mean at module level, across files, without the scopes that scan_resolve() builds: for
 * a few names of a few files, which are read as names lead to them.
 */
#ifndef EVCTL_SCAN_MEANING_H
#define EVCTL_SCAN_MEANING_H

#include "scan/sema.h"
#include "scan/signature.h"

/* The end of a walk from name to name, and how many types one signature may be made of. */
#define MEANING_MAX_DEPTH 24
#define READER_MAX_OPEN 8

/* Its budgets bound what hostile code costs; past them nothing more can be told. */
struct reader {
	struct scan *s;
	const struct scan_source *from;
	const char *entry_dir; /* also a place where modules are looked for; "" is the first */
	struct err *e; /* set when a file could not be had; then what is found is no matter */
	unsigned left; /* of types to be made */
	unsigned names, walks; /* to be looked up in a module, and looked for in all of a file */
	const struct node *open[READER_MAX_OPEN]; /* the classes that are being told of */
	unsigned nopen;
};

enum bound_kind {
	BOUND_NOT,
	BOUND_FUNCTION, /* node is the S_FUNC */
	BOUND_CLASS,	/* node is the S_CLASS */
	BOUND_VALUE,	/* node is the expression */
	BOUND_IMPORT,	/* node is the X_ALIAS of the statement stmt */
	BOUND_OTHER,
};

struct bound {
	enum bound_kind kind;
	struct node *node, *stmt;
};

/* What the text of a module binds a name to in the end; BOUND_OTHER where that depends. */
struct bound bound_in(const struct scan_file *file, const struct sym *name);
/* Whether more than its plain text may bind a name in it: stars, globals(), __getattr__. */
bool bound_freely(struct scan *s, const struct scan_file *file);
/* Whether a function or ':=' somewhere in the file may bind it anew. */
bool bound_again(const struct scan_file *file, const struct sym *name);

/* bound_again() within a reader's budget: true past it. */
bool meaning_bound_again(struct reader *r, const struct scan_file *file, const struct sym *name);

enum meaning_kind {
	MEANS_NOTHING, /* that can be told */
	MEANS_OUTSIDE, /* dotted: "typing.List", "builtins.int", "enum" */
	MEANS_MODULE,  /* file */
	MEANS_BOUND,   /* bound, in file */
};

struct meaning {
	enum meaning_kind kind;
	const char *dotted;
	struct scan_file *file;
	struct bound bound;
};

/* The file of that path, read if need be; NULL where there is none. */
struct scan_file *meaning_file(struct reader *r, const char *path);
/* Of a name at the end of a module. */
struct meaning meaning_of_name(
	struct reader *r, struct scan_file *file, const struct sym *name, unsigned depth);
/* Of a name or dotted name; MEANS_NOTHING for any other expression. */
struct meaning meaning_of(
	struct reader *r, struct scan_file *file, const struct node *n, unsigned depth);

#endif

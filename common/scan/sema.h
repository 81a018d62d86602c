/*
 * What the analysis knows about a directory's code: scopes, variables with all their bindings, the
 * directory's modules, and what expressions may stand for. Filled in this order: modules
 * (module.c), scopes (scope.c), values (value.c); then reads.c walks the trees and reports. All in
 * the arena.
 */
#ifndef EVCTL_SCAN_SEMA_H
#define EVCTL_SCAN_SEMA_H

#include "scan/ast.h"
#include "scan/parse.h"
#include "scan/scan.h"
#include "scan/token.h"

/* What an expression may be, as far as evctl-reads(7) cares. A value is any set of these. */
enum value_bits {
	VAL_DICT = 1 << 0, /* EV_KEYS itself */
	/* its bound methods, in the order of value_method() */
	VAL_GET = 1 << 1,
	VAL_POP = 1 << 2,
	VAL_SETDEFAULT = 1 << 3,
	VAL_GETITEM = 1 << 4,
	VAL_CONTAINS = 1 << 5,
	VAL_METHODS = VAL_GET | VAL_POP | VAL_SETDEFAULT | VAL_GETITEM | VAL_CONTAINS,
	VAL_OURS = VAL_DICT | VAL_METHODS,
	/* os.environ, and its methods: the same ones, moved */
	VAL_ENV_SHIFT = 6,
	VAL_ENVIRON = VAL_DICT << VAL_ENV_SHIFT,
	VAL_ENV_METHODS = VAL_METHODS << VAL_ENV_SHIFT,
	VAL_GETENV = 1 << 12,
	VAL_BUILTINS = 1 << 13, /* the module, or __builtins__ */
	VAL_OS = 1 << 14,
	VAL_OPERATOR = 1 << 15,
	VAL_CONTEXTLIB = 1 << 16,
	VAL_ITEMGETTER = 1 << 17, /* the class */
	VAL_SUPPRESS = 1 << 18,
	VAL_OUTSIDE = 1 << 19, /* a module outside the directory; see item */
	VAL_IMPORTLIB = 1 << 20,
	VAL_IMPORT_MODULE = 1 << 21,
	VAL_TYPING = 1 << 22,
	VAL_SYS = 1 << 23,
	VAL_EXIT = 1 << 24, /* sys.exit, os._exit */
	VAL_FUNCTOOLS = 1 << 25,
	VAL_CACHE = 1 << 26, /* its cache decorators */
	VAL_COLLECTIONS = 1 << 27,
	VAL_CHAINMAP = 1 << 28,
	VAL_ATTRGETTER = 1 << 29,
	VAL_KEEPS_CLASS = 1 << 30, /* decorators that give the class back */
};

enum item_kind { ITEM_MODULE, ITEM_GETTER, ITEM_OUTSIDE };

/* A value with something to remember. */
struct item {
	enum item_kind kind;
	union {
		struct module *module;
		const char *rest; /* ITEM_OUTSIDE: the parts of its dotted name still to come */
		struct {
			struct node *call; /* itemgetter(...) */
			struct scope *scope;
			struct loop *loop;
		} getter;
	};
};

struct val {
	uint32_t bits, n;
	struct item *v;
};

struct module {
	const char *path;	/* "pkg/sub", "" for the directory itself */
	struct scan_file *file; /* NULL for a directory without __init__.py */
	struct item item;
};

struct texts;

enum scope_kind { SCOPE_MODULE, SCOPE_FUNCTION, SCOPE_CLASS, SCOPE_COMPREHENSION };

struct scope {
	enum scope_kind kind;
	struct scope *up;
	struct scan_file *file;
	uint32_t id;
	struct var *keys_final; /* a module's EV_KEYS as its functions see it */
	struct star *stars;	/* a module's 'from m import *', latest first */
	struct node *node;	/* the S_FUNC, E_LAMBDA or S_CLASS that it is of */
	struct sym *name;	/* what that function is bound to */
	struct helper *helper;	/* if it is one */
	bool open;     /* names of it that are not known are bound by setattr() and the like */
	uint32_t seen; /* by the search through those that has this number */
};

/* A parameter of a function that a read in it has as its key. */
struct need {
	uint32_t param;
	bool required;
	uint8_t depth; /* how many functions down the read is, 1 for this one's own */
};
struct helper {
	struct scope *scope;
	uint32_t born; /* the round that found it */
	struct {
		struct need *v;
		size_t n, room;
	} needs;
};

/* self.name = EV_KEYS in a class */
struct holder {
	struct scope *cls;
	struct sym *name;
	struct node *target;
	uint32_t born; /* the round that found it */
	bool bad;      /* it is stored to elsewhere too */
};
#define MAX_HOLDERS 64

struct star {
	struct module *module;	   /* NULL if it is outside */
	const struct sym *outside; /* its dotted name then */
	struct star *next;
};

/* for loops, as they enclose one another in the text; also those of comprehensions. */
struct loop {
	struct loop *up;
	uint32_t first, last; /* the bindings in its body have these numbers */
};

enum bind_kind {
	BIND_VALUE,   /* '=', ':=', element of an equally long tuple: node is the value */
	BIND_DEFAULT, /* a parameter with a default: node is that */
	BIND_PARAM,   /* a parameter without */
	BIND_FOR,     /* node is what is iterated over; path leads to the element */
	BIND_IMPORT,  /* node is the X_ALIAS, stmt the statement */
	BIND_CLASS,   /* node is the S_CLASS */
	BIND_FUNC,    /* node is the S_FUNC */
	BIND_STAR,    /* EV_KEYS, perhaps, from 'from m import *'; else as before it */
	BIND_OTHER,
};

/* Which element of which many, from the outside in. */
struct path {
	uint32_t index, count;
	struct path *next;
};

enum import_where { IMPORT_INSIDE, IMPORT_OUTSIDE, IMPORT_NOWHERE };
struct import_found {
	enum import_where where;
	struct module *top,
		*module;  /* both NULL unless inside; module NULL if only the top is there */
	const char *name; /* dotted and absolute */
};

enum keys_state { KEYS_NEW, KEYS_BUSY, KEYS_DONE };

struct binding {
	enum bind_kind kind;
	struct node *node, *stmt;
	struct scope *scope; /* where node is evaluated */
	struct loop *loop;   /* the innermost one around it */
	union {
		struct path *path;	    /* BIND_FOR */
		struct import_found *found; /* BIND_IMPORT, BIND_STAR */
	};
	union {
		struct loop *own;   /* BIND_FOR: its loop */
		struct var *before; /* BIND_STAR */
	};
	uint32_t number;
	uint8_t keys_state; /* enum keys_state */
	uint8_t keys_epoch; /* that this is of */
	struct texts *keys; /* what a key that names it may be, once that was asked for */
	struct binding *next;
};

enum var_flags {
	VAR_PASSED = 64, /* what it is may be changed elsewhere */
	VAR_GLOBAL = 1,
	VAR_NONLOCAL = 2,
	/* what the walk over the code has seen done with it */
	VAR_USED = 4, /* anything but what follows, or being indexed or searched */
	VAR_CALLED = 8,
	VAR_ATTR = 16, /* an attribute of it is taken, other than to call a method that reads */
	VAR_MADE = 32, /* what its call gave is used, other than to be bound to a name */
};

struct var {
	struct sym *sym;
	struct scope *scope;
	struct binding *bindings; /* latest first */
	uint32_t count;		  /* of bindings; 'del' and bare annotations are none */
	uint8_t flags;
	struct node *copy; /* of EV_KEYS, that it is bound to and only read from */
	struct val val;
};

/* A growing array in the arena. */
#define VEC(type)               \
	struct {                \
		type *v;        \
		size_t n, room; \
	}

struct text {
	const char *s;
	uint32_t n;
};
struct texts {
	VEC(struct text) of;
	bool unknown;
};
struct var_slot {
	uint32_t hash;
	struct var *var;
};

struct import_edge {
	struct scan_file *file;
	const struct node *stmt; /* NULL: a call that imports */
	bool certain, main_only; /* as in struct scan_import */
};

struct scan_file {
	const char *name;
	size_t index; /* among the files */
	struct seq body;
	bool parsed;
	struct scan_syntax syntax; /* message NULL if there is nothing to report */
	const struct parse_url *urls;
	const char *unread; /* why its text is not known, NULL if it is */
	struct module *module;
	const char *package; /* the path of the directory it is in */
	struct scope *scope;
	/* its scopes' variables, by scope and name */
	struct var_slot *slot;
	uint32_t slots, nvars;
	VEC(struct import_edge) imports; /* what it imports of the directory */
	bool makes_asked, makes;	 /* whether it may have names that are not written there */
};

/* An 'if', an 'or' or an assertion that may give up without a value, where it is. */
/* A target, or a call of setattr(), that binds in another scope. */
struct stored {
	struct node *node;  /* E_ATTR, E_SUBSCRIPT of globals(), E_CALL */
	struct node *value; /* NULL if not known */
	struct scope *scope;
	struct loop *loop;
};

struct demand {
	struct node *node;
	struct scope *scope;
};

struct work {
	struct var *var;
	struct binding *binding;
};

struct scan {
	const struct python *python; /* NULL: one of 3.11 that has every module */
	struct arena arena;
	struct symtab syms;
	VEC(struct scan_file *) files;
	VEC(struct module *) modules; /* sorted by path */
	VEC(const char *) paths;      /* what code puts on sys.path, once it is sought */
	bool paths_sought;
	uint32_t nscopes, nbindings, nsearches;
	uint32_t round; /* of the walk that finds reads */
	uint32_t helpers;
	VEC(struct holder) holders;
	bool copies;  /* there are some */
	bool changed; /* this round found what makes another necessary */
	VEC(struct demand) demands;
	VEC(struct stored) stored;
	uint8_t epoch; /* of what keys may be; names may get more bindings */
	bool container_asked,
		containers;	 /* whether keys hang on what may change them; it is sought */
	VEC(struct work) work;	 /* bindings whose value may be one of enum value_bits */
	struct var keys_builtin; /* EV_KEYS where nothing shadows it */
	VEC(struct scan_read) reads;
	VEC(struct scan_dynamic) dynamics;
	VEC(struct scan_place) globals;
	struct scan_place filled;  /* the first place where EV_KEYS is copied into os.environ */
	bool names_keys;	   /* a text somewhere is 'EV_KEYS' */
	VEC(struct scan_env) envs; /* all reads of the environment, until report_finish() */
	VEC(struct scan_syntax) syntaxes;
	VEC(struct scan_url) urls;
	VEC(struct scan_import) imports;
};

/* Makes room for one more member of a VEC. */
#define VEC_GROW(arena, vec)                                                                      \
	do {                                                                                      \
		if ((vec).n == (vec).room)                                                        \
			(vec).v =                                                                 \
				vec_grow(arena, (vec).v, (vec).n, &(vec).room, sizeof(*(vec).v)); \
	} while (0)
void *vec_grow(struct arena *a, void *old, size_t n, size_t *room, size_t size);

/* module.c */
void module_index(struct scan *s);
/* What a file means by a dotted name behind some dots. name may be NULL. */
struct import_found module_find(
	struct scan *s, const struct scan_file *from, uint32_t dots, const char *name);
struct module *module_child(struct scan *s, const struct module *m, const char *name, size_t n);
void module_note_import(struct scan *s, struct scan_file *from, struct module *m,
	const struct node *stmt, bool certain, bool main_only);

/* path.c */
/* Finds the directories that code seems to put on sys.path: s->paths, a few at most. */
void path_seek(struct scan *s, bool is_directory(struct scan *s, const char *path));

/* literal_url.c */
void url_note(struct scan *s, const struct scan_file *file, const struct parse_url *list);

/* scope.c */
void scope_build(struct scan *s, struct scan_file *file);
/* Whether a target's parts and a value's match one to one. */
bool scope_unpacks(const struct node *target, const struct node *value);
struct var *scope_own(const struct scope *scope, const struct sym *name);
/* What a name means in a scope; NULL if it is a builtin, or nothing. */
struct var *scope_lookup(struct scan *s, struct scope *scope, const struct sym *name);
/* A variable of a module for code outside it, through 'import *' too; NULL if there is none. */
struct var *scope_member(struct scan *s, const struct module *m, const struct sym *name);
/* Whether a name is a builtin's here. */
bool scope_is_builtin(
	struct scan *s, struct scope *scope, const struct node *n, enum sym_known which);

/* One more binding, of a variable that may be new. */
void scope_bind_more(
	struct scan *s, struct scope *scope, struct sym *name, const struct binding *b);
/* The module that a name comes from by one of a module's 'import *'; NULL if none. */
struct module *scope_star_source(struct scan *s, const struct scope *top, const struct sym *name);

/* bound.c */
void bound_elsewhere(struct scan *s);

/* value.c */
void value_settle(struct scan *s);
struct val value_of(struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* The same of a name, with the variable that it is, or NULL. */
struct val value_of_name(struct scan *s, struct node *n, struct scope *scope, struct var **var);
/* What is a or b. */
struct val value_merge(struct scan *s, struct val a, struct val b);
/* The same of a node whose first part's value is at hand. */
struct val value_of_attr(struct scan *s, struct node *n, struct val base);
struct val value_of_call(
	struct scan *s, struct node *n, struct val func, struct scope *scope, struct loop *loop);
/* __builtins__['EV_KEYS'], globals()['EV_KEYS'] */
struct val value_of_subscript(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* Whether globals()['EV_KEYS'] is there. */
bool value_globals_have_keys(struct scan *s, const struct scope *scope);
bool value_is_globals(struct scan *s, struct node *n, struct scope *scope);
/* VAL_GET ... for a method's name, else 0. */
uint32_t value_method(const struct sym *name);
/* Whether n is a text known to be 'EV_KEYS'. */
bool value_is_keys_name(struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* What .EV_KEYS on a known module is; false if n's value is no module. */
bool value_keys_of_module(struct scan *s, struct val v, struct val *out);

/* key.c */
/* The binding of a variable that has no other, else NULL. */
struct binding *key_only(const struct var *v);
/* The variable that a name or a module's attribute is, through imports; NULL if not clear. */
struct var *key_named_var(struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* The elements of a display, of a dict its keys, and where they are evaluated. */
struct display {
	struct seq of;
	struct scope *scope;
	struct loop *loop;
	bool known;
};
struct display key_display(struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* All values of a key expression; .unknown if they cannot be told. */
struct texts key_values(struct scan *s, struct node *n, struct scope *scope, struct loop *loop);

/* A block of statements, and which of them a walk is in. */
struct standing {
	struct seq of;
	uint32_t at;
	const struct standing *up;
};

/* Where a walk over the trees is, and what holds there. */
struct here {
	struct scan *s;
	struct scan_file *file;
	struct scope *scope;
	struct loop *loop;
	struct assumption *assumed; /* latest first */
	uint32_t nassumed;
	const struct var *copy; /* of EV_KEYS that is read here, not itself */
	uint8_t helpers;	/* that are between the code here and the read spoken of */
	bool caught;		/* a KeyError is caught around here */
	bool tried;		/* one is caught, but only to try again and give up in the end */
	const struct standing *block; /* within the function */
};

/* guard.c: what tests say of keys */
/* What becomes of a program that finds a key absent. */
enum without { WITHOUT_UNKNOWN, WITHOUT_GOES_ON, WITHOUT_GIVES_UP };
/* From here on the test had this outcome; else what without says has happened. */
void guard_assume(struct here *h, struct node *test, bool truth, enum without without);
/* What the tests around a read of key do if it is absent; value: what it is, NULL if unknown. */
enum without guard_of(const struct here *h, struct node *key, const struct text *value);
/* The key that is known to be absent where code is come to: guards held by nothing else. */
bool guard_instead(const struct here *h, struct text *key);
/* Whether n is a call with these many plain arguments. */
bool guard_plain_call(const struct node *n, uint32_t least, uint32_t most);
/* D in D.keys(), else NULL */
struct node *guard_keys_view(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop);
/* Whether n says that a set of known elements is within D.keys(). */
bool guard_subset(struct scan *s, struct node *n, struct scope *scope, struct loop *loop,
	struct display *out);

/* leave.c: blocks that are always left */
enum leave { LEAVE_NOT, LEAVE_GOES_ON, LEAVE_GIVES_UP };
/* How the end of a block is never come to: by return and the like, or by raise and exit. */
enum leave leave_of(struct scan *s, struct seq body, struct scope *scope);
/* Whether it may be LEAVE_GIVES_UP, by its looks. */
bool leave_may_give_up(struct seq body);
/* What holds behind an 'if' that some of its branches leave. */
void leave_assume(struct here *h, struct node *n);
/* Whether code gives up in the end, perhaps after some rounds, that goes on behind a handler of the
 * statement h is in. */
bool leave_in_the_end(const struct here *h, struct seq handler);
/* Marks (NODE_DEMANDED) the calls of EV_KEYS.get() whose result the code gives up without. */
void leave_find_demands(struct scan *s);

/* helper.c */
/* Whether the read of this key is one that the callers of the function around it answer for. */
bool helper_need(struct here *h, struct node *key, bool required);
/* A call; known: what it is called on is known to be no object of the directory's classes. */
void helper_call(struct here *h, struct node *call, bool known);
/* An attribute that is not called. */
void helper_note_attr(struct here *h, struct node *n, bool known);
/* Whether EV_KEYS as this argument of a call is followed into the function. */
bool helper_takes_keys(struct here *h, struct node *call, struct node *arg);
/* The class that an expression is an object of, and that class's base; NULL if not known. */
struct scope *helper_class(struct here *h, struct node *n);
struct scope *helper_base(struct scan *s, struct scope *cls);
void helper_pass_on(struct scan *s);

/* alias.c */
/* Whether target = value makes a copy of EV_KEYS in a variable that is only read from. */
bool copy_is_followed(struct here *h, struct node *target, struct node *value);
/* The variable that an expression is, if it is such a copy. */
struct var *copy_behind(struct here *h, struct node *base);
/* Whether what was added to the copy certainly has a key. */
bool copy_supplies(struct scan *s, const struct var *v, struct text key);
/* Whether EV_KEYS stored in this attribute is EV_KEYS in its class. */
bool copy_holds(struct here *h, struct node *target);
void copy_note_store(struct here *h, struct node *target);
void copy_note_load(struct here *h, struct node *n);

/* words.c: dynamic uses, each in its own words */
/* EV_KEYS.attr, called or not; said at a node's line. */
void words_attr(struct here *h, struct node *attr, const struct node *at, bool called);
void words_passed(struct here *h, const struct node *call, const struct node *arg);
/* n is EV_KEYS, within an expression or statement of that kind. */
void words_used(struct here *h, const struct node *n, enum node_kind within);
void words_key(struct here *h, struct node *key, uint32_t line);

/* report.c */
void report_read(struct here *h, struct node *key, uint32_t line, bool required);
/* on: what the key is looked for in. */
void report_env(struct here *h, struct node *key, const struct node *on, uint32_t line);
/* os.environ.update(EV_KEYS) */
void report_filled(struct here *h, const struct node *n);
/* EV_KEYS sought in globals(). */
void report_globals(struct here *h, const struct node *n);
/* hint: how to mend it, NULL if by naming the key. */
void report_dynamic(struct here *h, const struct node *n, const char *why, const char *hint);
/* An import by importlib.import_module() or __import__() of a known name. */
void report_import_call(struct here *h, struct node *n);
/* Sorts, drops doubles, keeps those environment reads that are mistakes. */
void report_finish(struct scan *s);

/* imports.c: all import statements, and what of the directory they reach */
void imports_collect(struct scan *s);

/* reads.c */
void reads_collect(struct scan *s);

#endif

/*
 * Names, each kept once, so that equal names are equal pointers. Text is NFKC-normalised UTF-8 with
 * a NUL behind it. Owned by the arena; the table itself too.
 */
#ifndef EVCTL_SCAN_SYM_H
#define EVCTL_SCAN_SYM_H

#include "scan/arena.h"

#include <stdbool.h>

struct sym {
	uint64_t lo, hi; /* the first 16 bytes, zero-filled */
	uint32_t len, hash;
	uint8_t keyword;       /* the token kind if it is a keyword, else 0 */
	uint8_t known;	       /* one of enum sym_known, else 0 */
	bool mutated;	       /* something so named is changed in place somewhere */
	bool dot_stored;       /* something.NAME is assigned to somewhere */
	bool held;	       /* EV_KEYS is stored as self.NAME somewhere */
	bool method;	       /* a method that is a helper has this name (helper.c) */
	bool loose;	       /* something.NAME is called, and what that is is not known */
	struct sym_mark *mark; /* of compile.c, while it is at work */
	struct var *only;      /* the variable so named; the first one, where there are many */
	bool many;
	char s[];
};

/* Names that the parser or the analysis asks about. */
/* clang-format off */
#define SYM_KNOWN(X) \
	X(match) X(case) X(type) X(_) X(EV_KEYS) X(builtins) X(__builtins__) X(globals) X(locals) \
	X(vars) X(getattr) X(get) X(pop) X(setdefault) X(__getitem__) X(__contains__) \
	X(__setitem__) X(__delitem__) X(update) X(clear) X(keys) X(values) X(items) X(itemgetter) \
	X(environ) X(getenv) X(suppress) X(len) X(bool) X(isinstance) X(id) X(eval) X(exec) \
	X(compile) X(__dict__) X(KeyError) X(LookupError) X(Exception) X(BaseException) \
	X(ImportError) X(ModuleNotFoundError) X(TYPE_CHECKING) X(import_module) X(__import__) \
	X(key) X(source) X(append) X(extend) X(insert) X(remove) X(sort) X(reverse) X(add) \
	X(discard) X(popitem) X(difference_update) X(intersection_update) \
	X(symmetric_difference_update) X(__all__) X(__debug__) X(__class__) \
	X(__future__) X(all) X(any) X(exit) X(quit) X(_exit) X(set) X(frozenset) X(__init__) X(cache) X(lru_cache) X(copy) X(dict) X(ChainMap) X(object) X(attrgetter) \
	X(f_builtins) X(f_globals) X(f_locals) X(setattr) X(enumerate) \
	X(zip) X(iter) X(print) X(join) X(dumps) X(list) X(tuple) X(sorted) X(dataclass) \
	X(total_ordering) X(final) X(runtime_checkable)
/* clang-format on */

enum sym_known {
	SYM_NONE,
#define X(n) SYM_##n,
	SYM_KNOWN(X)
#undef X
		SYM_KNOWN_END
};

struct sym_slot {
	uint32_t hash;
	struct sym *sym;
};

struct symtab {
	struct arena *arena;
	struct sym_slot *slot;
	uint32_t cap, n; /* cap is a power of two */
	struct sym *known[SYM_KNOWN_END];
};

void symtab_init(struct symtab *t, struct arena *a);
struct sym *sym_intern(struct symtab *t, const char *s, size_t n);
/* The same for a name of at most 16 bytes whose zero-filled bytes the caller has at hand. */
struct sym *sym_intern_short(struct symtab *t, const char *s, uint32_t n, uint64_t lo, uint64_t hi);

#endif

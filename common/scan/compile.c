#include "scan/compile.h"
#include "scan/token.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a name in a block. */
enum mark_flags {
	IS_GLOBAL = 1 << 0,
	IS_NONLOCAL = 1 << 1,
	IS_LOCAL = 1 << 2,
	IS_PARAM = 1 << 3,
	IS_IMPORT = 1 << 4,
	IS_USED = 1 << 5,
	IS_ANNOTATED = 1 << 6,
	IS_COMP_ITER = 1 << 7,
	IS_BOUND = IS_LOCAL | IS_PARAM | IS_IMPORT,
};

struct sym_mark {
	struct sym *sym;
	struct block *block;
	unsigned flags;
	struct node *declared;	/* the 'global' or 'nonlocal' statement */
	struct sym_mark *outer; /* of the same name in a block around this one */
	struct sym_mark *next;	/* of the same block */
};

/* A name declared nonlocal, of which no block around has been seen to bind it yet. */
struct wanted {
	const struct sym *sym;
	struct node *declared;
	struct wanted *next;
};

enum block_kind { IN_MODULE, IN_CLASS, IN_FUNCTION, IN_LAMBDA, IN_COMPREHENSION, IN_ANNOTATION };

struct block {
	enum block_kind kind;
	struct block *up;
	unsigned depth;
	struct sym_mark *marks;
	struct wanted *wanted;
	enum node_kind comprehension;
	unsigned in_iterable;	/* so many iterables of comprehensions are around */
	bool target;		/* of a comprehension is being bound */
	bool async;		/* async def */
	bool awaits;		/* a comprehension that awaits */
	bool generator;		/* there is a yield */
	struct node *returns;	/* the first return with a value */
	const struct inner *in; /* the innermost statement below that needs a place on the stack */
};

/* Statements that a break, continue or return leaves. */
struct inner {
	enum { INNER_LOOP, INNER_STAR, INNER_OTHER } kind;
	unsigned depth;
	const struct inner *up;
};
#define INNER_MOST 20

struct check {
	struct symtab *syms;
	struct arena *arena;
	struct block *block;
	struct sym_mark *unused;		  /* of blocks that were left; by next */
	struct compile_fault names, scopes, code; /* the first each */
	uint32_t future_line; /* of the last __future__ import at the beginning */
	bool future_annotations;
	unsigned uncompiled; /* so many annotations around that are no code */
};

static void load(struct check *c, struct node *n);
static void store(struct check *c, struct node *n);
static void body(struct check *c, struct seq statements);
static void statement(struct check *c, struct node *n);

/* ---- faults -------------------------------------------------------------------------------- */

static void fault(struct compile_fault *f, const struct node *n, const char *message)
{
	if (!f->message)
		*f = (struct compile_fault){message, n->line, n->col};
}

static void code_fault(struct check *c, const struct node *n, const char *message)
{
	if (!c->uncompiled)
		fault(&c->code, n, message);
}

static bool is_known(const struct check *c, const struct sym *name, enum sym_known which)
{
	return name == c->syms->known[which];
}

static void no_debug(struct check *c, const struct node *n, const struct sym *name)
{
	if (is_known(c, name, SYM___debug__))
		code_fault(c, n, "cannot assign to __debug__");
}

/* ---- names --------------------------------------------------------------------------------- */

static struct sym_mark *find_mark(const struct sym *name, const struct block *b)
{
	struct sym_mark *m = name->mark;
	while (m && m->block != b)
		m = m->outer;
	return m;
}

/* The mark of a name in a block: this one or one around it. */
static struct sym_mark *mark_in(struct check *c, struct sym *name, struct block *b)
{
	struct sym_mark **at = &name->mark;
	while (*at && (*at)->block->depth > b->depth)
		at = &(*at)->outer;
	if (*at && (*at)->block == b)
		return *at;
	struct sym_mark *m = c->unused;
	if (m)
		c->unused = m->next;
	else
		m = arena_raw(c->arena, sizeof(*m));
	*m = (struct sym_mark){.sym = name, .block = b, .outer = *at, .next = b->marks};
	b->marks = m;
	return *at = m;
}

static void add(struct check *c, const struct node *n, struct sym *name, unsigned flags)
{
	struct sym_mark *m = mark_in(c, name, c->block);
	if (flags & m->flags & IS_PARAM)
		fault(&c->names, n, "duplicate argument in function definition");
	m->flags |= flags;
	if (!c->block->target)
		return;
	if (m->flags & (IS_GLOBAL | IS_NONLOCAL))
		fault(&c->names, n,
			"comprehension inner loop cannot rebind assignment expression target");
	m->flags |= IS_COMP_ITER;
}

static void bind_name(struct check *c, const struct node *n, struct sym *name)
{
	add(c, n, name, IS_LOCAL);
	no_debug(c, n, name);
}

static const char *declared_late(bool global, unsigned seen)
{
	if (seen & IS_PARAM)
		return global ? "name is parameter and global" : "name is parameter and nonlocal";
	if (seen & IS_USED)
		return global ? "name is used prior to global declaration"
			      : "name is used prior to nonlocal declaration";
	if (seen & IS_ANNOTATED)
		return global ? "annotated name can't be global"
			      : "annotated name can't be nonlocal";
	return global ? "name is assigned to before global declaration"
		      : "name is assigned to before nonlocal declaration";
}

static void declare(struct check *c, struct node *n)
{
	bool global = n->kind == S_GLOBAL;
	for (uint32_t i = 0; i < n->names.n; i++) {
		struct sym_mark *m = mark_in(c, n->names.v[i], c->block);
		if (m->flags & (IS_PARAM | IS_LOCAL | IS_USED | IS_ANNOTATED))
			fault(&c->names, n, declared_late(global, m->flags));
		m->flags |= global ? IS_GLOBAL : IS_NONLOCAL;
		m->declared = m->declared ? m->declared : n;
	}
}

/* ---- blocks -------------------------------------------------------------------------------- */

static struct block enter(struct check *c, enum block_kind kind)
{
	struct block *up = c->block;
	return (struct block){.kind = kind,
		.up = up,
		.depth = up ? up->depth + 1 : 0,
		.in_iterable = up ? up->in_iterable : 0};
}

static void want(struct check *c, struct block *in, const struct sym *name, struct node *declared)
{
	struct wanted *w = arena_alloc(c->arena, sizeof(*w));
	*w = (struct wanted){name, declared, in->wanted};
	in->wanted = w;
}

/* Whether a block is where a nonlocal of a block within it may have its binding, and has it. */
static bool provides(const struct check *c, const struct block *b, const struct sym *name)
{
	if (b->kind == IN_CLASS)
		return is_known(c, name, SYM___class__);
	const struct sym_mark *m = b->kind == IN_MODULE ? NULL : find_mark(name, b);
	return m && m->flags & IS_BOUND && !(m->flags & (IS_GLOBAL | IS_NONLOCAL));
}

static void hides(struct check *c, const struct block *b, const struct wanted *w)
{
	const struct sym_mark *m = b->kind == IN_CLASS ? NULL : find_mark(w->sym, b);
	if (b->kind == IN_MODULE || (m && m->flags & IS_GLOBAL))
		fault(&c->scopes, w->declared, "no binding for nonlocal found");
	else
		want(c, b->up, w->sym, w->declared);
}

static void settle_own(struct check *c, struct block *b, struct sym_mark *m)
{
	if (!(m->flags & IS_NONLOCAL) || !m->declared)
		return;
	if (m->flags & IS_GLOBAL)
		fault(&c->scopes, m->declared, "name is nonlocal and global");
	else if (b->kind == IN_MODULE)
		fault(&c->scopes, m->declared, "nonlocal declaration not allowed at module level");
	else
		want(c, b->up, m->sym, m->declared);
}

static void leave(struct check *c)
{
	struct block *b = c->block;
	for (struct wanted *w = b->wanted; w; w = w->next)
		if (!provides(c, b, w->sym))
			hides(c, b, w);
	for (struct sym_mark *m = b->marks, *next; m; m = next) {
		settle_own(c, b, m);
		m->sym->mark = m->outer;
		next = m->next;
		m->next = c->unused;
		c->unused = m;
	}
	if (b->async && b->generator && b->returns)
		code_fault(c, b->returns, "'return' with value in async generator");
	c->block = b->up;
}

static bool in_function(const struct check *c)
{
	return c->block->kind == IN_FUNCTION || c->block->kind == IN_LAMBDA;
}

static bool in_async(const struct check *c)
{
	return c->block->kind == IN_FUNCTION && c->block->async;
}

/* ---- __future__ ---------------------------------------------------------------------------- */

#define FUTURE_LATE "from __future__ imports must occur at the beginning of the file"

static bool is_feature(const char *name)
{
	static const char *const features[] = {"nested_scopes", "generators", "division",
		"absolute_import", "with_statement", "print_function", "unicode_literals",
		"barry_as_FLUFL", "generator_stop", "annotations"};
	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (strcmp(name, features[i]) == 0)
			return true;
	return false;
}

static bool is_future(const struct check *c, const struct node *n)
{
	return n->kind == S_IMPORTFROM && n->import.module &&
	       is_known(c, n->import.module, SYM___future__);
}

static void features(struct check *c, const struct node *n, struct compile_fault *f)
{
	for (uint32_t i = 0; i < n->import.names.n; i++) {
		const char *name = n->import.names.v[i]->alias.name->s;
		if (!is_feature(name))
			fault(f, n, "future feature is not defined");
		c->future_annotations |= strcmp(name, "annotations") == 0;
	}
	c->future_line = n->line;
}

/* The __future__ imports at a module's beginning, behind its docstring. */
static void future(struct check *c, struct seq statements, struct compile_fault *f)
{
	uint32_t i = statements.n && statements.v[0]->kind == S_EXPR &&
		     statements.v[0]->one->kind == E_STR;
	bool begun = false;
	for (uint32_t line = 0; i < statements.n; i++) {
		struct node *n = statements.v[i];
		if (begun && n->line > line)
			return;
		line = n->line;
		if (begun && is_future(c, n))
			fault(f, n, FUTURE_LATE);
		else if (is_future(c, n))
			features(c, n, f);
		else
			begun = true;
	}
}

/* ---- annotations --------------------------------------------------------------------------- */

/* An annotation that is never compiled is looked at for its names all the same. */
static void annotation(struct check *c, struct node *n, bool compiled)
{
	if (!n)
		return;
	compiled = compiled && !c->future_annotations;
	struct block b = enter(c, IN_ANNOTATION);
	if (c->future_annotations)
		c->block = &b;
	c->uncompiled += !compiled;
	load(c, n->kind == E_STARRED ? n->one : n);
	c->uncompiled -= !compiled;
	if (c->future_annotations)
		leave(c);
}

static bool refused_in_annotation(struct check *c, const struct node *n)
{
	if (c->block->kind != IN_ANNOTATION)
		return false;
	fault(&c->names, n, "this expression cannot be used within an annotation");
	return true;
}

/* ---- expressions --------------------------------------------------------------------------- */

static void load_opt(struct check *c, struct node *n)
{
	if (n)
		load(c, n);
}

static void load_child(struct node *n, void *arg)
{
	load(arg, n);
}

static void load_all(struct check *c, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		load_opt(c, s.v[i]);
}

/* Where '*x' may stand. */
static void load_starrable(struct check *c, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		load(c, s.v[i]->kind == E_STARRED ? s.v[i]->one : s.v[i]);
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
	return x < y ? -1 : x > y;
}

/* Sorts names; whether one is there twice. */
static bool has_double(struct sym **names, size_t n)
{
	qsort(names, n, sizeof(struct sym *), by_address);
	for (size_t i = 1; i < n; i++)
		if (names[i] == names[i - 1])
			return true;
	return false;
}

static void keywords(struct check *c, struct seq s)
{
	struct sym *few[16], **names = few;
	size_t n = 0;
	if (s.n > sizeof few / sizeof *few)
		names = arena_raw(c->arena, s.n * sizeof(*names));
	for (uint32_t i = 0; i < s.n; i++) {
		if (!s.v[i]->keyword.name)
			continue;
		names[n++] = s.v[i]->keyword.name;
		no_debug(c, s.v[i], s.v[i]->keyword.name);
	}
	if (n > 1 && has_double(names, n))
		code_fault(c, s.v[0], "keyword argument repeated");
	for (uint32_t i = 0; i < s.n; i++)
		load(c, s.v[i]->keyword.value);
}

static void clause(struct check *c, struct node *n, bool first)
{
	c->block->target = true;
	store(c, n->clause.target);
	c->block->target = false;
	if (!first) {
		c->block->in_iterable++;
		load(c, n->clause.iter);
		c->block->in_iterable--;
	}
	load_all(c, n->clause.ifs);
	c->block->awaits |= n->flags & NODE_ASYNC;
}

static void comprehension(struct check *c, struct node *n)
{
	struct block b;
	c->block->in_iterable++;
	load(c, n->comp.clauses.v[0]->clause.iter);
	c->block->in_iterable--;
	b = enter(c, IN_COMPREHENSION);
	b.comprehension = n->kind;
	c->block = &b;
	for (uint32_t i = 0; i < n->comp.clauses.n; i++)
		clause(c, n->comp.clauses.v[i], i == 0);
	load_opt(c, n->comp.value);
	load(c, n->comp.elt);
	leave(c);
	if (!b.awaits || n->kind == E_GENEXP)
		return;
	c->block->awaits = true;
	if (!in_async(c) && c->block->kind != IN_COMPREHENSION)
		code_fault(c, n, "asynchronous comprehension outside of an asynchronous function");
}

/* 'x := ...' within a comprehension binds in the function around it. */
static void bind_around(struct check *c, struct node *n)
{
	struct sym *name = n->two.a->name;
	struct block *b = c->block;
	for (; b->kind == IN_COMPREHENSION; b = b->up) {
		const struct sym_mark *m = find_mark(name, b);
		if (m && m->flags & IS_COMP_ITER && m->flags & (IS_LOCAL | IS_GLOBAL))
			fault(&c->names, n,
				"assignment expression cannot rebind comprehension iteration "
				"variable");
	}
	if (b->kind == IN_CLASS) {
		fault(&c->names, n,
			"assignment expression within a comprehension cannot be used in a class "
			"body");
		return;
	}
	struct sym_mark *m = mark_in(c, name, b);
	bool global = b->kind == IN_MODULE || m->flags & IS_GLOBAL;
	m->flags |= b->kind == IN_MODULE ? IS_GLOBAL : IS_LOCAL;
	mark_in(c, name, c->block)->flags |= global ? IS_GLOBAL : IS_NONLOCAL;
}

static void named(struct check *c, struct node *n)
{
	if (refused_in_annotation(c, n))
		return;
	if (c->block->in_iterable)
		fault(&c->names, n,
			"assignment expression cannot be used in a comprehension iterable "
			"expression");
	else if (c->block->kind == IN_COMPREHENSION)
		bind_around(c, n);
	load(c, n->two.b);
	store(c, n->two.a);
}

static void params(struct check *c, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		add(c, s.v[i], s.v[i]->param.name, IS_PARAM);
		no_debug(c, s.v[i], s.v[i]->param.name);
	}
}

static void defaults(struct check *c, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		load_opt(c, s.v[i]->param.value);
}

static void lambda(struct check *c, struct node *n)
{
	defaults(c, n->lambda.params);
	struct block b = enter(c, IN_LAMBDA);
	c->block = &b;
	params(c, n->lambda.params);
	load(c, n->lambda.body);
	leave(c);
}

static const char *yield_inside(enum node_kind kind)
{
	switch (kind) {
	case E_LISTCOMP:
		return "'yield' inside list comprehension";
	case E_SETCOMP:
		return "'yield' inside set comprehension";
	case E_DICTCOMP:
		return "'yield' inside dict comprehension";
	default:
		return "'yield' inside generator expression";
	}
}

static void yield(struct check *c, struct node *n)
{
	if (refused_in_annotation(c, n))
		return;
	load_opt(c, n->one);
	c->block->generator = true;
	if (c->block->kind == IN_COMPREHENSION)
		fault(&c->names, n, yield_inside(c->block->comprehension));
	else if (!in_function(c))
		code_fault(c, n, "'yield' outside function");
	else if (n->kind == E_YIELD_FROM && in_async(c))
		code_fault(c, n, "'yield from' inside async function");
}

static void await(struct check *c, struct node *n)
{
	if (refused_in_annotation(c, n))
		return;
	if (c->block->kind == IN_COMPREHENSION)
		c->block->awaits = true;
	else if (!in_function(c))
		code_fault(c, n, "'await' outside function");
	else if (!in_async(c))
		code_fault(c, n, "'await' outside async function");
	load(c, n->one);
}

static void load(struct check *c, struct node *n)
{
	switch (n->kind) {
	case E_NAME:
		return add(c, n, n->name, IS_USED);
	case E_CALL:
		load(c, n->call.func);
		load_starrable(c, n->call.args);
		if (n->call.keywords.n)
			keywords(c, n->call.keywords);
		return;
	case E_TUPLE:
	case E_LIST:
	case E_SET:
		return load_starrable(c, n->list);
	case E_STARRED:
		code_fault(c, n, "can't use starred expression here");
		return load(c, n->one);
	case E_NAMED:
		return named(c, n);
	case E_LAMBDA:
		return lambda(c, n);
	case E_LISTCOMP:
	case E_SETCOMP:
	case E_GENEXP:
	case E_DICTCOMP:
		return comprehension(c, n);
	case E_YIELD:
	case E_YIELD_FROM:
		return yield(c, n);
	case E_AWAIT:
		return await(c, n);
	default:
		ast_each(n, load_child, c);
	}
}

/* ---- targets ------------------------------------------------------------------------------- */

static void store_parts(struct check *c, struct node *n)
{
	unsigned starred = 0;
	for (uint32_t i = 0; i < n->list.n; i++) {
		struct node *x = n->list.v[i];
		if (x->kind == E_STARRED && ++starred == 2)
			code_fault(c, x, "multiple starred expressions in assignment");
		if (x->kind == E_STARRED && i >= 256)
			code_fault(c, x, "too many expressions in star-unpacking assignment");
		store(c, x->kind == E_STARRED ? x->one : x);
	}
}

static void store(struct check *c, struct node *n)
{
	switch (n->kind) {
	case E_NAME:
		return bind_name(c, n, n->name);
	case E_ATTR:
		no_debug(c, n, n->attr.name);
		return load(c, n->attr.value);
	case E_TUPLE:
	case E_LIST:
		return store_parts(c, n);
	case E_STARRED:
		code_fault(c, n, "starred assignment target must be in a list or tuple");
		return store(c, n->one);
	default:
		load(c, n);
	}
}

static void delete (struct check *c, struct node *n)
{
	switch (n->kind) {
	case E_NAME:
		add(c, n, n->name, IS_LOCAL);
		if (is_known(c, n->name, SYM___debug__))
			code_fault(c, n, "cannot delete __debug__");
		return;
	case E_TUPLE:
	case E_LIST:
		for (uint32_t i = 0; i < n->list.n; i++)
			delete (c, n->list.v[i]);
		return;
	case E_ATTR:
		if (is_known(c, n->attr.name, SYM___debug__))
			code_fault(c, n, "cannot delete __debug__");
		return load(c, n->attr.value);
	default:
		load(c, n);
	}
}

/* ---- patterns ------------------------------------------------------------------------------ */

struct names {
	struct sym **v;
	size_t n, room;
};

static void pattern(struct check *c, struct node *n, bool last, struct names *bound);

static void capture(struct check *c, const struct node *n, struct sym *name, struct names *bound)
{
	if (!name)
		return;
	bind_name(c, n, name);
	if (bound->n == bound->room) {
		struct sym **old = bound->v;
		bound->room = bound->room ? 2 * bound->room : 8;
		bound->v = arena_alloc(c->arena, bound->room * sizeof(*old));
		if (bound->n)
			memcpy(bound->v, old, bound->n * sizeof(*old));
	}
	bound->v[bound->n++] = name;
}

static void no_doubles(
	struct check *c, const struct node *n, const struct names *bound, size_t from)
{
	if (bound->n > from + 1 && has_double(bound->v + from, bound->n - from))
		code_fault(c, n, "multiple assignments to one name in pattern");
}

/* Each alternative binds the same names; they count once. */
static void alternatives(struct check *c, struct node *n, bool last, struct names *bound)
{
	size_t first = bound->n, count = 0;
	for (uint32_t i = 0; i < n->list.n; i++) {
		size_t from = bound->n;
		pattern(c, n->list.v[i], last && i + 1 == n->list.n, bound);
		no_doubles(c, n, bound, from);
		if (i == 0) {
			count = bound->n - first;
			continue;
		}
		if (bound->n - from != count || (count && memcmp(bound->v + first, bound->v + from,
								  count * sizeof(*bound->v)) != 0))
			code_fault(c, n, "alternative patterns bind different names");
		bound->n = from;
	}
}

static int by_text(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
	if (x->str.n != y->str.n)
		return x->str.n < y->str.n ? -1 : 1;
	return memcmp(x->str.s, y->str.s, x->str.n);
}

static void mapping_keys(struct check *c, struct node *n)
{
	struct seq keys = n->mapping.keys;
	struct node **texts = arena_alloc(c->arena, keys.n * sizeof(*texts));
	size_t ntexts = 0;
	unsigned words = 0;
	for (uint32_t i = 0; i < keys.n; i++) {
		struct node *k = keys.v[i];
		unsigned word = k->kind == E_CONST && k->op != T_NUMBER ? 1u << (k->op % 32) : 0;
		if (k->kind == E_JOINED)
			code_fault(c, k,
				"mapping pattern keys may only match literals and attribute "
				"lookups");
		if (words & word)
			code_fault(c, n, "mapping pattern checks duplicate key");
		words |= word;
		if (k->kind == E_STR)
			texts[ntexts++] = k;
		load(c, k);
	}
	qsort(texts, ntexts, sizeof(*texts), by_text);
	for (size_t i = 1; i < ntexts; i++)
		if (by_text(&texts[i - 1], &texts[i]) == 0)
			code_fault(c, n, "mapping pattern checks duplicate key");
}

static void class_attributes(struct check *c, struct node *n)
{
	size_t size = n->pclass.values.n * sizeof(*n->pclass.names);
	if (!size)
		return;
	struct sym **names = arena_alloc(c->arena, size);
	memcpy(names, n->pclass.names, size);
	if (has_double(names, n->pclass.values.n))
		code_fault(c, n, "attribute name repeated in class pattern");
	for (uint32_t i = 0; i < n->pclass.values.n; i++)
		no_debug(c, n, n->pclass.names[i]);
}

static void patterns(struct check *c, struct seq s, struct names *bound)
{
	for (uint32_t i = 0; i < s.n; i++)
		pattern(c, s.v[i], true, bound);
}

static void sequence(struct check *c, struct node *n, struct names *bound)
{
	unsigned starred = 0;
	for (uint32_t i = 0; i < n->list.n; i++)
		if (n->list.v[i]->kind == P_STAR && ++starred == 2)
			code_fault(c, n, "multiple starred expressions in sequence pattern");
	patterns(c, n->list, bound);
}

/* last: nothing would be matched behind it, so that it may match everything. */
static void pattern(struct check *c, struct node *n, bool last, struct names *bound)
{
	switch (n->kind) {
	case P_VALUE:
		if (n->one->kind == E_JOINED)
			code_fault(c, n, "patterns may only match literals and attribute lookups");
		return load(c, n->one);
	case P_SEQUENCE:
		return sequence(c, n, bound);
	case P_MAPPING:
		mapping_keys(c, n);
		patterns(c, n->mapping.values, bound);
		return capture(c, n, n->mapping.rest, bound);
	case P_CLASS:
		load(c, n->pclass.cls);
		class_attributes(c, n);
		patterns(c, n->pclass.args, bound);
		return patterns(c, n->pclass.values, bound);
	case P_AS:
		if (n->capture.pattern)
			pattern(c, n->capture.pattern, last, bound);
		else if (!last)
			code_fault(c, n,
				n->capture.name
					? "name capture makes remaining patterns unreachable"
					: "wildcard makes remaining patterns unreachable");
		return capture(c, n, n->capture.name, bound);
	case P_STAR:
		return capture(c, n, n->capture.name, bound);
	case P_OR:
		return alternatives(c, n, last, bound);
	default:
		return;
	}
}

static void match(struct check *c, struct node *n)
{
	load(c, n->match.subject);
	for (uint32_t i = 0; i < n->match.cases.n; i++) {
		struct node *k = n->match.cases.v[i];
		struct names bound = {0};
		pattern(c, k->kase.pattern, k->kase.guard || i + 1 == n->match.cases.n, &bound);
		no_doubles(c, k->kase.pattern, &bound, 0);
		load_opt(c, k->kase.guard);
		body(c, k->kase.body);
	}
}

/* ---- statements ---------------------------------------------------------------------------- */

static struct inner inside(struct check *c, const struct node *n, int kind)
{
	const struct inner *up = c->block->in;
	struct inner in = {kind, up ? up->depth + 1 : 1, up};
	if (in.depth > INNER_MOST)
		code_fault(c, n, "too many statically nested blocks");
	return in;
}

static void body_in(struct check *c, const struct node *n, struct seq statements, int kind)
{
	struct inner in = inside(c, n, kind);
	c->block->in = &in;
	body(c, statements);
	c->block->in = in.up;
}

static void loop(struct check *c, struct node *n)
{
	if (n->flags & NODE_ASYNC && !in_async(c))
		code_fault(c, n, "'async for' outside async function");
	store(c, n->loop.target);
	load(c, n->loop.iter);
	body_in(c, n, n->loop.body, INNER_LOOP);
	body(c, n->loop.orelse);
}

/* Each item's block is within that of the one before. */
static void with(struct check *c, struct node *n, uint32_t item)
{
	if (item == n->with.items.n)
		return body(c, n->with.body);
	struct node *x = n->with.items.v[item];
	load(c, x->two.a);
	struct inner in = inside(c, n, INNER_OTHER);
	c->block->in = &in;
	if (x->two.b)
		store(c, x->two.b);
	with(c, n, item + 1);
	c->block->in = in.up;
}

static void handlers(struct check *c, struct node *n)
{
	struct seq s = n->try.handlers;
	struct inner in = inside(c, n, n->flags & NODE_STAR ? INNER_STAR : INNER_OTHER);
	c->block->in = &in;
	for (uint32_t i = 0; i < s.n; i++) {
		struct node *h = s.v[i];
		if (!h->handler.type && i + 1 < s.n)
			code_fault(c, h, "default 'except:' must be last");
		load_opt(c, h->handler.type);
		if (h->handler.name)
			bind_name(c, h, h->handler.name);
		body_in(c, h, h->handler.body, INNER_OTHER);
	}
	c->block->in = in.up;
}

static void try_parts(struct check *c, struct node *n)
{
	if (!n->try.handlers.n)
		return body(c, n->try.body);
	body_in(c, n, n->try.body, INNER_OTHER);
	body(c, n->try.orelse);
	handlers(c, n);
}

static void try(struct check *c, struct node *n)
{
	if (!n->try.final.n)
		return try_parts(c, n);
	struct inner in = inside(c, n, INNER_OTHER);
	c->block->in = &in;
	try_parts(c, n);
	body(c, n->try.final);
	c->block->in = in.up;
}

/* break, continue, return: none may leave an 'except*' block. */
static void jump(struct check *c, struct node *n)
{
	const struct inner *in = c->block->in;
	while (in && in->kind != INNER_STAR && (n->kind == S_RETURN || in->kind != INNER_LOOP))
		in = in->up;
	if (in && in->kind == INNER_STAR)
		code_fault(
			c, n, "'break', 'continue' and 'return' cannot appear in an except* block");
	else if (!in && n->kind == S_BREAK)
		code_fault(c, n, "'break' outside loop");
	else if (!in && n->kind == S_CONTINUE)
		code_fault(c, n, "'continue' not properly in loop");
}

static void return_(struct check *c, struct node *n)
{
	if (c->block->kind != IN_FUNCTION)
		code_fault(c, n, "'return' outside function");
	if (n->one && !c->block->returns)
		c->block->returns = n;
	load_opt(c, n->one);
	jump(c, n);
}

static void annotated(struct check *c, struct node *n)
{
	struct node *target = n->three.a;
	bool simple = n->flags & NODE_SIMPLE;
	if (target->kind == E_NAME) {
		struct sym_mark *m = mark_in(c, target->name, c->block);
		if (m->flags & (IS_GLOBAL | IS_NONLOCAL) && c->block->kind != IN_MODULE && simple)
			fault(&c->names, n,
				m->flags & IS_GLOBAL ? "annotated name can't be global"
						     : "annotated name can't be nonlocal");
		if (simple || n->three.c)
			m->flags |= simple ? IS_ANNOTATED | IS_LOCAL : IS_LOCAL;
		no_debug(c, target, target->name);
	} else {
		store(c, target);
	}
	annotation(c, n->three.b, !in_function(c));
	load_opt(c, n->three.c);
}

static void function(struct check *c, struct node *n)
{
	struct seq s = n->func.params;
	bind_name(c, n, n->func.name);
	defaults(c, s);
	for (uint32_t i = 0; i < s.n; i++)
		annotation(c, s.v[i]->param.annotation, true);
	annotation(c, n->func.returns, true);
	load_all(c, n->func.decorators);
	struct block b = enter(c, IN_FUNCTION);
	b.async = n->flags & NODE_ASYNC;
	c->block = &b;
	params(c, s);
	body(c, n->func.body);
	leave(c);
}

static void class(struct check *c, struct node *n)
{
	bind_name(c, n, n->cls.name);
	load_starrable(c, n->cls.args);
	if (n->cls.keywords.n)
		keywords(c, n->cls.keywords);
	load_all(c, n->cls.decorators);
	struct block b = enter(c, IN_CLASS);
	c->block = &b;
	body(c, n->cls.body);
	leave(c);
}

/* What 'import a.b' binds. */
static struct sym *import_binds(struct check *c, const struct node *alias)
{
	struct sym *name = alias->alias.as ? alias->alias.as : alias->alias.name;
	size_t n = strcspn(name->s, ".");
	return name->s[n] ? sym_intern(c->syms, name->s, n) : name;
}

static void import(struct check *c, struct node *n)
{
	bool from = n->kind == S_IMPORTFROM;
	if (from && n->import.module && is_known(c, n->import.module, SYM___future__) &&
		n->line > c->future_line)
		code_fault(c, n, "from __future__ imports must occur at the beginning of the file");
	for (uint32_t i = 0; i < n->import.names.n; i++) {
		struct node *x = n->import.names.v[i];
		if (from && x->alias.name->s[0] == '*') {
			if (c->block->kind != IN_MODULE)
				fault(&c->names, x, "import * only allowed at module level");
			continue;
		}
		struct sym *name = import_binds(c, x);
		add(c, x, name, IS_IMPORT);
		no_debug(c, x, name);
	}
}

static void compound(struct check *c, struct node *n)
{
	switch (n->kind) {
	case S_IF:
		load(c, n->cond.test);
		body(c, n->cond.body);
		return body(c, n->cond.orelse);
	case S_WHILE:
		load(c, n->cond.test);
		body_in(c, n, n->cond.body, INNER_LOOP);
		return body(c, n->cond.orelse);
	case S_FOR:
		return loop(c, n);
	case S_WITH:
		if (n->flags & NODE_ASYNC && !in_async(c))
			code_fault(c, n, "'async with' outside async function");
		return with(c, n, 0);
	case S_TRY:
		return try(c, n);
	case S_MATCH:
		return match(c, n);
	case S_FUNC:
		return function(c, n);
	case S_CLASS:
		return class(c, n);
	default: /* a type alias: its own scopes, its own rules; see PEP 695 */
		return bind_name(c, n, n->alias_stmt.name);
	}
}

static void statement(struct check *c, struct node *n)
{
	switch (n->kind) {
	case S_ASSIGN:
		for (uint32_t i = 0; i < n->assign.targets.n; i++)
			store(c, n->assign.targets.v[i]);
		return load(c, n->assign.value);
	case S_AUGASSIGN:
		store(c, n->two.a);
		return load(c, n->two.b);
	case S_ANNASSIGN:
		return annotated(c, n);
	case S_RETURN:
		return return_(c, n);
	case S_BREAK:
	case S_CONTINUE:
		return jump(c, n);
	case S_GLOBAL:
	case S_NONLOCAL:
		return declare(c, n);
	case S_DELETE:
		for (uint32_t i = 0; i < n->list.n; i++)
			delete (c, n->list.v[i]);
		return;
	case S_IMPORT:
	case S_IMPORTFROM:
		return import(c, n);
	case S_EXPR:
	case S_RAISE:
	case S_ASSERT:
	case S_PASS:
		return ast_each(n, load_child, c);
	default:
		compound(c, n);
	}
}

static void body(struct check *c, struct seq statements)
{
	for (uint32_t i = 0; i < statements.n; i++)
		statement(c, statements.v[i]);
}

struct compile_fault compile_check(struct symtab *syms, struct seq statements)
{
	struct check c = {.syms = syms, .arena = syms->arena};
	struct compile_fault first = {0};
	struct block module = enter(&c, IN_MODULE);
	future(&c, statements, &first);
	c.block = &module;
	body(&c, statements);
	leave(&c);
	if (!first.message)
		first = c.names.message ? c.names : c.scopes.message ? c.scopes : c.code;
	return first;
}

#include "scan/sema.h"

#include <string.h>

/*
 * What is more than this is not told apart from what cannot be known: values of one key, bytes of
 * one value, steps from a name to its literals.
 */
#define MAX_VALUES 512
#define MAX_BYTES 1024
#define MAX_DEPTH 100
/*
 * Expressions inside one another, those that names lead to included: a hundred names for the ends
 * of deep expressions would otherwise need a hundred times the stack that one of them does.
 */
#define MAX_NESTING 3000

/* Where an expression is evaluated. */
struct at {
	struct scan *s;
	struct scope *scope;
	struct loop *loop;
	int depth, nesting;
};

static struct texts values(struct at *at, struct node *n);

static struct texts unknown(void)
{
	return (struct texts){.unknown = true};
}

static struct texts single(struct at *at, const char *s, uint32_t n)
{
	struct texts t = {.unknown = n > MAX_BYTES};
	VEC_GROW(&at->s->arena, t.of);
	t.of.v[t.of.n++] = (struct text){s, n};
	return t;
}

static void add_text(struct at *at, struct texts *t, struct text x)
{
	for (size_t i = 0; i < t->of.n; i++)
		if (t->of.v[i].n == x.n && memcmp(t->of.v[i].s, x.s, x.n) == 0)
			return;
	if (t->of.n == MAX_VALUES) {
		t->unknown = true;
		return;
	}
	VEC_GROW(&at->s->arena, t->of);
	t->of.v[t->of.n++] = x;
}

/* Adds what n may be to t. */
static void add(struct at *at, struct texts *t, struct node *n)
{
	if (t->unknown)
		return;
	struct texts more = values(at, n);
	t->unknown |= more.unknown;
	for (size_t i = 0; i < more.of.n && !t->unknown; i++)
		add_text(at, t, more.of.v[i]);
}

static struct text join(struct at *at, struct text a, struct text b)
{
	char *s = arena_alloc(&at->s->arena, (size_t)a.n + b.n + 1);
	memcpy(s, a.s, a.n);
	memcpy(s + a.n, b.s, b.n);
	return (struct text){s, a.n + b.n};
}

/* Every a with every b behind it. */
static struct texts product(struct at *at, struct texts a, struct texts b)
{
	struct texts t = {.unknown = a.unknown || b.unknown};
	if (a.of.n * b.of.n > MAX_VALUES)
		t.unknown = true;
	for (size_t i = 0; i < a.of.n && !t.unknown; i++)
		for (size_t k = 0; k < b.of.n && !t.unknown; k++) {
			if (a.of.v[i].n + b.of.v[k].n > MAX_BYTES)
				t.unknown = true;
			else
				add_text(at, &t, join(at, a.of.v[i], b.of.v[k]));
		}
	return t;
}

static struct texts formatted(struct at *at, struct node *n)
{
	struct texts t = single(at, "", 0);
	if (n->flags & NODE_TEMPLATE)
		return unknown();
	for (uint32_t i = 0; i < n->list.n && !t.unknown; i++) {
		struct node *part = n->list.v[i];
		if (part->kind == E_FORMATTED) {
			if (part->fmt.spec || (part->op && part->op != 's'))
				return unknown();
			part = part->fmt.value;
		}
		t = product(at, t, values(at, part));
	}
	return t;
}

/* What a loop goes over: nodes, and where they are evaluated. */
struct elements {
	struct seq keys, values; /* values of a dict display only */
	struct at at;
	bool known;
};

struct binding *key_only(const struct var *v)
{
	return v && v->count == 1 ? v->bindings : NULL;
}

/*
 * The variable that an expression names: by itself, as a member of a module of the directory, or
 * imported from one. Follows imports to where it is bound to something else. NULL if that is not
 * clear.
 */
static struct var *named_var(struct at *at, struct node *n)
{
	struct scan *s = at->s;
	struct var *v = NULL;
	if (n->kind == E_NAME) {
		v = n->op == NAME_FIXED ? n->var : scope_lookup(s, at->scope, n->name);
	} else if (n->kind == E_ATTR) {
		struct val m = value_of(s, n->attr.value, at->scope, at->loop);
		if (m.n == 1 && !m.bits && m.v[0].kind == ITEM_MODULE && !n->attr.name->dot_stored)
			v = scope_member(s, m.v[0].module, n->attr.name);
	}
	for (int i = 0; v && i < MAX_DEPTH; i++) {
		struct binding *b = key_only(v);
		if (v->scope && v->scope->open)
			return NULL;
		if (!b || b->kind != BIND_IMPORT)
			return v;
		if (b->stmt->kind != S_IMPORTFROM || b->found->where != IMPORT_INSIDE)
			return NULL;
		v = scope_member(s, b->found->module, b->node->alias.name);
	}
	return NULL;
}

static struct var *class_var(struct at *at, struct node *n);

static bool keeps_class(struct scan *s, struct node *n, struct scope *scope)
{
	if (n->kind == E_CALL)
		n = n->call.func;
	return value_of(s, n, scope, NULL).bits & VAL_KEEPS_CLASS;
}

/* Or decorators, which may give another class. */
static bool has_bases(struct scan *s, const struct binding *b)
{
	struct seq args = b->node->cls.args, decorators = b->node->cls.decorators;
	for (uint32_t i = 0; i < decorators.n; i++)
		if (!keeps_class(s, decorators.v[i], b->scope))
			return true;

	return b->node->cls.keywords.n || args.n > 1 ||
	       (args.n && !scope_is_builtin(s, b->scope, args.v[0], SYM_object));
}

/* Cls in Cls.ATTR: a class without bases that nothing else is named. */
static struct node *named_class(struct at *at, struct node *n)
{
	struct var *v = at->nesting < MAX_NESTING ? class_var(at, n) : NULL;
	struct binding *b = key_only(v ? v : named_var(at, n));
	return b && b->kind == BIND_CLASS && !has_bases(at->s, b) ? b->node : NULL;
}

/* The variable in Cls.ATTR; NULL if n is no such thing or the attribute is stored to. */
static struct var *class_var(struct at *at, struct node *n)
{
	if (n->kind != E_ATTR || n->attr.name->dot_stored)
		return NULL;
	at->nesting++;
	struct node *cls = named_class(at, n->attr.value);
	at->nesting--;
	return cls && !cls->cls.scope->open ? scope_own(cls->cls.scope, n->attr.name) : NULL;
}

static struct elements elements(struct at *at, struct node *n);

/*
 * Whether a container that a variable is bound to may be changed by another name, or by what it is
 * passed to. That is only looked for once a key depends on it: in two more walks.
 */
static bool may_change(struct scan *s, const struct var *v)
{
	s->container_asked = true;
	return v->flags & VAR_PASSED;
}

/* The display that a name stands for, if nothing changes it in place. */
static struct elements named_elements(struct at *at, struct node *n)
{
	struct var *v = n->kind == E_NAME ? named_var(at, n) : class_var(at, n);
	if (!v && n->kind == E_ATTR)
		v = named_var(at, n);
	struct binding *b = key_only(v);
	const struct sym *name = n->kind == E_ATTR ? n->attr.name : v ? v->sym : NULL;
	if (!b || b->kind != BIND_VALUE || v->sym->mutated || name->mutated ||
		at->depth >= MAX_DEPTH)
		return (struct elements){0};
	if (n->kind == E_NAME && n->op == NAME_PLAIN && n->name->mutated)
		return (struct elements){0};
	if (b->node->kind != E_TUPLE && may_change(at->s, v))
		return (struct elements){0};
	struct at there = {at->s, b->scope, b->loop, at->depth + 1, at->nesting};
	return elements(&there, b->node);
}

static bool has_star(struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!s.v[i] || s.v[i]->kind == E_STARRED)
			return true;
	return false;
}

static struct elements elements(struct at *at, struct node *n)
{
	struct elements e = {.at = *at};
	switch (n->kind) {
	case E_TUPLE:
	case E_LIST:
	case E_SET:
		e.keys = n->list;
		break;
	case E_DICT:
		e.keys = n->dict.keys;
		e.values = n->dict.values;
		break;
	case E_NAME:
	case E_ATTR:
		return named_elements(at, n);
	default:
		return e;
	}
	e.known = !has_star(e.keys) && e.keys.n <= MAX_VALUES;
	return e;
}

/* Adds what the path leads to in one element. */
static void add_at_path(struct at *at, struct texts *t, struct node *n, const struct path *path)
{
	for (; path; path = path->next) {
		if ((n->kind != E_TUPLE && n->kind != E_LIST) || n->list.n != path->count ||
			has_star(n->list)) {
			t->unknown = true;
			return;
		}
		n = n->list.v[path->index];
	}
	add(at, t, n);
}

enum view { VIEW_SELF, VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS };

/* The dict behind .keys(), .values() or .items(). */
static enum view split_view(struct node **n)
{
	struct node *f = (*n)->kind == E_CALL ? (*n)->call.func : NULL;
	if (!f || f->kind != E_ATTR || (*n)->call.args.n || (*n)->call.keywords.n)
		return VIEW_SELF;
	enum view view = f->attr.name->known == SYM_keys     ? VIEW_KEYS
			 : f->attr.name->known == SYM_values ? VIEW_VALUES
			 : f->attr.name->known == SYM_items  ? VIEW_ITEMS
							     : VIEW_SELF;
	if (view != VIEW_SELF)
		*n = f->attr.value;
	return view;
}

/* What a loop's target gets. */
static struct texts loop_values(struct at *from, const struct binding *b)
{
	struct at at = {from->s, b->scope, b->loop, from->depth + 1, from->nesting};
	struct node *iter = b->node;
	enum view view = split_view(&iter);
	struct elements e = elements(&at, iter);
	const struct path *path = b->path;
	struct texts t = {.unknown = !e.known || at.depth >= MAX_DEPTH};
	struct seq of = view == VIEW_VALUES ? e.values : e.keys;
	if (view != VIEW_SELF && !e.values.v && e.keys.n)
		return unknown();
	if (view == VIEW_ITEMS) {
		if (!path || path->count != 2)
			return unknown();
		of = path->index ? e.values : e.keys;
		path = path->next;
	}
	for (uint32_t i = 0; i < of.n && !t.unknown; i++)
		add_at_path(&e.at, &t, of.v[i], path);
	return t;
}

static struct texts fresh_values(struct at *from, const struct binding *b)
{
	if (b->kind == BIND_FOR)
		return loop_values(from, b);
	if (b->kind != BIND_VALUE || from->depth >= MAX_DEPTH)
		return unknown();
	struct at at = {from->s, b->scope, b->loop, from->depth + 1, from->nesting};
	return values(&at, b->node);
}

/* Kept: loops over one another's variables would need time exponential in their number. */
static struct texts binding_values(struct at *from, struct binding *b)
{
	if (b->keys_epoch != from->s->epoch) {
		b->keys_state = KEYS_NEW;
		b->keys_epoch = from->s->epoch;
	}
	if (b->keys_state == KEYS_BUSY)
		return unknown();
	if (b->keys_state == KEYS_NEW) {
		b->keys_state = KEYS_BUSY;
		struct texts t = fresh_values(from, b);
		b->keys = arena_alloc(&from->s->arena, sizeof(t));
		*b->keys = t;
		b->keys_state = KEYS_DONE;
	}
	return *b->keys;
}

/* Whether code in a scope may run when what is around it, in an outer one, is over. */
static bool runs_later(const struct scope *scope, const struct scope *outer)
{
	for (; scope && scope != outer; scope = scope->up)
		if (scope->kind == SCOPE_FUNCTION ||
			(scope->kind == SCOPE_COMPREHENSION && scope->node->kind == E_GENEXP))
			return true;
	return false;
}

/*
 * A variable with several bindings is known inside the body of a loop that sets it, if that body
 * does not set it again.
 */
static struct texts loop_var_values(struct at *at, const struct var *v)
{
	if (runs_later(at->scope, v->scope))
		return unknown();
	for (struct loop *loop = at->loop; loop; loop = loop->up) {
		struct binding *own = NULL;
		bool again = false;
		for (struct binding *b = v->bindings; b; b = b->next) {
			if (b->kind == BIND_FOR && b->own == loop) {
				again |= own != NULL;
				own = b;
			} else {
				again |= b->number >= loop->first && b->number <= loop->last;
			}
		}
		if (again)
			return unknown();
		if (own)
			return binding_values(at, own);
	}
	return unknown();
}

static struct texts var_values(struct at *at, struct var *v)
{
	struct binding *b = key_only(v);
	if (!v)
		return unknown();
	return b ? binding_values(at, b) : loop_var_values(at, v);
}

static struct texts attr_values(struct at *at, struct node *n)
{
	struct var *v = class_var(at, n);
	return var_values(at, v ? v : named_var(at, n));
}

static struct texts values_within(struct at *at, struct node *n)
{
	struct texts t = {0};
	switch (n->kind) {
	case E_STR:
		return single(at, n->str.s, n->str.n);
	case E_JOINED:
		return formatted(at, n);
	case E_BINOP:
		if (n->op != T_PLUS)
			return unknown();
		return product(at, values(at, n->two.a), values(at, n->two.b));
	case E_IFEXP:
		add(at, &t, n->three.b);
		add(at, &t, n->three.c);
		return t;
	case E_NAMED:
		return values(at, n->two.b);
	case E_NAME:
		return var_values(at, named_var(at, n));
	case E_ATTR:
		return attr_values(at, n);
	default:
		return unknown();
	}
}

static struct texts values(struct at *at, struct node *n)
{
	if (at->nesting >= MAX_NESTING)
		return unknown();
	at->nesting++;
	struct texts t = values_within(at, n);
	at->nesting--;
	return t;
}

struct var *key_named_var(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct at at = {s, scope, loop, 0, 0};
	return named_var(&at, n);
}

struct display key_display(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct at at = {s, scope, loop, 0, 0};
	struct elements e = elements(&at, n);
	return (struct display){e.keys, e.at.scope, e.at.loop, e.known};
}

struct texts key_values(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct at at = {s, scope, loop, 0, 0};
	return values(&at, n);
}

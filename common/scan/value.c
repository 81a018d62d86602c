#include "scan/sema.h"

#include <string.h>

struct val value_merge(struct scan *s, struct val a, struct val b)
{
	struct val r = {a.bits | b.bits, a.n, a.v};
	if (!b.n)
		return r;
	if (!a.n)
		return (struct val){r.bits, b.n, b.v};
	for (uint32_t i = 0; i < b.n; i++) {
		uint32_t k = 0;
		while (k < a.n && memcmp(&a.v[k], &b.v[i], sizeof(*b.v)) != 0)
			k++;
		if (k < a.n)
			continue;
		struct item *v = arena_alloc(&s->arena, (r.n + 1) * sizeof(*v));
		memcpy(v, r.v, r.n * sizeof(*v));
		v[r.n++] = b.v[i];
		r.v = v;
	}
	return r;
}

static struct val bits(uint32_t b)
{
	return (struct val){.bits = b};
}

static struct val of_module(struct module *m)
{
	return (struct val){0, 1, &m->item};
}

uint32_t value_method(const struct sym *name)
{
	switch (name->known) {
	case SYM_get:
		return VAL_GET;
	case SYM_pop:
		return VAL_POP;
	case SYM_setdefault:
		return VAL_SETDEFAULT;
	case SYM___getitem__:
		return VAL_GETITEM;
	case SYM___contains__:
		return VAL_CONTAINS;
	default:
		return 0;
	}
}

/* A module that is not the directory's, by its dotted name; rest is what of it is still to come. */
static struct val outside(struct scan *s, const char *top, size_t n, const char *rest)
{
	static const struct {
		const char *name;
		uint32_t bits;
	} known[] = {
		{"os", VAL_OS},
		{"builtins", VAL_BUILTINS},
		{"operator", VAL_OPERATOR},
		{"_operator", VAL_OPERATOR},
		{"contextlib", VAL_CONTEXTLIB},
		{"importlib", VAL_IMPORTLIB},
		{"sys", VAL_SYS},
		{"functools", VAL_FUNCTOOLS},
		{"collections", VAL_COLLECTIONS},
		{"typing", VAL_TYPING},
		{"dataclasses", VAL_TYPING},
		{"typing_extensions", VAL_TYPING},
	};
	struct val v = {VAL_OUTSIDE, 1, arena_alloc(&s->arena, sizeof(struct item))};
	v.v->kind = ITEM_OUTSIDE;
	v.v->rest = rest;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].name) == n && memcmp(known[i].name, top, n) == 0)
			v.bits |= known[i].bits;
	return v;
}

/* What one of Python's own modules has by that name. */
static struct val member_of_known(struct scan *s, uint32_t module, const struct sym *name)
{
	if (name == s->syms.known[SYM_EV_KEYS])
		return bits(module & (VAL_OUTSIDE | VAL_BUILTINS) ? VAL_DICT : 0);
	if (module & VAL_OS && name->known == SYM_environ)
		return bits(VAL_ENVIRON);
	if (module & VAL_OS && name->known == SYM_getenv)
		return bits(VAL_GETENV);
	if ((module & VAL_OS && name->known == SYM__exit) ||
		(module & VAL_SYS && name->known == SYM_exit))
		return bits(VAL_EXIT);
	if (module & VAL_FUNCTOOLS && (name->known == SYM_cache || name->known == SYM_lru_cache))
		return bits(VAL_CACHE);
	if ((module & VAL_TYPING && (name->known == SYM_final || name->known == SYM_dataclass ||
					    name->known == SYM_runtime_checkable)) ||
		(module & VAL_FUNCTOOLS && name->known == SYM_total_ordering))
		return bits(VAL_KEEPS_CLASS);
	if (module & VAL_COLLECTIONS && name->known == SYM_ChainMap)
		return bits(VAL_CHAINMAP);
	if (module & VAL_OPERATOR && name->known == SYM_attrgetter)
		return bits(VAL_ATTRGETTER);
	if (module & VAL_OPERATOR && name->known == SYM_itemgetter)
		return bits(VAL_ITEMGETTER);
	if (module & VAL_CONTEXTLIB && name->known == SYM_suppress)
		return bits(VAL_SUPPRESS);
	if (module & VAL_IMPORTLIB && name->known == SYM_import_module)
		return bits(VAL_IMPORT_MODULE);
	return bits(0);
}

/* What itemgetter() gave is followed in a variable that has nothing else. */
static struct val without_getters(struct val r)
{
	uint32_t n = 0;
	while (n < r.n && r.v[n].kind != ITEM_GETTER)
		n++;
	return n == r.n ? r : (struct val){r.bits, 0, NULL};
}

static struct val of_var(const struct var *v)
{
	struct val r = v->val;
	if (r.n && v->count != 1)
		r = without_getters(r);

	/* What a class body stores is not followed. */
	if (v->scope && v->scope->kind == SCOPE_CLASS && v->sym->known != SYM_EV_KEYS)
		r.bits &= ~(uint32_t)VAL_OURS;
	return r;
}

static struct val member_of_module(struct scan *s, struct module *m, const struct sym *name)
{
	struct var *v = scope_member(s, m, name);
	if (v)
		return of_var(v);
	struct module *child = module_child(s, m, name->s, name->len);
	return child ? of_module(child) : bits(0);
}

bool value_keys_of_module(struct scan *s, struct val v, struct val *out)
{
	bool known = v.bits & (VAL_OUTSIDE | VAL_BUILTINS);
	*out = bits(known ? VAL_DICT : 0);
	for (uint32_t i = 0; i < v.n; i++) {
		if (v.v[i].kind != ITEM_MODULE)
			continue;
		known = true;
		*out = value_merge(
			s, *out, member_of_module(s, v.v[i].module, s->syms.known[SYM_EV_KEYS]));
	}
	return known;
}

struct val value_of_attr(struct scan *s, struct node *n, struct val base)
{
	struct val r = bits(0);
	uint32_t method = value_method(n->attr.name);
	if (n->flags & NODE_HELD)
		return bits(VAL_DICT);
	if (!base.bits && !base.n)
		return r;
	if (base.bits & VAL_DICT)
		r.bits |= method;
	if (base.bits & VAL_ENVIRON)
		r.bits |= method << VAL_ENV_SHIFT;
	r = value_merge(s, r, member_of_known(s, base.bits, n->attr.name));
	for (uint32_t i = 0; i < base.n; i++) {
		struct item *it = &base.v[i];
		if (it->kind == ITEM_MODULE)
			r = value_merge(s, r, member_of_module(s, it->module, n->attr.name));
		if (it->kind != ITEM_OUTSIDE || !*it->rest)
			continue;
		size_t part = strcspn(it->rest, ".");
		if (part == n->attr.name->len && memcmp(it->rest, n->attr.name->s, part) == 0)
			r = value_merge(
				s, r, outside(s, "", 0, it->rest + part + (it->rest[part] == '.')));
	}
	return r;
}

bool value_is_keys_name(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	if (n->kind == E_STR)
		return n->str.n == 7 && memcmp(n->str.s, "EV_KEYS", 7) == 0;
	if (n->kind == E_CONST || n->kind == E_SLICE)
		return false;
	struct texts t = key_values(s, n, scope, loop);
	return !t.unknown && t.of.n == 1 && t.of.v[0].n == 7 &&
	       memcmp(t.of.v[0].s, "EV_KEYS", 7) == 0;
}

bool value_is_globals(struct scan *s, struct node *n, struct scope *scope)
{
	return n->kind == E_CALL && !n->call.args.n && !n->call.keywords.n &&
	       scope_is_builtin(s, scope, n->call.func, SYM_globals);
}

bool value_globals_have_keys(struct scan *s, const struct scope *scope)
{
	struct var *v = scope_own(scope->file->scope, s->syms.known[SYM_EV_KEYS]);
	return v && v->count;
}

/* globals()['EV_KEYS'] is there where the module itself binds it. */
static struct val of_globals(struct scan *s, const struct scope *scope)
{
	return value_globals_have_keys(s, scope) ? of_var(scope->file->scope->keys_final) : bits(0);
}

struct val value_of_subscript(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct node *base = n->sub.value;

	if (value_is_globals(s, base, scope) && value_is_keys_name(s, n->sub.index, scope, loop))
		return of_globals(s, scope);
	if (!scope_is_builtin(s, scope, base, SYM___builtins__))
		return bits(0);
	return bits(value_is_keys_name(s, n->sub.index, scope, loop) ? VAL_DICT : 0);
}

static struct val value_of_getattr(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct val r = bits(0);
	struct seq args = n->call.args;

	if (args.n < 2 || args.n > 3 || !value_is_keys_name(s, args.v[1], scope, loop))
		return r;
	value_keys_of_module(s, value_of(s, args.v[0], scope, loop), &r);
	return r;
}

struct val value_of_call(
	struct scan *s, struct node *n, struct val func, struct scope *scope, struct loop *loop)
{
	struct node *f = n->call.func;

	if (f->kind == E_NAME && scope_is_builtin(s, scope, f, SYM_getattr))
		return value_of_getattr(s, n, scope, loop);
	if (f->kind == E_ATTR && f->attr.name->known == SYM_get &&
		value_is_globals(s, f->attr.value, scope) && n->call.args.n >= 1 &&
		n->call.args.n <= 2 && !n->call.keywords.n)
		return value_is_keys_name(s, n->call.args.v[0], scope, loop) ? of_globals(s, scope)
									     : bits(0);
	if (!(func.bits & VAL_ITEMGETTER))
		return bits(0);
	struct val r = {0, 1, arena_alloc(&s->arena, sizeof(struct item))};
	r.v->kind = ITEM_GETTER;
	r.v->getter.call = n;
	r.v->getter.scope = scope;
	r.v->getter.loop = loop;
	return r;
}

struct val value_of_name(struct scan *s, struct node *n, struct scope *scope, struct var **var)
{
	struct var *v = n->op == NAME_FIXED ? n->var : scope_lookup(s, scope, n->name);
	*var = v;
	if (v)
		return of_var(v);
	if (n->name->known == SYM___builtins__)
		return bits(VAL_BUILTINS);
	struct val r = bits(0);
	for (struct star *star = scope->file->scope->stars; star; star = star->next) {
		if (star->module || n->name->s[0] == '_')
			continue;
		struct val m = outside(s, star->outside->s, star->outside->len, "");
		if (n->name->known != SYM_EV_KEYS)
			r = value_merge(s, r, member_of_known(s, m.bits, n->name));
	}
	return r;
}

struct val value_of(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct val r = bits(0);
	struct var *v;
	switch (n->kind) {
	case E_NAME:
		return value_of_name(s, n, scope, &v);
	case E_ATTR:
		return value_of_attr(s, n, value_of(s, n->attr.value, scope, loop));
	case E_SUBSCRIPT:
		return value_of_subscript(s, n, scope, loop);
	case E_CALL:
		return value_of_call(s, n, value_of(s, n->call.func, scope, loop), scope, loop);
	case E_NAMED:
		return value_of(s, n->two.b, scope, loop);
	case E_IFEXP:
		return value_merge(s, value_of(s, n->three.b, scope, loop),
			value_of(s, n->three.c, scope, loop));
	case E_AND:
	case E_OR:
		for (uint32_t i = 0; i < n->list.n; i++)
			r = value_merge(s, r, value_of(s, n->list.v[i], scope, loop));
		return r;
	default:
		return r;
	}
}

/* import a.b.c [as x]: x is a.b.c, a is a */
static struct val imported_module(struct scan *s, const struct binding *b)
{
	const struct import_found *f = b->found;
	const char *name = b->node->alias.name->s;
	if (f->where == IMPORT_OUTSIDE) {
		size_t n = strcspn(name, ".");
		if (!b->node->alias.as)
			return outside(s, name, n, name + n + (name[n] == '.'));
		return outside(s, name, strlen(name), "");
	}
	struct module *m = b->node->alias.as ? f->module : f->top;
	return m ? of_module(m) : bits(0);
}

static struct val imported_member(struct scan *s, const struct binding *b)
{
	const struct import_found *f = b->found;
	struct sym *name = b->node->alias.name;
	if (f->where == IMPORT_OUTSIDE)
		return member_of_known(s, outside(s, f->name, strlen(f->name), "").bits, name);
	if (!f->module)
		return bits(0);
	/* 'from . import a' in p/__init__.py makes the very variable that is looked for: p.a */
	struct module *child = f->module->file && f->module->file == b->scope->file
				       ? module_child(s, f->module, name->s, name->len)
				       : NULL;
	return child ? of_module(child) : member_of_module(s, f->module, name);
}

static struct val value_of_binding(struct scan *s, const struct binding *b)
{
	switch (b->kind) {
	case BIND_VALUE:
	case BIND_DEFAULT:
		return value_of(s, b->node, b->scope, b->loop);
	case BIND_IMPORT:
		return b->stmt->kind == S_IMPORT ? imported_module(s, b) : imported_member(s, b);
	case BIND_STAR: {
		struct module *m = b->found->module;
		struct var *v = scope_member(s, m, s->syms.known[SYM_EV_KEYS]);
		/* after a 'del' there is nothing to import */
		if (!v || (m->file->scope->keys_final == &s->keys_builtin && !v->val.bits))
			return b->before->val;
		return v->val;
	}
	default:
		return bits(0);
	}
}

static bool settle_one(struct scan *s, struct work *w)
{
	struct val v = value_of_binding(s, w->binding);
	if (!v.bits && !v.n)
		return false;
	struct val m = value_merge(s, w->var->val, v);
	bool changed = m.bits != w->var->val.bits || m.n != w->var->val.n;
	w->var->val = m;
	return changed;
}

/*
 * Bindings refer to one another in any order, across files too; so all are evaluated, to and fro,
 * until nothing changes. Values only grow. Real code needs three rounds; code that was written to
 * need one for each of its names is refused.
 */
#define MAX_ROUNDS 100

void value_settle(struct scan *s)
{
	bool changed = true;
	for (int round = 0; changed; round++) {
		changed = false;
		if (round == MAX_ROUNDS)
			fail_jump(s->arena.fail, FAIL_LIMIT);
		for (size_t i = 0; i < s->work.n; i++)
			changed |= settle_one(s, &s->work.v[round % 2 ? s->work.n - 1 - i : i]);
	}
}

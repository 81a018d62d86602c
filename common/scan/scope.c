#include "scan/sema.h"

#include <string.h>

/* Where the walk through a file is. */
struct walk {
	struct scan *s;
	struct scan_file *file;
	struct scope *scope;
	struct loop *loop;
	/* EV_KEYS as the text directly in the module, or in the class at hand, sees it now */
	struct var *module_keys, *class_keys;
	bool direct;  /* the statement is directly in a module or class body */
	bool shadows; /* and binds names in a way that shadows */
};

static void walk(struct walk *w, struct node *n);
static void walk_body(struct walk *w, struct seq body, bool direct);

static void walk_child(struct node *n, void *arg)
{
	walk(arg, n);
}

static void walk_all(struct walk *w, struct seq s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (s.v[i])
			walk(w, s.v[i]);
}

static struct scope *new_scope(struct walk *w, enum scope_kind kind, struct node *node)
{
	struct scope *sc = arena_alloc(&w->s->arena, sizeof(*sc));
	sc->kind = kind;
	sc->up = w->scope;
	sc->node = node;
	sc->file = w->file;
	sc->id = w->s->nscopes++;
	return sc;
}

/* The table of variables */

static uint32_t var_hash(const struct scope *scope, const struct sym *name)
{
	return (name->hash ^ scope->id * 0x9e3779b1u) * 0x85ebca6bu;
}

static void grow_table(struct scan *s, struct scan_file *f)
{
	uint32_t slots = f->slots ? 2 * f->slots : 64;
	struct var_slot *slot = arena_alloc(&s->arena, slots * sizeof(*slot));
	for (uint32_t i = 0; i < f->slots; i++) {
		if (!f->slot[i].var)
			continue;
		uint32_t at = f->slot[i].hash & (slots - 1);
		while (slot[at].var)
			at = (at + 1) & (slots - 1);
		slot[at] = f->slot[i];
	}
	f->slot = slot;
	f->slots = slots;
}

struct var *scope_own(const struct scope *scope, const struct sym *name)
{
	const struct scan_file *f = scope->file;
	/* Most names are those of builtins and attributes, or of one variable. */
	if (!name->many || !f->slots)
		return name->only && name->only->scope == scope ? name->only : NULL;
	uint32_t hash = var_hash(scope, name);
	for (uint32_t at = hash & (f->slots - 1);; at = (at + 1) & (f->slots - 1)) {
		struct var *v = f->slot[at].var;
		if (!v)
			return NULL;
		if (f->slot[at].hash == hash && v->scope == scope && v->sym == name)
			return v;
	}
}

static struct var *declare(struct scan *s, struct scope *scope, struct sym *name)
{
	struct scan_file *f = scope->file;
	struct var *v = scope_own(scope, name);
	if (v)
		return v;
	if (f->nvars * 2 >= f->slots)
		grow_table(s, f);
	uint32_t hash = var_hash(scope, name), at = hash & (f->slots - 1);
	while (f->slot[at].var)
		at = (at + 1) & (f->slots - 1);
	v = arena_alloc(&s->arena, sizeof(*v));
	v->sym = name;
	v->scope = scope;
	f->slot[at] = (struct var_slot){hash, v};
	f->nvars++;
	name->many = name->only;
	name->only = name->only ? name->only : v;
	return v;
}

static bool is_keys(const struct walk *w, const struct sym *name)
{
	return name == w->s->syms.known[SYM_EV_KEYS];
}

/* The scope that a name bound in scope belongs to. */
static struct scope *home(struct walk *w, struct scope *scope, const struct sym *name)
{
	struct var *own = scope_own(scope, name);
	if (!own || !(own->flags & (VAR_GLOBAL | VAR_NONLOCAL)))
		return scope;
	if (own->flags & VAR_GLOBAL)
		return w->file->scope;
	struct scope *nearest = NULL;
	for (struct scope *sc = scope->up; sc; sc = sc->up) {
		if (sc->kind != SCOPE_FUNCTION)
			continue;
		own = scope_own(sc, name);
		if (own && !(own->flags & VAR_NONLOCAL))
			return sc;
		nearest = nearest ? nearest : sc;
	}
	return nearest ? nearest : scope;
}

/* Whether a binding's value is worth a look: most are nothing that evctl-reads(7) speaks of. */
static bool is_promising(const struct binding *b)
{
	if (b->kind == BIND_IMPORT || b->kind == BIND_STAR)
		return true;
	if (b->kind != BIND_VALUE && b->kind != BIND_DEFAULT)
		return false;
	switch (b->node->kind) {
	case E_NAME:
	case E_ATTR:
	case E_SUBSCRIPT:
	case E_CALL:
	case E_AND:
	case E_OR:
	case E_IFEXP:
	case E_NAMED:
		return true;
	default:
		return false;
	}
}

static void attach(struct scan *s, struct var *v, const struct binding *b)
{
	struct binding *copy = arena_alloc(&s->arena, sizeof(*copy));
	*copy = *b;
	copy->next = v->bindings;
	v->bindings = copy;
	v->count++;
	if (!is_promising(copy))
		return;
	VEC_GROW(&s->arena, s->work);
	s->work.v[s->work.n++] = (struct work){v, copy};
}

void scope_bind_more(struct scan *s, struct scope *scope, struct sym *name, const struct binding *b)
{
	attach(s, declare(s, scope, name), b);
}

static void note_stored(struct walk *w, struct node *n, struct node *value)
{
	VEC_GROW(&w->s->arena, w->s->stored);
	w->s->stored.v[w->s->stored.n++] = (struct stored){n, value, w->scope, w->loop};
}

/* m.x = ...: binds in m if that is a module. */
static void note_attr_stored(struct walk *w, struct node *t, struct node *value)
{
	struct node *base = t->attr.value;
	if (base->kind != E_NAME || base->op != NAME_PLAIN)
		return;
	struct var *v = scope_own(w->scope, base->name);
	if (!v)
		v = scope_own(w->file->scope, base->name);
	if (v && v->bindings && v->bindings->kind == BIND_IMPORT)
		note_stored(w, t, value);
}

/* From here on, the text directly in this body means something else by EV_KEYS. */
static void new_keys(struct walk *w, const struct binding *b)
{
	struct var *v = arena_alloc(&w->s->arena, sizeof(*v));
	v->sym = w->s->syms.known[SYM_EV_KEYS];
	v->scope = w->scope;
	attach(w->s, v, b);
	if (w->scope->kind == SCOPE_CLASS)
		w->class_keys = v;
	else
		w->module_keys = v;
}

static void bind(struct walk *w, struct sym *name, struct binding b)
{
	struct scope *scope = w->scope;
	/* ':=' in a comprehension binds around it */
	while (b.kind == BIND_VALUE && scope->kind == SCOPE_COMPREHENSION)
		scope = scope->up;
	struct scope *to = home(w, scope, name);
	b.number = ++w->s->nbindings;
	b.loop = w->loop;
	if (is_keys(w, name)) {
		if (w->shadows && to == w->scope)
			new_keys(w, &b);
		/* A class's own EV_KEYS is seen by the text behind it only. */
		if (to->kind == SCOPE_CLASS)
			return;
	}
	attach(w->s, declare(w->s, to, name), &b);
}

static void bind_other(struct walk *w, struct sym *name)
{
	bind(w, name, (struct binding){.kind = BIND_OTHER, .scope = w->scope});
}

static void bind_value(struct walk *w, struct sym *name, struct node *value)
{
	if (value->kind == E_LAMBDA)
		value->lambda.scope->name = name;
	bind(w, name, (struct binding){.kind = BIND_VALUE, .node = value, .scope = w->scope});
}

static void mark_mutated(struct node *n)
{
	if (n->kind == E_NAME && n->op == NAME_PLAIN)
		n->name->mutated = true;
	if (n->kind == E_ATTR)
		n->attr.name->mutated = true;
}

static bool is_display(const struct node *n)
{
	return n->kind == E_TUPLE || n->kind == E_LIST;
}

/* Whether a target's parts and a value's match one to one. */
bool scope_unpacks(const struct node *target, const struct node *value)
{
	if (!is_display(target) || !is_display(value) || target->list.n != value->list.n)
		return false;
	for (uint32_t i = 0; i < target->list.n; i++)
		if (target->list.v[i]->kind == E_STARRED || value->list.v[i]->kind == E_STARRED)
			return false;
	return true;
}

/* What a target gets: a value, an element of what a loop goes over, or something unknown. */
struct assigned {
	struct node *value, *iter;
	struct scope *scope; /* of iter */
	struct loop *own;
	struct path *path;
	bool starred;
};

static void bind_target(struct walk *w, struct node *t, const struct assigned *from);

static void bind_name(struct walk *w, struct node *t, const struct assigned *from)
{
	if (from->value)
		bind_value(w, t->name, from->value);
	else if (from->iter && !from->starred)
		bind(w, t->name,
			(struct binding){.kind = BIND_FOR,
				.node = from->iter,
				.scope = from->scope,
				.own = from->own,
				.path = from->path});
	else
		bind_other(w, t->name);
}

static struct path *path_to(struct walk *w, struct path *outer, uint32_t index, uint32_t count)
{
	struct path *p = arena_alloc(&w->s->arena, sizeof(*p)), **end = &p;
	/* Paths are read from the outside in, and short. */
	for (; outer; outer = outer->next) {
		**end = *outer;
		end = &(*end)->next;
		*end = arena_alloc(&w->s->arena, sizeof(*p));
	}
	**end = (struct path){index, count, NULL};
	return p;
}

static void bind_parts(struct walk *w, struct node *t, const struct assigned *from)
{
	bool pairs = from->value && scope_unpacks(t, from->value);
	struct assigned part = {.iter = from->iter, .scope = from->scope, .own = from->own};
	part.starred = from->starred;
	for (uint32_t i = 0; i < t->list.n; i++)
		part.starred |= t->list.v[i]->kind == E_STARRED;
	for (uint32_t i = 0; i < t->list.n; i++) {
		part.value = pairs ? from->value->list.v[i] : NULL;
		if (part.iter)
			part.path = path_to(w, from->path, i, t->list.n);
		bind_target(w, t->list.v[i], &part);
	}
}

static void bind_target(struct walk *w, struct node *t, const struct assigned *from)
{
	switch (t->kind) {
	case E_NAME:
		bind_name(w, t, from);
		break;
	case E_ATTR:
		t->attr.name->dot_stored = true;
		note_attr_stored(w, t, from->value);
		walk(w, t->attr.value);
		break;
	case E_SUBSCRIPT:
		if (t->sub.value->kind == E_CALL)
			note_stored(w, t, NULL);
		mark_mutated(t->sub.value);
		walk(w, t->sub.value);
		walk(w, t->sub.index);
		break;
	case E_TUPLE:
	case E_LIST:
		bind_parts(w, t, from);
		break;
	case E_STARRED:
		bind_target(w, t->one, &(struct assigned){0});
		break;
	default:
		break;
	}
}

/* Expressions */

static struct var *keys_here(struct walk *w)
{
	struct scope *sc = w->scope;
	for (; sc->kind == SCOPE_COMPREHENSION; sc = sc->up)
		if (scope_own(sc, w->s->syms.known[SYM_EV_KEYS]))
			return NULL;
	if (sc->kind == SCOPE_CLASS && sc == w->scope && w->class_keys)
		return w->class_keys;
	while (sc->kind == SCOPE_CLASS || sc->kind == SCOPE_COMPREHENSION)
		sc = sc->up;
	return sc->kind == SCOPE_MODULE ? w->module_keys : NULL;
}

/* Code that runs where it stands sees EV_KEYS as it is there; functions see it by their scopes. */
static void walk_name(struct walk *w, struct node *n)
{
	if (n->op != NAME_PLAIN || !is_keys(w, n->name))
		return;
	struct var *v = keys_here(w);
	if (!v)
		return;
	n->op = NAME_FIXED;
	n->var = v;
}

static void bind_params(struct walk *w, struct seq params, struct scope *outside)
{
	for (uint32_t i = 0; i < params.n; i++) {
		struct node *p = params.v[i];
		if (p->param.value)
			bind(w, p->param.name,
				(struct binding){.kind = BIND_DEFAULT,
					.node = p->param.value,
					.scope = outside});
		else
			bind(w, p->param.name,
				(struct binding){.kind = BIND_PARAM, .scope = outside});
	}
}

static void walk_lambda(struct walk *w, struct node *n)
{
	struct walk in = *w;
	walk_all(w, n->lambda.params);
	n->lambda.scope = in.scope = new_scope(w, SCOPE_FUNCTION, n);
	in.shadows = in.direct = false;
	bind_params(&in, n->lambda.params, w->scope);
	walk(&in, n->lambda.body);
}

static void walk_comprehension(struct walk *w, struct node *n)
{
	struct walk in = *w;
	struct seq clauses = n->comp.clauses;
	n->comp.scope = in.scope = new_scope(w, SCOPE_COMPREHENSION, n);
	in.shadows = in.direct = false;
	for (uint32_t i = 0; i < clauses.n; i++) {
		struct node *c = clauses.v[i];
		struct walk *at = i ? &in : w;
		walk(at, c->clause.iter);
		struct loop *loop = arena_alloc(&w->s->arena, sizeof(*loop));
		struct assigned from = {.iter = c->flags & NODE_ASYNC ? NULL : c->clause.iter,
			.scope = at->scope,
			.own = loop};
		bind_target(&in, c->clause.target, &from);
		*loop = (struct loop){in.loop, w->s->nbindings + 1, UINT32_MAX};
		c->clause.loop = in.loop = loop;
		walk_all(&in, c->clause.ifs);
	}
	walk(&in, n->comp.elt);
	if (n->comp.value)
		walk(&in, n->comp.value);
	for (uint32_t i = 0; i < clauses.n; i++)
		clauses.v[i]->clause.loop->last = w->s->nbindings;
}

static bool mutates(const struct sym *name)
{
	switch (name->known) {
	case SYM_append:
	case SYM_extend:
	case SYM_insert:
	case SYM_remove:
	case SYM_pop:
	case SYM_clear:
	case SYM_sort:
	case SYM_reverse:
	case SYM_add:
	case SYM_discard:
	case SYM_update:
	case SYM_popitem:
	case SYM_setdefault:
	case SYM_difference_update:
	case SYM_intersection_update:
	case SYM_symmetric_difference_update:
	case SYM___setitem__:
	case SYM___delitem__:
		return true;
	default:
		return false;
	}
}

/* What may give up without a value is looked into once all names are bound. */
static void note_demand(struct walk *w, struct node *n)
{
	VEC_GROW(&w->s->arena, w->s->demands);
	w->s->demands.v[w->s->demands.n++] = (struct demand){n, w->scope};
}

static void note_setattr(struct walk *w, struct node *n)
{
	struct node *name = n->call.args.n > 1 ? n->call.args.v[1] : NULL;
	note_stored(w, n, NULL);
	if (name && name->kind == E_STR)
		sym_intern(&w->s->syms, name->str.s, name->str.n)->dot_stored = true;
}

static void walk(struct walk *w, struct node *n)
{
	switch (n->kind) {
	case E_NAME:
		walk_name(w, n);
		break;
	case E_STR:
		w->s->names_keys |= n->str.n == 7 && memcmp(n->str.s, "EV_KEYS", 7) == 0;
		break;
	case E_CONST:
	case E_BYTES:
		break;
	case E_LAMBDA:
		walk_lambda(w, n);
		break;
	case E_LISTCOMP:
	case E_SETCOMP:
	case E_GENEXP:
	case E_DICTCOMP:
		walk_comprehension(w, n);
		break;
	case E_NAMED: {
		bool shadows = w->shadows;
		walk(w, n->two.b);
		w->shadows = false;
		bind_value(w, n->two.a->name, n->two.b);
		w->shadows = shadows;
		break;
	}
	case E_CALL:
		if (n->call.func->kind == E_ATTR && mutates(n->call.func->attr.name))
			mark_mutated(n->call.func->attr.value);
		if (n->call.func->kind == E_NAME && n->call.func->name->known == SYM_setattr)
			note_setattr(w, n);
		ast_each(n, walk_child, w);
		break;
	case E_OR:
		if (n->list.n == 2 && n->list.v[1]->kind == E_CALL)
			note_demand(w, n);
		ast_each(n, walk_child, w);
		break;
	default:
		ast_each(n, walk_child, w);
	}
}

/* Statements */

static void walk_assign(struct walk *w, struct node *n)
{
	struct assigned from = {.value = n->assign.value};
	walk(w, n->assign.value);
	w->shadows = w->direct;
	for (uint32_t i = 0; i < n->assign.targets.n; i++)
		bind_target(w, n->assign.targets.v[i], &from);
	w->shadows = false;
}

static void walk_annotated(struct walk *w, struct node *n)
{
	struct node *t = n->three.a;
	struct assigned from = {.value = n->three.c};
	walk(w, n->three.b);
	if (n->three.c) {
		walk(w, n->three.c);
		w->shadows = w->direct;
		bind_target(w, t, &from);
		w->shadows = false;
	} else if (t->kind != E_NAME) {
		ast_each(t, walk_child, w);
	} else if (n->flags & NODE_SIMPLE &&
		   !(is_keys(w, t->name) && w->scope->kind == SCOPE_CLASS)) {
		declare(w->s, w->scope, t->name);
	}
}

static void walk_augmented(struct walk *w, struct node *n)
{
	struct node *t = n->two.a;
	mark_mutated(t);
	walk(w, n->two.b);
	w->shadows = w->direct && n->op != T_BAR_EQ;
	bind_target(w, t, &(struct assigned){0});
	w->shadows = false;
}

static void walk_delete(struct walk *w, struct node *t)
{
	switch (t->kind) {
	case E_NAME:
		if (is_keys(w, t->name) && w->scope->kind == SCOPE_CLASS) {
			if (w->direct)
				w->class_keys = NULL;
			break;
		}
		if (is_keys(w, t->name) && w->scope->kind == SCOPE_MODULE && w->direct)
			w->module_keys = &w->s->keys_builtin;
		declare(w->s, w->scope, t->name);
		break;
	case E_TUPLE:
	case E_LIST:
		for (uint32_t i = 0; i < t->list.n; i++)
			walk_delete(w, t->list.v[i]);
		break;
	case E_SUBSCRIPT:
		mark_mutated(t->sub.value);
		ast_each(t, walk_child, w);
		break;
	default:
		ast_each(t, walk_child, w);
	}
}

static void walk_for(struct walk *w, struct node *n)
{
	struct loop *loop = arena_alloc(&w->s->arena, sizeof(*loop));
	struct assigned from = {.iter = n->flags & NODE_ASYNC ? NULL : n->loop.iter,
		.scope = w->scope,
		.own = loop};
	walk(w, n->loop.iter);
	bind_target(w, n->loop.target, &from);
	*loop = (struct loop){w->loop, w->s->nbindings + 1, UINT32_MAX};
	n->loop.loop = w->loop = loop;
	walk_body(w, n->loop.body, false);
	loop->last = w->s->nbindings;
	w->loop = loop->up;
	walk_body(w, n->loop.orelse, false);
}

static struct import_found *find_module(
	struct walk *w, const struct node *n, const struct sym *name)
{
	struct import_found *f = arena_alloc(&w->s->arena, sizeof(*f));

	*f = module_find(w->s, w->file, n->import.dots, name ? name->s : NULL);
	return f;
}

static void walk_import(struct walk *w, struct node *n)
{
	for (uint32_t i = 0; i < n->import.names.n; i++) {
		struct node *a = n->import.names.v[i];
		struct sym *name = a->alias.as;
		if (!name)
			name = sym_intern(
				&w->s->syms, a->alias.name->s, strcspn(a->alias.name->s, "."));
		bind(w, name,
			(struct binding){.kind = BIND_IMPORT,
				.node = a,
				.stmt = n,
				.scope = w->scope,
				.found = find_module(w, n, a->alias.name)});
	}
}

static void walk_star(struct walk *w, struct node *n, struct import_found *f)
{
	struct scope *top = w->file->scope;
	if (w->scope->kind != SCOPE_MODULE)
		return;
	struct star *star = arena_alloc(&w->s->arena, sizeof(*star));
	*star = (struct star){
		f->where == IMPORT_INSIDE ? f->module : NULL, n->import.module, top->stars};
	top->stars = star;
	if (star->module && w->direct)
		new_keys(w, &(struct binding){.kind = BIND_STAR,
				    .found = f,
				    .scope = w->scope,
				    .before = w->module_keys});
}

static void walk_from(struct walk *w, struct node *n)
{
	struct import_found *f = find_module(w, n, n->import.module);
	for (uint32_t i = 0; i < n->import.names.n; i++) {
		struct node *a = n->import.names.v[i];
		if (a->alias.name->s[0] == '*') {
			walk_star(w, n, f);
			continue;
		}
		bind(w, a->alias.as ? a->alias.as : a->alias.name,
			(struct binding){.kind = BIND_IMPORT,
				.node = a,
				.stmt = n,
				.scope = w->scope,
				.found = f});
	}
}

static void walk_func(struct walk *w, struct node *n)
{
	struct walk in = *w;
	walk_all(w, n->func.decorators);
	walk_all(w, n->func.params);
	if (n->func.returns)
		walk(w, n->func.returns);
	w->shadows = w->direct;
	bind(w, n->func.name, (struct binding){.kind = BIND_FUNC, .node = n, .scope = w->scope});
	w->shadows = false;
	n->func.scope = in.scope = new_scope(w, SCOPE_FUNCTION, n);
	n->func.scope->name = n->func.name;
	for (uint32_t i = 0; i < n->func.type_params.n; i++)
		bind_other(&in, n->func.type_params.v[i]->param.name);
	walk_all(&in, n->func.type_params);
	bind_params(&in, n->func.params, w->scope);
	walk_body(&in, n->func.body, false);
}

static void walk_class(struct walk *w, struct node *n)
{
	struct walk in = *w;
	walk_all(w, n->cls.decorators);
	walk_all(w, n->cls.args);
	walk_all(w, n->cls.keywords);
	n->cls.scope = in.scope = new_scope(w, SCOPE_CLASS, n);
	in.class_keys = NULL;
	for (uint32_t i = 0; i < n->cls.type_params.n; i++)
		bind_other(&in, n->cls.type_params.v[i]->param.name);
	walk_all(&in, n->cls.type_params);
	walk_body(&in, n->cls.body, true);
	w->shadows = w->direct;
	bind(w, n->cls.name, (struct binding){.kind = BIND_CLASS, .node = n, .scope = w->scope});
	w->shadows = false;
}

static void walk_pattern(struct node *n, void *arg)
{
	struct walk *w = arg;
	if ((n->kind == P_AS || n->kind == P_STAR) && n->capture.name)
		bind_other(w, n->capture.name);
	if (n->kind == P_MAPPING && n->mapping.rest)
		bind_other(w, n->mapping.rest);
	if (n->kind < P_VALUE)
		walk(w, n);
	else
		ast_each(n, walk_pattern, w);
}

static void walk_match(struct walk *w, struct node *n)
{
	walk(w, n->match.subject);
	for (uint32_t i = 0; i < n->match.cases.n; i++) {
		struct node *c = n->match.cases.v[i];
		walk_pattern(c->kase.pattern, w);
		if (c->kase.guard)
			walk(w, c->kase.guard);
		walk_body(w, c->kase.body, false);
	}
}

static void walk_try(struct walk *w, struct node *n)
{
	walk_body(w, n->try.body, false);
	for (uint32_t i = 0; i < n->try.handlers.n; i++) {
		struct node *h = n->try.handlers.v[i];
		if (h->handler.type)
			walk(w, h->handler.type);
		if (h->handler.name)
			bind_other(w, h->handler.name);
		walk_body(w, h->handler.body, false);
	}
	walk_body(w, n->try.orelse, false);
	walk_body(w, n->try.final, false);
}

static void walk_with(struct walk *w, struct node *n)
{
	for (uint32_t i = 0; i < n->with.items.n; i++) {
		struct node *item = n->with.items.v[i];
		walk(w, item->two.a);
		if (item->two.b)
			bind_target(w, item->two.b, &(struct assigned){0});
	}
	walk_body(w, n->with.body, false);
}

static void walk_names(struct walk *w, struct node *n)
{
	if (w->scope->kind == SCOPE_MODULE)
		return;
	for (uint32_t i = 0; i < n->names.n; i++)
		declare(w->s, w->scope, n->names.v[i])->flags |=
			n->kind == S_GLOBAL ? VAR_GLOBAL : VAR_NONLOCAL;
}

static void walk_stmt(struct walk *w, struct node *n)
{
	switch (n->kind) {
	case S_ASSIGN:
		return walk_assign(w, n);
	case S_ANNASSIGN:
		return walk_annotated(w, n);
	case S_AUGASSIGN:
		return walk_augmented(w, n);
	case S_DELETE:
		for (uint32_t i = 0; i < n->list.n; i++)
			walk_delete(w, n->list.v[i]);
		return;
	case S_FOR:
		return walk_for(w, n);
	case S_IF:
		if (leave_may_give_up(n->cond.body) || leave_may_give_up(n->cond.orelse))
			note_demand(w, n);
		if (n->cond.orelse.n == 1 && n->cond.orelse.v[0]->kind == S_IF)
			n->cond.orelse.v[0]->flags |= NODE_ELIF;
		/* fallthrough */
	case S_WHILE:
		walk(w, n->cond.test);
		walk_body(w, n->cond.body, false);
		return walk_body(w, n->cond.orelse, false);
	case S_IMPORT:
		w->shadows = w->direct;
		walk_import(w, n);
		w->shadows = false;
		return;
	case S_IMPORTFROM:
		w->shadows = w->direct;
		walk_from(w, n);
		w->shadows = false;
		return;
	case S_FUNC:
		return walk_func(w, n);
	case S_CLASS:
		return walk_class(w, n);
	case S_MATCH:
		return walk_match(w, n);
	case S_TRY:
		return walk_try(w, n);
	case S_WITH:
		return walk_with(w, n);
	case S_GLOBAL:
	case S_NONLOCAL:
		return walk_names(w, n);
	case S_TYPEALIAS:
		bind_other(w, n->alias_stmt.name);
		return walk(w, n->alias_stmt.value);
	case S_ASSERT:
		note_demand(w, n);
		/* fallthrough */
	default:
		ast_each(n, walk_child, w);
	}
}

static void walk_body(struct walk *w, struct seq body, bool direct)
{
	bool outer = w->direct;
	for (uint32_t i = 0; i < body.n; i++) {
		w->direct = direct;
		walk_stmt(w, body.v[i]);
	}
	w->direct = outer;
}

void scope_build(struct scan *s, struct scan_file *file)
{
	struct walk w = {.s = s, .file = file, .module_keys = &s->keys_builtin};
	file->scope = w.scope = new_scope(&w, SCOPE_MODULE, NULL);
	walk_body(&w, file->body, true);
	file->scope->keys_final = w.module_keys;
}

/* Looking up */

static bool all_has(struct scan *s, const struct module *m, const struct sym *name)
{
	struct var *all = scope_own(m->file->scope, s->syms.known[SYM___all__]);
	struct node *list = all && all->count == 1 && all->bindings->kind == BIND_VALUE
				    ? all->bindings->node
				    : NULL;
	if (!list || !is_display(list) || all->sym->mutated)
		return name->s[0] != '_';
	for (uint32_t i = 0; i < list->list.n; i++) {
		struct node *x = list->list.v[i];
		if (x->kind == E_STR && x->str.n == name->len &&
			memcmp(x->str.s, name->s, name->len) == 0)
			return true;
	}
	return false;
}

/* Modules may 'import *' from one another in circles: each is searched once. */
static struct var *member(struct scan *s, const struct module *m, const struct sym *name)
{
	struct scope *top = m->file ? m->file->scope : NULL;
	if (!top || top->seen == s->nsearches)
		return NULL;
	top->seen = s->nsearches;
	struct var *v = scope_own(top, name);
	if (v && v->count)
		return v;
	for (struct star *star = top->stars; star; star = star->next) {
		if (!star->module || !star->module->file || !star->module->file->scope ||
			!all_has(s, star->module, name))
			continue;
		v = member(s, star->module, name);
		if (v)
			return v;
	}
	return NULL;
}

struct module *scope_star_source(struct scan *s, const struct scope *top, const struct sym *name)
{
	s->nsearches++;
	for (struct star *star = top->stars; star; star = star->next) {
		if (!star->module || !star->module->file || star->module->file->scope == top ||
			!star->module->file->scope || !all_has(s, star->module, name))
			continue;
		if (member(s, star->module, name))
			return star->module;
	}
	return NULL;
}

struct var *scope_member(struct scan *s, const struct module *m, const struct sym *name)
{
	s->nsearches++;
	return member(s, m, name);
}

static struct var *lookup_top(struct scan *s, struct scope *top, const struct sym *name)
{
	if (name == s->syms.known[SYM_EV_KEYS])
		return top->keys_final ? top->keys_final : &s->keys_builtin;
	struct var *v = scope_own(top, name);
	if (v || !top->stars)
		return v;
	return scope_member(s, top->file->module, name);
}

struct var *scope_lookup(struct scan *s, struct scope *scope, const struct sym *name)
{
	for (struct scope *sc = scope; sc; sc = sc->up) {
		if (sc->kind == SCOPE_MODULE)
			return lookup_top(s, sc, name);
		if (sc->kind == SCOPE_CLASS && sc != scope)
			continue;
		struct var *v = scope_own(sc, name);
		if (!v || v->flags & VAR_NONLOCAL)
			continue;
		if (v->flags & VAR_GLOBAL)
			return lookup_top(s, sc->file->scope, name);
		return v;
	}
	return NULL;
}

bool scope_is_builtin(
	struct scan *s, struct scope *scope, const struct node *n, enum sym_known which)
{
	return n->kind == E_NAME && n->op == NAME_PLAIN && n->name->known == which &&
	       !scope_lookup(s, scope, n->name);
}

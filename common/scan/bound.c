/* Bindings that stand elsewhere than in the scope that they are of. */
#include "scan/sema.h"

/* The module of the directory, or the class, that a name is only ever bound to. */
static struct scope *object_named(struct scan *s, struct node *n, struct scope *scope)
{
	struct binding *b = n->kind == E_NAME && n->op == NAME_PLAIN
				    ? key_only(scope_lookup(s, scope, n->name))
				    : NULL;
	struct module *m = NULL;
	if (b && b->kind == BIND_CLASS)
		return b->node->cls.scope;
	if (!b || b->kind != BIND_IMPORT || b->found->where != IMPORT_INSIDE)
		return NULL;
	const struct sym *name = b->node->alias.name;
	if (b->stmt->kind == S_IMPORT)
		m = b->node->alias.as ? b->found->module : b->found->top;
	else if (b->found->module)
		m = module_child(s, b->found->module, name->s, name->len);
	return m && m->file ? m->file->scope : NULL;
}

/* setattr(object, 'X', ...), globals()['X'] = ...: X is bound, or all names that there are. */
static void bind_named(struct scan *s, struct scope *of, struct node *name, const struct stored *at)
{
	struct texts t = key_values(s, name, at->scope, at->loop);
	if (t.unknown)
		of->open = true;
	for (size_t i = 0; i < t.of.n && !t.unknown; i++) {
		struct sym *x = sym_intern(&s->syms, t.of.v[i].s, t.of.v[i].n);
		if (x->known != SYM_EV_KEYS)
			scope_bind_more(
				s, of, x, &(struct binding){.kind = BIND_OTHER, .scope = of});
	}
}

static void bind_by_call(struct scan *s, const struct stored *at)
{
	struct seq args = at->node->call.args;
	if (args.n != 3 || args.v[0]->kind == E_STARRED || args.v[1]->kind == E_STARRED ||
		!scope_is_builtin(s, at->scope, at->node->call.func, SYM_setattr))
		return;
	struct scope *of = object_named(s, args.v[0], at->scope);
	if (of)
		bind_named(s, of, args.v[1], at);
}

static void bind_stored(struct scan *s, const struct stored *at)
{
	struct node *n = at->node;
	if (n->kind == E_CALL) {
		bind_by_call(s, at);
	} else if (n->kind == E_SUBSCRIPT) {
		if (value_is_globals(s, n->sub.value, at->scope))
			bind_named(s, at->scope->file->scope, n->sub.index, at);
	} else {
		struct scope *of = object_named(s, n->attr.value, at->scope);
		struct binding b = {.kind = at->value ? BIND_VALUE : BIND_OTHER,
			.node = at->value,
			.scope = at->scope};
		if (of && of->kind == SCOPE_MODULE && n->attr.name->known != SYM_EV_KEYS)
			scope_bind_more(s, of, n->attr.name, &b);
	}
}

/* What a module binds and gets by 'from m import *' too, has both. */
static void bind_starred(struct scan *s, struct scan_file *f)
{
	for (uint32_t i = 0; i < f->slots; i++) {
		struct var *v = f->slot[i].var;
		if (!v || v->scope != f->scope || !v->count || v->sym->known == SYM_EV_KEYS)
			continue;
		struct module *from = scope_star_source(s, f->scope, v->sym);
		if (!from)
			continue;
		struct node *alias = arena_alloc(&s->arena, sizeof(*alias));
		struct node *stmt = arena_alloc(&s->arena, sizeof(*stmt));
		struct import_found *found = arena_alloc(&s->arena, sizeof(*found));
		alias->kind = X_ALIAS;
		alias->alias.name = sym_intern(&s->syms, v->sym->s, v->sym->len);
		stmt->kind = S_IMPORTFROM;
		*found = (struct import_found){IMPORT_INSIDE, from, from, from->path};
		scope_bind_more(s, f->scope, v->sym,
			&(struct binding){.kind = BIND_IMPORT,
				.node = alias,
				.stmt = stmt,
				.scope = f->scope,
				.found = found});
	}
}

void bound_elsewhere(struct scan *s)
{
	for (size_t i = 0; i < s->files.n; i++)
		if (s->files.v[i]->scope && s->files.v[i]->scope->stars)
			bind_starred(s, s->files.v[i]);
	for (size_t i = 0; i < s->stored.n; i++)
		bind_stored(s, &s->stored.v[i]);
	s->epoch++;
}

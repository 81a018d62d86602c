/*
 * Helpers: functions of the directory that are given a key's name, or EV_KEYS itself. Which there
 * are is found by walking the code; what they mean for their callers, by walking it again
 * (struct scan's round). A round notes what it sees of functions it did not know of, and grants
 * what the rounds before it have seen to be so.
 */
#include "scan/sema.h"

/* A name is followed through so many functions. */
#define MAX_HELPERS 3
/* Of one function; more are dynamic. */
#define MAX_NEEDS 16
/* Classes behind one another. */
#define MAX_BASES 8

static bool is_method(const struct helper *f)
{
	return f->scope->up->kind == SCOPE_CLASS;
}

static struct seq params_of(const struct scope *f)
{
	return f->node->kind == S_FUNC ? f->node->func.params : f->node->lambda.params;
}

/* Classes */

static struct scope *class_of_var(const struct var *v)
{
	struct binding *b = key_only(v);
	return b && b->kind == BIND_CLASS ? b->node->cls.scope : NULL;
}

/* The class that Cls() makes one of. */
static struct scope *class_made(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	if (n->kind != E_CALL || (n->call.func->kind != E_NAME && n->call.func->kind != E_ATTR))
		return NULL;
	return class_of_var(key_named_var(s, n->call.func, scope, loop));
}

static bool is_self(const struct var *v)
{
	const struct scope *f = v->scope;
	return f && f->kind == SCOPE_FUNCTION && f->node->kind == S_FUNC &&
	       f->up->kind == SCOPE_CLASS && f->node->func.params.n && v->count == 1 &&
	       f->node->func.params.v[0]->param.name == v->sym;
}

struct scope *helper_class(struct here *h, struct node *n)
{
	if (n->kind == E_CALL)
		return class_made(h->s, n, h->scope, h->loop);
	if (n->kind != E_NAME && n->kind != E_ATTR)
		return NULL;
	struct var *v = key_named_var(h->s, n, h->scope, h->loop);
	if (!v)
		return NULL;
	if (is_self(v))
		return v->scope->up;
	struct binding *b = key_only(v);
	return b && b->kind == BIND_VALUE ? class_made(h->s, b->node, b->scope, b->loop) : NULL;
}

struct scope *helper_base(struct scan *s, struct scope *cls)
{
	struct seq bases = cls->node->cls.args;
	return bases.n == 1 && bases.v[0]->kind != E_STARRED
		       ? class_of_var(key_named_var(s, bases.v[0], cls->up, NULL))
		       : NULL;
}

static struct var *method_var(struct scan *s, struct scope *cls, const struct sym *name)
{
	for (int i = 0; cls && i < MAX_BASES; i++, cls = helper_base(s, cls)) {
		struct var *v = scope_own(cls, name);
		if (v)
			return v;
	}
	return NULL;
}

/* Whether an object of a class may be where it is not known to be one. */
static bool find_escape(struct scan *s, struct scope *cls)
{
	struct node *n = cls->node;
	struct var *v = scope_lookup(s, cls->up, n->cls.name);
	if (!v || v->flags & (VAR_USED | VAR_MADE))
		return true;
	for (uint32_t i = 0; i < n->cls.body.n; i++) {
		struct node *f = n->cls.body.v[i];
		struct var *self =
			f->kind == S_FUNC && f->func.params.n
				? scope_own(f->func.scope, f->func.params.v[0]->param.name)
				: NULL;
		if (self && self->flags & VAR_USED)
			return true;
	}
	for (size_t i = 0; i < s->work.n; i++) {
		struct work *w = &s->work.v[i];
		if (w->binding->kind == BIND_VALUE &&
			(w->var->flags & VAR_USED || w->var->count != 1) &&
			class_made(s, w->binding->node, w->binding->scope, w->binding->loop) == cls)
			return true;
	}
	return false;
}

static bool class_escapes(struct scan *s, struct scope *cls)
{
	if (!cls->node->mark)
		cls->node->mark = find_escape(s, cls) ? 2 : 1;
	return cls->node->mark == 2;
}

/* Functions */

static struct helper *helper_at(struct scan *s, struct scope *scope)
{
	if (scope->helper)
		return scope->helper;
	struct helper *f = arena_alloc(&s->arena, sizeof(*f));
	f->scope = scope;
	f->born = s->round;
	scope->helper = f;
	s->helpers++;
	s->changed = true;
	if (is_method(f) && scope->name)
		scope->name->method = true;
	return f;
}

static bool is_cache(struct scan *s, struct node *n, struct scope *scope)
{
	if (n->kind == E_CALL)
		n = n->call.func;
	return value_of(s, n, scope, NULL).bits & VAL_CACHE;
}

static bool is_constructor(const struct helper *f)
{
	return is_method(f) && f->scope->name && f->scope->name->known == SYM___init__;
}

/* Whether the calls of a function are all that is done with it, and known. */
static bool is_followed(struct scan *s, const struct helper *f)
{
	struct scope *scope = f->scope;
	uint32_t seen = is_method(f) ? f->born + 1 : f->born;
	if (s->round <= seen)
		s->changed = true;
	if (s->round <= seen || !scope->name)
		return false;
	struct var *v = scope_lookup(s, scope->up, scope->name);
	struct binding *b = key_only(v);
	if (!b || b->node != scope->node)
		return false;
	for (uint32_t i = 0; scope->node->kind == S_FUNC && i < scope->node->func.decorators.n; i++)
		if (!is_cache(s, scope->node->func.decorators.v[i], scope->up))
			return false;
	if (is_constructor(f)) {
		v = scope_lookup(s, scope->up->up, scope->up->node->cls.name);
		return class_of_var(v) == scope->up && v->flags & VAR_CALLED &&
		       !(v->flags & VAR_USED);
	}
	if (is_method(f))
		return v->flags & VAR_CALLED && !(v->flags & VAR_USED) &&
		       !(scope->name->loose && class_escapes(s, scope->up));
	return v->flags & VAR_CALLED && !(v->flags & VAR_USED);
}

/* The function that a call is of; skip: how many parameters come before its arguments. */
static struct scope *callee(struct here *h, struct node *call, uint32_t *skip)
{
	struct node *f = call->call.func;
	struct var *v = NULL;
	*skip = 0;
	if (f->kind != E_NAME && f->kind != E_ATTR)
		return NULL;
	if (f->kind == E_ATTR) {
		struct scope *cls = helper_class(h, f->attr.value);
		v = cls ? method_var(h->s, cls, f->attr.name) : NULL;
		*skip = v != NULL;
	}
	if (!v)
		v = key_named_var(h->s, f, h->scope, h->loop);
	struct scope *cls = class_of_var(v);
	if (cls) {
		v = scope_own(cls, h->s->syms.known[SYM___init__]);
		*skip = 1;
	}
	struct binding *b = key_only(v);
	if (b && b->kind == BIND_FUNC)
		return b->node->func.scope;
	return b && b->kind == BIND_VALUE && b->node->kind == E_LAMBDA ? b->node->lambda.scope
								       : NULL;
}

/* Parameters and arguments */

static bool takes_one(const struct node *param)
{
	return param->op != PARAM_VARARGS && param->op != PARAM_KWARGS;
}

static bool has_double_star(struct seq keywords)
{
	for (uint32_t i = 0; i < keywords.n; i++)
		if (!keywords.v[i]->keyword.name)
			return true;
	return false;
}

/* What a call gives for a parameter; NULL if that is not clear. A default is seen from outside. */
static struct node *argument(
	struct node *call, struct seq params, uint32_t at, uint32_t skip, bool *is_default)
{
	struct node *p = params.v[at];
	struct seq args = call->call.args, keywords = call->call.keywords;
	bool by_place = p->op == PARAM_POS || p->op == PARAM_POS_ONLY;

	*is_default = false;
	for (uint32_t i = 0; by_place && i < args.n && i + skip <= at; i++)
		if (args.v[i]->kind == E_STARRED)
			return NULL;
	if (by_place && at >= skip && at - skip < args.n)
		return args.v[at - skip];
	for (uint32_t i = 0; i < keywords.n; i++)
		if (keywords.v[i]->keyword.name == p->param.name)
			return keywords.v[i]->keyword.value;
	if (has_double_star(keywords))
		return NULL;
	*is_default = true;
	return p->param.value;
}

/* The parameter that takes an argument by its place or name; params.n if that is not clear. */
static uint32_t parameter(struct node *call, struct seq params, uint32_t skip, struct node *arg)
{
	struct node *given;
	bool is_default;
	for (uint32_t i = skip; i < params.n && i < MAX_NEEDS; i++) {
		given = takes_one(params.v[i]) ? argument(call, params, i, skip, &is_default)
					       : NULL;
		if (given == arg && !is_default)
			return i;
	}
	return params.n;
}

/* Needs */

static bool add_need(struct scan *s, struct helper *f, const struct need *need)
{
	for (uint32_t i = 0; i < f->needs.n; i++) {
		struct need *n = &f->needs.v[i];
		if (n->param == need->param && n->required == need->required)
			return true;
	}
	if (f->needs.n == MAX_NEEDS)
		return false;
	VEC_GROW(&s->arena, f->needs);
	f->needs.v[f->needs.n++] = *need;
	s->changed = true;
	return true;
}

bool helper_need(struct here *h, struct node *key, bool required)
{
	if (key->kind != E_NAME || key->op != NAME_PLAIN || h->helpers == MAX_HELPERS)
		return false;
	struct var *v = scope_lookup(h->s, h->scope, key->name);
	struct binding *b = key_only(v);
	if (!b || (b->kind != BIND_DEFAULT && b->kind != BIND_PARAM))
		return false;
	struct seq params = params_of(v->scope);
	uint32_t at = 0;
	while (at < params.n && params.v[at]->param.name != v->sym)
		at++;
	if (at == params.n || !takes_one(params.v[at]))
		return false;
	struct helper *f = helper_at(h->s, v->scope);
	struct need need = {at, required, (uint8_t)(h->helpers + 1)};
	return add_need(h->s, f, &need) && is_followed(h->s, f);
}

static void read_through(
	struct here *h, struct node *call, struct scope *f, uint32_t skip, const struct need *need)
{
	struct here there = *h;
	bool is_default;
	struct node *key = argument(call, params_of(f), need->param, skip, &is_default);

	there.helpers = need->depth;
	if (!key) {
		report_dynamic(h, call, "which key it is given is not known",
			"give the key's name as a plain argument");
		return;
	}
	if (is_default) {
		there.scope = f->up;
		there.loop = NULL;
	}
	report_read(&there, key, call->line, need->required);
}

static void note_method(struct here *h, struct node *attr, uint8_t flag, bool known)
{
	if (!attr->attr.name->method)
		return;
	struct scope *cls = helper_class(h, attr->attr.value);
	struct var *v = cls ? method_var(h->s, cls, attr->attr.name) : NULL;
	if (v)
		v->flags |= flag;
	else if (!known && !cls)
		attr->attr.name->loose = true;
}

void helper_call(struct here *h, struct node *call, bool known)
{
	uint32_t skip;
	if (!h->s->helpers)
		return;
	if (call->call.func->kind == E_ATTR)
		note_method(h, call->call.func, VAR_CALLED, known);
	struct scope *f = callee(h, call, &skip);
	if (!f || !f->helper || !is_followed(h->s, f->helper))
		return;
	for (uint32_t i = 0; i < f->helper->needs.n; i++) {
		struct need need = f->helper->needs.v[i];
		read_through(h, call, f, skip, &need);
	}
}

void helper_note_attr(struct here *h, struct node *n, bool known)
{
	note_method(h, n, VAR_USED, known);
}

bool helper_takes_keys(struct here *h, struct node *call, struct node *arg)
{
	uint32_t skip;
	struct scope *f = callee(h, call, &skip);
	if (!f)
		return false;
	struct seq params = params_of(f);
	uint32_t at = parameter(call, params, skip, arg);
	struct var *v = at < params.n ? scope_own(f, params.v[at]->param.name) : NULL;
	if (!v || v->count != 1 || v->flags & (VAR_GLOBAL | VAR_NONLOCAL) ||
		!is_followed(h->s, helper_at(h->s, f)))
		return false;
	if (!(v->val.bits & VAL_DICT)) {
		v->val.bits |= VAL_DICT;
		h->s->changed = true;
	}
	return true;
}

/* What is done with an imported name is done with what it names. */
void helper_pass_on(struct scan *s)
{
	const uint8_t flags = VAR_USED | VAR_CALLED | VAR_MADE | VAR_ATTR;
	bool changed = true;
	for (int round = 0; changed && round < MAX_BASES; round++) {
		changed = false;
		for (size_t i = 0; i < s->work.n; i++) {
			struct var *v = s->work.v[i].var;
			struct binding *b = s->work.v[i].binding;
			if (b->kind != BIND_IMPORT || b->stmt->kind != S_IMPORTFROM ||
				!b->found->module || !(v->flags & flags))
				continue;
			struct var *to = scope_member(s, b->found->module, b->node->alias.name);
			if (!to || to == v || !(v->flags & flags & ~to->flags))
				continue;
			to->flags |= v->flags & flags;
			changed = true;
		}
	}
}

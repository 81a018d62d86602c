/* Copies of EV_KEYS in a variable, and EV_KEYS in an attribute of the directory's own classes. */
#include "scan/sema.h"

#include <string.h>

#define MAX_BASES 8
/* Parts of a copy that are looked at. */
#define MAX_PARTS 512

static bool is_keys(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	return n->kind != E_STARRED && value_of(s, n, scope, loop).bits & VAL_DICT;
}

static bool has_keys(struct scan *s, struct seq of, struct scope *scope, struct loop *loop)
{
	for (uint32_t i = 0; i < of.n; i++)
		if (is_keys(s, of.v[i], scope, loop))
			return true;
	return false;
}

/* dict(D), D.copy(), ChainMap(D, ...) */
static bool is_copying_call(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	struct node *f = n->call.func;
	if (f->kind == E_ATTR && f->attr.name->known == SYM_copy && guard_plain_call(n, 0, 0))
		return is_keys(s, f->attr.value, scope, loop);
	if (!n->call.args.n || !has_keys(s, n->call.args, scope, loop))
		return false;
	for (uint32_t i = 0; i < n->call.keywords.n; i++)
		if (!n->call.keywords.v[i]->keyword.name)
			return false;
	return (f->kind == E_NAME && n->call.args.n == 1 &&
		       scope_is_builtin(s, scope, f, SYM_dict)) ||
	       value_of(s, f, scope, loop).bits & VAL_CHAINMAP;
}

static bool is_copy(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	switch (n->kind) {
	case E_DICT:
		for (uint32_t i = 0; i < n->dict.keys.n; i++)
			if (!n->dict.keys.v[i] && is_keys(s, n->dict.values.v[i], scope, loop))
				return true;
		return false;
	case E_BINOP:
		return n->op == T_BAR &&
		       (is_keys(s, n->two.a, scope, loop) || is_keys(s, n->two.b, scope, loop));
	case E_CALL:
		return is_copying_call(s, n, scope, loop);
	default:
		return false;
	}
}

bool copy_is_followed(struct here *h, struct node *target, struct node *value)
{
	if (target->kind != E_NAME || target->op != NAME_PLAIN ||
		!is_copy(h->s, value, h->scope, h->loop))
		return false;
	struct var *v = scope_lookup(h->s, h->scope, target->name);
	struct binding *b = key_only(v);
	if (!b || b->kind != BIND_VALUE || b->node != value)
		return false;
	if (!h->s->round)
		h->s->changed = true;
	if (!h->s->round || v->flags & (VAR_USED | VAR_ATTR | VAR_CALLED))
		return false;
	if (!v->copy) {
		v->copy = value;
		v->val.bits |= VAL_DICT;
		h->s->copies = h->s->changed = true;
	}
	return true;
}

struct var *copy_behind(struct here *h, struct node *base)
{
	if (!h->s->copies || base->kind != E_NAME)
		return NULL;
	struct var *v = key_named_var(h->s, base, h->scope, h->loop);
	return v && v->copy ? v : NULL;
}

static bool is_text(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop, struct text want)
{
	struct texts t = key_values(s, n, scope, loop);

	return !t.unknown && t.of.n == 1 && t.of.v[0].n == want.n &&
	       memcmp(t.of.v[0].s, want.s, want.n) == 0;
}

/* Whether a part of a copy certainly has a key. */
static bool part_has(struct scan *s, struct node *n, const struct binding *b, struct text key)
{
	struct display d = key_display(s, n, b->scope, b->loop);
	for (uint32_t i = 0; d.known && i < d.of.n; i++)
		if (is_text(s, d.of.v[i], d.scope, d.loop, key))
			return true;
	return false;
}

bool copy_supplies(struct scan *s, const struct var *v, struct text key)
{
	const struct binding *b = v->bindings;
	struct node *n = v->copy;
	if (n->kind == E_BINOP)
		return part_has(s, n->two.a, b, key) || part_has(s, n->two.b, b, key);
	for (uint32_t i = 0; n->kind == E_DICT && i < n->dict.keys.n && i < MAX_PARTS; i++) {
		struct node *k = n->dict.keys.v[i];
		if (k ? is_text(s, k, b->scope, b->loop, key)
		      : part_has(s, n->dict.values.v[i], b, key))
			return true;
	}
	if (n->kind != E_CALL)
		return false;
	for (uint32_t i = 0; i < n->call.args.n && i < MAX_PARTS; i++)
		if (part_has(s, n->call.args.v[i], b, key))
			return true;
	for (uint32_t i = 0; i < n->call.keywords.n && i < MAX_PARTS; i++) {
		const struct sym *name = n->call.keywords.v[i]->keyword.name;
		if (name->len == key.n && memcmp(name->s, key.s, key.n) == 0)
			return true;
	}
	return false;
}

/* Attributes */

static bool is_within(struct scan *s, struct scope *cls, const struct scope *of)
{
	for (int i = 0; cls && i < MAX_BASES; i++, cls = helper_base(s, cls))
		if (cls == of)
			return true;
	return false;
}

static bool is_settled(struct scan *s, const struct holder *a)
{
	if (s->round <= a->born + 1)
		s->changed = true;
	return s->round > a->born + 1;
}

bool copy_holds(struct here *h, struct node *target)
{
	struct scan *s = h->s;
	struct scope *cls;
	if (target->kind != E_ATTR || target->attr.value->kind != E_NAME)
		return false;
	cls = helper_class(h, target->attr.value);
	if (!cls)
		return false;
	for (size_t i = 0; i < s->holders.n; i++)
		if (s->holders.v[i].target == target)
			return !s->holders.v[i].bad && is_settled(s, &s->holders.v[i]);
	if (s->holders.n == MAX_HOLDERS)
		return false;
	VEC_GROW(&s->arena, s->holders);
	s->holders.v[s->holders.n++] =
		(struct holder){cls, target->attr.name, target, s->round, false};
	target->attr.name->held = s->changed = true;
	return false;
}

void copy_note_store(struct here *h, struct node *target)
{
	if (!target->attr.name->held)
		return;
	struct scope *cls = helper_class(h, target->attr.value);
	for (size_t i = 0; i < h->s->holders.n; i++) {
		struct holder *a = &h->s->holders.v[i];
		if (a->name == target->attr.name && a->target != target &&
			(!cls || is_within(h->s, cls, a->cls) || is_within(h->s, a->cls, cls)))
			a->bad = true;
	}
}

void copy_note_load(struct here *h, struct node *n)
{
	if (!n->attr.name->held || n->flags & NODE_HELD)
		return;
	struct scope *cls = helper_class(h, n->attr.value);
	for (size_t i = 0; cls && i < h->s->holders.n; i++) {
		struct holder *a = &h->s->holders.v[i];
		if (a->name != n->attr.name || a->bad || !is_settled(h->s, a) ||
			!is_within(h->s, cls, a->cls))
			continue;
		n->flags |= NODE_HELD;
		h->s->changed = true;
	}
}

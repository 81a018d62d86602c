#include "scan/sema.h"

#include <string.h>

/* More at once are not kept: then a read is reported as required that need not be. */
#define MAX_FACTS 256

struct fact {
	struct node *key;
	struct scope *scope;
	struct loop *loop;
	struct text value; /* if there is just one */
	bool constant;
	struct fact *next;
};

static bool same_list(
	struct scan *s, struct seq a, struct scope *as, struct seq b, struct scope *bs);

static bool same_text(struct text a, struct text b)
{
	return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

static bool same_name(
	struct scan *s, struct node *a, struct scope *as, struct node *b, struct scope *bs)
{
	if (a->op == NAME_FIXED || b->op == NAME_FIXED)
		return a->op == b->op && a->var == b->var;
	return a->name == b->name && scope_lookup(s, as, a->name) == scope_lookup(s, bs, b->name);
}

/* Whether two expressions are written alike and their names mean the same. NULLs are alike. */
static bool same(struct scan *s, struct node *a, struct scope *as, struct node *b, struct scope *bs)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || (a->kind != E_NAME && a->op != b->op))
		return false;
	switch (a->kind) {
	case E_NAME:
		return same_name(s, a, as, b, bs);
	case E_CONST:
	case E_STR:
	case E_BYTES:
		return same_text(
			(struct text){a->str.s, a->str.n}, (struct text){b->str.s, b->str.n});
	case E_ATTR:
		return a->attr.name == b->attr.name &&
		       same(s, a->attr.value, as, b->attr.value, bs);
	case E_SUBSCRIPT:
	case E_BINOP:
	case E_FORMATTED:
		return same(s, a->two.a, as, b->two.a, bs) && same(s, a->two.b, as, b->two.b, bs);
	case E_IFEXP:
	case E_SLICE:
		return same(s, a->three.a, as, b->three.a, bs) &&
		       same(s, a->three.b, as, b->three.b, bs) &&
		       same(s, a->three.c, as, b->three.c, bs);
	case E_UNARY:
	case E_STARRED:
		return same(s, a->one, as, b->one, bs);
	case E_CALL:
		return same(s, a->call.func, as, b->call.func, bs) &&
		       same_list(s, a->call.args, as, b->call.args, bs) &&
		       same_list(s, a->call.keywords, as, b->call.keywords, bs);
	case X_KEYWORD:
		return a->keyword.name == b->keyword.name &&
		       same(s, a->keyword.value, as, b->keyword.value, bs);
	case E_JOINED:
	case E_AND:
	case E_OR:
	case E_TUPLE:
	case E_LIST:
	case E_SET:
		return same_list(s, a->list, as, b->list, bs);
	default:
		return false;
	}
}

static bool same_list(
	struct scan *s, struct seq a, struct scope *as, struct seq b, struct scope *bs)
{
	if (a.n != b.n)
		return false;
	for (uint32_t i = 0; i < a.n; i++)
		if (!same(s, a.v[i], as, b.v[i], bs))
			return false;
	return true;
}

static bool same_fact(struct scan *s, const struct fact *a, const struct fact *b)
{
	if (a->constant || b->constant)
		return a->constant && b->constant && same_text(a->value, b->value);
	return same(s, a->key, a->scope, b->key, b->scope);
}

bool guard_plain_call(const struct node *n, uint32_t least, uint32_t most)
{
	if (n->kind != E_CALL || n->call.keywords.n || n->call.args.n < least ||
		n->call.args.n > most)
		return false;
	for (uint32_t i = 0; i < n->call.args.n; i++)
		if (n->call.args.v[i]->kind == E_STARRED)
			return false;
	return true;
}

static uint32_t bits_of(struct here *h, struct node *n)
{
	return value_of(h->s, n, h->scope, h->loop).bits;
}

struct node *guard_keys_view(struct here *h, struct node *n)
{
	if (!guard_plain_call(n, 0, 0) || n->call.func->kind != E_ATTR ||
		n->call.func->attr.name->known != SYM_keys)
		return NULL;
	struct node *base = n->call.func->attr.value;
	return bits_of(h, base) & (VAL_DICT | VAL_ENVIRON) ? base : NULL;
}

static void push(struct here *h, struct node *key)
{
	if (h->nfacts == MAX_FACTS)
		return;
	struct fact *f = arena_alloc(&h->s->arena, sizeof(*f));
	struct texts t = key_values(h->s, key, h->scope, h->loop);
	f->key = key;
	f->scope = h->scope;
	f->loop = h->loop;
	f->constant = !t.unknown && t.of.n == 1;
	if (f->constant)
		f->value = t.of.v[0];
	f->next = h->facts;
	h->facts = f;
	h->nfacts++;
}

static void push_copy(struct here *h, const struct fact *from)
{
	if (h->nfacts == MAX_FACTS)
		return;
	struct fact *f = arena_alloc(&h->s->arena, sizeof(*f));
	*f = *from;
	f->next = h->facts;
	h->facts = f;
	h->nfacts++;
}

/* What all of several tests say when each of them has this outcome. */
static void assume_common(struct here *h, struct seq tests, bool truth)
{
	struct here first = *h;

	first.facts = NULL;
	first.nfacts = 0;
	guard_assume(&first, tests.v[0], truth);
	for (uint32_t i = 1; i < tests.n && first.facts; i++) {
		struct here other = *h, both = *h;
		other.facts = both.facts = NULL;
		other.nfacts = both.nfacts = 0;
		guard_assume(&other, tests.v[i], truth);
		for (struct fact *a = first.facts; a; a = a->next)
			for (struct fact *b = other.facts; b; b = b->next)
				if (same_fact(h->s, a, b)) {
					push_copy(&both, a);
					break;
				}
		first = both;
	}
	for (struct fact *f = first.facts; f; f = f->next)
		push_copy(h, f);
}

static struct node *strip_walrus(struct node *n)
{
	while (n->kind == E_NAMED)
		n = n->two.b;
	return n;
}

static bool is_none(const struct node *n)
{
	return n->kind == E_CONST && n->op == K_NONE;
}

static void assume_comparison(struct here *h, struct node *n, bool truth)
{
	struct node *left = n->cmp.left, *right = n->cmp.right.v[0];

	if (n->cmp.right.n != 1)
		return;
	switch (n->cmp.ops[0]) {
	case CMP_IN:
	case CMP_NOT_IN: {
		struct node *view = guard_keys_view(h, right);
		if ((n->cmp.ops[0] == CMP_IN) == truth &&
			bits_of(h, view ? view : right) & VAL_DICT)
			push(h, left);
		break;
	}
	case CMP_IS:
	case CMP_IS_NOT:
		if (is_none(left))
			left = right;
		else if (!is_none(right))
			break;
		left = strip_walrus(left);
		if ((n->cmp.ops[0] == CMP_IS_NOT) == truth && guard_plain_call(left, 1, 1) &&
			bits_of(h, left->call.func) & VAL_GET)
			push(h, left->call.args.v[0]);
		break;
	default:
		break;
	}
}

void guard_assume(struct here *h, struct node *n, bool truth)
{
	switch (n->kind) {
	case E_UNARY:
		if (n->op == K_NOT)
			guard_assume(h, n->one, !truth);
		break;
	case E_NAMED:
		guard_assume(h, n->two.b, truth);
		break;
	case E_AND:
	case E_OR:
		if ((n->kind == E_AND) != truth)
			assume_common(h, n->list, truth);
		else
			for (uint32_t i = 0; i < n->list.n; i++)
				guard_assume(h, n->list.v[i], truth);
		break;
	case E_COMPARE:
		assume_comparison(h, n, truth);
		break;
	case E_CALL:
		if (truth && guard_plain_call(n, 1, 1) &&
			bits_of(h, n->call.func) & (VAL_GET | VAL_CONTAINS))
			push(h, n->call.args.v[0]);
		break;
	default:
		break;
	}
}

bool guard_holds(const struct here *h, struct node *key, struct text value)
{
	for (const struct fact *f = h->facts; f; f = f->next) {
		if (f->constant ? same_text(f->value, value)
				: same(h->s, f->key, f->scope, key, h->scope))
			return true;
	}
	return false;
}

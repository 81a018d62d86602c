#include "scan/sema.h"

#include <string.h>

/*
 * More at once are not kept, or not looked through: then a read is reported as required that need
 * not be.
 */
#define MAX_ASSUMED 256
#define MAX_FACTS 256
#define MAX_COMPARED 2000
/* Names that lead to tests: how many behind one another, and nodes of all tests behind a name. */
#define MAX_NAMES 4
#define MAX_STEPS 200

/* A key that is known to be there. */
struct fact {
	struct node *key;
	struct scope *scope;
	struct text value; /* if there is just one */
	bool constant;
	struct fact *next;
};

/* A test and its outcome. What it says of keys is only looked into where one is read. */
struct assumption {
	struct node *test;
	struct scope *scope;
	struct loop *loop;
	bool truth, known;
	enum without without;
	struct fact *facts; /* once known */
	bool asked;	    /* whether it says that a key is absent: */
	const struct text *absent;
	struct assumption *up;
};

/* Where a test is evaluated, and what came out of it so far. */
struct test {
	struct scan *s;
	struct scope *scope;
	struct loop *loop;
	struct fact *facts;
	uint32_t nfacts, names, *steps;
	bool *more; /* set where the outcome says more than the facts; may be NULL */
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

struct node *guard_keys_view(struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	if (!guard_plain_call(n, 0, 0) || n->call.func->kind != E_ATTR ||
		n->call.func->attr.name->known != SYM_keys)
		return NULL;
	struct node *base = n->call.func->attr.value;
	return value_of(s, base, scope, loop).bits & (VAL_DICT | VAL_ENVIRON) ? base : NULL;
}

static bool is_call_of(
	struct scan *s, struct node *n, struct scope *scope, enum sym_known a, enum sym_known b)
{
	return guard_plain_call(n, 1, 1) && n->call.func->kind == E_NAME &&
	       (scope_is_builtin(s, scope, n->call.func, a) ||
		       scope_is_builtin(s, scope, n->call.func, b));
}

/* The display of a set: itself, by name, or set() of any display. */
static struct display set_display(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop)
{
	if (n->kind == E_NAME && n->op == NAME_PLAIN && !n->name->mutated) {
		struct binding *b = key_only(scope_lookup(s, scope, n->name));
		if (!b || b->kind != BIND_VALUE)
			return (struct display){0};
		n = b->node;
		scope = b->scope;
		loop = b->loop;
	}
	if (is_call_of(s, n, scope, SYM_set, SYM_frozenset))
		n = n->call.args.v[0];
	else if (n->kind != E_SET)
		return (struct display){0};
	return key_display(s, n, scope, loop);
}

bool guard_subset(
	struct scan *s, struct node *n, struct scope *scope, struct loop *loop, struct display *out)
{
	if (n->kind != E_COMPARE || n->cmp.right.n != 1 ||
		(n->cmp.ops[0] != CMP_LE && n->cmp.ops[0] != CMP_GE))
		return false;
	bool le = n->cmp.ops[0] == CMP_LE;
	struct node *set = le ? n->cmp.left : n->cmp.right.v[0];
	struct node *view = guard_keys_view(s, le ? n->cmp.right.v[0] : n->cmp.left, scope, loop);
	if (!view || !(value_of(s, view, scope, loop).bits & VAL_DICT))
		return false;
	*out = set_display(s, set, scope, loop);
	return out->known;
}

/* Tests */

static void expand(struct test *t, struct node *n, bool truth);

static uint32_t bits_of(struct test *t, struct node *n)
{
	return value_of(t->s, n, t->scope, t->loop).bits;
}

static void push(struct test *t, const struct fact *from)
{
	if (t->nfacts == MAX_FACTS)
		return;
	struct fact *f = arena_alloc(&t->s->arena, sizeof(*f));
	*f = *from;
	f->next = t->facts;
	t->facts = f;
	t->nfacts++;
}

static void push_key(struct test *t, struct node *key)
{
	struct fact f = {.key = key, .scope = t->scope};
	struct texts x = key_values(t->s, key, t->scope, t->loop);
	f.constant = !x.unknown && x.of.n == 1;
	if (f.constant)
		f.value = x.of.v[0];
	push(t, &f);
}

static struct test without_facts(const struct test *t)
{
	struct test other = *t;
	other.facts = NULL;
	other.nfacts = 0;
	return other;
}

/* What all of several tests say when each of them has this outcome. */
static void expand_common(struct test *t, struct seq tests, bool truth)
{
	struct test first = without_facts(t);
	expand(&first, tests.v[0], truth);
	for (uint32_t i = 1; i < tests.n && first.facts; i++) {
		struct test other = without_facts(t), both = without_facts(t);
		expand(&other, tests.v[i], truth);
		for (struct fact *a = first.facts; a; a = a->next)
			for (struct fact *b = other.facts; b; b = b->next)
				if (same_fact(t->s, a, b)) {
					push(&both, a);
					break;
				}
		first = both;
	}
	for (struct fact *f = first.facts; f; f = f->next)
		push(t, f);
}

/* What a variable that is bound once stands for, and where. */
static bool follow_name(struct test *t, struct node **n)
{
	struct binding *b = NULL;
	if ((*n)->kind == E_NAME && (*n)->op == NAME_PLAIN && t->names < MAX_NAMES)
		b = key_only(scope_lookup(t->s, t->scope, (*n)->name));
	if (!b || b->kind != BIND_VALUE)
		return false;
	*n = b->node;
	t->scope = b->scope;
	t->loop = b->loop;
	t->names++;
	return true;
}

static void expand_name(struct test *t, struct node *n, bool truth)
{
	struct test there = *t;
	if (!follow_name(&there, &n))
		return;
	expand(&there, n, truth);
	t->facts = there.facts;
	t->nfacts = there.nfacts;
}

static bool is_none(const struct node *n)
{
	return n->kind == E_CONST && n->op == K_NONE;
}

/* D.get(K) is [not] None, that get directly or in a variable */
static void expand_is(struct test *t, struct node *left, struct node *right)
{
	struct test there = *t;
	if (is_none(left))
		left = right;
	else if (!is_none(right))
		return;
	do
		while (left->kind == E_NAMED)
			left = left->two.b;
	while (follow_name(&there, &left));
	if (!guard_plain_call(left, 1, 1) || !(bits_of(&there, left->call.func) & VAL_GET))
		return;
	push_key(&there, left->call.args.v[0]);
	t->facts = there.facts;
	t->nfacts = there.nfacts;
}

static void expand_comparison(struct test *t, struct node *n, bool truth)
{
	struct node *left = n->cmp.left, *right = n->cmp.right.v[0];
	struct display d;
	if (n->cmp.right.n != 1)
		return;
	switch (n->cmp.ops[0]) {
	case CMP_IN:
	case CMP_NOT_IN: {
		if ((n->cmp.ops[0] == CMP_IN) != truth)
			break;
		struct node *view = guard_keys_view(t->s, right, t->scope, t->loop);
		if (bits_of(t, view ? view : right) & VAL_DICT)
			push_key(t, left);
		break;
	}
	case CMP_IS:
	case CMP_IS_NOT:
		if ((n->cmp.ops[0] == CMP_IS_NOT) == truth)
			expand_is(t, left, right);
		break;
	default:
		if (!truth || !guard_subset(t->s, n, t->scope, t->loop, &d))
			break;
		struct test there = {
			t->s, d.scope, d.loop, t->facts, t->nfacts, t->names, t->steps, t->more};
		for (uint32_t i = 0; i < d.of.n; i++)
			push_key(&there, d.of.v[i]);
		t->facts = there.facts;
		t->nfacts = there.nfacts;
	}
}

/* Whether a key in a comprehension takes all of its values as the loop goes on. */
static bool goes_over_all(const struct test *t, struct node *key)
{
	if (key->kind == E_STR)
		return true;
	if (key->kind == E_FORMATTED)
		return goes_over_all(t, key->fmt.value);
	if (key->kind == E_BINOP)
		return goes_over_all(t, key->two.a) && goes_over_all(t, key->two.b);
	for (uint32_t i = 0; key->kind == E_JOINED && i < key->list.n; i++)
		if (!goes_over_all(t, key->list.v[i]))
			return false;
	if (key->kind != E_NAME || key->op != NAME_PLAIN)
		return key->kind == E_JOINED;
	struct var *v = scope_own(t->scope, key->name);
	return v && key_only(v) && v->bindings->kind == BIND_FOR;
}

/* A test that had this outcome in each round of a comprehension. */
static void expand_each(struct test *t, struct node *comp, struct node *test, bool truth)
{
	struct test in = without_facts(t);
	in.scope = comp->comp.scope;
	in.loop = comp->comp.clauses.v[comp->comp.clauses.n - 1]->clause.loop;
	expand(&in, test, truth);
	for (struct fact *f = in.facts; f; f = f->next) {
		struct test at = in;
		at.scope = f->scope;
		if (f->constant)
			push(t, f);
		else if (f->scope == in.scope && goes_over_all(&at, f->key)) {
			struct texts x = key_values(t->s, f->key, in.scope, in.loop);
			for (size_t i = 0; i < x.of.n && !x.unknown; i++)
				push(t, &(struct fact){.constant = true, .value = x.of.v[i]});
		}
	}
}

/* all(test for ...) that is true, any(test for ...) that is false */
static bool expand_all(struct test *t, struct node *n, bool truth)
{
	if (!is_call_of(t->s, n, t->scope, truth ? SYM_all : SYM_any, SYM_NONE))
		return false;
	struct node *comp = n->call.args.v[0];
	if (comp->kind != E_GENEXP && comp->kind != E_LISTCOMP && comp->kind != E_SETCOMP)
		return false;
	for (uint32_t i = 0; i < comp->comp.clauses.n; i++)
		if (comp->comp.clauses.v[i]->clause.ifs.n)
			return false;
	expand_each(t, comp, comp->comp.elt, truth);
	return true;
}

/* [... for k in ... if test] that has nothing in it */
static void expand_empty(struct test *t, struct node *n)
{
	struct seq clauses = n->comp.clauses;
	if (clauses.n == 1 && clauses.v[0]->clause.ifs.n == 1)
		expand_each(t, n, clauses.v[0]->clause.ifs.v[0], false);
}

static void expand_call(struct test *t, struct node *n, bool truth)
{
	if (expand_all(t, n, truth))
		return;
	if (truth && guard_plain_call(n, 1, 1) &&
		bits_of(t, n->call.func) & (VAL_GET | VAL_CONTAINS))
		push_key(t, n->call.args.v[0]);
}

static void expand(struct test *t, struct node *n, bool truth)
{
	if (t->names && ++*t->steps > MAX_STEPS)
		return;
	switch (n->kind) {
	case E_UNARY:
		if (n->op == K_NOT)
			expand(t, n->one, !truth);
		break;
	case E_NAMED:
		expand(t, n->two.b, truth);
		break;
	case E_NAME:
		expand_name(t, n, truth);
		break;
	case E_AND:
	case E_OR:
		if ((n->kind == E_AND) != truth) {
			expand_common(t, n->list, truth);
			break;
		}
		if (t->more)
			*t->more = true;
		for (uint32_t i = 0; i < n->list.n; i++)
			expand(t, n->list.v[i], truth);
		break;
	case E_COMPARE:
		expand_comparison(t, n, truth);
		break;
	case E_CALL:
		expand_call(t, n, truth);
		break;
	case E_LISTCOMP:
	case E_SETCOMP:
	case E_DICTCOMP:
		if (!truth)
			expand_empty(t, n);
		break;
	default:
		break;
	}
}

void guard_assume(struct here *h, struct node *test, bool truth, enum without without)
{
	if (h->nassumed == MAX_ASSUMED)
		return;
	struct assumption *a = arena_alloc(&h->s->arena, sizeof(*a));
	*a = (struct assumption){.test = test,
		.scope = h->scope,
		.loop = h->loop,
		.truth = truth,
		.without = without,
		.up = h->assumed};
	h->assumed = a;
	h->nassumed++;
}

static struct fact *facts_of(struct scan *s, struct assumption *a)
{
	uint32_t steps = 0;
	struct test t = {.s = s, .scope = a->scope, .loop = a->loop, .steps = &steps};
	if (!a->known) {
		expand(&t, a->test, a->truth);
		a->facts = t.facts;
		a->known = true;
	}
	return a->facts;
}

/*
 * The key that a test says is absent: with its other outcome it would say that this one key is
 * there, and nothing else.
 */
static const struct text *absent_by(struct scan *s, struct assumption *a)
{
	uint32_t steps = 0;
	bool more = false;
	struct test t = {
		.s = s, .scope = a->scope, .loop = a->loop, .steps = &steps, .more = &more};
	if (a->asked)
		return a->absent;
	a->asked = true;
	expand(&t, a->test, !a->truth);
	if (t.nfacts == 1 && t.facts->constant && !more)
		a->absent = &t.facts->value;
	return a->absent;
}

bool guard_instead(const struct here *h, struct text *key)
{
	const struct text *absent = NULL;
	for (struct assumption *a = h->assumed; a && !absent; a = a->up)
		absent = absent_by(h->s, a);
	if (absent)
		*key = *absent;
	return absent;
}

/* The first test that meets an absent key is what decides, so the last one found here. */
enum without guard_of(const struct here *h, struct node *key, const struct text *value)
{
	enum without found = WITHOUT_UNKNOWN;
	uint32_t compared = 0;
	for (struct assumption *a = h->assumed; a; a = a->up)
		for (struct fact *f = facts_of(h->s, a); f && compared < MAX_COMPARED;
			f = f->next) {
			compared++;
			if (f->constant ? value && same_text(f->value, *value)
					: same(h->s, f->key, f->scope, key, h->scope)) {
				found = a->without;
				break;
			}
		}
	return found;
}

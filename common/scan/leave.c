#include "scan/sema.h"

/* Functions that end in a call of one another are not followed further than this. */
#define MAX_CALLS 3
/* Statements that are looked at behind a handler. */
#define MAX_STEPS 200

static enum leave leave_at(struct scan *s, struct seq body, struct scope *scope, int calls);

/*
 * Kept in the node's mark: an 'elif' is within all those above it, and functions may end in calls
 * of one another.
 */
static bool kept(const struct node *n, enum leave *out)
{
	*out = n->mark ? (enum leave)(n->mark - 1) : LEAVE_NOT;
	return n->mark;
}

static enum leave keep(struct node *n, enum leave leave)
{
	n->mark = (uint8_t)(leave + 1);
	return leave;
}

/* A function of the directory that always raises or exits gives up like what it calls. */
static enum leave leave_of_function(struct scan *s, struct node *f, struct scope *scope, int calls)
{
	struct binding *b = key_only(scope_lookup(s, scope, f->name));
	enum leave leave;
	if (!b || b->kind != BIND_FUNC || calls == MAX_CALLS || b->node->flags & NODE_ASYNC)
		return LEAVE_NOT;
	if (kept(b->node, &leave))
		return leave;
	keep(b->node, LEAVE_NOT);
	leave = leave_at(s, b->node->func.body, b->node->func.scope, calls + 1);
	return keep(b->node, leave == LEAVE_GIVES_UP ? LEAVE_GIVES_UP : LEAVE_NOT);
}

static enum leave leave_of_call(struct scan *s, struct node *n, struct scope *scope, int calls)
{
	struct node *f = n->call.func;
	/* Most calls are none of these; no need to look their names up. */
	if (f->kind == E_ATTR && f->attr.name->known != SYM_exit &&
		f->attr.name->known != SYM__exit)
		return LEAVE_NOT;

	if (f->kind == E_NAME && f->op == NAME_PLAIN &&
		(scope_is_builtin(s, scope, f, SYM_exit) ||
			scope_is_builtin(s, scope, f, SYM_quit)))
		return LEAVE_GIVES_UP;
	if (value_of(s, f, scope, NULL).bits & VAL_EXIT)
		return LEAVE_GIVES_UP;
	if (f->kind == E_NAME && f->op == NAME_PLAIN)
		return leave_of_function(s, f, scope, calls);
	return LEAVE_NOT;
}

/* Two ways that one of which is taken. */
static enum leave either(enum leave a, enum leave b)
{
	return a < b ? a : b;
}

static enum leave leave_of_try(struct scan *s, struct node *n, struct scope *scope, int calls)
{
	enum leave all = leave_at(s, n->try.final, scope, calls);
	if (all != LEAVE_NOT)
		return all;
	all = leave_at(s, n->try.orelse.n ? n->try.orelse : n->try.body, scope, calls);
	for (uint32_t i = 0; i < n->try.handlers.n && all != LEAVE_NOT; i++)
		all = either(all, leave_at(s, n->try.handlers.v[i]->handler.body, scope, calls));
	return all;
}

static enum leave leave_of_if(struct scan *s, struct node *n, struct scope *scope, int calls)
{
	enum leave leave;
	if (kept(n, &leave))
		return leave;
	return keep(n, either(leave_at(s, n->cond.body, scope, calls),
			       leave_at(s, n->cond.orelse, scope, calls)));
}

static enum leave leave_at(struct scan *s, struct seq body, struct scope *scope, int calls)
{
	struct node *n = body.n ? body.v[body.n - 1] : NULL;
	if (!n)
		return LEAVE_NOT;
	switch (n->kind) {
	case S_RETURN:
	case S_BREAK:
	case S_CONTINUE:
		return LEAVE_GOES_ON;
	case S_RAISE:
		return LEAVE_GIVES_UP;
	case S_EXPR:
		return n->one->kind == E_CALL ? leave_of_call(s, n->one, scope, calls) : LEAVE_NOT;
	case S_IF:
		return leave_of_if(s, n, scope, calls);
	case S_WITH:
		return leave_at(s, n->with.body, scope, calls);
	case S_TRY:
		return leave_of_try(s, n, scope, calls);
	default:
		return LEAVE_NOT;
	}
}

enum leave leave_of(struct scan *s, struct seq body, struct scope *scope)
{
	return leave_at(s, body, scope, 0);
}

bool leave_may_give_up(struct seq body)
{
	struct node *n = body.n ? body.v[body.n - 1] : NULL;
	return n && (n->kind == S_RAISE || n->kind == S_IF || n->kind == S_WITH ||
			    n->kind == S_TRY || (n->kind == S_EXPR && n->one->kind == E_CALL));
}

/* What happens where a branch is left: where a missing key is caught, raising goes on too. */
static enum without without(const struct here *h, enum leave leave)
{
	return leave == LEAVE_GIVES_UP && !h->caught ? WITHOUT_GIVES_UP : WITHOUT_GOES_ON;
}

void leave_assume(struct here *h, struct node *n)
{
	for (; n; n = n->cond.orelse.n == 1 && n->cond.orelse.v[0]->kind == S_IF
			      ? n->cond.orelse.v[0]
			      : NULL) {
		enum leave then = leave_of(h->s, n->cond.body, h->scope);
		enum leave other = leave_of(h->s, n->cond.orelse, h->scope);
		if (then != LEAVE_NOT && other == LEAVE_NOT)
			guard_assume(h, n->cond.test, false, without(h, then));
		if (other != LEAVE_NOT && then == LEAVE_NOT)
			guard_assume(h, n->cond.test, true, without(h, other));
		if (then == LEAVE_NOT)
			return;
	}
}

/* What a handler leads to */

enum { RETURNS = 1, BREAKS = 2, RAISES = 4 };

struct ways {
	int found;
	uint32_t steps;
};

static void find_ways(struct node *n, void *arg)
{
	struct ways *l = arg;
	if (++l->steps > MAX_STEPS)
		l->found |= RETURNS;
	else if (n->kind == S_RETURN)
		l->found |= RETURNS;
	else if (n->kind == S_BREAK)
		l->found |= BREAKS;
	else if (n->kind == S_RAISE)
		l->found |= RAISES;
	else if (n->kind == X_HANDLER || n->kind == X_CASE ||
		 (n->kind >= S_IF && n->kind <= S_MATCH))
		ast_each(n, find_ways, l);
}

static int ways_of(struct ways *l, struct node **v, uint32_t n)
{
	for (uint32_t i = 0; i < n && !(l->found & RETURNS); i++)
		find_ways(v[i], l);
	return l->found & (RETURNS | BREAKS);
}

static struct seq loop_body(const struct node *n)
{
	if (n && n->kind == S_FOR)
		return n->loop.body;
	return n && n->kind == S_WHILE ? n->cond.body : (struct seq){0};
}

bool leave_in_the_end(const struct here *h, struct seq handler)
{
	struct ways l = {0};
	bool again = false; /* around a loop, until it raises */
	if (ways_of(&l, handler.v, handler.n))
		return false;
	for (const struct standing *b = h->block; b; b = b->up) {
		struct seq rest = {b->of.v + b->at + 1, b->of.n - b->at - 1};
		struct node *around = b->up ? b->up->of.v[b->up->at] : NULL;
		if (ways_of(&l, rest.v, rest.n))
			return false;
		if (leave_of(h->s, rest, h->scope) == LEAVE_GIVES_UP)
			return true;
		if (again && rest.n)
			return false;
		if (b->of.v == loop_body(around).v) {
			struct seq other =
				around->kind == S_FOR ? around->loop.orelse : around->cond.orelse;
			if (ways_of(&l, b->of.v, b->at))
				return false;
			if (leave_of(h->s, other, h->scope) == LEAVE_GIVES_UP)
				return true;
			again = again || l.found & RAISES;
		}
	}
	return again;
}

/* What code gives up without */

static bool is_false(const struct node *n)
{
	switch (n->kind) {
	case E_CONST:
		return n->op == K_NONE || n->op == K_FALSE ||
		       (n->op == T_NUMBER && n->str.n == 1 && n->str.s[0] == '0');
	case E_STR:
	case E_BYTES:
		return !n->str.n;
	case E_TUPLE:
	case E_LIST:
		return !n->list.n;
	case E_DICT:
		return !n->dict.keys.n;
	default:
		return false;
	}
}

static void demand_call(struct scan *s, struct node *n, struct scope *scope, bool none)
{
	if (!guard_plain_call(n, 1, 2) || !(value_of(s, n->call.func, scope, NULL).bits & VAL_GET))
		return;
	struct node *other = n->call.args.n == 2 ? n->call.args.v[1] : NULL;
	if (!other || (other->kind == E_CONST && other->op == K_NONE) || (!none && is_false(other)))
		n->flags |= NODE_DEMANDED;
}

/* The value of a variable bound once is needed; none: to be other than None. */
static void demand_name(struct scan *s, struct node *n, struct scope *scope, bool none)
{
	if (n->kind == E_NAMED)
		n = n->two.a;
	if (n->kind != E_NAME || n->op != NAME_PLAIN)
		return;
	struct binding *b = key_only(scope_lookup(s, scope, n->name));
	if (b && b->kind == BIND_VALUE)
		demand_call(s, b->node, b->scope, none);
}

/* Code gives up where a test has this outcome. */
static void demand(struct scan *s, struct node *n, struct scope *scope, bool truth)
{
	switch (n->kind) {
	case E_UNARY:
		if (n->op == K_NOT)
			demand(s, n->one, scope, !truth);
		break;
	case E_AND:
	case E_OR:
		for (uint32_t i = 0; (n->kind == E_OR) == truth && i < n->list.n; i++)
			demand(s, n->list.v[i], scope, truth);
		break;
	case E_COMPARE: {
		enum cmp_op want = truth ? CMP_IS : CMP_IS_NOT;
		struct node *right = n->cmp.right.v[0];
		if (n->cmp.right.n == 1 && n->cmp.ops[0] == want && right->kind == E_CONST &&
			right->op == K_NONE)
			demand_name(s, n->cmp.left, scope, true);
		break;
	}
	case E_CALL:
		if (!truth && guard_plain_call(n, 1, 1) && n->call.func->kind == E_NAME &&
			scope_is_builtin(s, scope, n->call.func, SYM_all) &&
			(n->call.args.v[0]->kind == E_TUPLE || n->call.args.v[0]->kind == E_LIST))
			for (uint32_t i = 0; i < n->call.args.v[0]->list.n; i++)
				demand(s, n->call.args.v[0]->list.v[i], scope, false);
		break;
	default:
		if (!truth)
			demand_name(s, n, scope, false);
	}
}

static void demand_in(struct scan *s, struct node *n, struct scope *scope)
{
	switch (n->kind) {
	case S_ASSERT:
		demand(s, n->two.a, scope, false);
		break;
	case E_OR:
		if (leave_of_call(s, n->list.v[1], scope, 0) != LEAVE_GIVES_UP)
			break;
		demand(s, n->list.v[0], scope, false);
		demand_call(s, n->list.v[0], scope, false);
		break;
	default:
		if (leave_of(s, n->cond.body, scope) == LEAVE_GIVES_UP)
			demand(s, n->cond.test, scope, true);
		/* One of several values is enough to come past the 'else' of an 'elif'. */
		if (!(n->flags & NODE_ELIF) && leave_of(s, n->cond.orelse, scope) == LEAVE_GIVES_UP)
			demand(s, n->cond.test, scope, false);
	}
}

void leave_find_demands(struct scan *s)
{
	for (size_t i = 0; i < s->demands.n; i++)
		demand_in(s, s->demands.v[i].node, s->demands.v[i].scope);
}

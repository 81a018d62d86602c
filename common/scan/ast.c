#include "scan/ast.h"

#include <stddef.h>

/* Where a kind's children are, in the order of the source. */
struct ast_place {
	enum { NOTHING, ONE, MANY, PAIRS } how;
	unsigned offset; /* PAIRS: of the keys, with the values behind them */
};

#define AT(how, member)                            \
	{                                          \
		how, offsetof(struct node, member) \
	}
#define ONE_OF(member) AT(ONE, member)
#define ALL_OF(member) AT(MANY, member)
#define TWO_OF(member) ONE_OF(member.a), ONE_OF(member.b)
#define THREE_OF(member) TWO_OF(member), ONE_OF(member.c)
#define COMPREHENSION                                                      \
	{                                                                  \
		ONE_OF(comp.elt), ONE_OF(comp.value), ALL_OF(comp.clauses) \
	}

static const struct ast_place places[][6] = {
	[E_JOINED] = {ALL_OF(list)},
	[E_FORMATTED] = {ONE_OF(fmt.value), ONE_OF(fmt.spec)},
	[E_ATTR] = {ONE_OF(attr.value)},
	[E_SUBSCRIPT] = {ONE_OF(sub.value), ONE_OF(sub.index)},
	[E_CALL] = {ONE_OF(call.func), ALL_OF(call.args), ALL_OF(call.keywords)},
	[E_BINOP] = {TWO_OF(two)},
	[E_UNARY] = {ONE_OF(one)},
	[E_AND] = {ALL_OF(list)},
	[E_OR] = {ALL_OF(list)},
	[E_COMPARE] = {ONE_OF(cmp.left), ALL_OF(cmp.right)},
	[E_IFEXP] = {THREE_OF(three)},
	[E_LAMBDA] = {ALL_OF(lambda.params), ONE_OF(lambda.body)},
	[E_NAMED] = {TWO_OF(two)},
	[E_TUPLE] = {ALL_OF(list)},
	[E_LIST] = {ALL_OF(list)},
	[E_SET] = {ALL_OF(list)},
	[E_DICT] = {AT(PAIRS, dict.keys)},
	[E_LISTCOMP] = COMPREHENSION,
	[E_SETCOMP] = COMPREHENSION,
	[E_GENEXP] = COMPREHENSION,
	[E_DICTCOMP] = COMPREHENSION,
	[E_AWAIT] = {ONE_OF(one)},
	[E_YIELD] = {ONE_OF(one)},
	[E_YIELD_FROM] = {ONE_OF(one)},
	[E_STARRED] = {ONE_OF(one)},
	[E_SLICE] = {THREE_OF(three)},
	[S_EXPR] = {ONE_OF(one)},
	[S_ASSIGN] = {ALL_OF(assign.targets), ONE_OF(assign.value)},
	[S_AUGASSIGN] = {TWO_OF(two)},
	[S_ANNASSIGN] = {THREE_OF(three)},
	[S_RETURN] = {ONE_OF(one)},
	[S_RAISE] = {TWO_OF(two)},
	[S_ASSERT] = {TWO_OF(two)},
	[S_DELETE] = {ALL_OF(list)},
	[S_IMPORT] = {ALL_OF(import.names)},
	[S_IMPORTFROM] = {ALL_OF(import.names)},
	[S_FUNC] = {ALL_OF(func.decorators), ALL_OF(func.type_params), ALL_OF(func.params),
		ONE_OF(func.returns), ALL_OF(func.body)},
	[S_CLASS] = {ALL_OF(cls.decorators), ALL_OF(cls.type_params), ALL_OF(cls.args),
		ALL_OF(cls.keywords), ALL_OF(cls.body)},
	[S_IF] = {ONE_OF(cond.test), ALL_OF(cond.body), ALL_OF(cond.orelse)},
	[S_WHILE] = {ONE_OF(cond.test), ALL_OF(cond.body), ALL_OF(cond.orelse)},
	[S_FOR] = {ONE_OF(loop.target), ONE_OF(loop.iter), ALL_OF(loop.body), ALL_OF(loop.orelse)},
	[S_WITH] = {ALL_OF(with.items), ALL_OF(with.body)},
	[S_TRY] = {ALL_OF(try.body), ALL_OF(try.handlers), ALL_OF(try.orelse), ALL_OF(try.final)},
	[S_MATCH] = {ONE_OF(match.subject), ALL_OF(match.cases)},
	[S_TYPEALIAS] = {ALL_OF(alias_stmt.type_params), ONE_OF(alias_stmt.value)},
	[X_HANDLER] = {ONE_OF(handler.type), ALL_OF(handler.body)},
	[X_WITHITEM] = {TWO_OF(two)},
	[X_CASE] = {ONE_OF(kase.pattern), ONE_OF(kase.guard), ALL_OF(kase.body)},
	[X_COMP] = {ONE_OF(clause.target), ONE_OF(clause.iter), ALL_OF(clause.ifs)},
	[X_KEYWORD] = {ONE_OF(keyword.value)},
	[X_PARAM] = {ONE_OF(param.annotation), ONE_OF(param.value)},
	[X_TYPEPARAM] = {ONE_OF(param.annotation), ONE_OF(param.value)},
	[P_VALUE] = {ONE_OF(one)},
	[P_SEQUENCE] = {ALL_OF(list)},
	[P_MAPPING] = {AT(PAIRS, mapping.keys)},
	[P_CLASS] = {ONE_OF(pclass.cls), ALL_OF(pclass.args), ALL_OF(pclass.values)},
	[P_AS] = {ONE_OF(capture.pattern)},
	[P_OR] = {ALL_OF(list)},
};

static void each_pair(const struct seq *keys, void visit(struct node *, void *), void *arg)
{
	const struct seq *values = keys + 1;
	for (uint32_t i = 0; i < values->n; i++) {
		if (keys->v[i])
			visit(keys->v[i], arg);
		visit(values->v[i], arg);
	}
}

void ast_each(struct node *n, void visit(struct node *child, void *arg), void *arg)
{
	for (const struct ast_place *p = places[n->kind]; p->how != NOTHING; p++) {
		void *at = (char *)n + p->offset;
		const struct seq *s = at;
		struct node *one = p->how == ONE ? *(struct node **)at : NULL;
		if (one)
			visit(one, arg);
		if (p->how == PAIRS)
			each_pair(s, visit, arg);
		for (uint32_t i = 0; p->how == MANY && i < s->n; i++)
			if (s->v[i])
				visit(s->v[i], arg);
	}
}

struct depth {
	unsigned at, most;
	bool deeper;
};

static void measure(struct node *n, void *arg)
{
	struct depth *d = arg;
	if (d->deeper || d->at == d->most) {
		d->deeper = true;
		return;
	}
	d->at++;
	ast_each(n, measure, d);
	d->at--;
}

bool ast_is_deeper(struct seq body, unsigned most)
{
	struct depth d = {.at = 1, .most = most};
	for (uint32_t i = 0; i < body.n; i++)
		measure(body.v[i], &d);
	return d.deeper;
}

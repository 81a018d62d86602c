#include "scan/ast.h"

#define VISITOR void visit(struct node *child, void *arg)

static void each_of(struct seq s, VISITOR, void *arg)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (s.v[i])
			visit(s.v[i], arg);
}

static void each_one(struct node *n, VISITOR, void *arg)
{
	if (n)
		visit(n, arg);
}

static void each_pair(struct seq keys, struct seq values, VISITOR, void *arg)
{
	for (uint32_t i = 0; i < values.n; i++) {
		each_one(keys.v[i], visit, arg);
		visit(values.v[i], arg);
	}
}

static void each_in_statement(struct node *n, VISITOR, void *arg)
{
	switch (n->kind) {
	case S_ASSIGN:
		each_of(n->assign.targets, visit, arg);
		each_one(n->assign.value, visit, arg);
		break;
	case S_DELETE:
		each_of(n->list, visit, arg);
		break;
	case S_IMPORT:
	case S_IMPORTFROM:
		each_of(n->import.names, visit, arg);
		break;
	case S_FUNC:
		each_of(n->func.decorators, visit, arg);
		each_of(n->func.type_params, visit, arg);
		each_of(n->func.params, visit, arg);
		each_one(n->func.returns, visit, arg);
		each_of(n->func.body, visit, arg);
		break;
	case S_CLASS:
		each_of(n->cls.decorators, visit, arg);
		each_of(n->cls.type_params, visit, arg);
		each_of(n->cls.args, visit, arg);
		each_of(n->cls.keywords, visit, arg);
		each_of(n->cls.body, visit, arg);
		break;
	case S_IF:
	case S_WHILE:
		each_one(n->cond.test, visit, arg);
		each_of(n->cond.body, visit, arg);
		each_of(n->cond.orelse, visit, arg);
		break;
	case S_FOR:
		each_one(n->loop.target, visit, arg);
		each_one(n->loop.iter, visit, arg);
		each_of(n->loop.body, visit, arg);
		each_of(n->loop.orelse, visit, arg);
		break;
	case S_WITH:
		each_of(n->with.items, visit, arg);
		each_of(n->with.body, visit, arg);
		break;
	case S_TRY:
		each_of(n->try.body, visit, arg);
		each_of(n->try.handlers, visit, arg);
		each_of(n->try.orelse, visit, arg);
		each_of(n->try.final, visit, arg);
		break;
	case S_MATCH:
		each_one(n->match.subject, visit, arg);
		each_of(n->match.cases, visit, arg);
		break;
	case S_TYPEALIAS:
		each_of(n->alias_stmt.type_params, visit, arg);
		each_one(n->alias_stmt.value, visit, arg);
		break;
	default:
		break;
	}
}

static void each_in_part(struct node *n, VISITOR, void *arg)
{
	switch (n->kind) {
	case X_HANDLER:
		each_one(n->handler.type, visit, arg);
		each_of(n->handler.body, visit, arg);
		break;
	case X_CASE:
		each_one(n->kase.pattern, visit, arg);
		each_one(n->kase.guard, visit, arg);
		each_of(n->kase.body, visit, arg);
		break;
	case X_COMP:
		each_one(n->clause.target, visit, arg);
		each_one(n->clause.iter, visit, arg);
		each_of(n->clause.ifs, visit, arg);
		break;
	case X_KEYWORD:
		each_one(n->keyword.value, visit, arg);
		break;
	case X_PARAM:
	case X_TYPEPARAM:
		each_one(n->param.annotation, visit, arg);
		each_one(n->param.value, visit, arg);
		break;
	case P_MAPPING:
		each_pair(n->mapping.keys, n->mapping.values, visit, arg);
		break;
	case P_CLASS:
		each_one(n->pclass.cls, visit, arg);
		each_of(n->pclass.args, visit, arg);
		each_of(n->pclass.values, visit, arg);
		break;
	case P_AS:
		each_one(n->capture.pattern, visit, arg);
		break;
	default:
		break;
	}
}

static void each_in_compound(struct node *n, VISITOR, void *arg)
{
	switch (n->kind) {
	case E_CALL:
		visit(n->call.func, arg);
		each_of(n->call.args, visit, arg);
		each_of(n->call.keywords, visit, arg);
		break;
	case E_COMPARE:
		visit(n->cmp.left, arg);
		each_of(n->cmp.right, visit, arg);
		break;
	case E_LAMBDA:
		each_of(n->lambda.params, visit, arg);
		visit(n->lambda.body, arg);
		break;
	case E_DICT:
		each_pair(n->dict.keys, n->dict.values, visit, arg);
		break;
	default: /* comprehensions */
		visit(n->comp.elt, arg);
		each_one(n->comp.value, visit, arg);
		each_of(n->comp.clauses, visit, arg);
	}
}

void ast_each(struct node *n, VISITOR, void *arg)
{
	switch (n->kind) {
	case E_NAME:
	case E_CONST:
	case E_STR:
	case E_BYTES:
		break;
	case E_ATTR:
		visit(n->attr.value, arg);
		break;
	case E_CALL:
	case E_COMPARE:
	case E_LAMBDA:
	case E_DICT:
	case E_LISTCOMP:
	case E_SETCOMP:
	case E_GENEXP:
	case E_DICTCOMP:
		each_in_compound(n, visit, arg);
		break;
	case E_JOINED:
	case E_AND:
	case E_OR:
	case E_TUPLE:
	case E_LIST:
	case E_SET:
	case P_SEQUENCE:
	case P_OR:
		each_of(n->list, visit, arg);
		break;
	case E_UNARY:
	case E_AWAIT:
	case E_YIELD:
	case E_YIELD_FROM:
	case E_STARRED:
	case S_EXPR:
	case S_RETURN:
	case P_VALUE:
		each_one(n->one, visit, arg);
		break;
	case E_SUBSCRIPT:
	case E_FORMATTED:
	case E_BINOP:
	case E_NAMED:
	case S_AUGASSIGN:
	case S_RAISE:
	case S_ASSERT:
	case X_WITHITEM:
		each_one(n->two.a, visit, arg);
		each_one(n->two.b, visit, arg);
		break;
	case E_IFEXP:
	case E_SLICE:
	case S_ANNASSIGN:
		each_one(n->three.a, visit, arg);
		each_one(n->three.b, visit, arg);
		each_one(n->three.c, visit, arg);
		break;
	default:
		if (n->kind < X_HANDLER)
			each_in_statement(n, visit, arg);
		else
			each_in_part(n, visit, arg);
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
	each_of(body, measure, &d);
	return d.deeper;
}

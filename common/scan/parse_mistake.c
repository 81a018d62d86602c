/* What CPython's grammar has its invalid_ rules for: what was probably meant. */
#include "scan/parse_in.h"

#include <string.h>

const char *parse_kind_name(const struct node *n)
{
	switch ((enum node_kind)n->kind) {
	case E_ATTR:
		return "attribute";
	case E_SUBSCRIPT:
		return "subscript";
	case E_STARRED:
		return "starred";
	case E_NAME:
		return "name";
	case E_LIST:
		return "list";
	case E_TUPLE:
		return "tuple";
	case E_LAMBDA:
		return "lambda";
	case E_CALL:
		return "function call";
	case E_GENEXP:
		return "generator expression";
	case E_YIELD:
	case E_YIELD_FROM:
		return "yield expression";
	case E_AWAIT:
		return "await expression";
	case E_LISTCOMP:
		return "list comprehension";
	case E_SETCOMP:
		return "set comprehension";
	case E_DICTCOMP:
		return "dict comprehension";
	case E_DICT:
		return "dict literal";
	case E_SET:
		return "set display";
	case E_JOINED:
	case E_FORMATTED:
		return "f-string expression";
	case E_COMPARE:
		return "comparison";
	case E_IFEXP:
		return "conditional expression";
	case E_NAMED:
		return "named expression";
	case E_CONST:
		return n->op == K_NONE	     ? "None"
		       : n->op == K_TRUE     ? "True"
		       : n->op == K_FALSE    ? "False"
		       : n->op == T_ELLIPSIS ? "ellipsis"
					     : "literal";
	case E_STR:
	case E_BYTES:
		return "literal";
	default:
		return "expression";
	}
}

/* What in n keeps it from being assigned to or deleted; NULL if nothing does. */
static const struct node *culprit(const struct node *n, enum target_use use)
{
	if (parse_is_single_target(n))
		return NULL;
	if (n->kind == E_STARRED)
		return use == TARGET_DELETE ? n : culprit(n->one, use);
	if (n->kind == E_COMPARE && use == TARGET_LOOP)
		return n->cmp.ops[0] == CMP_IN ? culprit(n->cmp.left, use) : NULL;
	if (n->kind != E_TUPLE && n->kind != E_LIST)
		return n;
	for (uint32_t i = 0; i < n->list.n; i++) {
		const struct node *c = culprit(n->list.v[i], use);
		if (c)
			return c;
	}
	return NULL;
}

void parse_bad_target(struct parse *p, const struct node *n, enum target_use use)
{
	const struct node *c = culprit(n, use);
	if (c)
		parse_error_at(p, c,
			lex_say(&p->lx, "cannot %s %s",
				use == TARGET_DELETE ? "delete" : "assign to", parse_kind_name(c)));
}

void parse_bad_targets(struct parse *p, const struct lex *begin, enum target_use use)
{
	struct place at = parse_here(p);
	if (p->trial || p->lx.kind == T_EOF)
		parse_unexpected(p);
	parse_reached(p, at);
	p->lx = *begin;
	parse_bad_target(p, parse_star_expressions(p), use);
	parse_unexpected(p);
}

static void expression(struct parse *p)
{
	parse_expression(p);
}

/* Any beginning of an expression is enough: of 'b.' the 'b' is one. */
static void operand(struct parse *p)
{
	if (parse_try(p, expression))
		return;
	while (p->lx.kind == K_NOT || p->lx.kind == K_AWAIT || p->lx.kind == T_TILDE ||
		p->lx.kind == T_MINUS || p->lx.kind == T_PLUS)
		lex_next(&p->lx);
	if (p->lx.kind == K_LAMBDA)
		parse_expression(p);
	else
		parse_atom(p);
}

/* CPython compares with "case", "match" and "_" no more bytes than the name has. */
static bool looks_soft(const char *name, size_t n)
{
	return strncmp("case", name, n) == 0 || strncmp("match", name, n) == 0 ||
	       strncmp("_", name, n) == 0;
}

static size_t name_length(const char *s)
{
	static const char letters[] =
		"_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	return strspn(s, letters);
}

void parse_juxtaposed(struct parse *p, const char *start, const struct node *a)
{
	size_t n = name_length(start);
	bool name = a->kind == E_NAME && *start != '(';
	bool legacy = a->kind == E_NAME && a->name->len == n &&
		      (strcmp(a->name->s, "print") == 0 || strcmp(a->name->s, "exec") == 0);
	bool opens = p->lx.kind == T_LPAR || p->lx.kind == T_LSQB || p->lx.kind == T_LBRACE;
	if (p->trial || start == p->key)
		return;
	if (legacy && parse_try(p, operand))
		parse_error_at(p, a,
			lex_say(&p->lx,
				"Missing parentheses in call to '%s'. Did you mean %s(...)?",
				a->name->s, a->name->s));
	if (p->lx.level == opens || (n && looks_soft(start, n)) || (name && p->lx.kind == T_STRING))
		return;
	if (parse_try(p, operand))
		parse_error_at(p, a, "invalid syntax. Perhaps you forgot a comma?");
}

static void compared(struct parse *p)
{
	lex_next(&p->lx);
	parse_bit_or(p);
	if (p->lx.kind == T_EQUAL || p->lx.kind == T_WALRUS)
		parse_unexpected(p);
}

static bool is_bit_or(const struct node *n)
{
	return n->kind != E_COMPARE && n->kind != E_OR && n->kind != E_AND && n->kind != E_LAMBDA &&
	       n->kind != E_IFEXP && n->kind != E_STARRED && n->kind != E_NAMED &&
	       (n->kind != E_UNARY || n->op != K_NOT);
}

void parse_mistaken_equal(struct parse *p, const struct node *n)
{
	bool constant =
		n->kind == E_CONST && (n->op == K_NONE || n->op == K_TRUE || n->op == K_FALSE);
	if (p->trial || !is_bit_or(n) || constant || n->kind == E_LIST || n->kind == E_TUPLE ||
		n->kind == E_GENEXP || !parse_try(p, compared))
		return;
	if (n->kind == E_NAME)
		parse_error_at(
			p, n, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
	parse_error_at(p, n,
		lex_say(&p->lx, "cannot assign to %s here. Maybe you meant '==' instead of '='?",
			parse_kind_name(n)));
}

static void next_expression(struct parse *p)
{
	lex_next(&p->lx);
	parse_expression(p);
}

void parse_mistaken_walrus(struct parse *p, const struct node *n)
{
	if (!p->trial && parse_try(p, next_expression))
		parse_error_at(p, n,
			lex_say(&p->lx, "cannot use assignment expressions with %s",
				parse_kind_name(n)));
}

void parse_mistaken_annotation(struct parse *p, const struct node *n)
{
	if (p->trial || n->kind == E_STARRED || n->kind == E_YIELD || n->kind == E_YIELD_FROM ||
		!parse_try(p, next_expression))
		return;
	if (n->kind != E_TUPLE && n->kind != E_LIST)
		parse_error_at(p, n, "illegal target for annotation");
	parse_error_at(p, n->kind == E_TUPLE && !(n->flags & NODE_PAREN) ? n->list.v[0] : n,
		lex_say(&p->lx, "only single target (not %s) can be annotated",
			parse_kind_name(n)));
}

static void next_value(struct parse *p)
{
	lex_next(&p->lx);
	parse_yield_or_star(p);
}

void parse_mistaken_augmented(struct parse *p, const struct node *n)
{
	if (!p->trial && n->kind != E_YIELD && n->kind != E_YIELD_FROM && parse_try(p, next_value))
		parse_error_at(p, n,
			lex_say(&p->lx, "'%s' is an illegal expression for augmented assignment",
				parse_kind_name(n)));
}

/* value is before the '=' at hand and cannot be assigned to; its text began there. */
void parse_mistaken_assignment(
	struct parse *p, struct place begin, const struct node *value, bool first)
{
	bool bare = value->kind == E_TUPLE && !(value->flags & NODE_PAREN);
	bool yields = value->kind == E_YIELD || value->kind == E_YIELD_FROM;

	if (yields && value->line == begin.line && value->col == begin.col)
		parse_error_at(p, value, "assignment to yield expression not possible");
	if (first)
		parse_mistaken_equal(p, bare ? value->list.v[value->list.n - 1] : value);
	parse_bad_target(p, value, TARGET_STORE);
	parse_unexpected(p);
}

/* The key that began there ended before the present token, which is no ':'. */
void parse_lone_key(struct parse *p, const struct lex *begin)
{
	const char *stop = p->lx.start;
	struct place at = {begin->line, 0};
	if (p->trial)
		parse_unexpected(p);
	p->lx = *begin;
	while (p->lx.start < stop) {
		at.col = p->lx.col + (uint32_t)(p->lx.stop - p->lx.start);
		lex_next(&p->lx);
	}
	at.col -= at.col > 0;
	parse_fail(p, at, "':' expected after dictionary key");
}

#include "scan/parse_in.h"

static bool at_for(const struct parse *p)
{
	return p->lx.kind == K_FOR || p->lx.kind == K_ASYNC;
}

static struct node *clause(struct parse *p)
{
	struct node *n = PARSE_NEW(p, X_COMP, parse_here(p), clause);
	uint32_t mark = p->depth;
	if (parse_accept(p, K_ASYNC))
		n->flags = NODE_ASYNC;
	parse_expect(p, K_FOR);
	n->clause.target = parse_star_targets(p);
	parse_expect(p, K_IN);
	n->clause.iter = parse_disjunction(p);
	while (parse_accept(p, K_IF))
		parse_push(p, parse_disjunction(p));
	n->clause.ifs = parse_take(p, mark);
	return n;
}

static struct node *comprehension(
	struct parse *p, enum node_kind kind, struct place at, struct node *elt, struct node *value)
{
	uint32_t mark = p->depth;

	while (at_for(p))
		parse_push(p, clause(p));
	if (elt->kind == E_STARRED)
		parse_error_at(p, elt, "iterable unpacking cannot be used in comprehension");
	struct node *n = PARSE_NEW(p, kind, at, comp);
	n->comp.elt = elt;
	n->comp.value = value;
	n->comp.clauses = parse_take(p, mark);
	return n;
}

struct node *parse_genexp(struct parse *p, struct place at, struct node *elt)
{
	return comprehension(p, E_GENEXP, at, elt, NULL);
}

/* The rest of a display whose first member is at hand, up to the closing bracket. */
static struct node *members(
	struct parse *p, enum node_kind kind, struct place at, struct node *first, enum token close)
{
	uint32_t mark = p->depth;

	if (first)
		parse_push(p, first);
	while (first && parse_accept(p, T_COMMA) && p->lx.kind != close && !at_for(p))
		parse_push(p, parse_star_named(p));
	if (first && at_for(p) && close != T_RPAR) {
		comprehension(p, E_LISTCOMP, at, p->stack[p->depth - 1], NULL);
		parse_error_at(
			p, first, "did you forget parentheses around the comprehension target?");
	}
	struct node *n = PARSE_NEW(p, kind, at, list);
	n->list = parse_take(p, mark);
	return n;
}

static void group_of_double_star(struct parse *p)
{
	lex_next(&p->lx);
	parse_expression(p);
	if (p->lx.kind != T_RPAR)
		parse_unexpected(p);
}

static struct node *parenthesised(struct parse *p, struct place at)
{
	if (p->lx.kind == T_RPAR) {
		struct node *n = members(p, E_TUPLE, at, NULL, T_RPAR);
		n->flags = NODE_PAREN;
		return n;
	}
	if (p->lx.kind == K_YIELD)
		return parse_yield_or_named(p);
	if (p->lx.kind == T_DSTAR && parse_try(p, group_of_double_star))
		parse_fail(p, (struct place){at.line, at.col + 1},
			"cannot use double starred expression here");
	struct node *first = parse_star_named(p);
	if (at_for(p))
		return comprehension(p, E_GENEXP, at, first, NULL);
	if (p->lx.kind == T_COMMA) {
		struct node *n = members(p, E_TUPLE, at, first, T_RPAR);
		n->flags = NODE_PAREN;
		return n;
	}
	if (first->kind == E_STARRED && p->lx.kind == T_RPAR)
		parse_error_at(p, first, "cannot use starred expression here");
	if (first->kind == E_STARRED)
		parse_unexpected(p);
	return first;
}

static struct node *list(struct parse *p, struct place at)
{
	if (p->lx.kind == T_RSQB)
		return members(p, E_LIST, at, NULL, T_RSQB);
	struct node *first = parse_star_named(p);
	if (at_for(p))
		return comprehension(p, E_LISTCOMP, at, first, NULL);
	return members(p, E_LIST, at, first, T_RSQB);
}

static struct node *dict_value(struct parse *p)
{
	struct place colon = parse_here(p);
	lex_next(&p->lx);
	if (p->lx.kind == T_RBRACE || p->lx.kind == T_COMMA)
		parse_fail(p, colon, "expression expected after dictionary key and ':'");
	if (p->lx.kind == T_STAR) {
		struct node *n = parse_star_named(p);
		parse_error_at(p, n, "cannot use a starred expression in a dictionary value");
	}
	return parse_expression(p);
}

static struct node *dict_key(struct parse *p)
{
	const struct lex begin = p->lx;
	const char *outer = p->key;
	p->key = begin.start;
	struct node *n = parse_expression(p);
	p->key = outer;
	if (p->lx.kind != T_COLON)
		parse_lone_key(p, &begin);
	return n;
}

/* Keys and values take turns on the stack; the key of '**value' is NULL. */
static struct node *dict_rest(struct parse *p, struct place at, uint32_t mark)
{
	while (parse_accept(p, T_COMMA) && p->lx.kind != T_RBRACE) {
		if (parse_accept(p, T_DSTAR)) {
			parse_push(p, NULL);
			parse_push(p, parse_bit_or(p));
			continue;
		}
		parse_push(p, dict_key(p));
		parse_push(p, dict_value(p));
	}
	struct seq all = parse_take(p, mark);
	struct node *n = PARSE_NEW(p, E_DICT, at, dict);
	n->dict.keys.n = n->dict.values.n = all.n / 2;
	n->dict.keys.v = all.v;
	if (all.n)
		n->dict.values.v = arena_alloc(p->arena, all.n / 2 * sizeof(*all.v));
	for (uint32_t i = 0; i < all.n / 2; i++) {
		n->dict.values.v[i] = all.v[2 * i + 1];
		all.v[i] = all.v[2 * i];
	}
	return n;
}

static struct node *set_rest(struct parse *p, struct place at, struct node *first)
{
	if (at_for(p))
		return comprehension(p, E_SETCOMP, at, first, NULL);
	return members(p, E_SET, at, first, T_RBRACE);
}

static _Noreturn void unpacked_comprehension(struct parse *p, struct place at, struct place stars)
{
	comprehension(p, E_DICTCOMP, at, p->stack[p->depth - 1], NULL);
	if (p->lx.kind != T_RBRACE)
		parse_unexpected(p);
	parse_fail(p, stars, "dict unpacking cannot be used in dict comprehension");
}

static struct node *dict_or_set(struct parse *p, struct place at)
{
	struct place here = parse_here(p);
	uint32_t mark = p->depth;
	if (p->lx.kind == T_RBRACE)
		return dict_rest(p, at, mark);
	if (p->lx.kind == T_STAR)
		return set_rest(p, at, parse_star_named(p));
	if (parse_accept(p, T_DSTAR)) {
		parse_push(p, NULL);
		parse_push(p, parse_bit_or(p));
		if (at_for(p))
			unpacked_comprehension(p, at, here);
		return dict_rest(p, at, mark);
	}
	struct node *first = parse_expression(p);
	if (p->lx.kind == T_EQUAL)
		parse_mistaken_equal(p, first);
	if (p->lx.kind == T_WALRUS)
		first = parse_walrus(p, here, first);
	else if (p->lx.kind == T_COLON) {
		struct node *value = dict_value(p);
		if (at_for(p))
			return comprehension(p, E_DICTCOMP, at, first, value);
		parse_push(p, first);
		parse_push(p, value);
		return dict_rest(p, at, mark);
	}
	return set_rest(p, at, first);
}

static struct node *bracketed(
	struct parse *p, enum token close, struct node *inside(struct parse *, struct place))
{
	struct place at = parse_here(p);

	parse_enter(p);
	lex_next(&p->lx);
	struct node *n = inside(p, at);
	parse_expect(p, close);
	parse_leave(p);
	return n;
}

struct node *parse_atom(struct parse *p)
{
	struct node *n;
	switch (p->lx.kind) {
	case T_NAME:
		n = PARSE_NEW(p, E_NAME, parse_here(p), name);
		n->name = p->lx.sym;
		break;
	case T_NUMBER:
	case T_ELLIPSIS:
	case K_NONE:
	case K_TRUE:
	case K_FALSE:
		n = PARSE_NEW(p, E_CONST, parse_here(p), str);
		n->op = (uint8_t)p->lx.kind;
		n->str.s = p->lx.start;
		n->str.n = (uint32_t)(p->lx.stop - p->lx.start);
		break;
	case T_STRING:
	case T_FSTRING:
		return parse_strings(p);
	case T_LPAR:
		return bracketed(p, T_RPAR, parenthesised);
	case T_LSQB:
		return bracketed(p, T_RSQB, list);
	case T_LBRACE:
		return bracketed(p, T_RBRACE, dict_or_set);
	default:
		parse_unexpected(p);
	}
	lex_next(&p->lx);
	return n;
}

static bool ends_slice(const struct parse *p)
{
	return p->lx.kind == T_COLON || p->lx.kind == T_COMMA || p->lx.kind == T_RSQB;
}

static struct node *slice(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *first = NULL;
	if (p->lx.kind == T_STAR)
		return parse_starred(p);
	if (p->lx.kind != T_COLON) {
		first = parse_expression(p);
		if (p->lx.kind == T_EQUAL)
			parse_mistaken_equal(p, first);
		if (p->lx.kind == T_WALRUS)
			return parse_walrus(p, at, first);
		if (p->lx.kind != T_COLON)
			return first;
	}
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, E_SLICE, at, three);
	n->three.a = first;
	if (!ends_slice(p))
		n->three.b = parse_expression(p);
	if (parse_accept(p, T_COLON) && !ends_slice(p))
		n->three.c = parse_expression(p);
	return n;
}

struct node *parse_slices(struct parse *p)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	struct node *first = slice(p);
	if (p->lx.kind != T_COMMA && first->kind != E_STARRED)
		return first;
	parse_push(p, first);
	while (parse_accept(p, T_COMMA) && p->lx.kind != T_RSQB)
		parse_push(p, slice(p));
	struct node *n = PARSE_NEW(p, E_TUPLE, at, list);
	n->list = parse_take(p, mark);
	return n;
}

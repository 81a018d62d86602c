#include "scan/parse_in.h"

enum level {
	L_NONE,
	L_OR,
	L_AND,
	L_NOT,
	L_COMPARE,
	L_BIT_OR,
	L_BIT_XOR,
	L_BIT_AND,
	L_SHIFT,
	L_SUM,
	L_TERM,
	L_UNARY,
	L_POWER,
};

static const uint8_t levels[T_END] = {
	[K_OR] = L_OR,
	[K_AND] = L_AND,
	[K_NOT] = L_COMPARE,
	[K_IN] = L_COMPARE,
	[K_IS] = L_COMPARE,
	[T_EQ] = L_COMPARE,
	[T_NE] = L_COMPARE,
	[T_LT] = L_COMPARE,
	[T_LE] = L_COMPARE,
	[T_GT] = L_COMPARE,
	[T_GE] = L_COMPARE,
	[T_BAR] = L_BIT_OR,
	[T_CARET] = L_BIT_XOR,
	[T_AMPER] = L_BIT_AND,
	[T_LSHIFT] = L_SHIFT,
	[T_RSHIFT] = L_SHIFT,
	[T_PLUS] = L_SUM,
	[T_MINUS] = L_SUM,
	[T_STAR] = L_TERM,
	[T_SLASH] = L_TERM,
	[T_DSLASH] = L_TERM,
	[T_PERCENT] = L_TERM,
	[T_AT] = L_TERM,
	[T_DSTAR] = L_POWER,
};

static struct node *binary(struct parse *p, enum level min);

static bool at_for(const struct parse *p)
{
	return p->lx.kind == K_FOR || p->lx.kind == K_ASYNC;
}

bool parse_starts_expression(const struct parse *p)
{
	static const bool starts[T_END] = {
		[T_NAME] = true,
		[T_NUMBER] = true,
		[T_STRING] = true,
		[T_FSTRING] = true,
		[T_LPAR] = true,
		[T_LSQB] = true,
		[T_LBRACE] = true,
		[T_ELLIPSIS] = true,
		[T_PLUS] = true,
		[T_MINUS] = true,
		[T_TILDE] = true,
		[T_STAR] = true,
		[K_FALSE] = true,
		[K_NONE] = true,
		[K_TRUE] = true,
		[K_AWAIT] = true,
		[K_LAMBDA] = true,
		[K_NOT] = true,
	};
	return starts[p->lx.kind];
}

static struct node *one(struct parse *p, enum node_kind kind, struct place at, struct node *x)
{
	struct node *n = PARSE_NEW(p, kind, at, one);
	n->one = x;
	return n;
}

static struct node *attribute(struct parse *p, struct place at, struct node *value)
{
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, E_ATTR, at, attr);
	n->attr.value = value;
	n->attr.name = parse_name(p);
	return n;
}

static struct node *call(struct parse *p, struct place at, struct node *func)
{
	struct node *n = PARSE_NEW(p, E_CALL, at, call);
	n->call.func = func;
	parse_arguments(p, &n->call.args, &n->call.keywords, true);
	return n;
}

/*
 * NULL, with p back on the bracket, for 'x[]' and 'x[y for z in x]': those are two expressions, one
 * behind the other.
 */
static struct node *subscript(struct parse *p, struct place at, struct node *value)
{
	const struct lex bracket = p->lx;
	parse_enter(p);
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, E_SUBSCRIPT, at, sub);
	n->sub.value = value;
	if (p->lx.kind != T_RSQB)
		n->sub.index = parse_slices(p);
	parse_leave(p);
	if (n->sub.index && !at_for(p)) {
		parse_expect(p, T_RSQB);
		return n;
	}
	parse_reached(p, parse_here(p));
	p->lx = bracket;
	return NULL;
}

struct node *parse_primary(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *n = parse_atom(p), *sub;
	unsigned links = 0;
	for (;; parse_link(p, &links)) {
		switch (p->lx.kind) {
		case T_DOT:
			n = attribute(p, at, n);
			break;
		case T_LPAR:
			n = call(p, at, n);
			break;
		case T_LSQB:
			sub = subscript(p, at, n);
			if (!sub)
				return n;
			n = sub;
			break;
		default:
			return n;
		}
	}
}

static struct node *prefix(struct parse *p, enum level min)
{
	struct place at = parse_here(p);
	enum token kind = p->lx.kind;
	struct node *n;
	switch (kind) {
	case K_NOT:
		if (min > L_NOT)
			parse_unexpected(p);
		parse_enter(p);
		lex_next(&p->lx);
		n = one(p, E_UNARY, at, binary(p, L_NOT));
		parse_leave(p);
		break;
	case T_PLUS:
	case T_MINUS:
	case T_TILDE:
		parse_enter(p);
		lex_next(&p->lx);
		n = one(p, E_UNARY, at, binary(p, L_UNARY));
		parse_leave(p);
		break;
	case K_AWAIT:
		lex_next(&p->lx);
		n = one(p, E_AWAIT, at, parse_primary(p));
		break;
	default:
		return parse_primary(p);
	}
	n->op = (uint8_t)kind;
	return n;
}

/* 'a and b and c' is one node, 'a and (b and c)' two. */
static struct node *boolean(struct parse *p, struct place at, struct node *first, enum level level)
{
	enum token op = p->lx.kind;
	uint32_t mark = p->depth;
	parse_push(p, first);
	while (parse_accept(p, op))
		parse_push(p, binary(p, level + 1));
	struct node *n = PARSE_NEW(p, op == K_OR ? E_OR : E_AND, at, list);
	n->list = parse_take(p, mark);
	return n;
}

static enum cmp_op compare_op(struct parse *p)
{
	enum token kind = p->lx.kind;
	lex_next(&p->lx);
	switch (kind) {
	case K_NOT:
		parse_expect(p, K_IN);
		return CMP_NOT_IN;
	case K_IS:
		return parse_accept(p, K_NOT) ? CMP_IS_NOT : CMP_IS;
	case K_IN:
		return CMP_IN;
	case T_EQ:
		return CMP_EQ;
	case T_NE:
		return CMP_NE;
	case T_LT:
		return CMP_LT;
	case T_LE:
		return CMP_LE;
	case T_GT:
		return CMP_GT;
	default:
		return CMP_GE;
	}
}

static bool at_comparison(struct parse *p)
{
	if (p->lx.kind != K_NOT)
		return levels[p->lx.kind] == L_COMPARE;
	const struct lex before = p->lx;
	lex_next(&p->lx);
	bool in = p->lx.kind == K_IN;
	if (!in)
		parse_reached(p, parse_here(p));
	p->lx = before;
	return in;
}

static struct node *comparison(struct parse *p, struct place at, struct node *left)
{
	uint32_t mark = p->depth, room = 4;
	uint8_t *ops = arena_alloc(p->arena, room);
	while (at_comparison(p)) {
		uint32_t n = p->depth - mark;
		if (n == room) {
			uint8_t *old = ops;
			room *= 2;
			ops = arena_alloc(p->arena, room);
			for (uint32_t i = 0; i < n; i++)
				ops[i] = old[i];
		}
		ops[n] = (uint8_t)compare_op(p);
		parse_push(p, binary(p, L_BIT_OR));
	}
	struct node *n = PARSE_NEW(p, E_COMPARE, at, cmp);
	n->cmp.left = left;
	n->cmp.right = parse_take(p, mark);
	n->cmp.ops = ops;
	return n;
}

static struct node *arithmetic(
	struct parse *p, struct place at, struct node *left, enum level level)
{
	struct node *n = PARSE_NEW(p, E_BINOP, at, two);

	n->op = (uint8_t)p->lx.kind;
	lex_next(&p->lx);
	n->two.a = left;
	if (level == L_POWER) {
		parse_enter(p);
		n->two.b = binary(p, L_UNARY);
		parse_leave(p);
	} else {
		n->two.b = binary(p, level + 1);
	}
	return n;
}

static struct node *binary(struct parse *p, enum level min)
{
	struct place at = parse_here(p);
	struct node *n = prefix(p, min);
	unsigned links = 0;
	for (;;) {
		enum level level = (enum level)levels[p->lx.kind];
		if (level == L_NONE || level < min || (level == L_COMPARE && !at_comparison(p)))
			return n;
		if (level <= L_AND) {
			n = boolean(p, at, n, level);
		} else if (level == L_COMPARE) {
			n = comparison(p, at, n);
		} else {
			parse_link(p, &links);
			n = arithmetic(p, at, n, level);
		}
	}
}

struct node *parse_disjunction(struct parse *p)
{
	return binary(p, L_OR);
}

static struct node *lambda(struct parse *p)
{
	struct node *n = PARSE_NEW(p, E_LAMBDA, parse_here(p), lambda);
	parse_enter(p);
	lex_next(&p->lx);
	n->lambda.params = parse_params(p, T_COLON);
	/* PEP 701: there the colon begins the format. */
	if (p->lx.fs_level && p->lx.fs_level == p->lx.level)
		parse_error(p, "f-string: lambda expressions are not allowed without parentheses");
	parse_expect(p, T_COLON);
	n->lambda.body = parse_expression(p);
	parse_leave(p);
	return n;
}

struct node *parse_expression(struct parse *p)
{
	struct place at = parse_here(p);
	const char *start = p->lx.start;
	if (p->lx.kind == K_LAMBDA)
		return lambda(p);
	struct node *then = binary(p, L_OR);
	if (p->lx.kind != K_IF) {
		if (parse_starts_expression(p))
			parse_juxtaposed(p, start, then);
		return then;
	}
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, E_IFEXP, at, three);
	n->three.b = then;
	n->three.a = binary(p, L_OR);
	if (p->lx.kind != K_ELSE && p->lx.kind != T_COLON)
		parse_error_at(p, then, "expected 'else' after 'if' expression");
	parse_expect(p, K_ELSE);
	parse_enter(p);
	n->three.c = parse_expression(p);
	parse_leave(p);
	return n;
}

/* A name without parentheses: those would have moved its place. */
static bool is_bare_name(const struct node *n, struct place at)
{
	return n->kind == E_NAME && n->line == at.line && n->col == at.col;
}

struct node *parse_walrus(struct parse *p, struct place at, struct node *target)
{
	if (!is_bare_name(target, at)) {
		parse_mistaken_walrus(p, target);
		parse_unexpected(p);
	}
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, E_NAMED, at, two);
	n->two.a = target;
	n->two.b = parse_expression(p);
	return n;
}

struct node *parse_named(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *n = parse_expression(p);
	if (p->lx.kind == T_EQUAL)
		parse_mistaken_equal(p, n);
	return p->lx.kind == T_WALRUS ? parse_walrus(p, at, n) : n;
}

static struct node *starred(struct parse *p, struct node *value(struct parse *))
{
	struct place at = parse_here(p);
	lex_next(&p->lx);
	return one(p, E_STARRED, at, value(p));
}

static struct node *bit_or(struct parse *p)
{
	return binary(p, L_BIT_OR);
}

struct node *parse_bit_or(struct parse *p)
{
	return bit_or(p);
}

struct node *parse_star_named(struct parse *p)
{
	return p->lx.kind == T_STAR ? starred(p, bit_or) : parse_named(p);
}

struct node *parse_starred(struct parse *p)
{
	return starred(p, parse_expression);
}

static struct node *star_expression(struct parse *p)
{
	return p->lx.kind == T_STAR ? starred(p, bit_or) : parse_expression(p);
}

struct node *parse_star_expressions(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *first = star_expression(p);
	uint32_t mark = p->depth;
	if (p->lx.kind != T_COMMA)
		return first;
	parse_push(p, first);
	while (parse_accept(p, T_COMMA) && parse_starts_expression(p))
		parse_push(p, star_expression(p));
	struct node *n = PARSE_NEW(p, E_TUPLE, at, list);
	n->list = parse_take(p, mark);
	return n;
}

static struct node *yield(struct parse *p)
{
	struct place at = parse_here(p);
	lex_next(&p->lx);
	if (parse_accept(p, K_FROM))
		return one(p, E_YIELD_FROM, at, parse_expression(p));
	return one(p, E_YIELD, at, parse_starts_expression(p) ? parse_star_expressions(p) : NULL);
}

struct node *parse_yield_or_star(struct parse *p)
{
	return p->lx.kind == K_YIELD ? yield(p) : parse_star_expressions(p);
}

struct node *parse_yield_or_named(struct parse *p)
{
	return p->lx.kind == K_YIELD ? yield(p) : parse_star_named(p);
}

static struct node *keyword(struct parse *p, struct place at, struct sym *name)
{
	lex_next(&p->lx);
	struct node *n = PARSE_NEW(p, X_KEYWORD, at, keyword);
	n->keyword.name = name;
	n->keyword.value = parse_expression(p);
	return n;
}

struct arguments {
	struct place first;
	bool named, unpacked;  /* a keyword, a '**' has been seen */
	const char *misplaced; /* a positional one behind a keyword */
};

static void argument(struct parse *p, struct arguments *a)
{
	struct place at = parse_here(p);
	if (p->lx.kind == T_STAR) {
		if (a->unpacked)
			parse_fail(p, a->first,
				"iterable argument unpacking follows keyword argument unpacking");
		parse_push(p, parse_starred(p));
		return;
	}
	if (p->lx.kind == T_DSTAR) {
		a->named = a->unpacked = true;
		parse_push(p, keyword(p, at, NULL));
		return;
	}
	struct node *n = parse_expression(p);
	if (p->lx.kind == T_EQUAL) {
		if (n->kind == E_CONST && n->op != T_NUMBER && n->op != T_ELLIPSIS)
			parse_error_at(
				p, n, lex_say(&p->lx, "cannot assign to %s", parse_kind_name(n)));
		if (!is_bare_name(n, at))
			parse_error_at(p, n,
				"expression cannot contain assignment, perhaps you meant \"==\"?");
		a->named = true;
		parse_push(p, keyword(p, at, n->name));
		return;
	}
	if (a->named && !a->misplaced)
		a->misplaced = a->unpacked
				       ? "positional argument follows keyword argument unpacking"
				       : "positional argument follows keyword argument";
	if (p->lx.kind == T_WALRUS && !is_bare_name(n, at))
		parse_unexpected(p);
	parse_push(p, p->lx.kind == T_WALRUS ? parse_walrus(p, at, n) : n);
}

static void split_arguments(struct parse *p, uint32_t mark, struct seq *args, struct seq *keywords)
{
	struct seq all = parse_take(p, mark);
	uint32_t named = 0;
	for (uint32_t i = 0; i < all.n; i++)
		named += all.v[i]->kind == X_KEYWORD;
	*args = all;
	if (!named)
		return;
	keywords->v = arena_alloc(p->arena, named * sizeof(*keywords->v));
	args->n = 0;
	for (uint32_t i = 0; i < all.n; i++) {
		if (all.v[i]->kind == X_KEYWORD)
			keywords->v[keywords->n++] = all.v[i];
		else
			args->v[args->n++] = all.v[i];
	}
}

static _Noreturn void bare_genexp(struct parse *p, const struct node *elt)
{
	parse_error_at(p, elt, "Generator expression must be parenthesized");
}

/* A generator expression as one of several arguments, the last of which is its first part. */
static void generator_argument(struct parse *p, struct node *last)
{
	parse_genexp(p, parse_at(last), last);
	if (last->kind == X_KEYWORD)
		parse_error_at(
			p, last, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
	bare_genexp(p, last);
}

static void star_expressions(struct parse *p)
{
	parse_star_expressions(p);
}

void parse_arguments(struct parse *p, struct seq *args, struct seq *keywords, bool genexp)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	struct arguments a = {0};
	parse_enter(p);
	lex_next(&p->lx);
	a.first = parse_here(p);
	while (p->lx.kind != T_RPAR) {
		argument(p, &a);
		struct node *last = p->stack[p->depth - 1];
		if (at_for(p) && genexp && p->depth == mark + 1 && last->kind != E_STARRED &&
			last->kind != X_KEYWORD) {
			p->stack[mark] = parse_genexp(p, at, last);
			if (p->lx.kind == T_COMMA)
				bare_genexp(p, last);
			break;
		}
		if (at_for(p) && (p->depth > mark + 1 || last->kind == X_KEYWORD) &&
			(last->kind != X_KEYWORD || last->keyword.name))
			generator_argument(p, last);
		if (!parse_accept(p, T_COMMA))
			break;
		genexp = false;
	}
	if (a.misplaced) {
		/* CPython tells the last token that it has seen, as what is called may be print. */
		if (parse_starts_expression(p))
			parse_try(p, star_expressions);
		parse_error(p, a.misplaced);
	}
	parse_expect(p, T_RPAR);
	split_arguments(p, mark, args, keywords);
	parse_leave(p);
}

#include "scan/parse_in.h"

static struct node *pattern(struct parse *p);
static struct node *pattern_from(struct parse *p, struct place at, struct node *closed);
static struct node *name_pattern(struct parse *p, struct place at, struct sym *name, uint8_t flags);

static struct node *wrap(struct parse *p, enum node_kind kind, struct place at, struct node *x)
{
	struct node *n = PARSE_NEW(p, kind, at, one);
	n->one = x;
	return n;
}

static bool is_wild(const struct parse *p, const struct sym *y, uint8_t flags)
{
	return y == p->syms->known[SYM__] && !(flags & LEX_ODD_NAME);
}

/* A name that a pattern binds; NULL for a wildcard where that may be. */
static struct sym *capture_name(struct parse *p, bool wild)
{
	struct sym *y = p->lx.sym;
	uint8_t flags = p->lx.flags;
	if (p->lx.kind != T_NAME)
		parse_error(p, "a name is expected in the pattern");
	if (is_wild(p, y, flags)) {
		if (!wild)
			parse_error(p, "cannot use '_' as a target");
		y = NULL;
	}
	lex_next(&p->lx);
	if (p->lx.kind == T_DOT || p->lx.kind == T_LPAR || p->lx.kind == T_EQUAL)
		parse_error(p, "invalid pattern target");
	return y;
}

static struct node *signed_number(struct parse *p, bool *imaginary)
{
	struct place at = parse_here(p);
	bool minus = parse_accept(p, T_MINUS);
	if (p->lx.kind != T_NUMBER)
		parse_error(p, "a number is expected in the pattern");
	*imaginary = p->lx.flags & LEX_IMAGINARY;
	struct node *n = parse_atom(p);
	if (!minus)
		return n;
	n = wrap(p, E_UNARY, at, n);
	n->op = T_MINUS;
	return n;
}

/* -1, 2.5, 3 + 4j */
static struct node *number(struct parse *p)
{
	struct place at = parse_here(p);
	bool imaginary;
	struct node *real = signed_number(p, &imaginary);
	if (p->lx.kind != T_PLUS && p->lx.kind != T_MINUS)
		return real;
	if (imaginary)
		parse_error(p, "a real number is required in a complex literal");
	struct node *n = PARSE_NEW(p, E_BINOP, at, two);
	n->op = (uint8_t)p->lx.kind;
	lex_next(&p->lx);
	n->two.a = real;
	if (p->lx.kind != T_NUMBER || !(p->lx.flags & LEX_IMAGINARY))
		parse_error(p, "an imaginary number is required in a complex literal");
	n->two.b = parse_atom(p);
	return n;
}

/* .b.c behind a name */
static struct node *dotted(struct parse *p, struct place at, struct sym *name)
{
	struct node *n = PARSE_NEW(p, E_NAME, at, name);
	unsigned links = 0;
	n->name = name;
	while (parse_accept(p, T_DOT)) {
		parse_link(p, &links);
		struct node *a = PARSE_NEW(p, E_ATTR, at, attr);
		a->attr.value = n;
		a->attr.name = parse_name(p);
		n = a;
	}
	return n;
}

/* NAME '=' pattern, or a pattern that begins with a name. */
static void class_argument(struct parse *p, struct node *cls, uint32_t *names, uint32_t *room)
{
	struct place at = parse_here(p);
	struct sym *name = p->lx.sym;
	uint8_t flags = p->lx.flags;
	if (p->lx.kind != T_NAME) {
		if (*names)
			parse_error(p, "positional patterns follow keyword patterns");
		parse_push(p, pattern(p));
		return;
	}
	lex_next(&p->lx);
	if (p->lx.kind != T_EQUAL) {
		if (*names)
			parse_error(p, "positional patterns follow keyword patterns");
		parse_push(p, pattern_from(p, at, name_pattern(p, at, name, flags)));
		return;
	}
	lex_next(&p->lx);
	if (*names == *room) {
		struct sym **old = cls->pclass.names;
		*room = *room ? 2 * *room : 4;
		cls->pclass.names = arena_alloc(p->arena, *room * sizeof(*old));
		for (uint32_t i = 0; i < *names; i++)
			cls->pclass.names[i] = old[i];
	}
	cls->pclass.names[(*names)++] = name;
	parse_push(p, pattern(p));
}

static struct node *class_pattern(struct parse *p, struct place at, struct node *cls)
{
	struct node *n = PARSE_NEW(p, P_CLASS, at, pclass);
	uint32_t mark = p->depth, names = 0, room = 0;
	n->pclass.cls = cls;
	parse_enter(p);
	lex_next(&p->lx);
	while (p->lx.kind != T_RPAR) {
		class_argument(p, n, &names, &room);
		if (!parse_accept(p, T_COMMA))
			break;
	}
	parse_expect(p, T_RPAR);
	parse_leave(p);
	struct seq all = parse_take(p, mark);
	n->pclass.args = (struct seq){all.v, all.n - names};
	n->pclass.values = (struct seq){names ? all.v + (all.n - names) : NULL, names};
	return n;
}

static struct node *name_pattern(struct parse *p, struct place at, struct sym *name, uint8_t flags)
{
	bool wild = is_wild(p, name, flags);
	if (!wild && (p->lx.kind == T_DOT || p->lx.kind == T_LPAR)) {
		struct node *x = dotted(p, at, name);
		if (p->lx.kind == T_LPAR)
			return class_pattern(p, at, x);
		if (p->lx.kind == T_EQUAL)
			parse_error(p, "invalid pattern");
		return wrap(p, P_VALUE, at, x);
	}
	if (!wild && p->lx.kind == T_EQUAL)
		parse_error(p, "invalid pattern");
	struct node *n = PARSE_NEW(p, P_AS, at, capture);
	n->capture.name = wild ? NULL : name;
	return n;
}

static struct node *star_or_pattern(struct parse *p)
{
	struct place at = parse_here(p);
	if (!parse_accept(p, T_STAR))
		return pattern(p);
	struct node *n = PARSE_NEW(p, P_STAR, at, capture);
	n->capture.name = capture_name(p, true);
	return n;
}

/* first, second, *rest: up to the closing token */
static struct node *sequence(struct parse *p, struct place at, struct node *first, enum token end)
{
	struct node *n = PARSE_NEW(p, P_SEQUENCE, at, list);
	uint32_t mark = p->depth;
	if (first)
		parse_push(p, first);
	/* Without brackets it ends where the case's guard or block begins. */
	while (first && parse_accept(p, T_COMMA) && p->lx.kind != end && p->lx.kind != K_IF)
		parse_push(p, star_or_pattern(p));
	n->list = parse_take(p, mark);
	return n;
}

static struct node *parenthesised(struct parse *p, struct place at)
{
	struct node *n;
	parse_enter(p);
	lex_next(&p->lx);
	if (p->lx.kind == T_RPAR) {
		n = sequence(p, at, NULL, T_RPAR);
	} else {
		n = star_or_pattern(p);
		if (p->lx.kind == T_COMMA)
			n = sequence(p, at, n, T_RPAR);
		else if (n->kind == P_STAR)
			parse_error_at(p, n, "cannot use a starred pattern here");
	}
	parse_expect(p, T_RPAR);
	parse_leave(p);
	return n;
}

static struct node *bracketed(struct parse *p, struct place at)
{
	parse_enter(p);
	lex_next(&p->lx);
	struct node *first = p->lx.kind == T_RSQB ? NULL : star_or_pattern(p);
	struct node *n = sequence(p, at, first, T_RSQB);
	parse_expect(p, T_RSQB);
	parse_leave(p);
	return n;
}

static struct node *mapping_key(struct parse *p)
{
	struct place at = parse_here(p);
	struct sym *name = p->lx.sym;
	switch (p->lx.kind) {
	case T_NUMBER:
	case T_MINUS:
		return number(p);
	case T_STRING:
	case T_FSTRING:
		return parse_strings(p);
	case K_NONE:
	case K_TRUE:
	case K_FALSE:
		return parse_atom(p);
	default:
		parse_name(p);
		if (p->lx.kind != T_DOT)
			parse_error(p, "a mapping pattern's key must be a literal or an attribute");
		return dotted(p, at, name);
	}
}

static struct node *mapping(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, P_MAPPING, at, mapping);
	uint32_t mark = p->depth;
	parse_enter(p);
	lex_next(&p->lx);
	while (p->lx.kind != T_RBRACE) {
		if (parse_accept(p, T_DSTAR)) {
			n->mapping.rest = capture_name(p, false);
			parse_accept(p, T_COMMA);
			break;
		}
		parse_push(p, mapping_key(p));
		parse_expect(p, T_COLON);
		parse_push(p, pattern(p));
		if (!parse_accept(p, T_COMMA))
			break;
	}
	parse_expect(p, T_RBRACE);
	parse_leave(p);
	struct seq all = parse_take(p, mark);
	n->mapping.keys = (struct seq){all.v, all.n / 2};
	n->mapping.values.n = all.n / 2;
	if (all.n)
		n->mapping.values.v = arena_alloc(p->arena, all.n / 2 * sizeof(*all.v));
	for (uint32_t i = 0; i < all.n / 2; i++) {
		n->mapping.values.v[i] = all.v[2 * i + 1];
		all.v[i] = all.v[2 * i];
	}
	return n;
}

static struct node *closed_pattern(struct parse *p)
{
	struct place at = parse_here(p);
	struct sym *name = p->lx.sym;
	uint8_t flags = p->lx.flags;
	struct node *n;
	switch (p->lx.kind) {
	case T_NUMBER:
	case T_MINUS:
		return wrap(p, P_VALUE, at, number(p));
	case T_STRING:
	case T_FSTRING:
		return wrap(p, P_VALUE, at, parse_strings(p));
	case K_NONE:
	case K_TRUE:
	case K_FALSE:
		n = PARSE_NEW(p, P_SINGLETON, at, col);
		n->op = (uint8_t)p->lx.kind;
		lex_next(&p->lx);
		return n;
	case T_LPAR:
		return parenthesised(p, at);
	case T_LSQB:
		return bracketed(p, at);
	case T_LBRACE:
		return mapping(p, at);
	default:
		parse_name(p);
		return name_pattern(p, at, name, flags);
	}
}

/* The '|' and 'as' parts behind a first closed pattern. */
static struct node *pattern_from(struct parse *p, struct place at, struct node *closed)
{
	struct node *n = closed;
	uint32_t mark = p->depth;
	if (p->lx.kind == T_BAR) {
		parse_push(p, closed);
		while (parse_accept(p, T_BAR))
			parse_push(p, closed_pattern(p));
		n = PARSE_NEW(p, P_OR, at, list);
		n->list = parse_take(p, mark);
	}
	if (!parse_accept(p, K_AS))
		return n;
	struct node *as = PARSE_NEW(p, P_AS, at, capture);
	as->capture.pattern = n;
	as->capture.name = capture_name(p, false);
	return as;
}

static struct node *pattern(struct parse *p)
{
	struct place at = parse_here(p);
	return pattern_from(p, at, closed_pattern(p));
}

static struct node *case_block(struct parse *p)
{
	struct node *n = PARSE_NEW(p, X_CASE, parse_here(p), kase);
	if (p->lx.kind != T_NAME || p->lx.sym != p->syms->known[SYM_case] ||
		p->lx.flags & LEX_ODD_NAME)
		parse_unexpected(p);
	lex_next(&p->lx);
	struct place at = parse_here(p);
	n->kase.pattern = star_or_pattern(p);
	if (p->lx.kind == T_COMMA) {
		n->kase.pattern = sequence(p, at, n->kase.pattern, T_COLON);
	} else if (n->kase.pattern->kind == P_STAR) {
		parse_error_at(p, n->kase.pattern, "cannot use a starred pattern here");
	}
	if (parse_accept(p, K_IF))
		n->kase.guard = parse_named(p);
	parse_colon(p);
	n->kase.body = parse_block(p, "'case' statement", n->line);
	return n;
}

struct seq parse_cases(struct parse *p, uint32_t line)
{
	uint32_t mark = p->depth;
	parse_indent(p, "'match' statement", line);
	do
		parse_push(p, case_block(p));
	while (p->lx.kind != T_DEDENT);
	lex_next(&p->lx);
	return parse_take(p, mark);
}

#include "scan/parse_in.h"

/* What a parameter list has shown so far. */
struct params {
	enum token end; /* ')' in def, ':' in lambda, where there are no annotations */
	enum param_kind kind;
	bool slash;	/* '/' */
	bool value;	/* a positional parameter with a default */
	bool need_name; /* a bare '*' with nothing behind it yet */
	struct place star;
};

static void annotation(struct parse *p, struct node *n, enum token end, bool star)
{
	if (end != T_RPAR || !parse_accept(p, T_COLON))
		return;
	if (star && p->lx.kind == T_STAR)
		n->param.annotation = parse_star_named(p);
	else
		n->param.annotation = parse_expression(p);
}

static struct node *param(struct parse *p, struct params *s, enum param_kind kind)
{
	struct node *n = PARSE_NEW(p, X_PARAM, parse_here(p), param);
	n->op = (uint8_t)kind;
	n->param.name = parse_name(p);
	annotation(p, n, s->end, kind == PARAM_VARARGS);
	return n;
}

static bool ends_param(const struct parse *p, const struct params *s)
{
	return p->lx.kind == T_COMMA || p->lx.kind == s->end;
}

static void plain_param(struct parse *p, struct params *s)
{
	struct node *n = param(p, s, s->kind);
	parse_push(p, n);
	s->need_name = false;
	if (p->lx.kind == T_EQUAL) {
		struct place at = parse_here(p);
		lex_next(&p->lx);
		if (p->lx.kind == T_RPAR || p->lx.kind == T_COMMA)
			parse_fail(p, at, "expected default value expression");
		n->param.value = parse_expression(p);
	} else if (s->value && s->kind == PARAM_POS && ends_param(p, s)) {
		/* CPython looks for this mistake on one side of a '/' only. */
		if (s->slash && p->stack[p->depth - 2]->op != PARAM_POS_ONLY)
			parse_unexpected(p);
		parse_error_at(p, n, "non-default argument follows default argument");
	}
	s->value |= n->param.value != NULL;
}

/* '/': all before it take no keyword. */
static void slash(struct parse *p, struct params *s, uint32_t mark)
{
	bool first = p->depth == mark;
	struct place at = parse_here(p);
	if (s->kind != PARAM_POS)
		parse_error(p, "/ must be ahead of *");
	if (!first && p->stack[mark]->op == PARAM_POS_ONLY)
		parse_error(p, "/ may appear only once");
	for (uint32_t i = mark; i < p->depth; i++)
		p->stack[i]->op = PARAM_POS_ONLY;
	s->slash = true;
	lex_next(&p->lx);
	if (first && p->lx.kind == T_COMMA)
		parse_fail(p, at, "at least one argument must precede /");
	if (first)
		parse_fail(p, at, "invalid syntax");
	if (p->lx.kind == T_STAR)
		parse_error(p, "expected comma between / and *");
}

static void refuse_default(struct parse *p, const char *message)
{
	if (p->lx.kind == T_EQUAL)
		parse_error(p, message);
}

static _Noreturn void bare_star(struct parse *p, const struct params *s, struct place at)
{
	static const char message[] = "named arguments must follow bare *";
	if (s->end == T_RPAR)
		parse_fail(p, at, message);
	parse_error(p, message);
}

static void star(struct parse *p, struct params *s)
{
	struct place at = parse_here(p);
	lex_next(&p->lx);
	if (s->kind != PARAM_POS && (p->lx.kind == T_NAME || p->lx.kind == T_COMMA))
		parse_fail(p, at, "* argument may appear only once");
	if (s->kind != PARAM_POS)
		parse_fail(p, at, "invalid syntax");
	if (p->lx.kind == s->end)
		bare_star(p, s, at);
	s->kind = PARAM_KW_ONLY;
	s->star = at;
	s->need_name = p->lx.kind == T_COMMA;
	if (s->need_name)
		return;
	parse_push(p, param(p, s, PARAM_VARARGS));
	refuse_default(p, "var-positional argument cannot have default value");
}

static void double_star(struct parse *p, struct params *s)
{
	if (s->need_name)
		bare_star(p, s, s->star);
	lex_next(&p->lx);
	s->kind = PARAM_KWARGS;
	parse_push(p, param(p, s, PARAM_KWARGS));
	refuse_default(p, "var-keyword argument cannot have default value");
}

static void names_in_parentheses(struct parse *p)
{
	do {
		lex_next(&p->lx);
		if (p->lx.kind == T_RPAR)
			break;
		parse_name(p);
	} while (p->lx.kind == T_COMMA);
	parse_expect(p, T_RPAR);
}

static _Noreturn void no_param(struct parse *p, const struct params *s)
{
	struct place at = parse_here(p);
	if (p->lx.kind == T_LPAR && !s->value && s->kind == PARAM_POS &&
		parse_try(p, names_in_parentheses))
		parse_fail(p, at,
			s->end == T_RPAR ? "Function parameters cannot be parenthesized"
					 : "Lambda expression parameters cannot be parenthesized");
	parse_unexpected(p);
}

struct seq parse_params(struct parse *p, enum token end)
{
	struct params s = {.end = end, .kind = PARAM_POS};
	uint32_t mark = p->depth;
	while (p->lx.kind != end) {
		if (s.kind == PARAM_KWARGS &&
			(p->lx.kind == T_NAME || p->lx.kind == T_STAR || p->lx.kind == T_DSTAR ||
				p->lx.kind == T_SLASH))
			parse_error(p, "arguments cannot follow var-keyword argument");
		if (p->lx.kind == T_SLASH)
			slash(p, &s, mark);
		else if (p->lx.kind == T_STAR)
			star(p, &s);
		else if (p->lx.kind == T_DSTAR)
			double_star(p, &s);
		else if (p->lx.kind == T_NAME && s.kind != PARAM_KWARGS)
			plain_param(p, &s);
		else
			no_param(p, &s);
		if (p->lx.kind != end)
			parse_expect(p, T_COMMA);
	}
	if (s.need_name)
		bare_star(p, &s, s.star);
	return parse_take(p, mark);
}

static struct node *type_param(struct parse *p)
{
	struct node *n = PARSE_NEW(p, X_TYPEPARAM, parse_here(p), param);
	if (!parse_accept(p, T_STAR) && !parse_accept(p, T_DSTAR)) {
		n->param.name = parse_name(p);
		if (parse_accept(p, T_COLON))
			n->param.annotation = parse_expression(p);
	} else {
		n->param.name = parse_name(p);
	}
	if (p->lx.kind == T_EQUAL) {
		parse_modern(p, 13);
		lex_next(&p->lx);
		n->param.value = parse_star_named(p);
	}
	return n;
}

/* PEP 695: '[T, *Ts, **P]', if it is there. */
struct seq parse_type_params(struct parse *p)
{
	uint32_t mark = p->depth;
	if (p->lx.kind != T_LSQB)
		return (struct seq){0};
	parse_modern(p, 12);
	lex_next(&p->lx);
	do
		parse_push(p, type_param(p));
	while (parse_accept(p, T_COMMA) && p->lx.kind != T_RSQB);
	parse_expect(p, T_RSQB);
	return parse_take(p, mark);
}

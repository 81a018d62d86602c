#include "scan/parse_in.h"

/* What a parameter list has shown so far. */
struct params {
	enum token end; /* ')' in def, ':' in lambda, where there are no annotations */
	enum param_kind kind;
	bool value;	/* a positional parameter with a default */
	bool need_name; /* a bare '*' with nothing behind it yet */
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

static void plain_param(struct parse *p, struct params *s)
{
	struct node *n = param(p, s, s->kind);

	parse_push(p, n);
	s->need_name = false;
	if (parse_accept(p, T_EQUAL))
		n->param.value = parse_expression(p);
	else if (s->value && s->kind == PARAM_POS)
		parse_error_at(p, n, "parameter without a default follows one with a default");
	s->value |= n->param.value != NULL;
}

/* '/': all before it take no keyword. */
static void slash(struct parse *p, struct params *s, uint32_t mark)
{
	if (p->depth == mark || s->kind != PARAM_POS ||
		p->stack[p->depth - 1]->op == PARAM_POS_ONLY)
		parse_error(p, "misplaced '/' in the parameters");
	for (uint32_t i = mark; i < p->depth; i++) {
		if (p->stack[i]->op == PARAM_POS_ONLY)
			parse_error(p, "misplaced '/' in the parameters");
		p->stack[i]->op = PARAM_POS_ONLY;
	}
	lex_next(&p->lx);
}

static void star(struct parse *p, struct params *s)
{
	if (s->kind != PARAM_POS)
		parse_error(p, "'*' may appear only once in the parameters");
	lex_next(&p->lx);
	s->kind = PARAM_KW_ONLY;
	s->need_name = p->lx.kind == T_COMMA;
	if (!s->need_name)
		parse_push(p, param(p, s, PARAM_VARARGS));
}

static void double_star(struct parse *p, struct params *s)
{
	if (s->need_name)
		parse_error(p, "named parameters must follow a bare '*'");
	lex_next(&p->lx);
	s->kind = PARAM_KWARGS;
	parse_push(p, param(p, s, PARAM_KWARGS));
}

struct seq parse_params(struct parse *p, enum token end)
{
	struct params s = {.end = end, .kind = PARAM_POS};
	uint32_t mark = p->depth;

	while (p->lx.kind != end) {
		if (s.kind == PARAM_KWARGS)
			parse_error(p, "parameters cannot follow a '**' one");
		if (p->lx.kind == T_SLASH)
			slash(p, &s, mark);
		else if (p->lx.kind == T_STAR)
			star(p, &s);
		else if (p->lx.kind == T_DSTAR)
			double_star(p, &s);
		else
			plain_param(p, &s);
		if (p->lx.kind != end)
			parse_expect(p, T_COMMA, "invalid syntax");
	}
	if (s.need_name)
		parse_error(p, "named parameters must follow a bare '*'");
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
	parse_expect(p, T_RSQB, "invalid syntax");
	return parse_take(p, mark);
}

#include "scan/parse_in.h"

bool parse_is_single_target(const struct node *n)
{
	return n->kind == E_NAME || n->kind == E_ATTR || n->kind == E_SUBSCRIPT;
}

bool parse_is_target(const struct node *n, enum target_use use)
{
	if (parse_is_single_target(n))
		return true;
	if (n->kind == E_STARRED)
		return use == TARGET_STORE && n->one->kind != E_STARRED &&
		       parse_is_target(n->one, use);
	if (n->kind != E_TUPLE && n->kind != E_LIST)
		return false;
	for (uint32_t i = 0; i < n->list.n; i++)
		if (!parse_is_target(n->list.v[i], use))
			return false;
	return true;
}

struct node *parse_star_target(struct parse *p)
{
	struct place at = parse_here(p);
	bool star = parse_accept(p, T_STAR);
	struct node *n = parse_primary(p);
	if (!parse_is_target(n, TARGET_STORE))
		return NULL;
	if (!star)
		return n;
	struct node *s = PARSE_NEW(p, E_STARRED, at, one);
	s->one = n;
	return s;
}

static struct node *loop_target(struct parse *p, const struct lex *begin)
{
	struct node *n = parse_star_target(p);
	if (!n)
		parse_bad_targets(p, begin, TARGET_LOOP);
	return n;
}

struct node *parse_star_targets(struct parse *p)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	const struct lex begin = p->lx;
	struct node *n = loop_target(p, &begin);
	if (p->lx.kind != T_COMMA) {
		if (p->lx.kind != K_IN)
			parse_bad_targets(p, &begin, TARGET_LOOP);
		return n;
	}
	parse_push(p, n);
	while (parse_accept(p, T_COMMA) && p->lx.kind != K_IN)
		parse_push(p, loop_target(p, &begin));
	if (p->lx.kind != K_IN)
		parse_bad_targets(p, &begin, TARGET_LOOP);
	n = PARSE_NEW(p, E_TUPLE, at, list);
	n->list = parse_take(p, mark);
	return n;
}

struct seq parse_del_targets(struct parse *p)
{
	const struct lex begin = p->lx;
	uint32_t mark = p->depth;
	do {
		struct node *n = p->lx.kind == T_STAR ? NULL : parse_primary(p);
		if (!n || !parse_is_target(n, TARGET_DELETE))
			parse_bad_targets(p, &begin, TARGET_DELETE);
		parse_push(p, n);
	} while (parse_accept(p, T_COMMA) && parse_starts_expression(p));
	if (p->lx.kind != T_SEMI && p->lx.kind != T_NEWLINE)
		parse_bad_targets(p, &begin, TARGET_DELETE);
	return parse_take(p, mark);
}

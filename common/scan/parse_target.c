#include "scan/parse_in.h"

bool parse_is_single_target(const struct node *n)
{
	return n->kind == E_NAME || n->kind == E_ATTR || n->kind == E_SUBSCRIPT;
}

void parse_check_target(struct parse *p, const struct node *n, enum target_use use)
{
	if (parse_is_single_target(n))
		return;
	if (n->kind == E_STARRED && use == TARGET_STORE && n->one->kind != E_STARRED) {
		parse_check_target(p, n->one, use);
		return;
	}
	if (n->kind != E_TUPLE && n->kind != E_LIST)
		parse_error_at(p, n, "cannot assign to or delete this expression");
	for (uint32_t i = 0; i < n->list.n; i++)
		parse_check_target(p, n->list.v[i], use);
}

struct node *parse_star_target(struct parse *p)
{
	struct place at = parse_here(p);
	bool star = parse_accept(p, T_STAR);
	struct node *n = parse_primary(p);

	parse_check_target(p, n, TARGET_STORE);
	if (!star)
		return n;
	struct node *s = PARSE_NEW(p, E_STARRED, at, one);
	s->one = n;
	return s;
}

struct node *parse_star_targets(struct parse *p)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	struct node *first = parse_star_target(p);

	if (p->lx.kind != T_COMMA)
		return first;
	parse_push(p, first);
	while (parse_accept(p, T_COMMA) && p->lx.kind != K_IN)
		parse_push(p, parse_star_target(p));
	struct node *n = PARSE_NEW(p, E_TUPLE, at, list);
	n->list = parse_take(p, mark);
	return n;
}

struct seq parse_del_targets(struct parse *p)
{
	uint32_t mark = p->depth;

	do {
		struct node *n = parse_primary(p);
		parse_check_target(p, n, TARGET_DELETE);
		parse_push(p, n);
	} while (parse_accept(p, T_COMMA) && parse_starts_expression(p));
	return parse_take(p, mark);
}

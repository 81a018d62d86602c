#include "scan/parse_in.h"

#include <string.h>

static _Noreturn void fail_at(struct parse *p, struct place at, const char *message)
{
	if (!p->trial && !p->modern)
		lex_rest(&p->lx);
	lex_error(&p->lx, at.line, at.col, message);
}

_Noreturn void parse_error(struct parse *p, const char *message)
{
	fail_at(p, parse_here(p), message);
}

_Noreturn void parse_error_at(struct parse *p, const struct node *n, const char *message)
{
	fail_at(p, parse_at(n), message);
}

void parse_grow(struct parse *p)
{
	struct node **old = p->stack;

	p->stack = arena_raw(p->arena, 2 * p->room * sizeof(*old));
	memcpy(p->stack, old, p->depth * sizeof(*old));
	p->room *= 2;
}

void parse_modern(struct parse *p, int minor)
{
	if (!p->modern)
		parse_error(p, "invalid syntax");
	if (minor > p->needs)
		p->needs = minor;
}

void parse_expect(struct parse *p, enum token kind, const char *message)
{
	if (p->lx.kind != kind)
		parse_error(p, message);
	lex_next(&p->lx);
}

bool parse_accept(struct parse *p, enum token kind)
{
	if (p->lx.kind != kind)
		return false;
	lex_next(&p->lx);
	return true;
}

struct sym *parse_name(struct parse *p)
{
	struct sym *y = p->lx.sym;
	if (p->lx.kind != T_NAME)
		parse_error(p, "invalid syntax");
	lex_next(&p->lx);
	return y;
}

#define FIRST_ROOM 256

struct parse_result parse_module(const char *text, struct symtab *syms, bool modern)
{
	struct lex_paren parens[LEX_MAX_PARENS];
	struct lex_indents indents;
	struct parse p = {.arena = syms->arena, .syms = syms, .needs = 11, .modern = modern};

	p.room = FIRST_ROOM;
	p.stack = arena_alloc(p.arena, p.room * sizeof(*p.stack));
	lex_init(&p.lx, text, parens, &indents, syms);
	p.lx.modern = modern;
	lex_next(&p.lx);
	struct seq body = parse_statements(&p);
	if (p.lx.kind != T_EOF)
		parse_error(&p, p.lx.kind == T_INDENT ? "unexpected indent" : "invalid syntax");
	if (p.deep && ast_is_deeper(body, PARSE_MAX_DEPTH))
		parse_error(&p, "too deeply nested");
	return (struct parse_result){body, p.needs};
}

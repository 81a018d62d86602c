#include "scan/lex_bits.h"
#include "scan/parse_in.h"

#include <string.h>

static bool is_before(struct place a, struct place b)
{
	return a.line != b.line ? a.line < b.line : a.col < b.col;
}

/*
 * Where CPython says that the present token is. Tokens without a width have no column of their own:
 * theirs is that of the last byte read, in the line before where the file has ended.
 */
static struct place error_place(const struct parse *p)
{
	struct place at = parse_here(p);
	if (p->lx.kind != T_EOF && p->lx.kind != T_INDENT && p->lx.kind != T_DEDENT)
		return at;
	if (*p->lx.at || at.line == 1) {
		at.col -= at.col > 0;
		return at;
	}
	const char *end = p->lx.line_start - 1, *s = end;
	while (s > p->text && s[-1] != '\n')
		s--;
	return (struct place){at.line - 1, (uint32_t)(end - s)};
}

_Noreturn void parse_fail(struct parse *p, struct place at, const char *message)
{
	p->complained = true;
	/* Within an f-string's field columns are those of the field in parentheses. */
	if (p->field && at.line == p->lx.shift_line && at.col >= p->lx.shift_col)
		at.col -= p->lx.shift_col;
	if (p->field && !p->modern)
		message = lex_say(&p->lx, "f-string: %s", message);
	struct lex *rest = p->field ? p->outer : &p->lx;
	if (!p->trial)
		lex_rest(rest, rest->line);
	lex_error(&p->lx, at.line, at.col, message);
}

_Noreturn void parse_error(struct parse *p, const char *message)
{
	parse_fail(p, error_place(p), message);
}

_Noreturn void parse_error_at(struct parse *p, const struct node *n, const char *message)
{
	parse_fail(p, parse_at(n), message);
}

_Noreturn void parse_unexpected(struct parse *p)
{
	struct place at = error_place(p);
	p->complained = true;
	if (p->lx.kind == T_INDENT)
		lex_error(&p->lx, at.line, at.col, "unexpected indent");
	if (p->lx.kind == T_DEDENT)
		lex_error(&p->lx, at.line, at.col, "unexpected unindent");
	if (p->lx.kind == T_EOF)
		at.col = 0;
	parse_fail(p, is_before(at, p->far) ? p->far : at, "invalid syntax");
}

void parse_reached(struct parse *p, struct place at)
{
	if (is_before(p->far, at))
		p->far = at;
}

static bool attempted(struct parse *p, void attempt(struct parse *), struct place *reached)
{
	struct fail f, *outer = p->arena->fail;
	const struct parse saved = *p;
	struct lex_paren top = p->lx.parens[p->lx.level ? p->lx.level - 1 : 0];
	p->arena->fail = &f;
	p->trial = true;
	p->complained = false;
	bool failed = setjmp(f.at);
	if (!failed)
		attempt(p);
	p->arena->fail = outer;
	p->trial = saved.trial;
	if (!failed)
		return true;
	if (f.what != FAIL_SYNTAX)
		fail_jump(outer, f.what);
	/* A token that is none stays so, however it is looked at. */
	if (!p->complained)
		lex_error(&p->lx, f.line, f.col, f.message);
	*reached = parse_here(p);
	if (saved.lx.level)
		saved.lx.parens[saved.lx.level - 1] = top;
	/* All as it was: the attempt may have failed anywhere, in an f-string's field too. */
	const struct parse left = *p;
	*p = saved;
	p->far = left.far;
	p->stack = left.stack;
	p->room = left.room;
	return false;
}

bool parse_try(struct parse *p, void attempt(struct parse *))
{
	struct place reached;
	return attempted(p, attempt, &reached);
}

bool parse_guess(struct parse *p, void attempt(struct parse *))
{
	struct place reached;
	if (attempted(p, attempt, &reached))
		return true;
	parse_reached(p, reached);
	return false;
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
		parse_unexpected(p);
	if (minor > p->needs)
		p->needs = minor;
}

void parse_expect(struct parse *p, enum token kind)
{
	if (p->lx.kind != kind)
		parse_unexpected(p);
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
		parse_unexpected(p);
	lex_next(&p->lx);
	return y;
}

uint32_t parse_column(const char *text, uint32_t line, uint32_t col)
{
	uint32_t column = 1;
	for (; line > 1; line--) {
		text = lex_line_end(text);
		text += *text == '\n';
	}
	for (; col && *text; col--, text++)
		column += ((unsigned char)*text & 0xC0) != 0x80;
	return column + col;
}

#define FIRST_ROOM 256

struct parse_result parse_module(const char *text, struct symtab *syms, bool modern)
{
	struct lex_paren parens[LEX_MAX_PARENS];
	struct lex_indents indents;
	struct parse p = {
		.arena = syms->arena, .syms = syms, .text = text, .needs = 11, .modern = modern};
	p.trial = modern; /* what 3.11 says is what is told */

	p.room = FIRST_ROOM;
	p.stack = arena_alloc(p.arena, p.room * sizeof(*p.stack));
	parens[0] = (struct lex_paren){0};
	lex_init(&p.lx, text, parens, &indents, syms);
	p.lx.modern = modern;
	lex_next(&p.lx);
	struct seq body = parse_statements(&p);
	if (p.lx.kind != T_EOF)
		parse_unexpected(&p);
	if (p.deep && ast_is_deeper(body, PARSE_MAX_DEPTH))
		parse_error(&p, "too deeply nested");
	return (struct parse_result){body, p.urls, p.needs};
}

#include "scan/parse_in.h"

#include <string.h>

/* Where the line ends instead, a colon was forgotten; any other token is what is wrong. */
void parse_colon(struct parse *p)
{
	if (p->lx.kind == T_NEWLINE)
		parse_error(p, "expected ':'");
	parse_expect(p, T_COLON);
}

/* Where nothing but a colon can be meant. */
static void sure_colon(struct parse *p)
{
	if (p->lx.kind != T_COLON)
		parse_error(p, "expected ':'");
	lex_next(&p->lx);
}

static struct node *with_one(struct parse *p, enum node_kind kind, struct place at, struct node *x)
{
	struct node *n = PARSE_NEW(p, kind, at, one);
	n->one = x;
	return n;
}

static struct node *annotated(struct parse *p, struct place at, struct node *target)
{
	struct node *n = PARSE_NEW(p, S_ANNASSIGN, at, three);
	if (!parse_is_single_target(target)) {
		parse_mistaken_annotation(p, target);
		parse_unexpected(p);
	}
	if (target->kind == E_NAME && target->line == at.line && target->col == at.col)
		n->flags = NODE_SIMPLE;
	lex_next(&p->lx);
	n->three.a = target;
	n->three.b = parse_expression(p);
	if (parse_accept(p, T_EQUAL))
		n->three.c = parse_yield_or_star(p);
	return n;
}

static struct node *assignment(struct parse *p, struct place at, struct node *value)
{
	struct node *n = PARSE_NEW(p, S_ASSIGN, at, assign);
	struct place begin = at;
	uint32_t mark = p->depth;
	while (p->lx.kind == T_EQUAL) {
		if (!parse_is_target(value, TARGET_STORE))
			parse_mistaken_assignment(p, begin, value, p->depth == mark);
		parse_push(p, value);
		lex_next(&p->lx);
		begin = parse_here(p);
		value = parse_yield_or_star(p);
	}
	n->assign.targets = parse_take(p, mark);
	n->assign.value = value;
	return n;
}

static struct node *augmented(struct parse *p, struct place at, struct node *target)
{
	struct node *n = PARSE_NEW(p, S_AUGASSIGN, at, two);
	if (!parse_is_single_target(target)) {
		parse_mistaken_augmented(p, target);
		parse_unexpected(p);
	}
	n->op = (uint8_t)p->lx.kind;
	lex_next(&p->lx);
	n->two.a = target;
	n->two.b = parse_yield_or_star(p);
	return n;
}

static struct node *expression_stmt(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *n = parse_yield_or_star(p);
	if (p->lx.kind == T_EQUAL)
		return assignment(p, at, n);
	if (p->lx.kind == T_WALRUS && n->kind != E_NAME)
		parse_mistaken_walrus(p, n);
	if (p->lx.kind == T_COLON)
		return annotated(p, at, n);
	if (p->lx.kind >= T_AUG_FIRST && p->lx.kind <= T_AUG_LAST)
		return augmented(p, at, n);
	return with_one(p, S_EXPR, at, n);
}

static struct node *raise(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_RAISE, at, two);
	if (!parse_starts_expression(p))
		return n;
	n->two.a = parse_expression(p);
	if (parse_accept(p, K_FROM))
		n->two.b = parse_expression(p);
	return n;
}

static struct node *assert_stmt(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_ASSERT, at, two);
	n->two.a = parse_expression(p);
	if (parse_accept(p, T_COMMA))
		n->two.b = parse_expression(p);
	return n;
}

static struct node *scope_names(struct parse *p, enum node_kind kind, struct place at)
{
	struct node *n = PARSE_NEW(p, kind, at, names);
	uint32_t room = 0;
	do {
		if (n->names.n == room) {
			struct sym **old = n->names.v;
			room = room ? 2 * room : 4;
			n->names.v = arena_alloc(p->arena, room * sizeof(*old));
			if (n->names.n)
				memcpy(n->names.v, old, n->names.n * sizeof(*old));
		}
		n->names.v[n->names.n++] = parse_name(p);
	} while (parse_accept(p, T_COMMA));
	return n;
}

static struct node *delete (struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_DELETE, at, list);
	n->list = parse_del_targets(p);
	return n;
}

/* a.b.c, as one name */
static struct sym *dotted_name(struct parse *p)
{
	struct sym *y = parse_name(p);
	size_t n = y->len, room = 0;
	char *s = NULL;
	while (parse_accept(p, T_DOT)) {
		struct sym *more = parse_name(p);
		if (n + more->len + 1 > room) {
			const char *old = s ? s : y->s;
			room = 2 * (n + more->len + 1);
			s = arena_alloc(p->arena, room);
			memcpy(s, old, n);
		}
		s[n++] = '.';
		memcpy(s + n, more->s, more->len);
		n += more->len;
	}
	return s ? sym_intern(p->syms, s, n) : y;
}

static struct node *import_alias(struct parse *p, struct sym *name(struct parse *))
{
	struct node *n = PARSE_NEW(p, X_ALIAS, parse_here(p), alias);
	n->alias.name = name(p);
	if (parse_accept(p, K_AS))
		n->alias.as = parse_name(p);
	return n;
}

static struct node *import_stmt(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_IMPORT, at, import);
	p->imports++;
	uint32_t mark = p->depth;

	do
		parse_push(p, import_alias(p, dotted_name));
	while (parse_accept(p, T_COMMA));
	n->import.names = parse_take(p, mark);
	return n;
}

static void import_names(struct parse *p)
{
	bool parens = parse_accept(p, T_LPAR);
	uint32_t mark = p->depth;
	do {
		if (parens && p->lx.kind == T_RPAR)
			break;
		if (p->lx.kind == T_NEWLINE && !parens && p->depth > mark)
			parse_error(
				p, "trailing comma not allowed without surrounding parentheses");
		parse_push(p, import_alias(p, parse_name));
	} while (parse_accept(p, T_COMMA));
	if (parens)
		parse_expect(p, T_RPAR);
}

static struct node *from_stmt(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_IMPORTFROM, at, import);
	p->imports++;
	uint32_t mark = p->depth;

	for (; p->lx.kind == T_DOT || p->lx.kind == T_ELLIPSIS; lex_next(&p->lx))
		n->import.dots += p->lx.kind == T_DOT ? 1 : 3;
	if (!n->import.dots || p->lx.kind != K_IMPORT)
		n->import.module = dotted_name(p);
	parse_expect(p, K_IMPORT);
	if (p->lx.kind == T_STAR) {
		struct node *star = PARSE_NEW(p, X_ALIAS, parse_here(p), alias);
		star->alias.name = sym_intern(p->syms, "*", 1);
		lex_next(&p->lx);
		parse_push(p, star);
	} else {
		import_names(p);
	}
	n->import.names = parse_take(p, mark);
	if (!n->import.names.n)
		parse_unexpected(p);
	return n;
}

static struct node *simple_stmt(struct parse *p)
{
	struct place at = parse_here(p);
	enum token kind = p->lx.kind;
	switch (kind) {
	case K_RETURN:
		lex_next(&p->lx);
		return with_one(p, S_RETURN, at,
			parse_starts_expression(p) ? parse_star_expressions(p) : NULL);
	case K_IMPORT:
		lex_next(&p->lx);
		return import_stmt(p, at);
	case K_FROM:
		lex_next(&p->lx);
		return from_stmt(p, at);
	case K_RAISE:
		lex_next(&p->lx);
		return raise(p, at);
	case K_ASSERT:
		lex_next(&p->lx);
		return assert_stmt(p, at);
	case K_DEL:
		lex_next(&p->lx);
		return delete (p, at);
	case K_GLOBAL:
	case K_NONLOCAL:
		lex_next(&p->lx);
		return scope_names(p, kind == K_GLOBAL ? S_GLOBAL : S_NONLOCAL, at);
	case K_PASS:
	case K_BREAK:
	case K_CONTINUE:
		lex_next(&p->lx);
		return PARSE_NEW(p,
			kind == K_PASS	  ? S_PASS
			: kind == K_BREAK ? S_BREAK
					  : S_CONTINUE,
			at, col);
	default:
		return expression_stmt(p);
	}
}

/* PEP 695's 'type X = ...': two names in a row can be nothing else. */
static struct node *type_alias(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_TYPEALIAS, at, alias_stmt);
	parse_modern(p, 12);
	n->alias_stmt.name = parse_name(p);
	n->alias_stmt.type_params = parse_type_params(p);
	parse_expect(p, T_EQUAL);
	n->alias_stmt.value = parse_expression(p);
	return n;
}

static bool is_soft(const struct parse *p, enum sym_known which)
{
	return p->lx.kind == T_NAME && p->lx.sym == p->syms->known[which] &&
	       !(p->lx.flags & LEX_ODD_NAME);
}

static struct node *type_or_simple(struct parse *p)
{
	if (!p->modern || !is_soft(p, SYM_type))
		return simple_stmt(p);
	struct place at = parse_here(p);
	struct lex saved = p->lx;
	lex_next(&p->lx);
	if (p->lx.kind == T_NAME)
		return type_alias(p, at);
	p->lx = saved;
	return simple_stmt(p);
}

static void simple_stmts(struct parse *p)
{
	do
		parse_push(p, type_or_simple(p));
	while (parse_accept(p, T_SEMI) && p->lx.kind != T_NEWLINE);
	parse_expect(p, T_NEWLINE);
}

void parse_indent(struct parse *p, const char *what, uint32_t line)
{
	if (p->lx.kind != T_INDENT)
		parse_error(p, lex_say(&p->lx, "expected an indented block after %s on line %u",
				       what, line));
	lex_next(&p->lx);
}

struct seq parse_block(struct parse *p, const char *what, uint32_t line)
{
	uint32_t mark = p->depth;
	if (!parse_accept(p, T_NEWLINE)) {
		simple_stmts(p);
		return parse_take(p, mark);
	}
	parse_indent(p, what, line);
	parse_enter(p);
	struct seq body = parse_statements(p);
	parse_leave(p);
	parse_expect(p, T_DEDENT);
	return body;
}

static struct seq sure_block(struct parse *p, const char *what)
{
	uint32_t line = p->lx.line;
	lex_next(&p->lx);
	sure_colon(p);
	return parse_block(p, what, line);
}

static struct seq else_block(struct parse *p)
{
	if (p->lx.kind != K_ELSE)
		return (struct seq){0};
	return sure_block(p, "'else' statement");
}

/* On 'if' or 'elif'. */
static struct node *if_stmt(struct parse *p)
{
	struct node *n = PARSE_NEW(p, S_IF, parse_here(p), cond);
	const char *what = p->lx.kind == K_IF ? "'if' statement" : "'elif' statement";
	lex_next(&p->lx);
	n->cond.test = parse_named(p);
	parse_colon(p);
	n->cond.body = parse_block(p, what, n->line);
	if (p->lx.kind != K_ELIF) {
		n->cond.orelse = else_block(p);
		return n;
	}
	uint32_t mark = p->depth;
	parse_enter(p);
	parse_push(p, if_stmt(p));
	parse_leave(p);
	n->cond.orelse = parse_take(p, mark);
	return n;
}

static struct node *while_stmt(struct parse *p)
{
	struct node *n = PARSE_NEW(p, S_WHILE, parse_here(p), cond);
	lex_next(&p->lx);
	n->cond.test = parse_named(p);
	parse_colon(p);
	n->cond.body = parse_block(p, "'while' statement", n->line);
	n->cond.orelse = else_block(p);
	return n;
}

static struct node *for_stmt(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_FOR, at, loop);
	uint32_t line = p->lx.line;
	lex_next(&p->lx);
	n->loop.target = parse_star_targets(p);
	parse_expect(p, K_IN);
	n->loop.iter = parse_star_expressions(p);
	parse_colon(p);
	n->loop.body = parse_block(p, "'for' statement", line);
	n->loop.orelse = else_block(p);
	return n;
}

static bool ends_with_item(const struct parse *p)
{
	return p->lx.kind == T_COMMA || p->lx.kind == T_RPAR || p->lx.kind == T_COLON;
}

static struct node *with_target(struct parse *p)
{
	const struct lex begin = p->lx;
	struct node *n = parse_star_target(p);
	if (n && (p->trial || ends_with_item(p)))
		return n;
	p->far = parse_here(p);
	p->lx = begin;
	n = parse_expression(p);
	if (ends_with_item(p))
		parse_bad_target(p, n, TARGET_STORE);
	if (p->lx.kind == T_NEWLINE)
		return n;
	parse_unexpected(p);
}

static void with_items(struct parse *p, bool parens)
{
	do {
		if (parens && p->lx.kind == T_RPAR)
			break;
		struct node *n = PARSE_NEW(p, X_WITHITEM, parse_here(p), two);
		n->two.a = parse_expression(p);
		if (parse_accept(p, K_AS))
			n->two.b = with_target(p);
		parse_push(p, n);
	} while (parse_accept(p, T_COMMA));
}

/*
 * The parenthesised form is tried first: 'with (a, b):' has two items. Where it does not end in
 * '):', or in ')' where the colon was forgotten, the parentheses were part of an expression.
 */
static void with_parens(struct parse *p)
{
	lex_next(&p->lx);
	if (p->lx.kind == T_RPAR)
		parse_unexpected(p);
	with_items(p, true);
	parse_expect(p, T_RPAR);
	if (p->lx.kind != T_COLON && p->lx.kind != T_NEWLINE)
		parse_unexpected(p);
}

static struct node *with_stmt(struct parse *p, struct place at)
{
	struct node *n = PARSE_NEW(p, S_WITH, at, with);
	uint32_t mark = p->depth, line = p->lx.line;
	lex_next(&p->lx);
	if (p->lx.kind != T_LPAR || !parse_guess(p, with_parens))
		with_items(p, false);
	n->with.items = parse_take(p, mark);
	parse_colon(p);
	n->with.body = parse_block(p, "'with' statement", line);
	return n;
}

static void more_types(struct parse *p)
{
	while (parse_accept(p, T_COMMA) && parse_starts_expression(p))
		parse_expression(p);
	if (parse_accept(p, K_AS))
		parse_name(p);
	parse_expect(p, T_COLON);
}

/* The type and name of an except clause; in Python 3.14 also 'A, B' without parentheses. */
static void handler_head(struct parse *p, struct node *n)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	n->handler.type = parse_expression(p);
	if (p->lx.kind == T_COMMA) {
		if (!p->modern && parse_try(p, more_types))
			parse_error_at(p, n->handler.type,
				"multiple exception types must be parenthesized");
		parse_modern(p, 14);
		parse_push(p, n->handler.type);
		while (parse_accept(p, T_COMMA) && parse_starts_expression(p))
			parse_push(p, parse_expression(p));
		n->handler.type = PARSE_NEW(p, E_TUPLE, at, list);
		n->handler.type->list = parse_take(p, mark);
		return;
	}
	if (parse_accept(p, K_AS))
		n->handler.name = parse_name(p);
}

static struct node *handler(struct parse *p, struct node *try, bool first)
{
	struct node *n = PARSE_NEW(p, X_HANDLER, parse_here(p), handler);
	lex_next(&p->lx);
	bool star = parse_accept(p, T_STAR);
	if (first && star)
		try->flags = NODE_STAR;
	else if (star != (try->flags & NODE_STAR) / NODE_STAR)
		parse_error_at(p, n, "cannot have both 'except' and 'except*' on the same 'try'");
	if (star && (p->lx.kind == T_COLON || p->lx.kind == T_NEWLINE))
		parse_error(p, "expected one or more exception types");
	if (p->lx.kind != T_COLON && p->lx.kind != T_NEWLINE)
		handler_head(p, n);
	parse_colon(p);
	n->handler.body =
		parse_block(p, star ? "'except*' statement" : "'except' statement", n->line);
	return n;
}

static struct node *try_stmt(struct parse *p)
{
	struct node *n = PARSE_NEW(p, S_TRY, parse_here(p), try);
	uint32_t mark = p->depth;
	n->try.body = sure_block(p, "'try' statement");
	if (p->lx.kind == K_EXCEPT) {
		while (p->lx.kind == K_EXCEPT)
			parse_push(p, handler(p, n, p->depth == mark));
		n->try.handlers = parse_take(p, mark);
		n->try.orelse = else_block(p);
	} else if (p->lx.kind != K_FINALLY) {
		parse_error(p, "expected 'except' or 'finally' block");
	}
	if (p->lx.kind == K_FINALLY)
		n->try.final = sure_block(p, "'finally' statement");
	return n;
}

static struct node *return_type(struct parse *p)
{
	struct place arrow = parse_here(p);
	lex_next(&p->lx);
	if (!parse_starts_expression(p))
		parse_fail(p, arrow, "expected ':'");
	return parse_expression(p);
}

static struct node *func_def(struct parse *p, struct place at, struct seq decorators)
{
	struct node *n = PARSE_NEW(p, S_FUNC, at, func);
	uint32_t imports = p->imports;
	uint32_t line = p->lx.line;
	lex_next(&p->lx);
	n->func.decorators = decorators;
	n->func.name = parse_name(p);
	n->func.type_params = parse_type_params(p);
	if (p->lx.kind != T_LPAR)
		parse_error(p, "expected '('");
	lex_next(&p->lx);
	n->func.params = parse_params(p, T_RPAR);
	lex_next(&p->lx);
	if (p->lx.kind == T_ARROW)
		n->func.returns = return_type(p);
	sure_colon(p);
	n->func.body = parse_block(p, "function definition", line);
	if (p->imports != imports)
		n->flags |= NODE_IMPORTS;
	return n;
}

static struct node *class_def(struct parse *p, struct place at, struct seq decorators)
{
	struct node *n = PARSE_NEW(p, S_CLASS, at, cls);
	uint32_t line = p->lx.line;
	lex_next(&p->lx);
	n->cls.decorators = decorators;
	n->cls.name = parse_name(p);
	n->cls.type_params = parse_type_params(p);
	if (p->lx.kind == T_LPAR)
		parse_arguments(p, &n->cls.args, &n->cls.keywords, false);
	parse_colon(p);
	n->cls.body = parse_block(p, "class definition", line);
	return n;
}

static struct node *async_stmt(struct parse *p, struct seq decorators, bool only_def)
{
	struct place at = parse_here(p);
	struct node *n;
	lex_next(&p->lx);
	if (p->lx.kind == K_DEF)
		n = func_def(p, at, decorators);
	else if (p->lx.kind == K_WITH && !only_def)
		n = with_stmt(p, at);
	else if (p->lx.kind == K_FOR && !only_def)
		n = for_stmt(p, at);
	else
		parse_unexpected(p);
	n->flags |= NODE_ASYNC;
	return n;
}

static struct node *decorated(struct parse *p)
{
	uint32_t mark = p->depth;
	while (parse_accept(p, T_AT)) {
		parse_push(p, parse_named(p));
		parse_expect(p, T_NEWLINE);
	}
	struct seq decorators = parse_take(p, mark);
	if (p->lx.kind == K_DEF)
		return func_def(p, parse_here(p), decorators);
	if (p->lx.kind == K_CLASS)
		return class_def(p, parse_here(p), decorators);
	if (p->lx.kind == K_ASYNC)
		return async_stmt(p, decorators, true);
	parse_unexpected(p);
}

/* What is matched: an expression, or a tuple without parentheses. */
static struct node *match_subject(struct parse *p)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	struct node *first = parse_star_named(p);
	if (p->lx.kind != T_COMMA) {
		if (first->kind == E_STARRED)
			parse_error_at(p, first, "invalid syntax");
		return first;
	}
	parse_push(p, first);
	while (parse_accept(p, T_COMMA) && p->lx.kind != T_COLON)
		parse_push(p, parse_star_named(p));
	struct node *n = PARSE_NEW(p, E_TUPLE, at, list);
	n->list = parse_take(p, mark);
	return n;
}

static void match_head(struct parse *p)
{
	lex_next(&p->lx);
	struct node *n = match_subject(p);
	parse_push(p, n);
	parse_expect(p, T_COLON);
	if (p->lx.kind != T_NEWLINE)
		parse_unexpected(p);
}

/* Whether what is behind 'match' cannot go on with a name: then a statement was meant. */
static void match_without_colon(struct parse *p)
{
	lex_next(&p->lx);
	if (!parse_starts_expression(p) || p->lx.kind == T_LPAR || p->lx.kind == T_LSQB ||
		p->lx.kind == T_MINUS || p->lx.kind == T_PLUS || p->lx.kind == T_STAR)
		parse_unexpected(p);
	match_subject(p);
	if (p->lx.kind != T_NEWLINE)
		parse_unexpected(p);
}

/*
 * 'match' begins a match statement if a subject, a colon and the line's end follow. NULL, with p
 * back where it was, if it is a name.
 */
static struct node *match_stmt(struct parse *p)
{
	struct place at = parse_here(p);
	uint32_t mark = p->depth;
	if (!parse_guess(p, match_head)) {
		if (!p->trial && parse_try(p, match_without_colon))
			parse_error(p, "expected ':'");
		return NULL;
	}
	struct node *n = PARSE_NEW(p, S_MATCH, at, match);
	n->match.subject = p->stack[p->depth - 1];
	p->depth = mark;
	lex_next(&p->lx);
	parse_enter(p);
	n->match.cases = parse_cases(p, at.line);
	parse_leave(p);
	return n;
}

/* NULL if it was a line of simple statements, already pushed. */
static struct node *statement(struct parse *p)
{
	struct place at = parse_here(p);
	struct node *n;
	switch (p->lx.kind) {
	case K_IF:
		return if_stmt(p);
	case K_WHILE:
		return while_stmt(p);
	case K_FOR:
		return for_stmt(p, at);
	case K_TRY:
		return try_stmt(p);
	case K_WITH:
		return with_stmt(p, at);
	case K_DEF:
		return func_def(p, at, (struct seq){0});
	case K_CLASS:
		return class_def(p, at, (struct seq){0});
	case K_ASYNC:
		return async_stmt(p, (struct seq){0}, false);
	case T_AT:
		return decorated(p);
	default:
		n = is_soft(p, SYM_match) ? match_stmt(p) : NULL;
		if (!n)
			simple_stmts(p);
		return n;
	}
}

struct seq parse_statements(struct parse *p)
{
	uint32_t mark = p->depth;
	do {
		if (p->lx.kind == T_EOF && p->depth == mark)
			break;
		struct node *n = statement(p);
		if (n)
			parse_push(p, n);
	} while (p->lx.kind != T_DEDENT && p->lx.kind != T_EOF);
	return parse_take(p, mark);
}

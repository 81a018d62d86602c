/* Between the files of the parser. Each function begins at the current token and ends behind its
 * own. */
#ifndef EVCTL_SCAN_PARSE_IN_H
#define EVCTL_SCAN_PARSE_IN_H

#include "scan/parse.h"

struct place {
	uint32_t line, col;
};

struct parse {
	struct lex lx;
	struct arena *arena;
	struct symtab *syms;
	const char *text;
	struct place far; /* the token that the guesses came to which were wrong */
	/* nodes of lists that are not complete yet */
	struct node **stack;
	uint32_t depth, room;
	uint32_t imports; /* statements so far */
	struct parse_url *urls;
	int level; /* of nesting */
	int needs; /* as in struct parse_result */
	bool modern;
	bool trial;	   /* an error here is not the last word */
	bool complained;   /* the error is the parser's, not the lexer's */
	const char *key;   /* where a key of a display began that is at least its second item */
	bool field;	   /* this is within an f-string's field */
	struct lex *outer; /* then: where the outermost such string ends */
	bool deep;	   /* the tree must be measured */
};

/*
 * A tree of more than so many levels ast.parse cannot make (brackets and blocks are limited before
 * that). Nothing nests deeper while it is parsed, and no chain of operators, attributes or calls,
 * which make a tree that leans to the left, is longer; so later walks may recurse.
 */
#define PARSE_MAX_DEPTH 2988
/* Modest nesting cannot add up to that and need not be measured. */
#define PARSE_DEEP_NESTING 60
#define PARSE_DEEP_CHAIN 8

/*
 * The complaints are CPython's, at its places. A message may be in the arena; it must hold nothing
 * of the text but single characters and keywords.
 */
_Noreturn void parse_error(struct parse *p, const char *message); /* at the present token */
_Noreturn void parse_error_at(struct parse *p, const struct node *n, const char *message);
_Noreturn void parse_fail(struct parse *p, struct place at, const char *message);
_Noreturn void parse_unexpected(struct parse *p); /* the grammar has no place for this token */
/* No error that is only an unexpected token lies before there. */
void parse_reached(struct parse *p, struct place at);
/* False, with p back where it was, where the attempt fails. A guess counts as part of the reading:
 * an error lies no nearer than where it failed. */
bool parse_try(struct parse *p, void attempt(struct parse *));
bool parse_guess(struct parse *p, void attempt(struct parse *));
/* Notes syntax of Python 3.minor; an error in 3.11 mode. */
void parse_modern(struct parse *p, int minor);
void parse_grow(struct parse *p);
void parse_expect(struct parse *p, enum token kind);
bool parse_accept(struct parse *p, enum token kind);
struct sym *parse_name(struct parse *p);

static inline void parse_push(struct parse *p, struct node *n)
{
	if (p->depth == p->room)
		parse_grow(p);
	p->stack[p->depth++] = n;
}

/* Takes all above the mark off the stack. */
static inline struct seq parse_take(struct parse *p, uint32_t mark)
{
	struct seq s = {0};

	if (p->depth > mark) {
		s.n = p->depth - mark;
		s.v = arena_raw(p->arena, s.n * sizeof(*s.v));
		for (uint32_t i = 0; i < s.n; i++)
			s.v[i] = p->stack[mark + i];
	}
	p->depth = mark;
	return s;
}

static inline struct node *parse_new(
	struct parse *p, enum node_kind kind, struct place at, size_t size)
{
	struct node *n = arena_alloc(p->arena, size);

	n->kind = (uint8_t)kind;
	n->line = at.line;
	n->col = at.col;
	return n;
}

#define PARSE_NEW(p, kind, at, member) parse_new(p, kind, at, NODE_SIZE(member))

static inline struct place parse_here(const struct parse *p)
{
	return (struct place){p->lx.line, p->lx.col};
}

static inline struct place parse_at(const struct node *n)
{
	return (struct place){n->line, n->col};
}

static inline void parse_enter(struct parse *p)
{
	if (++p->level > PARSE_DEEP_NESTING)
		p->deep = true;
	if (p->level > PARSE_MAX_DEPTH)
		parse_error(p, "too deeply nested");
}

static inline void parse_leave(struct parse *p)
{
	p->level--;
}

/* One more link of a chain. */
static inline void parse_link(struct parse *p, unsigned *links)
{
	if (++*links > PARSE_DEEP_CHAIN)
		p->deep = true;
	if (*links > PARSE_MAX_DEPTH)
		parse_error(p, "expression is too long to be analysed");
}

/* parse_expr.c: the grammar's rules of these names */
struct node *parse_expression(struct parse *p);
struct node *parse_disjunction(struct parse *p);
struct node *parse_walrus(struct parse *p, struct place at, struct node *target);
struct node *parse_bit_or(struct parse *p);
struct node *parse_named(struct parse *p);
struct node *parse_star_named(struct parse *p);
struct node *parse_starred(struct parse *p); /* '*' expression */
struct node *parse_star_expressions(struct parse *p);
struct node *parse_yield_or_star(struct parse *p);
struct node *parse_yield_or_named(struct parse *p);
struct node *parse_primary(struct parse *p);
/* From the opening bracket through the closing one. */
void parse_arguments(struct parse *p, struct seq *args, struct seq *keywords, bool genexp);
bool parse_starts_expression(const struct parse *p);
/* parse_atom.c */
struct node *parse_atom(struct parse *p);
struct node *parse_genexp(struct parse *p, struct place at, struct node *elt);
struct node *parse_slices(struct parse *p);
/* parse_def.c */
struct seq parse_params(struct parse *p, enum token end);
struct seq parse_type_params(struct parse *p);
/* parse_target.c */
enum target_use { TARGET_STORE, TARGET_DELETE, TARGET_LOOP };
bool parse_is_target(const struct node *n, enum target_use use);
bool parse_is_single_target(const struct node *n);
struct node *parse_star_targets(struct parse *p); /* 'a, *b' in for */
struct node *parse_star_target(struct parse *p);  /* one, after 'as' */
struct seq parse_del_targets(struct parse *p);
/*
 * parse_mistake.c: for a parser that stands before the token that it has no place for. They raise
 * the complaint that CPython has for such a mistake; those that may return do so if it is none.
 */
const char *parse_kind_name(const struct node *n);
/* Two expressions in a row: a, whose text begins at start, and what is at hand. */
void parse_juxtaposed(struct parse *p, const char *start, const struct node *a);
/* '=' behind n where an expression is compared, not assigned to. */
void parse_mistaken_equal(struct parse *p, const struct node *n);
/* Assignments whose target is n, which cannot be one. */
void parse_mistaken_walrus(struct parse *p, const struct node *n);
void parse_mistaken_annotation(struct parse *p, const struct node *n);
void parse_mistaken_augmented(struct parse *p, const struct node *n);
_Noreturn void parse_mistaken_assignment(
	struct parse *p, struct place begin, const struct node *value, bool first);
void parse_bad_target(struct parse *p, const struct node *n, enum target_use use);
/* As the targets that begin there could not be read as such up to here. */
_Noreturn void parse_bad_targets(struct parse *p, const struct lex *begin, enum target_use use);
_Noreturn void parse_lone_key(struct parse *p, const struct lex *begin);
/* parse_string.c */
struct node *parse_strings(struct parse *p);
/* parse_pattern.c: the cases of a match statement, on that line, INDENT through DEDENT */
struct seq parse_cases(struct parse *p, uint32_t line);
/* parse_stmt.c */
/* Statements up to the end of the block or file. */
struct seq parse_statements(struct parse *p);
/* The colon of the statement on that line and what is behind it. */
struct seq parse_block(struct parse *p, const char *what, uint32_t line);
void parse_indent(struct parse *p, const char *what, uint32_t line);
void parse_colon(struct parse *p);

#endif

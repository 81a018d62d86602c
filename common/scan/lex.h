/*
 * CPython 3.11's tokens from decoded source. The text is UTF-8 with LF line ends, ends in LF, and
 * has LEX_PAD zero bytes behind it. Errors jump to the arena's struct fail.
 *
 * One token is at hand at a time: kind and what follows it. Lines count from 1, columns are bytes
 * from 0. `modern` reads f-strings as PEP 701 has them: lex_next() then gives T_FSTRING for the
 * opening quotes, and the parser reads the rest with lex_fstring_piece().
 */
#ifndef EVCTL_SCAN_LEX_H
#define EVCTL_SCAN_LEX_H

#include "scan/arena.h"
#include "scan/sym.h"
#include "scan/token.h"

#include <stdbool.h>

#define LEX_PAD 64
#define LEX_MAX_PARENS 200 /* CPython's MAXLEVEL */
#define LEX_MAX_INDENT 100 /* CPython's MAXINDENT */

/* About a token of kind T_STRING, T_FSTRING, T_NUMBER, T_NAME. */
enum lex_flags {
	LEX_BYTES = 1,
	LEX_RAW = 2,
	LEX_FORMAT = 4,
	LEX_TRIPLE = 8,
	LEX_TEMPLATE = 16,
	LEX_ESCAPES = 32,  /* there is a backslash in it */
	LEX_HIGH = 64,	   /* there is a byte over 127 in it */
	LEX_IMAGINARY = 1, /* a number that ends in j */
	LEX_ODD_NAME = 1,  /* was not plain ASCII, so never a keyword */
};

struct lex_indents {
	uint32_t col[LEX_MAX_INDENT], alt[LEX_MAX_INDENT];
};

/* An open bracket. */
struct lex_paren {
	char c;
	uint32_t line, col;
};

struct lex {
	/* the token */
	enum token kind;
	uint8_t flags;
	uint32_t line, col;
	const char *start, *stop;
	struct sym *sym; /* names and keywords */
	/* where reading goes on */
	const char *at, *line_start;
	uint32_t at_line;
	bool fresh_line, modern;
	bool unless_read; /* of an error: CPython does not see it when it only reads on */
	int pending;	  /* INDENTs (> 0) or DEDENTs (< 0) still to give */
	int level;	  /* open brackets */
	int fs_level;	  /* level directly inside the innermost replacement field, 0 in none */
	int indent;
	/* tokens that end on this line have their columns moved (strings within f-strings) */
	uint32_t shift_line, shift_col;
	struct lex_paren *parens;
	struct lex_indents *indents;
	struct symtab *syms;
};

/* parens has LEX_MAX_PARENS members; both belong to the caller. */
void lex_init(struct lex *lx, const char *text, struct lex_paren *parens,
	struct lex_indents *indents, struct symtab *syms);
void lex_next(struct lex *lx);
_Noreturn void lex_error(struct lex *lx, uint32_t line, uint32_t col, const char *message);
/*
 * For a parser whose error is at the present token: reads the rest, as an error of the tokens there
 * is the better one to tell, as is a bracket that was opened on a line before `line` and never
 * closed. Returns when there is neither.
 */
void lex_rest(struct lex *lx, uint32_t line);
/* A message in the arena. It must hold nothing of the text but single characters and keywords. */
__attribute__((format(printf, 2, 3))) const char *lex_say(struct lex *lx, const char *fmt, ...);

/* The literal text inside a string token's quotes. */
const char *lex_string_body(const struct lex *lx, const char **end);
/*
 * The next literal piece of an f-string opened by T_FSTRING: from lx->at up to '{', '}' or the
 * closing quotes, whose first byte is returned with lx->at on it. quote is the opening token's last
 * byte, flags are that token's.
 */
char lex_fstring_piece(
	struct lex *lx, char quote, uint8_t flags, const char **start, const char **stop);

#endif

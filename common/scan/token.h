/* The kinds of tokens. Keywords are in one run, augmented assignments in another. */
#ifndef EVCTL_SCAN_TOKEN_H
#define EVCTL_SCAN_TOKEN_H

/* clang-format off */
#define TOKEN_KEYWORDS(X) \
	X(FALSE, "False") X(NONE, "None") X(TRUE, "True") X(AND, "and") X(AS, "as") \
	X(ASSERT, "assert") X(ASYNC, "async") X(AWAIT, "await") X(BREAK, "break") \
	X(CLASS, "class") X(CONTINUE, "continue") X(DEF, "def") X(DEL, "del") X(ELIF, "elif") \
	X(ELSE, "else") X(EXCEPT, "except") X(FINALLY, "finally") X(FOR, "for") X(FROM, "from") \
	X(GLOBAL, "global") X(IF, "if") X(IMPORT, "import") X(IN, "in") X(IS, "is") \
	X(LAMBDA, "lambda") X(NONLOCAL, "nonlocal") X(NOT, "not") X(OR, "or") X(PASS, "pass") \
	X(RAISE, "raise") X(RETURN, "return") X(TRY, "try") X(WHILE, "while") X(WITH, "with") \
	X(YIELD, "yield")
/* clang-format on */

enum token {
	T_EOF,
	T_NEWLINE,
	T_INDENT,
	T_DEDENT,
	T_NAME,
	T_NUMBER,
	T_STRING,
	T_FSTRING, /* the opening quotes of an f- or t-string, PEP 701 mode only */
	T_LPAR,
	T_RPAR,
	T_LSQB,
	T_RSQB,
	T_LBRACE,
	T_RBRACE,
	T_COMMA,
	T_COLON,
	T_SEMI,
	T_DOT,
	T_ELLIPSIS,
	T_ARROW,
	T_WALRUS,
	T_EQUAL,
	T_BANG,	   /* only before a conversion in an f-string's field */
	T_UNKNOWN, /* '$', '?', '!', '`', '<>': nothing has a place for it */
	T_EQ,
	T_NE,
	T_LT,
	T_LE,
	T_GT,
	T_GE,
	T_BAR,
	T_CARET,
	T_AMPER,
	T_LSHIFT,
	T_RSHIFT,
	T_PLUS,
	T_MINUS,
	T_STAR,
	T_SLASH,
	T_DSLASH,
	T_PERCENT,
	T_AT,
	T_TILDE,
	T_DSTAR,
	T_BAR_EQ,
	T_CARET_EQ,
	T_AMPER_EQ,
	T_LSHIFT_EQ,
	T_RSHIFT_EQ,
	T_PLUS_EQ,
	T_MINUS_EQ,
	T_STAR_EQ,
	T_SLASH_EQ,
	T_DSLASH_EQ,
	T_PERCENT_EQ,
	T_AT_EQ,
	T_DSTAR_EQ,
	T_KEYWORD_BEFORE,
#define X(n, s) K_##n,
	TOKEN_KEYWORDS(X)
#undef X
		T_END,
};

#define T_KEYWORD_FIRST (T_KEYWORD_BEFORE + 1)
#define T_AUG_FIRST T_BAR_EQ
#define T_AUG_LAST T_DSTAR_EQ

#endif

#include "scan/lex.h"
#include "scan/lex_bits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn void lex_error(struct lex *lx, uint32_t line, uint32_t col, const char *message)
{
	struct fail *f = lx->syms->arena->fail;
	f->line = line;
	f->col = col;
	f->message = message;
	fail_jump(f, FAIL_SYNTAX);
}

static _Noreturn void error_here(struct lex *lx, const char *message)
{
	lex_error(lx, lx->at_line, (uint32_t)(lx->at - lx->line_start), message);
}

const char *lex_say(struct lex *lx, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
	return arena_copy(lx->syms->arena, text, len);
}
#define say_here(lx, ...) error_here(lx, lex_say(lx, __VA_ARGS__))

/* Those that CPython raises only when its parser comes to them. */
static _Noreturn void error_if_reached(struct lex *lx, uint32_t col, const char *message)
{
	lx->unless_read = true;
	lex_error(lx, lx->at_line, col, message);
}

static _Noreturn void never_closed(struct lex *lx)
{
	const struct lex_paren *open = &lx->parens[lx->level - 1];
	lex_error(lx, open->line, open->col, lex_say(lx, "'%c' was never closed", open->c));
}

void lex_init(struct lex *lx, const char *text, struct lex_paren *parens,
	struct lex_indents *indents, struct symtab *syms)
{
	*lx = (struct lex){
		.at = text,
		.line_start = text,
		.at_line = 1,
		.fresh_line = true,
		.parens = parens,
		.indents = indents,
		.syms = syms,
	};
	if (indents)
		indents->col[0] = indents->alt[0] = 0;
}

static void new_line(struct lex *lx, const char *at)
{
	lx->at = at;
	lx->line_start = at;
	lx->at_line++;
}

/* at is on a backslash: the newline must follow, and then anything but the end of the file. */
static void continue_line(struct lex *lx)
{
	uint32_t col = (uint32_t)(lx->at - lx->line_start) + 1;
	if (lx->at[1] != '\n')
		error_if_reached(lx, col, "unexpected character after line continuation character");
	if (lx->at[2] == '\0') {
		if (lx->level)
			never_closed(lx);
		error_if_reached(lx, col, "unexpected EOF while parsing");
	}
	new_line(lx, lx->at + 2);
}

/* Compares the new line's width with the open blocks'. Tabs count to 8 and to 1, and must agree. */
static void set_indent(struct lex *lx, uint32_t col, uint32_t alt)
{
	static const char mixed[] = "inconsistent use of tabs and spaces in indentation";
	struct lex_indents *in = lx->indents;
	if (col > in->col[lx->indent]) {
		if (lx->indent + 1 >= LEX_MAX_INDENT)
			error_if_reached(lx, 0, "too many levels of indentation");
		if (alt <= in->alt[lx->indent])
			error_if_reached(lx, 0, mixed);
		lx->pending++;
		lx->indent++;
		in->col[lx->indent] = col;
		in->alt[lx->indent] = alt;
		return;
	}
	while (lx->indent > 0 && col < in->col[lx->indent]) {
		lx->pending--;
		lx->indent--;
	}
	if (col != in->col[lx->indent])
		error_if_reached(lx, (uint32_t)(lex_line_end(lx->at) - lx->line_start),
			"unindent does not match any outer indentation level");
	if (alt != in->alt[lx->indent])
		error_if_reached(lx, 0, mixed);
}

/* Skips blank lines and lines with only a comment, then measures the first other one. */
static void begin_line(struct lex *lx)
{
	for (;;) {
		uint32_t col = 0, alt = 0, joined = 0;
		for (;; lx->at++) {
			unsigned run = lex_spaces(lx->at);
			lx->at += run;
			col += run;
			alt += run;
			if (*lx->at == ' ') {
				lx->at--;
				continue;
			}
			if (*lx->at == '\t') {
				col = (col / 8 + 1) * 8;
				alt++;
			} else if (*lx->at == '\f') {
				col = alt = 0;
			} else if (*lx->at == '\\') {
				/* The first part's width is that of the whole joined line. */
				joined = joined ? joined : col;
				continue_line(lx);
				lx->at--;
			} else {
				break;
			}
		}
		if (*lx->at == '#')
			lx->at = lex_line_end(lx->at);
		if (*lx->at == '\n') {
			new_line(lx, lx->at + 1);
			continue;
		}
		if (joined)
			col = alt = joined;
		set_indent(lx, col, alt);
		lx->fresh_line = false;
		return;
	}
}

static void give(struct lex *lx, enum token kind, const char *start, const char *stop)
{
	lx->kind = kind;
	lx->start = start;
	lx->stop = stop;
	lx->at = stop;
	lx->line = lx->at_line;
	lx->col = (uint32_t)(start - lx->line_start);
	if (lx->at_line == lx->shift_line)
		lx->col += lx->shift_col;
}

/* p is on what the number should not run into; the column is of the last byte before. */
static _Noreturn void bad_number(struct lex *lx, const char *p, const char *kind)
{
	lx->at = p - 1;
	say_here(lx, "invalid %s literal", kind);
}

/* The parts of a number: digits with single underscores between them. */
static const char *digits(struct lex *lx, const char *p)
{
	for (;;) {
		while (lex_is_digit(*p))
			p++;
		if (*p != '_')
			return p;
		if (!lex_is_digit(*++p))
			bad_number(lx, p, "decimal");
	}
}

static bool word_follows(const char *p, const char *word)
{
	size_t n = strlen(word);
	return strncmp(p, word, n) == 0 && !lex_is_word(p[n]);
}

/* A number may run into a keyword that can follow it (a deprecated "0or 1"), but into no other
 * name. */
static void end_number(struct lex *lx, const char *p, const char *kind)
{
	if (!lex_is_word(*p) || word_follows(p, "and") || word_follows(p, "else") ||
		word_follows(p, "for") || word_follows(p, "or") || word_follows(p, "not") ||
		(p[0] == 'i' && (p[1] == 'f' || p[1] == 'n' || p[1] == 's')))
		return;
	bad_number(lx, p, kind);
}

static const char *radix_number(struct lex *lx, const char *p, int base)
{
	const char *kind = base == 16 ? "hexadecimal" : base == 8 ? "octal" : "binary";
	do {
		if (*p == '_')
			p++;
		if (!lex_is_radix_digit(*p, base) && !lex_is_digit(*p))
			bad_number(lx, p, kind);
		while (lex_is_radix_digit(*p, base))
			p++;
	} while (*p == '_');
	if (lex_is_digit(*p)) {
		lx->at = p;
		say_here(lx, "invalid digit '%c' in %s literal", *p, kind);
	}
	end_number(lx, p, kind);
	return p;
}

/* CPython refuses to convert longer decimal integers (its int_max_str_digits). */
#define MAX_DECIMAL_DIGITS 4300

static void check_decimal(struct lex *lx, const char *start, const char *stop)
{
	size_t n = 0;
	for (const char *p = start; p < stop; p++)
		n += *p != '_';
	if (*start != '0' && n > MAX_DECIMAL_DIGITS)
		lex_error(lx, lx->at_line, (uint32_t)(start - lx->line_start),
			lex_say(lx,
				"Exceeds the limit (%d digits) for integer string conversion: value "
				"has %zu digits; use sys.set_int_max_str_digits() to increase the "
				"limit - Consider hexadecimal for huge integer literals to avoid "
				"decimal conversion limits.",
				MAX_DECIMAL_DIGITS, n));
}

/* From p, behind the integer part of a decimal number, to its end. */
static const char *decimal_rest(struct lex *lx, const char *p, bool *integer)
{
	const char *kind = "decimal";
	if (*p == '.') {
		*integer = false;
		p++;
		if (lex_is_digit(*p))
			p = digits(lx, p);
	}
	if (*p == 'e' || *p == 'E') {
		const char *e = p++;
		if (*p == '+' || *p == '-') {
			if (!lex_is_digit(*++p))
				bad_number(lx, p, kind);
		} else if (!lex_is_digit(*p)) {
			end_number(lx, e, kind);
			return e;
		}
		*integer = false;
		p = digits(lx, p);
	}
	if (*p == 'j' || *p == 'J') {
		*integer = false;
		lx->flags = LEX_IMAGINARY;
		kind = "imaginary";
		p++;
	}
	end_number(lx, p, kind);
	return p;
}

static void zero_number(struct lex *lx, const char *start)
{
	const char *p = start + 1;
	bool integer = true, nonzero = false;
	while (*p == '0' || *p == '_') {
		if (*p == '_' && !lex_is_digit(p[1]))
			bad_number(lx, p + 1, "decimal");
		p++;
	}
	if (lex_is_digit(*p)) {
		nonzero = true;
		p = digits(lx, p);
	}
	const char *stop = p;
	if (nonzero && *p != '.' && *p != 'e' && *p != 'E' && *p != 'j' && *p != 'J')
		lex_error(lx, lx->at_line, (uint32_t)(start - lx->line_start),
			"leading zeros in decimal integer literals are not permitted; use an 0o "
			"prefix for octal integers");
	stop = decimal_rest(lx, p, &integer);
	give(lx, T_NUMBER, start, stop);
}

static void number(struct lex *lx, const char *start)
{
	bool integer = true;
	lx->flags = 0;
	if (*start == '0') {
		int base = lex_radix(start[1]);
		if (base)
			give(lx, T_NUMBER, start, radix_number(lx, start + 2, base));
		else
			zero_number(lx, start);
		return;
	}
	const char *p = *start == '.' ? start : digits(lx, start);
	const char *stop = decimal_rest(lx, p, &integer);
	if (integer && stop - start > MAX_DECIMAL_DIGITS)
		check_decimal(lx, start, stop);
	give(lx, T_NUMBER, start, stop);
}

static void give_string(struct lex *lx, const char *start, const char *stop, uint8_t flags,
	uint32_t line, const char *line_start)
{
	lx->kind = T_STRING;
	lx->flags = flags;
	lx->start = start;
	lx->stop = stop;
	lx->at = stop;
	lx->line = line;
	lx->col = (uint32_t)(start - line_start);
	if (lx->at_line == lx->shift_line)
		lx->col += lx->shift_col;
}

/* quote is on the opening one; start on the prefix before it. */
static void string(struct lex *lx, const char *start, const char *quote, uint8_t flags)
{
	const char *line_start = lx->line_start;
	uint32_t line = lx->at_line;
	char q = *quote;
	const char *p = quote + 1;
	if (p[0] == q && p[1] == q) {
		flags |= LEX_TRIPLE;
		p += 2;
	} else if (p[0] == q) {
		give_string(lx, start, p + 1, flags, line, line_start);
		return;
	}
	for (;;) {
		p = lex_string_stop(p, q, &flags);
		if (*p == '\\') {
			flags |= LEX_ESCAPES;
			p++;
			if (*p == '\n')
				new_line(lx, p + 1);
			if (*p == '\0')
				break;
			if ((unsigned char)*p >= 0x80)
				flags |= LEX_HIGH;
			p++;
		} else if (*p == q) {
			if (!(flags & LEX_TRIPLE)) {
				give_string(lx, start, p + 1, flags, line, line_start);
				return;
			}
			if (p[1] == q && p[2] == q) {
				give_string(lx, start, p + 3, flags, line, line_start);
				return;
			}
			p++;
		} else if (*p == '\n' && flags & LEX_TRIPLE) {
			new_line(lx, ++p);
		} else {
			break;
		}
	}
	lex_error(lx, line, (uint32_t)(start - line_start),
		lex_say(lx, "unterminated %sstring literal (detected at line %u)",
			flags & LEX_TRIPLE ? "triple-quoted " : "",
			lx->at_line - (flags & LEX_TRIPLE && !*p)));
}

const char *lex_string_body(const struct lex *lx, const char **end)
{
	const char *p = lx->start;
	while (*p != '"' && *p != '\'')
		p++;
	int quotes = lx->flags & LEX_TRIPLE ? 3 : 1;
	*end = lx->stop - quotes;
	return p + quotes;
}

static void open_fstring(struct lex *lx, const char *start, const char *quote, uint8_t flags)
{
	int quotes = 1;
	if (quote[1] == *quote && quote[2] == *quote) {
		quotes = 3;
		flags |= LEX_TRIPLE;
	}
	give(lx, T_FSTRING, start, quote + quotes);
	lx->flags = flags;
}

/* Skips \N{...} as one, so that its braces open no field. */
static const char *skip_escape(struct lex *lx, const char *p)
{
	if (p[1] == '\n') {
		new_line(lx, p + 2);
		return p + 2;
	}
	if (p[1] == 'N' && p[2] == '{') {
		for (p += 3; *p && *p != '}' && *p != '\n'; p++)
			;
		return *p == '}' ? p + 1 : p;
	}
	if (p[1] == '{' || p[1] == '}' || p[1] == '\0')
		return p + 1;
	return p + 2;
}

char lex_fstring_piece(
	struct lex *lx, char quote, uint8_t flags, const char **start, const char **stop)
{
	const char *p = lx->at;

	*start = p;
	for (;; p++) {
		if (*p == '\\' && (!(flags & LEX_RAW) || p[1] == quote || p[1] == '\\')) {
			p = skip_escape(lx, p) - 1;
			continue;
		}
		if (*p == '\0' || (*p == '\n' && !(flags & LEX_TRIPLE)))
			error_here(lx, "unterminated f-string");
		if (*p == '\n')
			new_line(lx, p + 1);
		if (*p == '{' || *p == '}')
			break;
		if (*p == quote && (!(flags & LEX_TRIPLE) || (p[1] == quote && p[2] == quote)))
			break;
	}
	*stop = p;
	lx->at = p;
	return *p;
}

static int prefix_bit(char c, bool modern)
{
	switch (c | 0x20) {
	case 'b':
		return LEX_BYTES;
	case 'r':
		return LEX_RAW;
	case 'f':
		return LEX_FORMAT;
	case 't':
		return modern ? LEX_TEMPLATE | LEX_FORMAT : -1;
	case 'u':
		return 0;
	default:
		return -1;
	}
}

/* The flags of a string with this prefix; -1 if it is none. */
static int prefix_flags(const char *p, size_t n, bool modern)
{
	int a = prefix_bit(p[0], modern);
	if (n == 1 || a < 0)
		return a;
	int b = prefix_bit(p[1], modern);
	if (b <= 0 || a == 0 || (a == LEX_RAW) == (b == LEX_RAW))
		return -1;
	return a | b;
}

static void name(struct lex *lx, const char *p)
{
	uint64_t lo, hi;
	unsigned n = lex_word16(p, &lo, &hi);
	const char *stop = p + n;
	if (n == 16)
		while (lex_is_word(*stop) && (unsigned char)*stop < 0x80)
			stop++;
	if (n <= 2 && (*stop == '"' || *stop == '\'')) {
		int flags = prefix_flags(p, n, lx->modern);
		if (flags >= 0) {
			if (flags & LEX_FORMAT && lx->modern)
				open_fstring(lx, p, stop, (uint8_t)flags);
			else
				string(lx, p, stop, (uint8_t)flags);
			return;
		}
	}
	if ((unsigned char)*stop >= 0x80) {
		while (lex_is_word(*stop))
			stop++;
		lx->sym = lex_odd_name(lx, p, stop);
		give(lx, T_NAME, p, stop);
		lx->flags = LEX_ODD_NAME;
		return;
	}
	struct sym *y = stop - p > 16 ? sym_intern(lx->syms, p, (size_t)(stop - p))
				      : sym_intern_short(lx->syms, p, (uint32_t)(stop - p), lo, hi);
	lx->sym = y;
	give(lx, y->keyword ? (enum token)y->keyword : T_NAME, p, stop);
	lx->flags = 0;
}

static void open_bracket(struct lex *lx, enum token kind, const char *p)
{
	if (lx->level >= LEX_MAX_PARENS)
		error_here(lx, "too many nested parentheses");
	lx->parens[lx->level++] =
		(struct lex_paren){*p, lx->at_line, (uint32_t)(p - lx->line_start)};
	give(lx, kind, p, p + 1);
}

static void close_bracket(struct lex *lx, enum token kind, const char *p, char opening)
{
	lx->at = p;
	if (!lx->level)
		say_here(lx, "unmatched '%c'", *p);
	const struct lex_paren *open = &lx->parens[--lx->level];
	if (open->c != opening && open->line == lx->at_line)
		say_here(lx, "closing parenthesis '%c' does not match opening parenthesis '%c'", *p,
			open->c);
	if (open->c != opening)
		say_here(lx,
			"closing parenthesis '%c' does not match opening parenthesis '%c' on line "
			"%u",
			*p, open->c, open->line);
	give(lx, kind, p, p + 1);
}

/* op, op=, opop, opop= */
static void operator(struct lex *lx, const char *p, enum token one, enum token eq, enum token two,
	enum token two_eq)
{
	if (two && p[1] == p[0]) {
		if (two_eq && p[2] == '=')
			give(lx, two_eq, p, p + 3);
		else
			give(lx, two, p, p + 2);
	} else if (p[1] == '=') {
		give(lx, eq, p, p + 2);
	} else {
		give(lx, one, p, p + 1);
	}
}

static void dot(struct lex *lx, const char *p)
{
	if (lex_is_digit(p[1]))
		number(lx, p);
	else if (p[1] == '.' && p[2] == '.')
		give(lx, T_ELLIPSIS, p, p + 3);
	else
		give(lx, T_DOT, p, p + 1);
}

static void bang(struct lex *lx, const char *p)
{
	if (p[1] == '=')
		give(lx, T_NE, p, p + 2);
	else if (lx->fs_level && lx->fs_level == lx->level)
		give(lx, T_BANG, p, p + 1);
	else
		give(lx, T_UNKNOWN, p, p + 1);
}

static void colon(struct lex *lx, const char *p)
{
	if (p[1] == '=' && !(lx->fs_level && lx->fs_level == lx->level))
		give(lx, T_WALRUS, p, p + 2);
	else
		give(lx, T_COLON, p, p + 1);
}

/* True if a token was made, false if the newline was only white space inside brackets. */
static bool newline(struct lex *lx, const char *start, const char *p)
{
	if (lx->level) {
		new_line(lx, p + 1);
		return false;
	}
	give(lx, T_NEWLINE, start, p);
	new_line(lx, p + 1);
	lx->fresh_line = true;
	return true;
}

static void end_of_file(struct lex *lx, const char *p)
{
	if (lx->level) {
		lx->unless_read = true;
		never_closed(lx);
	}
	give(lx, T_EOF, p, p);
}

static void give_pending(struct lex *lx)
{
	if (lx->pending > 0) {
		lx->pending--;
		give(lx, T_INDENT, lx->at, lx->at);
	} else {
		lx->pending++;
		give(lx, T_DEDENT, lx->at, lx->at);
	}
}

static void punctuation(struct lex *lx, const char *p)
{
	switch (*p) {
	case ',':
		return give(lx, T_COMMA, p, p + 1);
	case ';':
		return give(lx, T_SEMI, p, p + 1);
	case '~':
		return give(lx, T_TILDE, p, p + 1);
	case ':':
		return colon(lx, p);
	case '.':
		return dot(lx, p);
	case '!':
		return bang(lx, p);
	case '=':
		return operator(lx, p, T_EQUAL, T_EQ, 0, 0);
	case '+':
		return operator(lx, p, T_PLUS, T_PLUS_EQ, 0, 0);
	case '%':
		return operator(lx, p, T_PERCENT, T_PERCENT_EQ, 0, 0);
	case '@':
		return operator(lx, p, T_AT, T_AT_EQ, 0, 0);
	case '&':
		return operator(lx, p, T_AMPER, T_AMPER_EQ, 0, 0);
	case '|':
		return operator(lx, p, T_BAR, T_BAR_EQ, 0, 0);
	case '^':
		return operator(lx, p, T_CARET, T_CARET_EQ, 0, 0);
	case '*':
		return operator(lx, p, T_STAR, T_STAR_EQ, T_DSTAR, T_DSTAR_EQ);
	case '/':
		return operator(lx, p, T_SLASH, T_SLASH_EQ, T_DSLASH, T_DSLASH_EQ);
	case '>':
		return operator(lx, p, T_GT, T_GE, T_RSHIFT, T_RSHIFT_EQ);
	case '<':
		if (p[1] == '>')
			return give(lx, T_UNKNOWN, p, p + 2);
		return operator(lx, p, T_LT, T_LE, T_LSHIFT, T_LSHIFT_EQ);
	case '-':
		if (p[1] == '>')
			return give(lx, T_ARROW, p, p + 2);
		return operator(lx, p, T_MINUS, T_MINUS_EQ, 0, 0);
	case '$':
	case '?':
	case '`':
		return give(lx, T_UNKNOWN, p, p + 1);
	default:
		say_here(lx, "invalid non-printable character U+%04X", (unsigned char)*p);
	}
}

/* Tokens of one byte, unless one of a few others follows. */
static const uint8_t singles[256] = {
	[','] = T_COMMA,
	[':'] = T_COLON,
	['.'] = T_DOT,
	['='] = T_EQUAL,
	[';'] = T_SEMI,
	['+'] = T_PLUS,
	['-'] = T_MINUS,
	['*'] = T_STAR,
	['/'] = T_SLASH,
	['%'] = T_PERCENT,
	['@'] = T_AT,
	['&'] = T_AMPER,
	['|'] = T_BAR,
	['^'] = T_CARET,
	['<'] = T_LT,
	['>'] = T_GT,
	['~'] = T_TILDE,
};

static bool is_single(const char *p)
{
	return singles[(unsigned char)*p] && p[1] != '=' && p[1] != '>' && p[1] != *p &&
	       (*p != '.' || !lex_is_digit(p[1]));
}

static void bracket(struct lex *lx, const char *p)
{
	switch (*p) {
	case '(':
		return open_bracket(lx, T_LPAR, p);
	case '[':
		return open_bracket(lx, T_LSQB, p);
	case '{':
		return open_bracket(lx, T_LBRACE, p);
	case ')':
		return close_bracket(lx, T_RPAR, p, '(');
	case ']':
		return close_bracket(lx, T_RSQB, p, '[');
	default:
		return close_bracket(lx, T_RBRACE, p, '{');
	}
}

void lex_next(struct lex *lx)
{
	if (lx->fresh_line)
		begin_line(lx);
	if (lx->pending)
		return give_pending(lx);
	for (;;) {
		const char *p = lx->at;
		p += *p == ' '; /* one or none is usual, and hard to foretell */
		while (*p == ' ' || *p == '\t' || *p == '\f')
			p++;
		lx->at = p;
		enum lex_class class = lex_class(*p);
		if (class == LEX_C_WORD)
			return name(lx, p);
		if (is_single(p))
			return give(lx, (enum token)singles[(unsigned char)*p], p, p + 1);
		switch (class) {
		case LEX_C_DIGIT:
			return number(lx, p);
		case LEX_C_QUOTE:
			return string(lx, p, p, 0);
		case LEX_C_BRACKET:
			return bracket(lx, p);
		case LEX_C_NEWLINE:
			if (newline(lx, p, p))
				return;
			continue;
		case LEX_C_COMMENT:
			/* A newline behind a comment begins with it. */
			lx->at = lex_line_end(p);
			if (*lx->at && newline(lx, p, lx->at))
				return;
			continue;
		case LEX_C_BACKSLASH:
			continue_line(lx);
			continue;
		case LEX_C_END:
			return end_of_file(lx, p);
		default:
			return punctuation(lx, p);
		}
	}
}

void lex_rest(struct lex *lx, uint32_t line)
{
	struct fail *outer = lx->syms->arena->fail, f;
	lx->syms->arena->fail = &f;
	if (setjmp(f.at) == 0) {
		while (lx->kind != T_EOF)
			lex_next(lx);
		lx->syms->arena->fail = outer;
		return;
	}
	lx->syms->arena->fail = outer;
	if (f.what != FAIL_SYNTAX)
		fail_jump(outer, f.what);
	if (!lx->unless_read)
		lex_error(lx, f.line, f.col, f.message);
	if (lx->level && lx->parens[lx->level - 1].line < line)
		never_closed(lx);
}

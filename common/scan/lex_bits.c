#include "scan/lex_bits.h"

#include <stdlib.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#define W LEX_C_WORD
#define D LEX_C_DIGIT
#define W8 W, W, W, W, W, W, W, W

const uint8_t lex_classes[256] = {
	[0] = LEX_C_END,
	['\n'] = LEX_C_NEWLINE,
	['#'] = LEX_C_COMMENT,
	['\\'] = LEX_C_BACKSLASH,
	['"'] = LEX_C_QUOTE,
	['\''] = LEX_C_QUOTE,
	['('] = LEX_C_BRACKET,
	['['] = LEX_C_BRACKET,
	['{'] = LEX_C_BRACKET,
	[')'] = LEX_C_BRACKET,
	[']'] = LEX_C_BRACKET,
	['}'] = LEX_C_BRACKET,
	['0'] = D,
	D,
	D,
	D,
	D,
	D,
	D,
	D,
	D,
	D,
	['A'] = W8,
	W8,
	W8,
	W,
	W,
	['_'] = W,
	['a'] = W8,
	W8,
	W8,
	W,
	W,
	[128] = W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
	W8,
};

/*
 * The first code point that a name cannot have, or NULL. Python's sets are Unicode's XID_Start and
 * XID_Continue, which libunistring has too; both are of Unicode 14 on Debian 12.
 */
static const char *bad_point(const char *p, const char *stop)
{
	for (bool first = true; p < stop; first = false) {
		ucs4_t c;
		int n = u8_mbtoucr(&c, (const uint8_t *)p, (size_t)(stop - p));
		if (n <= 0)
			return p;
		if (c != '_' &&
			!(first ? uc_is_property_xid_start(c) : uc_is_property_xid_continue(c)))
			return p;
		p += n;
	}
	return NULL;
}

static _Noreturn void bad_character(struct lex *lx, const char *bad, const char *stop)
{
	static const char unprintable[] = "invalid non-printable character U+%04X";
	const uint32_t unseen = UC_CATEGORY_MASK_C | UC_CATEGORY_MASK_Z;
	uint32_t col = (uint32_t)(bad - lx->line_start);
	ucs4_t c;
	int n = u8_mbtoucr(&c, (const uint8_t *)bad, (size_t)(stop - bad));

	if (n <= 0)
		lex_error(lx, lx->at_line, col, "invalid character in a name");
	lex_error(lx, lx->at_line, col,
		uc_is_general_category_withtable(c, unseen)
			? lex_say(lx, unprintable, c)
			: lex_say(lx, "invalid character '%.*s' (U+%04X)", n, bad, c));
}

struct sym *lex_odd_name(struct lex *lx, const char *start, const char *stop)
{
	const char *bad = bad_point(start, stop);
	if (bad)
		bad_character(lx, bad, stop);
	/* The result goes to the arena before anything can jump. */
	size_t n = (size_t)(stop - start), room = n * 18 + 16;
	uint8_t *buf = arena_alloc(lx->syms->arena, room), *out;
	out = u8_normalize(UNINORM_NFKC, (const uint8_t *)start, n, buf, &room);
	if (!out)
		fail_jump(lx->syms->arena->fail, FAIL_MEMORY);
	if (out == buf)
		return sym_intern(lx->syms, (const char *)buf, room);
	char *copy = arena_alloc(lx->syms->arena, room + 1);
	memcpy(copy, out, room);
	free(out);
	return sym_intern(lx->syms, copy, room);
}

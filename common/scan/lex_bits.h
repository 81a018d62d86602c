/*
 * The lexer's inner loops: classes of bytes, and searches sixteen bytes at a time where the machine
 * has SSE2. All may read LEX_PAD bytes past the end of the text.
 */
#ifndef EVCTL_SCAN_LEX_BITS_H
#define EVCTL_SCAN_LEX_BITS_H

#include "scan/lex.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum lex_class {
	LEX_C_OTHER,
	LEX_C_WORD,
	LEX_C_DIGIT,
	LEX_C_QUOTE,
	LEX_C_BRACKET,
	LEX_C_NEWLINE,
	LEX_C_COMMENT,
	LEX_C_BACKSLASH,
	LEX_C_END,
};

extern const uint8_t lex_classes[256];

/* A name with a byte over 127: checked, normalised, interned. */
struct sym *lex_odd_name(struct lex *lx, const char *start, const char *stop);

static inline enum lex_class lex_class(char c)
{
	return (enum lex_class)lex_classes[(unsigned char)c];
}

static inline bool lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What a name may hold, as the tokenizer sees it: every byte over 127 too. */
static inline bool lex_is_word(char c)
{
	enum lex_class k = lex_class(c);
	return k == LEX_C_WORD || k == LEX_C_DIGIT;
}

static inline bool lex_is_radix_digit(char c, int base)
{
	if (base == 16)
		return lex_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
	return c >= '0' && c < '0' + base;
}

static inline int lex_radix(char c)
{
	switch (c | 0x20) {
	case 'x':
		return 16;
	case 'o':
		return 8;
	case 'b':
		return 2;
	default:
		return 0;
	}
}

static inline const char *lex_line_end(const char *p)
{
	const char *end = strchrnul(p, '\n');
	return end;
}

#ifdef __SSE2__
static inline __m128i lex_load(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m128i lex_in_range(__m128i v, char first, char count)
{
	__m128i moved = _mm_add_epi8(v, _mm_set1_epi8((char)(0x80 - first)));
	return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(0x80 + count)));
}
#endif

/* How many of the next 16 bytes are leading spaces. */
static inline unsigned lex_spaces(const char *p)
{
#ifdef __SSE2__
	__m128i eq = _mm_cmpeq_epi8(lex_load(p), _mm_set1_epi8(' '));
	return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(eq));
#else
	unsigned n = 0;
	while (n < 16 && p[n] == ' ')
		n++;
	return n;
#endif
}

/* How many of the next 16 bytes are leading ASCII name bytes; those, zero-filled, as two words. */
static inline unsigned lex_word16(const char *p, uint64_t *lo, uint64_t *hi)
{
#ifdef __SSE2__
	__m128i v = lex_load(p);
	__m128i lower = _mm_or_si128(v, _mm_set1_epi8(0x20));
	__m128i ok = _mm_or_si128(lex_in_range(lower, 'a', 26), lex_in_range(v, '0', 10));
	ok = _mm_or_si128(ok, _mm_cmpeq_epi8(v, _mm_set1_epi8('_')));
	unsigned n = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(ok));
#else
	unsigned n = 0;
	while (n < 16 && lex_is_word(p[n]) && (unsigned char)p[n] < 0x80)
		n++;
#endif
	uint64_t a, b;
	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	*lo = n >= 8 ? a : a & (((uint64_t)1 << n * 8) - 1);
	*hi = n >= 16 ? b : n > 8 ? b & (((uint64_t)1 << (n - 8) * 8) - 1) : 0;
#else
	uint64_t w[2] = {0};
	memcpy(w, p, n);
	*lo = w[0];
	*hi = w[1];
#endif
	return n;
}

/* The next quote, backslash, newline or NUL; notes bytes over 127 on the way. */
static inline const char *lex_string_stop(const char *p, char quote, uint8_t *flags)
{
#ifdef __SSE2__
	for (;; p += 16) {
		__m128i v = lex_load(p);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(quote)),
			_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8('\n')));
		hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_setzero_si128()));
		unsigned stop = (unsigned)_mm_movemask_epi8(hit);
		unsigned high = (unsigned)_mm_movemask_epi8(v);
		if (stop) {
			unsigned n = (unsigned)__builtin_ctz(stop);
			if (high & ((1u << n) - 1))
				*flags |= LEX_HIGH;
			return p + n;
		}
		if (high)
			*flags |= LEX_HIGH;
	}
#else
	for (; *p != quote && *p != '\\' && *p != '\n' && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*flags |= LEX_HIGH;
	return p;
#endif
}

#endif

/*
 * How encoders write a value: the list of spellings (JSON with and without \u, percent in both
 * cases, forms, HTML, UTF-16 and -32, what HTTP makes of a header's name), and the codings that any
 * of them may be in: base64 at each alignment, in both alphabets, and twice; base32; hex. A
 * coding's characters are made one at a time, so that nobody has to keep them.
 */
#ifndef EVCTL_GUARD_SPELL_H
#define EVCTL_GUARD_SPELL_H

#include "base/buf.h"

#include <stdint.h>

#define SPELLINGS 64 /* more than there are */

/* Appends the i-th spelling of v[0..n) to out (secret); -1 when i is past the last. The first is v.
 */
int spell(unsigned i, const uint8_t *v, size_t n, struct buf *out);
/* Whether the spelling also stands as it is: others are found by undoing their escapes. */
bool spell_stands(unsigned i, const uint8_t *v, size_t n);

enum code_kind { CODE_NONE, CODE_BASE64, CODE_BASE32, CODE_HEX };

struct code {
	uint8_t kind;
	uint8_t before; /* bytes before the text, within a group; what they share is left out */
	uint8_t other;	/* base64: the alphabet of URLs; hex: what stands between bytes */
};

/* A text in a coding, and that in another. */
struct coded {
	const uint8_t *p;
	size_t n;
	struct code inner, outer;
};

/* All of them, CODE_NONE first. */
#define CODES_MAX 64
size_t codes_list(struct code inner[CODES_MAX], struct code outer[CODES_MAX]);
/* How many bits of the outer coding's character before the first, behind the last, are of the text;
 * whether the inner one shares any. */
struct code_edges {
	unsigned bits, left, right;
	bool inner;
};

struct code_edges coded_edges(const struct coded *c);
/* The first and the last byte of what is in the outer coding. */
uint8_t coded_first(const struct coded *c);
uint8_t coded_last(const struct coded *c);
/* What a character of the outer coding stands for, -1 for none; and the other way round. */
int code_value(struct code c, uint8_t ch);
uint8_t code_char(struct code c, unsigned v);
size_t coded_length(const struct coded *c);
uint8_t coded_at(const struct coded *c, size_t i);

#endif

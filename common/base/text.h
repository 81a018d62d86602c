/*
 * Text from strangers: bytes to characters and back, whether it is clean, and how to show it. Pure.
 */
#ifndef EVCTL_BASE_TEXT_H
#define EVCTL_BASE_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SHOWN_MAX 96
#define TEXT_BAD_BYTE 0x110000u /* text_next() adds a byte that is no UTF-8 to this */

/* The code point at *p, which moves on; *p < end. */
uint32_t text_next(const char **p, const char *end);
/* Writes a code point as UTF-8, surrogates too, as three bytes; where the next goes. */
char *text_put(char *to, uint32_t c);
bool text_is_utf8(const char *p, size_t n);
/* Characters of UTF-8: code points, which are columns of a terminal for all but wide scripts. */
size_t text_chars(const char *p, size_t n);
/* How many bytes at the end begin a character that what follows may complete. */
size_t text_begun(const char *p, size_t n);

/*
 * The one list of what makes text seem other than it is: controls, what breaks lines, turns the
 * direction of text or takes no room, what Unicode says is no character; and TEXT_BAD_BYTEs. The
 * two joiners are letters' own in several scripts, and in emoji.
 */
bool text_deceives(uint32_t c);
/* Valid UTF-8 without what deceives; newline and tab pass if multiline. */
bool text_is_clean(const char *s, size_t n, bool multiline);
/* Appends the text for a terminal: the bytes of what isn't clean as \xNN. */
void text_add_visible(struct buf *b, const char *p, size_t n, bool multiline);
/* s for a message: one line, what isn't clean as '?', cut with "..." to fit. Returns out. */
const char *text_shown(const char *s, char out[TEXT_SHOWN_MAX]);

/* Why a path in outputs/ is no name for an artifact, static; NULL: it is one. */
#define TEXT_DIRECTORIES 16 /* that it may go through */
const char *text_artifact_fault(const char *path);

/* The value of a hex digit, or -1. */
int text_hex(char c);
/* Decodes "%41"; other percent signs stay. out has n bytes, and may be p. How many it wrote. */
size_t text_unpercent(const char *p, size_t n, char *out);
/* Appends p with all but letters, digits and the characters of `also` as "%41". */
void text_add_percent(struct buf *b, const char *p, size_t n, const char *also);
/* Lower-case digits and a NUL: out has 2 * n + 1 bytes. */
void text_to_hex(const void *p, size_t n, char *out);
/* Whether two secrets are the same, in a time that tells no more than their lengths. */
bool text_same(const char *a, size_t na, const char *b, size_t nb);

#endif

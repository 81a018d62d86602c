/*
 * Text from strangers: whether it is clean, and how to show it in a message. Pure.
 */
#ifndef EVCTL_MANIFEST_TEXT_H
#define EVCTL_MANIFEST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SHOWN_MAX 96
#define TEXT_BAD_BYTE 0x110000u /* text_next() adds a byte that is no UTF-8 to this */

/* The code point at *p, which moves on; *p < end. */
uint32_t text_next(const char **p, const char *end);
/* C0, DEL, C1, and the invisible ones that reorder or hide what is beside them. */
bool text_is_control(uint32_t c);
/* Valid UTF-8 without control characters; newline and tab pass if multiline. */
bool text_is_clean(const char *s, size_t n, bool multiline);
/* s for a message: one line, what isn't clean as '?', cut with "..." to fit. Returns out. */
const char *text_shown(const char *s, char out[TEXT_SHOWN_MAX]);

#endif

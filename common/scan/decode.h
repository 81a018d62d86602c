/*
 * From a file's bytes to the text that the lexer reads, as CPython does for ast.parse(bytes): line
 * ends become LF, a byte order mark or a coding cookie says the encoding, NULs are refused. Jumps
 * to the arena's struct fail on error.
 */
#ifndef EVCTL_SCAN_DECODE_H
#define EVCTL_SCAN_DECODE_H

#include "scan/arena.h"

#include <stdint.h>

/* UTF-8 (not checked where the file is to be UTF-8) ending in LF, LEX_PAD zero bytes behind it. */
char *decode_source(struct arena *a, const void *bytes, size_t n);

#endif

/*
 * One escape, read as the decoders of the world read it: percent (also %uXXXX), backslash (JSON,
 * JavaScript, Python, C), HTML's references (numbers, and the names of ASCII and Latin-1; without
 * the semicolon where browsers do without), and quoted-printable. Pure.
 */
#ifndef EVCTL_GUARD_ESCAPE_H
#define EVCTL_GUARD_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ESCAPE_MAX 24 /* bytes of one escape at most, with what is looked at behind it */

struct escape {
	uint8_t out[8]; /* what it stands for; a line that goes on stands for nothing */
	size_t n;
};

/* Whether one may begin with this byte. '=' only where quoted is meant. */
bool escape_begins(uint8_t c, bool quoted);
/*
 * The escape that p[0..n) begins with: its length; 0 when there is none; -1 when that depends on
 * what follows (never with last, or ESCAPE_MAX bytes).
 */
ssize_t escape_read(const uint8_t *p, size_t n, bool last, bool quoted, struct escape *e);

/* All of p[0..n), each escape once, into out, which has n bytes. How many it wrote. */
size_t escape_undo(const uint8_t *p, size_t n, bool quoted, uint8_t *out);

#endif

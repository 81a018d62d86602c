/* What a terminal can hold: its columns, its colour, and text broken to fit. */
#ifndef EVCTL_BASE_TERMINAL_H
#define EVCTL_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether f is a terminal that takes colour (NO_COLOR, TERM=dumb, pipes: no). */
bool terminal_color(FILE *f);
/* How wide stdout's terminal is; 80 where it is none. */
size_t terminal_columns(void);
/* Text from where the cursor is (indent), broken at blanks; further lines start at indent. */
void terminal_wrapped(FILE *f, const char *text, size_t indent, size_t columns);
/* The next line of *rest, which moves on past the blank; returns its bytes. */
size_t terminal_next_line(const char **rest, const char **line, size_t columns);
/* Columns of UTF-8 text: code points, which is right for all but wide scripts. */
size_t terminal_width(const char *s);
/* Columns of the longest part that a line end must not cut. */
size_t terminal_longest_word(const char *s);

#endif

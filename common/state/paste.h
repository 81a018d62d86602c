/*
 * How people bring a value: pasted in lines, with blanks and marks around it. Pure; copies nothing.
 */
#ifndef EVCTL_STATE_PASTE_H
#define EVCTL_STATE_PASTE_H

#include <stdbool.h>
#include <stddef.h>

/* A value at a prompt, of which the first line says whether there are more. Zeroed at first. */
struct paste {
	size_t lines;
	enum { PASTE_LINE, PASTE_ARMOUR, PASTE_JSON } shape;
	bool in_block, in_head; /* of armour: before its END; where "Name: value" may stand */
	int depth;		/* of JSON: brackets open */
	bool in_string, escaped;
};

/* Takes the next line, without its newline; true: the value goes on, until an empty line. */
bool paste_goes_on(struct paste *p, const char *line, size_t n);
/* Has it begun what it did not end? An empty line with more behind it is then a line of it. */
bool paste_open(const struct paste *p);
/* What is missing at its end, static; NULL: nothing. */
const char *paste_fault(const struct paste *p);

/* What of a value is hardly meant: blanks (Unicode's too) and a byte order mark around it. */
struct paste_around {
	size_t before, after; /* bytes, all that --trim drops */
	bool marked;	      /* a byte order mark is first */
	bool blank;	      /* it is nothing else */
	bool newline;	      /* all that is after it is one newline */
};
void paste_around(const char *p, size_t n, struct paste_around *out);

#endif

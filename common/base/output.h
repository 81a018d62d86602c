/*
 * Lists and single things on stdout. Text: an aligned table with a header on a terminal,
 * tab-separated without header elsewhere. JSON: one document, an array for a list, an object for
 * one thing.
 */
#ifndef EVCTL_BASE_OUTPUT_H
#define EVCTL_BASE_OUTPUT_H

#include "base/json.h"
#include "base/program.h"

struct column {
	const char *title; /* header on a terminal */
	const char *key;   /* member of each row */
	int spare;	   /* where a terminal is too narrow, the highest goes first */
};

/*
 * Prints an array of objects. Columns end with a title of NULL; `-o name` prints the first column.
 * On a terminal a table has the columns that fit; --wide has all.
 * Members that are arrays are joined with ", "; true is "yes"; false and null are "". Takes rows
 * over; NULL is of an error before, and -1.
 */
int output_list(
	const struct invocation *in, const struct column *cols, json_t *rows, struct err *e);
/* Prints one object: its columns as "title: value" lines on text. Takes obj
 * over; NULL as above. */
int output_object(
	const struct invocation *in, const struct column *cols, json_t *obj, struct err *e);
/* What came of a change: on text a line that says it, else the object, which is taken over. */
int output_done(const struct invocation *in, const struct column *cols, json_t *obj, struct err *e,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* One JSON document, indented on a terminal, whatever -o says. Takes j over. */
void output_json(json_t *j);
/* A line on stdout for text output, as output_text() has it; nothing for json and name. */
void output_say(const struct invocation *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Colour from here on: the number of a terminal's SGR, "0" for none; where colour is wanted. */
void output_paint(const struct invocation *in, const char *sgr);
/*
 * Text of somebody else's (a tool's result, a log). To a terminal, what deceives (base/text.h)
 * goes as \xNN: it must not be driven by data; to anything else the bytes go as they are.
 */
void output_text(FILE *f, const char *p, size_t n);
/* Before a message on stderr: ends the line of text that would run into it. */
void output_fresh_line(void);
/* As output_text(), of what comes in pieces; none, of no bytes, is the end. h is zeroed at first.
 */
struct output_held {
	char bytes[4]; /* the beginning of a character */
	size_t n;
};
void output_piece(FILE *f, struct output_held *h, const char *p, size_t n);
/* JSON and a newline. To a terminal, characters that deceive go as \uXXXX. */
void output_json_text(FILE *f, const char *p, size_t n);
void output_json_line(FILE *f, const json_t *j, size_t flags);

#endif

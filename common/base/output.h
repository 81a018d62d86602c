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
};

/*
 * Prints an array of objects. Columns end with a title of NULL; `-o name` prints the first column.
 * Members that are arrays are joined with ", "; true is "yes"; false and null are "". Takes rows
 * over.
 */
int output_list(
	const struct invocation *in, const struct column *cols, json_t *rows, struct err *e);
/* Prints one object: its columns as "title: value" lines on text. Takes obj over. */
int output_object(
	const struct invocation *in, const struct column *cols, json_t *obj, struct err *e);
/* One JSON document, indented on a terminal, whatever -o says. Takes j over. */
void output_json(json_t *j);
/* How wide stdout's terminal is; 80 where it is none. */
size_t output_columns(void);
/* Text from where the cursor is (indent), broken at blanks; further lines start at indent. */
void output_wrapped(FILE *f, const char *text, size_t indent, size_t columns);
/* A line on stdout for text output; nothing for json and name. */
void output_say(const struct invocation *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Text of somebody else's (a tool's result, a log). To a terminal, control characters go as \xNN:
 * it must not be driven by data; to anything else the bytes go as they are.
 */
void output_text(FILE *f, const char *p, size_t n);
/* "2026-01-31T12:00:05Z" of ms since the epoch; buf holds at least 24. */
const char *output_time(int64_t ms, char *buf, size_t n);

#endif

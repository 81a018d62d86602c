/*
 * A recursive-descent parser of CPython 3.11's grammar (its PEG accepts exactly what this does),
 * and, when asked for, of what 3.12 to 3.14 added. Errors jump to the arena's struct fail. The
 * stack is bounded by CPython's own limits, which are kept.
 */
#ifndef EVCTL_SCAN_PARSE_H
#define EVCTL_SCAN_PARSE_H

#include "scan/ast.h"
#include "scan/lex.h"

/* A text that begins with "http", for literal_url.c. */
struct parse_url {
	const char *text;
	uint32_t n, line;
	bool whole; /* no field of an f-string follows */
	struct parse_url *next;
};

struct parse_result {
	struct seq body;
	struct parse_url *urls; /* latest first */
	int needs; /* the minor version of the newest syntax used, 11 if there is none */
};

/* text as decode_source() gives it; it must live as long as the tree. */
struct parse_result parse_module(const char *text, struct symtab *syms, bool modern);

/* CPython's column of an error: characters from 1. */
uint32_t parse_column(const char *text, uint32_t line, uint32_t col);

#endif

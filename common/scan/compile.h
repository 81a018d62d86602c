/*
 * What compile() refuses although ast.parse() takes it: statements and expressions where they may
 * not be, names that cannot be what they are declared to be. After CPython's future.c, symtable.c
 * and compile.c, whose order of complaints is kept as far as one walk can: names before code.
 */
#ifndef EVCTL_SCAN_COMPILE_H
#define EVCTL_SCAN_COMPILE_H

#include "scan/ast.h"

struct compile_fault {
	const char *message; /* static; NULL: compile() takes it */
	uint32_t line, col;  /* as in struct node */
};

/*
 * The first fault of a module that has just been parsed and not yet been analysed. Uses the marks
 * of the names in `syms` and leaves them clear. Known to be taken though refused: numbers that
 * stand twice as keys of one mapping pattern, and doubles that only a class's private names make.
 */
struct compile_fault compile_check(struct symtab *syms, struct seq body);

#endif

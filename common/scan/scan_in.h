/* Between the files of the scanner, behind its interface. */
#ifndef EVCTL_SCAN_SCAN_IN_H
#define EVCTL_SCAN_SCAN_IN_H

#include "scan/ast.h"
#include "scan/scan.h"

struct scan_file {
	const char *name;
	struct seq body;
	bool parsed;
	struct scan_syntax syntax; /* message NULL if there is nothing to report */
};

struct scan {
	struct arena arena;
	struct symtab syms;
	struct scan_file **files;
	size_t nfiles, room;
};

#endif

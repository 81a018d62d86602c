/*
 * Which files each tool's entry reaches by import: perhaps, or whatever the call. Of a scan that is
 * resolved. Pure.
 */
#ifndef EVCTL_VERIFY_REACH_H
#define EVCTL_VERIFY_REACH_H

#include "base/json.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"
#include "scan/scan.h"

struct reach {
	const struct manifest *m; /* NULL: any file may be run, and no tool does */
	const struct tree *t;
	struct scan *s;
	const struct python *py;
	size_t nfiles;
	bool *perhaps, *uncaught, *surely; /* a row of nfiles flags a tool */
};
#define REACH_AUTO __attribute__((cleanup(reach_free))) struct reach

int reach_find(struct reach *r, const struct manifest *m, const struct tree *t, struct scan *s,
	const struct python *py, struct err *e);
void reach_free(struct reach *r);
/* file is the scanner's own string, or a text that equals one. */
bool reach_by_tool(const struct reach *r, size_t tool, const char *file);
bool reach_surely(const struct reach *r, size_t tool, const char *file);
/* By an import around which no KeyError is caught. */
bool reach_uncaught(const struct reach *r, const char *file);
/* By any tool; any file where there are none. */
bool reach_at_all(const struct reach *r, const char *file);
/*
 * Whether a file is of a package that was brought along: below a directory beside which there is a
 * *.dist-info, or of which no tool's entry is and some file is reached.
 */
bool reach_is_brought(const struct reach *r, const char *file);
/* The names of the tools that reach it. */
json_t *reach_tools(const struct reach *r, const char *file);

#endif

/*
 * Shell completion from the programs' own tables. `PROGRAM --complete WORD...` (the words after the
 * program's name, the last one is being typed and may be empty) prints candidates, one a line, with
 * a tab and a description where there is one; a line ":file" or ":dir" asks the shell for its own.
 * Silent on any error: whoever presses Tab wants no message.
 */
#ifndef EVCTL_BASE_COMPLETE_H
#define EVCTL_BASE_COMPLETE_H

#include "base/program.h"

/* What is asked for: names of a kind that start with prefix. */
struct name_request {
	enum name_kind kind;
	const char *prefix;
	const char *before; /* what it belongs to: the tool's expert, the artifact's run; or NULL */
	const char *state_dir; /* --state as typed, or NULL */
	/* Of members ("month=", "month=Jan") rather than names: the tool, and whether its draft's.
	 */
	const char *tool;
	bool members, draft;
};

void complete_print(const struct program *p, int nwords, char **words);

#endif

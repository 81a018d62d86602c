/*
 * What can be said of an expert's code alone, before hosts come in: the scanner's results with the
 * tools that reach them, as one JSON object. It is what a snapshot keeps, so that a published
 * version can be judged without its code. Of the machine it asks only what its Python has.
 *
 *	reads:           [{name, file, line, kind: "required"|"optional", tools: [...]}]
 *	dynamic:         [{file, line, why, tools}]  and a hint, where naming the key mends nothing
 *	not_in_globals:  [{file, line}]             EV_KEYS sought in globals()
 *	env_mistakes:    [{name, file, line}]       and a why, where it is no plain mistake
 *	modules_missing: [{module, file, line, hint}]    without which a tool cannot begin
 *	modules_optional: the same of the others that a tool may come to
 *	syntax_errors:   [{file, line, message}]
 *	syntax_unreached: the same of brought packages, in files that no tool comes to
 *	entry_errors:    [{tool, file, line, message, hint}]   calls that would fail, perhaps all
 *	urls:            [{host, file, line}]       hosts that the expert's own code names, each
 *once suspicious:      [{file, why}]              files that look like keys modules:         {TOOL:
 *[...]}              of the sandbox's own, that the tool imports unguarded
 *
 * tools holds the names of the tools whose entry reaches the file, and is empty where none does.
 */
#ifndef EVCTL_VERIFY_FINDINGS_H
#define EVCTL_VERIFY_FINDINGS_H

#include "base/json.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"

/*
 * m NULL: a bare directory without expert.yaml, in which any file may be run. NULL on error
 * (no memory, or ERR_LIMIT: too big to be analysed).
 */
json_t *findings_make(const struct manifest *m, const struct tree *t, struct err *e);

#endif

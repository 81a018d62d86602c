/*
 * What differs between what is published and the draft, for people; never code.
 */
#ifndef EVCTL_VERIFY_DIFF_H
#define EVCTL_VERIFY_DIFF_H

#include "state/expert.h"

/*
 * {expert, published: N, same: bool, code: "same"|"changed", description: bool,
 *  tools: {added: [...], removed: [...], changed: [{name, what: ["input", ...]}]},
 *  hosts: {added: [...], removed: [...], changed: [{host, what: ["plain", ...]}]},
 *  bindings: [{host, published, draft}],     credential names, null: egress only
 *  keys: {added: [...], removed: [...]}}     names that the code reads
 *
 * Both views must have their findings (verify_find()), the draft its code. NULL on error.
 */
json_t *diff_make(
	const struct expert_view *published, const struct expert_view *draft, struct err *e);
/* The same of an expert: loads what is published, without its code, and the draft into zeroed
 * views. */
json_t *diff_find(struct state *st, const char *name, struct expert_view *published,
	struct expert_view *draft, struct err *e);
/* What of its published version the draft differs in, as diff_parts() says it. */
int diff_draft(struct state *st, const char *name, struct buf *parts, struct err *e);
/*
 * Adds `files` to a diff, [{path, what: "added"|"removed"|"changed", added, removed, binary}], in
 * lines; both views have their code. patch, unless NULL, gets what a patch has.
 */
int diff_files(json_t *diff, const struct tree *published, const struct tree *draft,
	struct buf *patch, struct err *e);
/* "~ file m.py: +3 -1" of each, and how much it is in all. */
void diff_stat(const json_t *diff, struct buf *out);
/* "code, tools, bindings": what of it differs; nothing where all is the same. */
void diff_parts(const json_t *diff, struct buf *out);
/* Lines "+ host x", "~ file m.py: +3 -1", "- tool y", "~ tool z: input, timeout". */
void diff_text(const json_t *diff, struct buf *out);

#endif

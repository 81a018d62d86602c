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
/* "code, tools, bindings": what of it differs; nothing where all is the same. */
void diff_parts(const json_t *diff, struct buf *out);
/* Lines "+ host x", "- tool y", "~ tool z: input, timeout". */
void diff_text(const json_t *diff, struct buf *out);

#endif

/*
 * What a buyer sees of an expert before hiring it: nothing of its code, paths, or the builder's own
 * credentials.
 */
#ifndef EVCTL_STATE_LISTING_H
#define EVCTL_STATE_LISTING_H

#include "state/expert.h"

/*
 * {expert, description, version (null: a draft), tools: [{name, description, input, output}],
 * hosts: [{host, flags}], keys: [{name, hosts}], connections: [{name, hosts, env, payer, flags}],
 * flags}. keys are those that the buyer brings. The caller's; NULL on error.
 */
json_t *listing_make(struct state *st, const struct expert_view *v, struct err *e);
void listing_text(const json_t *listing, struct buf *out);
/* CommonMark; what the builder wrote cannot become markup. */
void listing_markdown(const json_t *listing, struct buf *out);

/* A tool's example as "INPUT -> OUTPUT", as far as it is said. */
void listing_example(const json_t *example, struct buf *out);

#endif

/*
 * A small state that holds one expert's one version, for one buyer: what a call of it needs and no
 * more. Ids stay as they are, so that sealed records stay valid. Its records are sealed to a key of
 * its own; what is recorded with it is sealed to the state that it was made of.
 */
#ifndef EVCTL_STATE_BUNDLE_H
#define EVCTL_STATE_BUNDLE_H

#include "state/expert.h"

struct bundle_order {
	const struct expert_view *view;
	const char *buyer;	 /* NULL: the builder */
	const unsigned char *to; /* SEAL_KEY_BYTES: whose key opens it */
};

/* Makes the file `path`, new, 0600, and reads it into out. Needs the private key (state_unlock()).
 * The file is removed again. */
int bundle_state(struct state *st, const struct bundle_order *o, const char *path, struct buf *out,
	struct err *e);

#endif

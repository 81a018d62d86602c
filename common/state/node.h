/* Machines that batches may be sealed to; and, on such a machine, its own key. */
#ifndef EVCTL_STATE_NODE_H
#define EVCTL_STATE_NODE_H

#include "state/state.h"

/* ---- at home ---- */

/* expires: ms, 0: never. ERR_CONFLICT where the name or the key is there already. */
int node_add(struct state *st, const char *name, const unsigned char key[SEAL_KEY_BYTES],
	int64_t expires, struct err *e);
/* [{node, fingerprint, added, expires}] */
json_t *node_list(struct state *st, struct err *e);
/* What it was sealed: [{batch, expert, buyer}]; the caller's. Its streams that were not read are
 * refused from then on. */
json_t *node_remove(struct state *st, const char *name, struct err *e);
/* ERR_NOTFOUND; ERR_DENIED where it has expired. */
int node_key(struct state *st, const char *name, unsigned char key[SEAL_KEY_BYTES], struct err *e);
/* The names of those that have not expired. */
int node_names(struct state *st, struct strv *names, struct err *e);
/* Whose key that is; ERR_STATE: nobody's that is known. */
int node_of_key(
	struct state *st, const unsigned char key[SEAL_KEY_BYTES], char name[65], struct err *e);

/* ---- on the node ---- */

/* Where its key is: named, or as evctl-node(1) has it; the caller's. */
char *node_key_path(const char *named, struct err *e);
/* Makes it, 0600; ERR_CONFLICT if it is there. */
int node_key_make(const char *path, const unsigned char home[SEAL_KEY_BYTES],
	unsigned char mine[SEAL_KEY_BYTES], struct err *e);
int node_key_load(const char *path, struct secret *key, struct err *e);
/* Homes whose bundles it opens: one more; is it one? */
int node_trust(const char *path, const unsigned char home[SEAL_KEY_BYTES], struct err *e);
int node_trusts(const char *path, const unsigned char home[SEAL_KEY_BYTES], struct err *e);

#endif

/*
 * One file of hosts, bindings, experts, connections and grants made true, in one transaction: the
 * plan is the change itself, noted as it is made, and rolled back when only the plan is wanted.
 */
#ifndef EVCTL_APPLY_APPLY_H
#define EVCTL_APPLY_APPLY_H

#include "manifest/applyfile.h"
#include "state/state.h"

struct apply_options {
	const char *file; /* its path: for messages, and its directory is where paths start */
	bool dry;	  /* say what would change, and change nothing */
	bool prune;	  /* remove what the file's sections lack */
};

struct apply_result {
	json_t *changes; /* [{op: "+"|"~"|"-", kind, name, detail}], in the order they are made */
	json_t *missing; /* [{kind, name, line, hint}]: what only a person can bring */
};
#define APPLY_RESULT_AUTO __attribute__((cleanup(apply_result_free))) struct apply_result
void apply_result_free(struct apply_result *r);

/*
 * 0 when it is all true now (or would be). ERR_FINDINGS when something is missing: then nothing was
 * changed, and r->missing says what. Any other error changes nothing either.
 */
int apply_file(struct state *st, const struct applyfile *a, const struct apply_options *o,
	struct apply_result *r, struct err *e);

/* The present state in the form of such a file, sorted by name: the same state gives the same text.
 */
json_t *apply_export(struct state *st, struct err *e);
/* That tree as block-style YAML. */
int apply_yaml(const json_t *all, struct buf *out, struct err *e);

#endif

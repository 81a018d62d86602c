/*
 * The verdict: findings held against the hosts that are attached and what is bound to them. Pure,
 * but for verify_reads_for_tool(), which scans a draft's code the first time it is asked.
 */
#ifndef EVCTL_VERIFY_VERIFY_H
#define EVCTL_VERIFY_VERIFY_H

#include "base/json.h"
#include "base/strv.h"
#include "state/expert.h"

/* What the state knows of a key that code reads; NULL fields where there is nothing. */
struct verify_key {
	char *name;
	bool exists;	/* as a credential */
	bool has_value; /* a stored one, or one that buyers supply */
	char *host;	/* a host that it is bound to, attached or not */
};

struct verify_input {
	const char *expert; /* its name */
	bool registered;    /* `evctl-expert attach` would find it */
	const json_t *findings;
	const struct bound_host *hosts;
	size_t nhosts;
	const struct verify_key *keys; /* sorted by name; those that findings read */
	size_t nkeys;
	bool forced;
};

/*
 * The verdict as `evctl-verify -o json` prints it. Beside the members in evctl-verify(1) it has
 * `optional_missing`, as `missing` but for optional reads, and `buyer_keys: [{name, host}]`, the
 * keys that buyers bring, and the notes `modules_optional`, as `modules_missing` but without which
 * tools begin, and `syntax_unreached`, of files that no tool comes to; `module_hints`, {MODULE:
 * HINT}. NULL without memory.
 */
json_t *verify_judge(const struct verify_input *in);
/* "green", "amber" or "red" of a verdict. */
const char *verify_status(const json_t *verdict);
/* The names that findings read, sorted, each once. */
void verify_key_names(const json_t *findings, struct strv *out);
/* The command that supplies a key. The caller frees. */
char *verify_hint(const struct verify_input *in, const char *name);

/* What one tool needs, for those who run it. Valid when zeroed. */
struct verify_needs {
	struct strv required, optional; /* keys, sorted; one that is both is only required */
	struct strv instead; /* of each required: the key for want of which it is; or "" */
	struct strv missing; /* required, and no attached host supplies it */
	struct strv modules; /* of the sandbox's own, that it imports: to be preloaded */
	bool dynamic;	     /* it may read keys that cannot be told from the code */
};
#define VERIFY_NEEDS_AUTO __attribute__((cleanup(verify_needs_free))) struct verify_needs

void verify_needs_free(struct verify_needs *n);
/*
 * A view of a draft must have been loaded with code (its findings are then kept in v->reads); a
 * snapshot brings its findings. A key bound to a payer-'buyer' credential is not missing here.
 */
int verify_reads_for_tool(
	struct expert_view *v, const char *tool, struct verify_needs *out, struct err *e);
/* Fills v->reads where it is not there yet. */
int verify_find(struct expert_view *v, struct err *e);

#endif

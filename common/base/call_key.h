/*
 * A key of a call: one credential with its value, from where it is opened to the code and the gate.
 * Values lie in memory for secrets, of which this only points into some.
 */
#ifndef EVCTL_BASE_CALL_KEY_H
#define EVCTL_BASE_CALL_KEY_H

#include "base/field.h"

struct call_key {
	const char *name;
	const char *value; /* len bytes, then a NUL */
	size_t len;
	const char *standin; /* as long: what the code gets instead; NULL unless sealed */
	bool guard;	     /* long enough to be looked for on its way elsewhere */
};

struct call_keys {
	struct call_key *v;
	size_t n;
};

extern const struct fields call_key_fields;

/* The key as the code may see it. */
struct call_key call_key_for_code(const struct call_key *k);

#endif

/*
 * What this machine can enforce, each found by trying it, with the mend for what it cannot.
 */
#ifndef EVCTL_SANDBOX_PROBE_H
#define EVCTL_SANDBOX_PROBE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum probe_need {
	PROBE_REQUIRED, /* without it nothing runs (exit 8) */
	PROBE_WANTED,	/* without it something is weaker or slower, and said so */
};

struct probe_item {
	const char *name; /* "user-namespaces", "bubblewrap", "cgroup", ...; static */
	enum probe_need need;
	bool ok;
	bool gone;	/* not there at all, as against there and unfit */
	char is[256];	/* what was found: "0.8.0", "v1, memory and pids" */
	char mend[512]; /* what to do; "" when ok */
};

#define PROBE_MAX 24

struct sandbox_probe {
	struct probe_item items[PROBE_MAX];
	size_t n;
	bool ok; /* all that is required is there */
};

int sandbox_probe(struct sandbox_probe *p, const char *share_dir, struct err *e);

#endif

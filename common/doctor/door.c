#include "doctor/door.h"

#include "base/file.h"
#include "doctor/health.h"
#include "state/buyer.h"
#include "state/buyer_token.h"
#include "state/keyfile.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#define SESSIONS 64 /* evctl-serve's own default */
#define FILES_LEAST 4096

/* Each may use that much. */
static void check_memory(json_t *rows)
{
	struct sysinfo s;
	char is[120];
	if (sysinfo(&s) < 0)
		return;
	uint64_t gib = (uint64_t)s.totalram * s.mem_unit >> 30;
	bool ok = gib >= SESSIONS;
	snprintf(is, sizeof is, "%llu GiB for %d sessions of at most 1 GiB",
		(unsigned long long)gib, SESSIONS);
	health_wanted(rows, "door", "door-memory", ok, is,
		ok ? "" : "evctl-serve --sessions N, as many as there are GiB");
}

static void check_files(json_t *rows)
{
	struct rlimit r;
	char is[64];
	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return;
	bool ok = r.rlim_max >= FILES_LEAST;
	snprintf(is, sizeof is, "%llu open files", (unsigned long long)r.rlim_max);
	health_wanted(rows, "door", "door-files", ok, is,
		ok ? "" : "LimitNOFILE=16384 in the unit, or ulimit -Hn");
}

/* A door that asks for a passphrase at its start starts for nobody at night. */
static void check_key(const struct state *st, json_t *rows)
{
	struct err quiet = {0};
	for (size_t i = 0; i < st->place.nkeys; i++) {
		const char *path = st->place.keys[i].path;
		if (!file_exists(path) || keyfile_is_wrapped(path, &quiet) != 1)
			continue;
		health_wanted(rows, "door", "door-key", false, "a passphrase wraps the private key",
			"evctl-serve --passphrase-fd N, as the service gets it");
		return;
	}
}

static bool has_token(const json_t *tokens, const char *buyer)
{
	char now[32];
	size_t i;
	json_t *t;
	clock_text(clock_real_ms(), now, sizeof now);
	json_array_foreach (tokens, i, t) {
		const char *expires = json_text_of(t, "expires");
		if (strcmp(json_text_of(t, "buyer"), buyer) == 0 &&
			!*json_text_of(t, "withdrawn") && (!*expires || strcmp(expires, now) > 0))
			return true;
	}
	return false;
}

static void check_buyer(const json_t *b, const json_t *tokens, json_t *rows)
{
	char is[160], mend[200];
	const char *name = json_text_of(b, "buyer");
	if (!json_array_size(json_object_get(b, "experts"))) {
		snprintf(is, sizeof is, "buyer %s may use no expert", name);
		snprintf(mend, sizeof mend, "evctl-buyer grant %s EXPERT", name);
	} else if (!has_token(tokens, name)) {
		snprintf(is, sizeof is, "buyer %s has no token that is good", name);
		snprintf(mend, sizeof mend, "evctl-buyer token %s; or a subject of an issuer's",
			name);
	} else {
		return;
	}
	health_wanted(rows, "door", "door-buyers", false, is, mend);
}

int health_door(struct state *st, json_t *rows, struct err *e)
{
	JSON_AUTO buyers = buyer_list(st, e);
	JSON_AUTO tokens = buyers ? token_list(st, NULL, e) : NULL;
	size_t i;
	json_t *b;
	if (!tokens)
		return -1;
	if (!json_array_size(buyers))
		return 0;
	check_memory(rows);
	check_files(rows);
	check_key(st, rows);
	json_array_foreach (buyers, i, b)
		check_buyer(b, tokens, rows);
	return 0;
}

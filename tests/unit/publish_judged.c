/* What is frozen is what was judged: hosts that change between the two stop a publication. */
#include "../lib/tap.h"
#include "base/file.h"
#include "net/hostname.h"
#include "state/expert.h"
#include "verify/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tap tap;

static int add_host(struct state *st, const char *name, struct err *e)
{
	HOST_AUTO h = {0};
	return host_parse(name, &h, e) < 0 ? -1 : host_add(st, &h, NULL, e);
}

static int make_expert(struct state *st, const char *dir, struct err *e)
{
	static const char yaml[] = "name: x\ntools: [{name: t, entry: a.py}]\nhosts: [h.example]\n";
	MANIFEST_AUTO m = {0};
	STR_AUTO manifest = path_join(dir, MANIFEST_FILE);
	STR_AUTO code = path_join(dir, "a.py");
	if (file_mkdirs(dir, 0700, e) < 0 ||
		file_write_atomic(manifest, yaml, strlen(yaml), 0600, e) < 0 ||
		file_write_atomic(code, "1\n", 2, 0600, e) < 0 ||
		manifest_parse(&m, manifest, yaml, strlen(yaml), e) < 0 ||
		add_host(st, "h.example", e) < 0)
		return -1;
	return expert_create(st, dir, &m, e);
}

static int publish(struct state *st, struct expert_view *v, int *version, struct err *e)
{
	JSON_AUTO verdict = verify_view(st, v, true, e);
	return verdict ? expert_publish(st, v, v->reads, verify_status(verdict), false, version, e)
		       : -1;
}

/* Loads and judges, lets `change` happen, and only then publishes. */
static void test_change(
	struct state *st, int (*change)(struct state *, struct err *), const char *what)
{
	EXPERT_VIEW_AUTO v = {0};
	EXPERT_VIEW_AUTO again = {0};
	struct err e = {0}, refused = {0};
	char line[128];
	int version;
	int r = expert_load(st, "x", EXPERT_DRAFT, &v, &e);
	if (r == 0)
		r = change(st, &e);
	went(&tap, r == 0, what, &e);
	snprintf(line, sizeof line, "%s: refused as busy", what);
	went(&tap, publish(st, &v, &version, &refused) < 0 && refused.code == ERR_BUSY, line,
		&refused);
	snprintf(line, sizeof line, "%s: control: judged again, it is published", what);
	r = expert_load(st, "x", EXPERT_DRAFT, &again, &e);
	went(&tap, r == 0 && publish(st, &again, &version, &e) == 0 && version > 0, line, &e);
}

static int set_plain(struct state *st, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	if (host_find(st, "h.example", &h, e) < 0)
		return -1;
	struct host to = h.host;
	to.plain = true;
	return host_set(st, &h, &to, e);
}

static int attach_another(struct state *st, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (add_host(st, "i.example", e) < 0 || expert_find(st, "x", &x, e) < 0)
		return -1;
	JSON_AUTO done = expert_attach(st, &x, (char *[]){(char *)"i.example"}, 1, true, e);
	return done ? 0 : -1;
}

static int bind_key(struct state *st, struct err *e)
{
	BOUND_HOST_AUTO h = {0};
	struct cred c;
	if (cred_add(st, "K", true, false, false, NULL, e) < 0 || cred_find(st, "K", &c, e) < 0 ||
		host_find(st, "h.example", &h, e) < 0)
		return -1;
	return host_bind(st, &h, &c, e);
}

int main(void)
{
	const struct place_options defaults = {.key_fd = -1, .pass_fd = -1};
	char top[] = "/tmp/evctl-test.XXXXXX";
	PLACE_AUTO place = {0};
	struct err e = {0};
	STATE_AUTO st = {0};
	if (!mkdtemp(top))
		return 1;
	STR_AUTO home = path_join(top, "state");
	STR_AUTO dir = path_join(top, "x");
	setenv("EVCTL_HOME", home, 1);
	went(&tap,
		state_place_find(&place, &defaults, &e) == 0 &&
			state_init(&st, &place, false, &e) == 0 && make_expert(&st, dir, &e) == 0,
		"an expert", &e);
	test_change(&st, set_plain, "a flag changes");
	test_change(&st, attach_another, "a host is attached");
	test_change(&st, bind_key, "a host is bound");
	file_remove_tree(AT_FDCWD, top);
	return tap_done(&tap);
}

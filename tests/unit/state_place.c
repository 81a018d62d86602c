/* Where the state and its key are: by options, then the environment, then the XDG defaults. */
#include "../lib/tap.h"
#include "base/buf.h"
#include "state/keyfile.h"
#include "state/state_place.h"

#include <stdlib.h>

enum { HOME, EVCTL_HOME, EVCTL_KEY_FILE, CREDENTIALS, XDG_DATA, XDG_CONFIG, VARIABLES };
static const char *const variables[VARIABLES] = {"HOME", "EVCTL_HOME", "EVCTL_KEY_FILE",
	"CREDENTIALS_DIRECTORY", "XDG_DATA_HOME", "XDG_CONFIG_HOME"};

static const struct row {
	const char *name;
	const char *env[VARIABLES];
	const char *state, *key_file;
	const char *want;    /* "DIR by WHAT", then a line a key */
	const char *new_key; /* NULL: nowhere */
} rows[] = {
	{"no names", {"/h"}, NULL, NULL,
		"/h/.local/share/evctl by HOME\n"
		"unused /h/.local/share/evctl/master.key by HOME\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/h/.config/evctl/master.key"},
	{"XDG's", {"/h", [XDG_DATA] = "/d", [XDG_CONFIG] = "/c"}, NULL, NULL,
		"/d/evctl by XDG_DATA_HOME\n"
		"unused /d/evctl/master.key by XDG_DATA_HOME\n"
		"default /c/evctl/master.key by XDG_CONFIG_HOME\n"
		"unused /h/.config/evctl/master.key by HOME\n",
		"/c/evctl/master.key"},
	{"XDG's that are relative, and count for nothing",
		{"/h", [XDG_DATA] = "d", [XDG_CONFIG] = "c"}, NULL, NULL,
		"/h/.local/share/evctl by HOME\n"
		"unused /h/.local/share/evctl/master.key by HOME\n"
		"unused c/evctl/master.key by XDG_CONFIG_HOME\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/h/.config/evctl/master.key"},
	{"a named state has a key of its own", {"/h", "/e"}, NULL, NULL,
		"/e by EVCTL_HOME\n"
		"default /e/master.key by EVCTL_HOME\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/e/master.key"},
	{"an option before the environment", {"/h", "/e", "/k"}, "/o", "/f",
		"/o by --state\n"
		"named /f by --key-file\n"
		"named /k by EVCTL_KEY_FILE\n"
		"default /o/master.key by --state\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/f"},
	{"a service manager's key, where no new one goes", {"/h", [CREDENTIALS] = "/s"}, NULL, NULL,
		"/h/.local/share/evctl by HOME\n"
		"sent /s/evctl.key by CREDENTIALS_DIRECTORY\n"
		"unused /h/.local/share/evctl/master.key by HOME\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/h/.config/evctl/master.key"},
	{"everything empty is as if unset", {"/h", "", "", "", "", ""}, NULL, NULL,
		"/h/.local/share/evctl by HOME\n"
		"unused /h/.local/share/evctl/master.key by HOME\n"
		"default /h/.config/evctl/master.key by HOME\n",
		"/h/.config/evctl/master.key"},
	{"no HOME: nowhere", {NULL}, NULL, NULL, "nowhere\n", NULL},
	{"no HOME, but a state", {NULL}, "/o", NULL,
		"/o by --state\n"
		"default /o/master.key by --state\n",
		"/o/master.key"},
};

static void tell(const struct state_place *p, struct buf *b)
{
	static const char *const uses[] = {[KEY_NAMED] = "named",
		[KEY_SENT] = "sent",
		[KEY_DEFAULT] = "default",
		[KEY_UNUSED] = "unused"};
	if (p->dir)
		buf_addf(b, "%s by %s\n", p->dir, p->dir_from);
	else
		buf_adds(b, "nowhere\n");
	for (size_t i = 0; i < p->nkeys; i++)
		buf_addf(
			b, "%s %s by %s\n", uses[p->keys[i].use], p->keys[i].path, p->keys[i].from);
}

static void test_row(struct tap *t, const struct row *r)
{
	struct err e = {0};
	PLACE_AUTO p = {0};
	PLACE_AUTO copy = {0};
	BUF_AUTO told = {0};
	BUF_AUTO again = {0};
	for (int i = 0; i < VARIABLES; i++) {
		if (r->env[i])
			setenv(variables[i], r->env[i], 1);
		else
			unsetenv(variables[i]);
	}
	const struct place_options o = {r->state, r->key_file, 5, -1};
	ok(t, state_place_find(&p, &o, &e) == 0 && p.key_fd == 5 && p.pass_fd == -1, "%s", r->name);
	tell(&p, &told);
	is_text(t, buf_str(&told), r->want, "its places");
	ok(t, state_place_copy(&copy, &p, &e) == 0, "a copy");
	state_place_free(&p);
	tell(&copy, &again);
	is_text(t, buf_str(&again), r->want, "with places of its own");
	const char *new = keyfile_new_path(&copy, &e);
	if (r->new_key)
		is_text(t, new, r->new_key, "where a new key goes");
	else
		ok(t, !new &&e.code == ERR_KEY, "no place for a new key: exit 4");
}

static void test_paths(struct tap *t)
{
	struct err e = {0};
	PLACE_AUTO p = {0};
	const struct place_options empty = {"", NULL, -1, -1}, none = {NULL, NULL, -1, -1};
	ok(t, state_place_find(&p, &empty, &e) < 0 && e.code == ERR_USAGE,
		"--state without a directory is refused");
	for (int i = 0; i < VARIABLES; i++)
		unsetenv(variables[i]);
	e = (struct err){0};
	char *path = NULL;
	ok(t,
		state_place_find(&p, &none, &e) == 0 &&
			!(path = state_place_path(&p, "state.db", &e)) && e.code == ERR_USAGE,
		"no state directory: exit 2, and only when a path in it is wanted");
	e = (struct err){0};
	setenv("EVCTL_HOME", "/e", 1);
	ok(t, state_place_find(&p, &none, &e) == 0, "control: there is one");
	path = state_place_path(&p, "state.db", &e);
	is_text(t, path, "/e/state.db", "and a path in it");
	free(path);
}

int main(void)
{
	struct tap t = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		test_row(&t, &rows[i]);
	test_paths(&t);
	return tap_done(&t);
}

#include "state/state_place.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* A variable that is set to nothing says nothing. */
static const char *env(const char *name)
{
	const char *s = getenv(name);
	return s && *s ? s : NULL;
}

static const char *absolute(const char *path)
{
	return path && *path == '/' ? path : NULL;
}

static int find_dir(struct state_place *p, const struct place_options *o, struct err *e)
{
	const char *home = env("EVCTL_HOME"), *xdg = absolute(env("XDG_DATA_HOME"));
	const char *user = env("HOME");
	if (o->state && !*o->state)
		return err_set(e, ERR_USAGE, "'--state' names no directory");
	p->dir_from = o->state ? "--state" : home ? "EVCTL_HOME" : xdg ? "XDG_DATA_HOME" : "HOME";
	if (o->state || home)
		p->dir = strdup(o->state ? o->state : home);
	else if (xdg)
		p->dir = path_join(xdg, "evctl");
	else if (user)
		p->dir = path_join(user, ".local/share/evctl");
	else
		return 0;
	return p->dir ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

/* name beneath dir, or dir itself; nothing where dir is NULL. */
static int add_key(struct state_place *p, enum key_use use, const char *from, const char *dir,
	const char *name, struct err *e)
{
	if (!dir)
		return 0;
	char *path = name ? path_join(dir, name) : strdup(dir);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	p->keys[p->nkeys++] = (struct key_place){path, from, use};
	return 0;
}

static int find_keys(struct state_place *p, const struct place_options *o, struct err *e)
{
	const char *xdg = env("XDG_CONFIG_HOME");
	bool own = o->state || env("EVCTL_HOME");
	bool has_xdg = absolute(xdg);
	if (add_key(p, KEY_NAMED, "--key-file", o->key_file, NULL, e) < 0 ||
		add_key(p, KEY_NAMED, "EVCTL_KEY_FILE", env("EVCTL_KEY_FILE"), NULL, e) < 0 ||
		add_key(p, KEY_SENT, "CREDENTIALS_DIRECTORY", env("CREDENTIALS_DIRECTORY"),
			"evctl.key", e) < 0 ||
		add_key(p, own ? KEY_DEFAULT : KEY_UNUSED, p->dir_from, p->dir, "master.key", e) <
			0 ||
		add_key(p, has_xdg ? KEY_DEFAULT : KEY_UNUSED, "XDG_CONFIG_HOME", xdg,
			"evctl/master.key", e) < 0)
		return -1;
	return add_key(p, has_xdg ? KEY_UNUSED : KEY_DEFAULT, "HOME", env("HOME"),
		".config/evctl/master.key", e);
}

int state_place_find(struct state_place *p, const struct place_options *o, struct err *e)
{
	*p = (struct state_place){.key_fd = o->key_fd, .pass_fd = o->pass_fd};
	if (find_dir(p, o, e) == 0 && find_keys(p, o, e) == 0)
		return 0;
	state_place_free(p);
	return -1;
}

int state_place_copy(struct state_place *to, const struct state_place *p, struct err *e)
{
	*to = *p;
	bool failed = p->dir && !(to->dir = strdup(p->dir));
	for (size_t i = 0; i < p->nkeys; i++)
		failed |= !(to->keys[i].path = strdup(p->keys[i].path));
	if (!failed)
		return 0;
	state_place_free(to);
	return err_set(e, ERR_FAIL, "out of memory");
}

void state_place_free(struct state_place *p)
{
	free(p->dir);
	for (size_t i = 0; i < p->nkeys; i++)
		free(p->keys[i].path);
	*p = (struct state_place){.key_fd = -1, .pass_fd = -1};
}

char *state_place_path(const struct state_place *p, const char *name, struct err *e)
{
	char *path = p->dir ? path_join(p->dir, name) : NULL;
	if (p->dir && !path)
		err_set(e, ERR_FAIL, "out of memory");
	if (p->dir)
		return path;
	err_set(e, ERR_USAGE, "no state directory: HOME is not set");
	err_hint(e, "give --state DIR, or set EVCTL_HOME");
	return NULL;
}

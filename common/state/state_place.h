/*
 * Where the state and its private key are: from what the command line said, the environment, and
 * the XDG defaults, in the order of evctl-contract(7). Found once, and then handed on.
 */
#ifndef EVCTL_STATE_STATE_PLACE_H
#define EVCTL_STATE_STATE_PLACE_H

#include "base/err.h"

#include <stddef.h>

/* What the command line said; NULL or -1: nothing. */
struct place_options {
	const char *state, *key_file;
	int key_fd, pass_fd;
};

enum key_use {
	KEY_NAMED,   /* this one, whether it exists or not */
	KEY_SENT,    /* a service manager's, if it exists; its group may read it */
	KEY_DEFAULT, /* if it exists; a new key goes to the first */
	KEY_UNUSED,  /* not looked at; known so that no expert's directory may hold it */
};

struct key_place {
	char *path;
	const char *from; /* what named it: "--key-file", "EVCTL_KEY_FILE", ...; static */
	enum key_use use;
};

struct state_place {
	char *dir;	      /* the state directory; NULL: nothing says where it would be */
	const char *dir_from; /* what named it, as above */
	struct key_place keys[6];
	size_t nkeys;
	int key_fd, pass_fd; /* descriptors with the private key and its passphrase; -1: none */
};
#define PLACE_AUTO __attribute__((cleanup(state_place_free))) struct state_place

/* ERR_USAGE where an empty directory is named. */
int state_place_find(struct state_place *p, const struct place_options *o, struct err *e);
int state_place_copy(struct state_place *to, const struct state_place *p, struct err *e);
void state_place_free(struct state_place *p);
/* A path in the state directory, for the caller to free. ERR_USAGE where there is none. */
char *state_place_path(const struct state_place *p, const char *name, struct err *e);

#endif

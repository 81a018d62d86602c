/*
 * An expert's directory, read into memory: what verify looks at, publish freezes and run sees.
 *
 * Every regular file belongs, but version control, caches, virtual environments (any directory with
 * a pyvenv.cfg, and .venv, venv, node_modules) and what `ignore` names. A link to a file beneath
 * the directory is stored as that file's bytes under the link's own path. Refused by name,
 * ERR_USAGE: a link that leaves the directory or points at nothing; a link to a directory, beneath
 * or not (it would copy a tree, or loop; `ignore:` lets it be); fifos, sockets, devices; names that
 * aren't UTF-8 or hold control characters. Nothing outside the directory is ever opened (openat2,
 * RESOLVE_BENEATH), and a file swapped for another kind while we look is refused too.
 */
#ifndef EVCTL_MANIFEST_TREE_H
#define EVCTL_MANIFEST_TREE_H

#include "base/err.h"
#include "base/strv.h"
#include "manifest/manifest.h"

#include <stdbool.h>
#include <stddef.h>

struct tree_file {
	char *path; /* relative, "/" between the parts */
	char *data; /* n bytes and a NUL that isn't counted */
	size_t n;
	bool suspicious; /* looks like a private key or a .env */
	const char *why; /* a static phrase for that, or NULL */
};

struct tree {
	struct tree_file *files; /* sorted by the bytes of path */
	size_t n;
	size_t bytes; /* of all files */
};

#define TREE_AUTO __attribute__((cleanup(tree_free))) struct tree

/* Fills a zeroed tree; on -1 it is empty again. dirfd stays the caller's; ignore may be NULL. */
int tree_load(struct tree *t, int dirfd, const char *dir_for_messages, const struct strv *ignore,
	struct err *e);
void tree_free(struct tree *t);
/* The file of that path, or NULL. */
const struct tree_file *tree_find(const struct tree *t, const char *path);

/*
 * Reads DIR/expert.yaml, then the tree, checks that each tool's entry is one of its files, and
 * derives what the code says of inputs (manifest/derive.h). Both structs zeroed; either may not be
 * NULL; on -1 both are empty. ERR_NOTFOUND where there is no directory or no expert.yaml (with a
 * hint that makes one).
 */
int manifest_load(struct manifest *m, struct tree *t, const char *dir, struct err *e);

#endif

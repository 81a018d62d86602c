#include "base/paths.h"
#include "base/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *paths_self(struct err *e)
{
	char buf[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", buf, sizeof buf - 1);
	if (n < 0) {
		err_errno(e, ERR_FAIL, "cannot find out where this program is");
		return NULL;
	}
	buf[n] = '\0';
	return strdup(buf);
}

/* DIR/TAIL of this program's own directory, if there is such a thing. */
static char *beside(const char *self, const char *tail)
{
	const char *slash = strrchr(self, '/');
	char *out = NULL;
	if (!slash || asprintf(&out, "%.*s/%s", (int)(slash - self), self, tail) < 0)
		return NULL;
	if (file_exists(out))
		return out;
	free(out);
	return NULL;
}

char *paths_beside(const char *tail, struct err *e)
{
	STR_AUTO self = paths_self(e);
	return self ? beside(self, tail) : NULL;
}

static char *first_of(const char *const *tails, const char *what, struct err *e)
{
	STR_AUTO self = paths_self(e);
	for (; self && *tails; tails++) {
		char *at = beside(self, *tails);
		char *whole = at ? realpath(at, NULL) : NULL;
		free(at);
		if (whole)
			return whole;
	}
	err_set(e, ERR_SANDBOX, "%s is not where this program was installed", what);
	err_hint(e, "install evctl as a whole: make install");
	return NULL;
}

char *paths_share(struct err *e)
{
	static const char *const tails[] = {"../share/evctl", NULL};
	return first_of(tails, "share/evctl", e);
}

char *paths_helper(const char *name, struct err *e)
{
	char installed[128];
	const char *const tails[] = {name, installed, NULL};
	snprintf(installed, sizeof installed, "../libexec/evctl/%s", name);
	return first_of(tails, name, e);
}

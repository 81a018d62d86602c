#include "base/python.h"
#include "base/file.h"
#include "base/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

void python_free(struct python *p)
{
	buf_free(&p->text);
	free(p->modules.v);
	free(p->open.v);
	*p = (struct python){0};
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const struct python_names *names, const char *name)
{
	return names->n && bsearch(&name, names->v, names->n, sizeof name, compare);
}

static int damaged(const char *file, struct err *e)
{
	err_set(e, ERR_SANDBOX, "what Python has cannot be read from '%s'", file);
	return err_hint(e, "install evctl again: make install");
}

/* "WORD VALUE" to where it belongs; false if there is no such word. */
static bool take(struct python *p, const char *word, const char *value)
{
	if (strcmp(word, "module") == 0)
		p->modules.v[p->modules.n++] = value;
	else if (strcmp(word, "package") == 0)
		p->open.v[p->open.n++] = value;
	else
		return strcmp(word, "version") == 0 && sscanf(value, "3.%d", &p->minor) == 1;
	return true;
}

static bool take_lines(struct python *p)
{
	char *save, *line = strtok_r(p->text.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ' ');
		if (!value)
			return false;
		*value++ = '\0';
		if (!take(p, line, value))
			return false;
	}
	return p->minor > 0;
}

static bool make_room(struct python *p)
{
	struct python_names *all[] = {&p->modules, &p->open};
	size_t lines = 1;
	for (size_t i = 0; i < p->text.len; i++)
		lines += p->text.data[i] == '\n';
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!(all[i]->v = calloc(lines, sizeof *all[i]->v)))
			return false;
	return true;
}

int python_read(struct python *p, const char *file, struct err *e)
{
	struct err inner = {0};
	p->text.limit = FILE_MAX;
	if (file_read(file, &p->text, &inner) < 0 || !buf_str(&p->text))
		return damaged(file, e);
	if (!make_room(p))
		return err_set(e, ERR_FAIL, "out of memory");
	if (!take_lines(p))
		return damaged(file, e);
	qsort(p->modules.v, p->modules.n, sizeof *p->modules.v, compare);
	qsort(p->open.v, p->open.n, sizeof *p->open.v, compare);
	return 0;
}

int python_load(struct python *p, struct err *e)
{
	STR_AUTO share = paths_share(e);
	STR_AUTO file = share ? path_join(share, "cell/python") : NULL;
	if (!share)
		return -1;
	return file ? python_read(p, file, e) : err_set(e, ERR_FAIL, "out of memory");
}

bool python_imports(const struct python *p, const char *module)
{
	char top[256];
	if ((size_t)snprintf(top, sizeof top, "%.*s", (int)strcspn(module, "."), module) >=
		sizeof top)
		return false;
	return has(&p->open, top) || has(&p->modules, module);
}

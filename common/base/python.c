#include "base/python.h"
#include "base/file.h"
#include "base/paths.h"

#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)1 << 20)

static void unmap(struct python_table *t)
{
	if (t->n)
		munmap((void *)t->text, t->n);
}

void python_free(struct python *p)
{
	buf_free(&p->text);
	free(p->modules.v);
	free(p->open.v);
	free(p->loaded.v);
	unmap(&p->names);
	unmap(&p->needs);
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
	else if (strcmp(word, "loaded") == 0)
		p->loaded.v[p->loaded.n++] = value;
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
	struct python_names *all[] = {&p->modules, &p->open, &p->loaded};
	size_t lines = 1;
	for (size_t i = 0; i < p->text.len; i++)
		lines += p->text.data[i] == '\n';
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!(all[i]->v = calloc(lines, sizeof *all[i]->v)))
			return false;
	return true;
}

/* A file beside the one that is read. One that another release made is not there: all may be. */
static void map_table(struct python_table *t, const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	STR_AUTO dir = strndup(file, slash ? (size_t)(slash - file) : 0);
	STR_AUTO path = dir ? path_join(slash ? dir : ".", name) : NULL;
	FD_AUTO fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	void *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text != MAP_FAILED)
		*t = (struct python_table){text, (size_t)st.st_size};
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
	qsort(p->loaded.v, p->loaded.n, sizeof *p->loaded.v, compare);
	map_table(&p->names, file, "names");
	map_table(&p->needs, file, "needs");
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

static size_t line_begin(const struct python_table *t, size_t at)
{
	while (at && t->text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_length(const struct python_table *t, size_t at)
{
	const char *end = memchr(t->text + at, '\n', t->n - at);
	return end ? (size_t)(end - (t->text + at)) : t->n - at;
}

static int compare_line(const struct python_table *t, size_t at, const char *words, size_t n)
{
	size_t len = line_length(t, at);
	int order = memcmp(t->text + at, words, len < n ? len : n);
	return order ? order : (len > n) - (len < n);
}

/* The first line that is not below the words given. */
static size_t seek(const struct python_table *t, const char *words)
{
	size_t lo = 0, hi = t->n, n = strlen(words);
	while (lo < hi) {
		size_t at = line_begin(t, lo + (hi - lo) / 2);
		if (compare_line(t, at, words, n) < 0)
			lo = at + line_length(t, at) + 1;
		else
			hi = at;
	}
	return lo < t->n ? lo : t->n;
}

static bool begins(const struct python_table *t, size_t at, const char *words)
{
	size_t n = strlen(words);
	return t->n - at >= n && memcmp(t->text + at, words, n) == 0;
}

bool python_may_have(const struct python *p, const char *module, const char *name)
{
	char words[512];
	int n = snprintf(words, sizeof words, "%s %s", module, name);
	if (n < 0 || (size_t)n >= sizeof words || !p->names.n || strncmp(name, "__", 2) == 0)
		return true;
	size_t at = seek(&p->names, words);
	if (at < p->names.n && compare_line(&p->names, at, words, (size_t)n) == 0)
		return true;
	words[strlen(module) + 1] = '\0';
	return !begins(&p->names, seek(&p->names, words), words);
}

bool python_is_loaded(const struct python *p, const char *module)
{
	return has(&p->loaded, module);
}

const char *python_next_need(const struct python *p, const char *imported, const char *module,
	const char *after, size_t *n)
{
	const struct python_table *t = &p->needs;
	char words[512];
	int len = snprintf(words, sizeof words, "%s %s ", imported, module);
	if (len < 0 || (size_t)len >= sizeof words || !t->n)
		return NULL;
	size_t at = after ? (size_t)(after - t->text) : seek(t, words);
	if (after)
		at += line_length(t, at) + 1;
	if (at >= t->n || !begins(t, at, words))
		return NULL;
	*n = line_length(t, at) - (size_t)len;
	return t->text + at + len;
}

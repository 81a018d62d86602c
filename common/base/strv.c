#include "base/strv.h"
#include "base/buf.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

void strv_free(struct strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct strv){0};
}

static void take(struct strv *sv, char *s)
{
	if (!s || sv->failed)
		goto fail;
	char **v = grow(sv->v, sv->n + 1, &sv->cap, sizeof *v);
	if (!v)
		goto fail;
	sv->v = v;
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
	return;
fail:
	free(s);
	sv->failed = true;
}

void strv_add(struct strv *sv, const char *s)
{
	take(sv, strdup(s));
}

void strv_addf(struct strv *sv, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	take(sv, buf_detach(&b));
}

bool strv_has(const struct strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *sv)
{
	if (sv->n > 1)
		qsort(sv->v, sv->n, sizeof *sv->v, by_bytes);
}

char *strv_join(const struct strv *sv, const char *sep)
{
	struct buf b = {0};
	for (size_t i = 0; i < sv->n; i++) {
		if (i)
			buf_adds(&b, sep);
		buf_adds(&b, sv->v[i]);
	}
	return buf_detach(&b);
}

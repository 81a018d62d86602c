#include "base/swapped.h"

#include "base/buf.h"
#include "base/complete.h"

#include <string.h>

/* Whether there is a thing of that kind and name now; `before` is what it would belong to. */
static bool is_there(
	const struct invocation *in, enum name_kind kind, const char *name, const char *before)
{
	STRV_AUTO found = {0};
	const struct name_request q = {
		.kind = kind, .prefix = name, .before = before, .state_dir = in->common.state};
	in->program->names(&q, &found);
	for (size_t i = 0; i < found.n; i++)
		if (strcspn(found.v[i], "\t") == strlen(name) &&
			strncmp(found.v[i], name, strlen(name)) == 0)
			return true;
	return false;
}

static bool is_live(const struct arg_spec *a)
{
	return a->name && a->kind != NAME_NONE && a->kind != NAME_FILE && a->kind != NAME_DIR &&
	       a->kind != NAME_WORD;
}

/* A host's name has a dot and no credential's has one: so neither need be there yet. */
static bool looks_swapped(const struct arg_spec *a, const char *one, const char *other)
{
	return a[0].kind == NAME_HOST && a[1].kind == NAME_CREDENTIAL && !strchr(one, '.') &&
	       strchr(other, '.');
}

static bool is_swapped(const struct invocation *in, const char *one, const char *other)
{
	const struct arg_spec *a = in->verb->args;
	if (looks_swapped(a, one, other))
		return true;
	return !is_there(in, a[0].kind, one, other) && is_there(in, a[0].kind, other, one);
}

void swapped_hint(const struct invocation *in, struct err *e)
{
	const struct arg_spec *a = in->verb ? in->verb->args : NULL;
	const char *one = arg(in, 0), *other = arg(in, 1);
	BUF_AUTO line = {0};
	if ((e->code != ERR_NOTFOUND && e->code != ERR_USAGE) || !a || !one || !other ||
		!in->program->names || !is_live(&a[0]) || !is_live(&a[1]) ||
		a[0].kind == a[1].kind || !is_swapped(in, one, other))
		return;
	buf_addf(&line, "%s%s%s ", in->program->name, in->verb->name ? " " : "",
		in->verb->name ? in->verb->name : "");
	buf_addword(&line, other);
	buf_addc(&line, ' ');
	buf_addword(&line, one);
	for (size_t i = 2; i < in->args.n; i++) {
		buf_addc(&line, ' ');
		buf_addword(&line, in->args.v[i]);
	}
	err_hint(e, "the other way round: %s", buf_str(&line));
}

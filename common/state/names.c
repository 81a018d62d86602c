#include "base/file.h"
#include "base/nearest.h"
#include "state/db.h"
#include "state/state.h"

#include <stdarg.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

static bool fits(const char *s, const char *first, const char *rest)
{
	size_t n = strlen(s);
	return n >= 1 && n <= 64 && strchr(first, s[0]) && strspn(s, rest) == n;
}

/* The name itself is not shown when it is long: it may be a value, given by mistake. */
int name_check_credential(const char *name, struct err *e)
{
	if (fits(name, LOWER UPPER "_", LOWER UPPER DIGIT "_"))
		return 0;
	err_set(e, ERR_USAGE, "not a credential's name: '%.20s'", name);
	return err_hint(
		e, "a name is a letter or _, then letters, digits and _, at most 64 in all");
}

int name_check(const char *what, const char *name, struct err *e)
{
	if (fits(name, LOWER DIGIT, LOWER DIGIT "._-"))
		return 0;
	err_set(e, ERR_USAGE, "not a name for %s %s: '%.20s'", strchr("aeiou", *what) ? "an" : "a",
		what, name);
	return err_hint(
		e, "a name is a-z or 0-9, then a-z, 0-9, '.', '_' and '-', at most 64 in all");
}

int name_not_found(struct state *st, const char *what, const char *name, const char *sql,
	struct err *e, const char *fmt, ...)
{
	STRV_AUTO names = {0};
	BUF_AUTO hint = {0};
	struct err quiet = {0};
	db_texts(st->db, &quiet, &names, sql, "");
	const char *near = names.n ? nearest_word(name, (const char *const *)names.v) : NULL;
	err_set(e, ERR_NOTFOUND, "no %s '%.270s'", what, name);
	if (near)
		return err_hint(e, "did you mean '%s'?", near);
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&hint, fmt, ap);
	va_end(ap);
	return err_hint(e, "%s", buf_str(&hint));
}

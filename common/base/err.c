#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void format_into(
	char *dst, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(dst, size, fmt, ap);
	if (n >= 0 && (size_t)n >= size && size > 4)
		memcpy(dst + size - 4, "...", 4);
}

/* In parentheses, as each is a macro too. */
void(err_set)(struct err *e, enum err_code code, const char *fmt, ...)
{
	if (e->code != ERR_NONE)
		return;
	va_list ap;
	va_start(ap, fmt);
	format_into(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	e->code = code;
}

void(err_errno)(struct err *e, enum err_code code, const char *fmt, ...)
{
	int saved = errno;
	if (e->code != ERR_NONE)
		return;
	va_list ap;
	va_start(ap, fmt);
	format_into(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	size_t len = strlen(e->msg);
	snprintf(e->msg + len, sizeof e->msg - len, ": %s", strerror(saved));
	e->code = code;
	errno = saved;
}

void(err_hint)(struct err *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	format_into(e->hint, sizeof e->hint, fmt, ap);
	va_end(ap);
}

void(err_wrap)(struct err *e, const char *fmt, ...)
{
	char old[sizeof e->msg];
	memcpy(old, e->msg, sizeof old);
	va_list ap;
	va_start(ap, fmt);
	format_into(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	size_t len = strlen(e->msg);
	snprintf(e->msg + len, sizeof e->msg - len, ": %.*s", (int)(sizeof old - 1), old);
}

void err_clear(struct err *e)
{
	memset(e, 0, sizeof *e);
}

const char *err_kind(enum err_code code)
{
	static const char *const kinds[] = {
		[ERR_NONE] = "ok",
		[ERR_FAIL] = "failure",
		[ERR_USAGE] = "usage",
		[ERR_NOTFOUND] = "not-found",
		[ERR_KEY] = "private-key",
		[ERR_CONFLICT] = "conflict",
		[ERR_BUSY] = "busy",
		[ERR_FINDINGS] = "findings",
		[ERR_SANDBOX] = "sandbox",
		[ERR_STATE] = "state",
		[ERR_CANCELLED] = "cancelled",
		[ERR_TOOL] = "failed",
		[ERR_TIMEOUT] = "timeout",
		[ERR_LIMIT] = "limit",
		[ERR_MISSING_KEY] = "missing-key",
		[ERR_DENIED] = "denied",
	};
	if (code == ERR_QUOTA)
		return "quota";
	if (code == ERR_TURN)
		return kinds[ERR_BUSY];
	if ((unsigned)code >= sizeof kinds / sizeof kinds[0])
		return "failure";
	return kinds[code];
}

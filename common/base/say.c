#include "base/say.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/output.h"
#include "base/terminal.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Whatever a name or a path holds, a message is one line, and commands no terminal. */
static void put_line(const char *text)
{
	BUF_AUTO b = {0};
	text_add_visible(&b, text, strlen(text), false);
	fprintf(stderr, "%s\n", buf_str(&b));
}

__attribute__((format(printf, 3, 0))) static void say(
	const struct invocation *in, const char *kind, const char *fmt, va_list ap)
{
	BUF_AUTO b = {0};
	buf_vaddf(&b, fmt, ap);
	output_fresh_line();
	if (in->output == OUTPUT_JSON) {
		JSON_AUTO o =
			json_pack("{s:{s:o}}", kind, "message", json_text_or_null(buf_str(&b)));
		output_json_line(stderr, o, JSON_COMPACT);
		return;
	}
	fprintf(stderr, "%s: %s: ", in->program->name, kind);
	put_line(buf_str(&b));
}

void say_note(const struct invocation *in, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(in, "note", fmt, ap);
	va_end(ap);
}

void say_warn(const struct invocation *in, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(in, "warning", fmt, ap);
	va_end(ap);
}

int say_confirm(const struct invocation *in, struct err *e, const char *fmt, ...)
{
	if (in->common.yes)
		return 0;
	BUF_AUTO q = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&q, fmt, ap);
	va_end(ap);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		err_set(e, ERR_USAGE, "%s: not confirmed", buf_str(&q));
		return err_hint(e, "add --yes");
	}
	output_text(stderr, buf_str(&q), q.len);
	fputs("? [y/N] ", stderr);
	char line[16] = "";
	if (fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return 0;
	err_set(e, ERR_CANCELLED, "cancelled");
	return err_hint(e, "add --yes to go on without being asked");
}

void say_error(const struct invocation *in, const struct err *e)
{
	output_fresh_line();
	if (in->output == OUTPUT_JSON) {
		JSON_AUTO o = json_error(e);
		output_json_line(stderr, o, JSON_COMPACT);
		return;
	}
	bool color = terminal_color(stderr);
	fprintf(stderr, "%s: %serror:%s ", in->program->name, color ? "\033[1;31m" : "",
		color ? "\033[0m" : "");
	put_line(e->msg);
	if (!e->hint[0])
		return;
	fprintf(stderr, "%s: hint: ", in->program->name);
	put_line(e->hint);
}

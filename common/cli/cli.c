#include "cli/cli.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/say.h"
#include "state/bound_host.h"
#include "state/capem.h"
#include "state/cred.h"
#include "state/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS ((int64_t)86400000)

int cli_place(const struct invocation *in, struct state_place *p, struct err *e)
{
	const struct common_options *c = &in->common;
	const struct place_options o = {c->state, c->key_file, c->key_fd, c->passphrase_fd};
	return state_place_find(p, &o, e);
}

int cli_state(struct state *st, const struct invocation *in, enum state_mode mode, struct err *e)
{
	PLACE_AUTO place = {0};
	return cli_place(in, &place, e) < 0 ? -1 : state_open(st, &place, mode, e);
}

int cli_state_swept(struct state *st, const struct invocation *in, struct err *e)
{
	struct err quiet = {0};
	if (cli_state(st, in, STATE_WRITE, e) < 0)
		return -1;
	session_sweep(st, &quiet);
	return 0;
}

/* What nobody saw while it was typed. */
static void tell_typed(const struct invocation *in, const struct prompt_seen *seen,
	const char *what, const struct secret *value)
{
	BUF_AUTO b = {0};
	if (!seen->lines)
		return;
	secret_hint(&b, value);
	buf_addf(&b, ", %zu bytes", value->n);
	if (seen->lines > 1)
		buf_addf(&b, " in %zu lines", seen->lines);
	say_note(in, "%s: %s", what, buf_str(&b));
	if (seen->dropped)
		say_warn(in, "more lines came after it, which are not in the value "
			     "(--from-file - takes them all)");
}

static void warn_around(const struct invocation *in, const struct paste_around *a)
{
	BUF_AUTO b = {0};
	if (a->blank)
		say_warn(in, "the value is nothing but white space");
	if (a->blank || !(a->before || a->after))
		return;
	if (a->before)
		buf_addf(&b, "begins with %s", a->marked ? "a byte order mark" : "white space");
	if (a->after)
		buf_addf(&b, "%sends in %s", a->before ? " and " : "",
			a->newline ? "a newline" : "white space");
	say_warn(in, "the value %s, which is kept (--trim drops it)", buf_str(&b));
}

int cli_secret(const struct invocation *in, const struct secret_source *given, const char *what,
	bool for_header, struct secret *out, struct err *e)
{
	struct secret_source from = *given;
	if (secret_input(&from, what, for_header, out, e) < 0)
		return -1;
	tell_typed(in, &from.seen, what, out);
	warn_around(in, &from.around);
	return 0;
}

int cli_read(const char *path, const char *what, size_t limit, struct buf *b, struct err *e)
{
	b->limit = limit;
	if (strcmp(path, "-") != 0)
		return file_read(path, b, e);
	if (fd_read_all(STDIN_FILENO, b) == 0)
		return 0;
	return b->failed ? err_set(e, ERR_USAGE, "%s is over %zu bytes", what, limit)
			 : err_errno(e, ERR_FAIL, "cannot read %s", what);
}

FILE *cli_open(const char *path, struct err *e)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL, "cannot read '%s'", path);
	return f;
}

void cli_warn_short(const struct invocation *in, const char *name, const struct secret *value,
	const char *danger)
{
	if (value->n && value->n < CRED_SHORT)
		say_warn(in, "'%s' is short: under %d bytes it %s (! short)", name, CRED_SHORT,
			danger);
}

const struct option_spec cli_rotate_options[] = {
	SECRET_OPTIONS(struct cli_rotate), OPT_END(struct cli_rotate)};
const struct option_spec cli_supply_options[] = {
	OPT_STR(struct cli_supply, expert, "expert", "E", "for this expert", .kind = NAME_EXPERT),
	OPT_STR(struct cli_supply, buyer, "buyer", "B", "by this buyer ('builder' is you)",
		.kind = NAME_BUYER),
	SECRET_OPTIONS(struct cli_supply), OPT_END(struct cli_supply)};
const struct option_spec cli_withdraw_options[] = {
	OPT_STR(struct cli_supply, expert, "expert", "E", "for this expert", .kind = NAME_EXPERT),
	OPT_STR(struct cli_supply, buyer, "buyer", "B", "by this buyer", .kind = NAME_BUYER),
	OPT_END(struct cli_supply)};

int cli_need_buyer(const struct invocation *in, const struct cli_supply *o, struct err *e)
{
	if (o->expert && o->buyer)
		return 0;
	err_set(e, ERR_USAGE, "'--expert' and '--buyer' are needed");
	return err_hint(
		e, "%s %s %s --expert E --buyer B", in->program->name, in->verb->name, arg(in, 0));
}

int cli_change_route(const struct cli_route *o, struct route *to, struct buf *pem, struct err *e)
{
	option_yes(o->allow_private, &to->allow_private);
	if (o->connect_to)
		to->connect_to = strcmp(o->connect_to, "none") == 0 ? NULL : o->connect_to;
	if (!o->ca_file)
		return 0;
	to->ca = NULL;
	if (strcmp(o->ca_file, "none") == 0)
		return 0;
	if (capem_read(o->ca_file, pem, e) < 0)
		return -1;
	to->ca = buf_str(pem);
	return 0;
}

void cli_note_wildcard(const struct invocation *in, struct state *st, const char *text)
{
	const char *bare = text + 2;
	BOUND_HOST_AUTO there = {0};
	struct err none = {0};
	if (strncmp(text, "*.", 2) != 0 || host_find(st, bare, &there, &none) == 0)
		return;
	int n = (int)strcspn(bare, ":");
	say_note(in, "%s is any name below %.*s, not %.*s itself: evctl-host add %s", text, n, bare,
		n, bare, bare);
}

int cli_days_ago(const struct invocation *in, int days, int64_t *ms, struct err *e)
{
	*ms = clock_real_ms() - days * DAY_MS;
	if (days >= 0)
		return 0;
	err_set(e, ERR_USAGE, "'--older DAYS' is missing");
	return err_hint(e, "%s %s --older 30", in->program->name, in->verb->name);
}

static json_t *find_one(
	struct state *st, const struct cli_noun *noun, const char *name, struct err *e)
{
	json_t *found = noun->find(st, name, e);
	return json_is_array(found) ? json_take_first(found) : found;
}

int cli_show(const struct invocation *in, struct state *st, const struct cli_noun *noun,
	const char *name, struct err *e)
{
	return output_object(in, noun->columns, find_one(st, noun, name, e), e);
}

int cli_report(const struct invocation *in, struct state *st, const struct cli_noun *noun,
	const char *name, struct err *e, const char *fmt, ...)
{
	BUF_AUTO line = {0};
	va_list ap;
	if (in->output != OUTPUT_TEXT)
		return cli_show(in, st, noun, name, e);
	va_start(ap, fmt);
	buf_vaddf(&line, fmt, ap);
	va_end(ap);
	output_say(in, "%s", buf_str(&line));
	if (!noun->warns)
		return 0;
	JSON_AUTO one = find_one(st, noun, name, e);
	json_t *flag;
	size_t i;
	json_array_foreach (json_object_get(one, "flags"), i, flag)
		output_say(in, "%s  %s", name, json_string_value(flag));
	return one ? 0 : -1;
}

#include "cli/cli.h"
#include "base/buf.h"
#include "base/say.h"

#include <stdarg.h>

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

int cli_secret(const struct invocation *in, const struct secret_source *given, const char *what,
	bool for_header, struct secret *out, struct err *e)
{
	struct secret_source from = *given;
	if (secret_input(&from, what, for_header, out, e) < 0)
		return -1;
	if (from.newline_kept)
		say_warn(in, "the value ends in a newline, which is kept (--trim drops it)");
	return 0;
}

static json_t *find_one(
	struct state *st, const struct cli_noun *noun, const char *name, struct err *e)
{
	JSON_AUTO found = noun->find(st, name, e);
	return json_incref(json_is_array(found) ? json_array_get(found, 0) : found);
}

int cli_show(const struct invocation *in, struct state *st, const struct cli_noun *noun,
	const char *name, struct err *e)
{
	json_t *one = find_one(st, noun, name, e);
	return one ? output_object(in, noun->columns, one, e) : -1;
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
	json_array_foreach(json_object_get(one, "flags"), i, flag)
		output_say(in, "%s  %s", name, json_string_value(flag));
	return one ? 0 : -1;
}

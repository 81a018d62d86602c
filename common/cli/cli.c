#include "cli/cli.h"

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
		program_warn(in, "the value ends in a newline, which is kept (--trim drops it)");
	return 0;
}

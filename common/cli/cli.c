#include "cli/cli.h"

#include "state/prompt.h"

int cli_fd(const struct invocation *in, const char *option, int *fd, struct err *e)
{
	long n;
	if (opt_int(in, option, -1, 0, 1 << 20, &n, e) < 0)
		return -1;
	*fd = (int)n;
	return 0;
}

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

int cli_secret(const struct invocation *in, const char *what, bool for_header, struct secret *out,
	struct err *e)
{
	struct secret_source from = {.file = opt(in, "from-file"), .trim = opt_flag(in, "trim")};
	if (cli_fd(in, "from-fd", &from.fd, e) < 0 ||
		secret_input(&from, what, for_header, out, e) < 0)
		return -1;
	if (from.newline_kept)
		program_warn(in, "the value ends in a newline, which is kept (--trim drops it)");
	return 0;
}

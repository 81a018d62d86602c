#include "sandbox/probe.h"
#include <string.h>
int sandbox_probe(struct sandbox_probe *p, const char *share_dir, struct err *e)
{
	memset(p, 0, sizeof *p);
	return err_set(e, ERR_FAIL, "%s", share_dir);
}

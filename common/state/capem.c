#include "state/capem.h"
#include "base/file.h"
#include "base/limits.h"

#include <string.h>

/* It is kept as text, so that nothing may stand behind a NUL. */
int capem_check(const char *what, const struct buf *pem, struct err *e)
{
	const char *text = buf_str(pem);
	if (strlen(text) == pem->len && strstr(text, "-----BEGIN CERTIFICATE-----") &&
		!strstr(text, "PRIVATE KEY"))
		return 0;
	return err_set(e, ERR_USAGE, "not a file of PEM certificates: '%s'", what);
}

int capem_read(const char *path, struct buf *pem, struct err *e)
{
	pem->limit = MIB(LIMIT_CA_MIB);
	if (file_read(path, pem, e) < 0)
		return -1;
	return capem_check(path, pem, e);
}

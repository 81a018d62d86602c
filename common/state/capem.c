#include "state/capem.h"
#include "base/file.h"

#include <string.h>

#define CAPEM_MAX ((size_t)1 << 20)

/* By length, not as a string: what stands behind a NUL counts too. */
static bool holds(const struct buf *b, const char *word)
{
	return b->len && memmem(b->data, b->len, word, strlen(word));
}

int capem_check(const char *what, const struct buf *pem, struct err *e)
{
	if (holds(pem, "-----BEGIN CERTIFICATE-----") && !holds(pem, "PRIVATE KEY"))
		return 0;
	return err_set(e, ERR_USAGE, "not a file of PEM certificates: '%s'", what);
}

int capem_read(const char *path, struct buf *pem, struct err *e)
{
	pem->limit = CAPEM_MAX;
	if (file_read(path, pem, e) < 0)
		return -1;
	return capem_check(path, pem, e);
}

#include "archive/bytes.h"

#include "base/magic.h"
#include "state/objects.h"

#include <string.h>

int archive_bytes(const struct view *v, const char *run, const char *name, struct artifact *a,
	struct buf *bytes, const char **type, bool *shown, struct err *e)
{
	if (artifact_find(v->st, run, name, v->buyer, a, e) < 0 ||
		objects_read(v->st, a->sha256, (size_t)a->bytes, bytes, e) < 0)
		return -1;
	struct magic m = magic_of(bytes->data, bytes->len);
	*shown = a->inline_ok && m.inline_ok && strcmp(m.type, a->type) == 0;
	*type = *shown ? a->type : "application/octet-stream";
	return 0;
}

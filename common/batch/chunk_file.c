#include "batch/chunk_file.h"

#include "base/file.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CALLS_MOST 1000000
#define FILE_MOST (CHUNK_BYTES_MAX * 2 + MB(LIMIT_INPUT_MB))

static const struct fields call_fields =
	FIELDS_PART(FIELD_NUMBER(struct chunk_call, call), FIELD_TEXT(struct chunk_call, tool, 256),
		FIELD_BYTES(struct chunk_call, input, ninput, MB(LIMIT_INPUT_MB)));
static const struct fields calls_fields =
	FIELDS('C', 1, FIELD_LIST(struct chunk_calls, v, n, CALLS_MOST, &call_fields));

static void name_of(char name[32], int64_t chunk)
{
	snprintf(name, 32, "calls/%06lld", (long long)chunk);
}

int chunk_write(int spool, const char *batch, int64_t chunk, const unsigned char to[SEAL_KEY_BYTES],
	const struct chunk_calls *c, struct err *e)
{
	BUF_AUTO plain = {.limit = FILE_MOST};
	BUF_AUTO record = {.limit = FILE_MOST};
	char name[32];
	name_of(name, chunk);
	if (field_write(&plain, &calls_fields, c, e) < 0 ||
		seal_record(to, &(struct seal_id){"calls", chunk, batch, 1}, plain.data, plain.len,
			&record, e) < 0)
		return -1;
	FD_AUTO fd =
		openat(spool, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fd_write_full(fd, record.data, record.len) == 0)
		return 0;
	err_errno(e, ERR_FAIL, "cannot write '%s' in the spool", name);
	return err_hint(e, "make room there, or name another place: --spool DIR");
}

int chunk_read(int spool, const char *batch, int64_t chunk, const struct secret *key,
	struct chunk_calls *c, struct secret *text, struct err *e)
{
	BUF_AUTO record = {.limit = FILE_MOST};
	char name[32];
	name_of(name, chunk);
	FD_AUTO fd = openat(spool, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, &record) < 0)
		return err_errno(e, errno == ENOENT ? ERR_NOTFOUND : ERR_FAIL,
			"cannot read '%s' in the spool", name);
	if (seal_open(key, &(struct seal_id){"calls", chunk, batch, 1}, record.data, record.len,
		    text, e) < 0)
		return -1;
	const struct buf b = {.data = text->data, .len = text->n};
	if (field_read(&b, &calls_fields, c) == 0)
		return 0;
	return err_set(e, ERR_STATE, "a chunk's calls are damaged");
}

void chunk_free(struct chunk_calls *c)
{
	field_free(&calls_fields, c);
}

#include "batch/outcome.h"

#include "base/file.h"
#include "base/limits.h"
#include "gate/message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MOST 4096
#define DETAIL_MAX ((size_t)1 << 20)
#define SYNC_MS 2000
#define HEAD_MAX 256 /* bytes of a head's box; it is much smaller */

static const char magic[4] = {'E', 'V', 'O', '1'};

static const struct fields file_fields =
	FIELDS_PART(FIELD_TEXT(struct outcome_file, name, TEXT_MOST),
		FIELD_BYTES(struct outcome_file, data, n, MB(LIMIT_OUTPUT_MB)));
static const struct fields withheld_fields =
	FIELDS_PART(FIELD_TEXT(struct run_withheld, name, TEXT_MOST),
		FIELD_TEXT(struct run_withheld, why, TEXT_MOST));

const struct fields outcome_run_fields = FIELDS('R', 1, FIELD_NUMBER(struct outcome_run, started),
	FIELD_NUMBER(struct outcome_run, ms), FIELD_CHARS(struct outcome_run, id),
	FIELD_NUMBER(struct outcome_run, status), FIELD_FLAG(struct outcome_run, owner_only),
	FIELD_TEXT_OR_NULL(struct outcome_run, reason, TEXT_MOST),
	FIELD_TEXT_OR_NULL(struct outcome_run, detail, DETAIL_MAX),
	FIELD_BYTES(struct outcome_run, log, nlog, OUTCOME_MAX),
	FIELD_BYTES(struct outcome_run, input, ninput, OUTCOME_MAX),
	FIELD_LIST(struct outcome_run, files, nfiles, LIMIT_OUTPUTS, &file_fields),
	FIELD_LIST(struct outcome_run, withheld, nwithheld, 1000, &withheld_fields),
	FIELD_LIST(struct outcome_run, events, nevents, LIMIT_EVENTS + LIMIT_SHAPES + 1,
		&gate_request_fields));

const struct fields outcome_call_fields = FIELDS('C', 1, FIELD_NUMBER(struct outcome_call, call),
	FIELD_FLAG(struct outcome_call, cancelled), FIELD_FLAG(struct outcome_call, has_result),
	FIELD_FLAG(struct outcome_call, is_json),
	FIELD_BYTES(struct outcome_call, run, nrun, OUTCOME_MAX),
	FIELD_BYTES(struct outcome_call, result, nresult, OUTCOME_MAX),
	FIELD_LIST(struct outcome_call, missing, nmissing, LIMIT_KEYS, &field_texts));

const struct fields outcome_word_fields = FIELDS('X', 1, FIELD_NUMBER(struct outcome_word, call),
	FIELD_NUMBER(struct outcome_word, code), FIELD_CHARS(struct outcome_word, msg),
	FIELD_CHARS(struct outcome_word, hint));
const struct fields outcome_end_fields = FIELDS('Z', 1, FIELD_NUMBER(struct outcome_word, call),
	FIELD_NUMBER(struct outcome_word, code), FIELD_CHARS(struct outcome_word, msg),
	FIELD_CHARS(struct outcome_word, hint));

/* The head as it is boxed. */
struct boxed_head {
	struct outcome_head head;
	const char *key;
	size_t nkey;
};
static const struct fields head_fields = FIELDS('H', 1, FIELD_CHARS(struct boxed_head, head.batch),
	FIELD_NUMBER(struct boxed_head, head.chunk),
	FIELD_BYTES(struct boxed_head, key, nkey, SEAL_KEY_BYTES));

/* ---- writing ------------------------------------------------------------------------------- */

static void add_length(struct buf *b, size_t n)
{
	for (int i = 0; i < 4; i++)
		buf_addc(b, (char)(n >> (8 * i)));
}

static int put(struct outcome_writer *w, const struct buf *b, bool now, struct err *e)
{
	int64_t mono = clock_mono_ms();
	if (buf_failed(b))
		return err_set(e, ERR_FAIL, "out of memory");
	if (fd_write_full(w->fd, b->data, b->len) < 0)
		return err_errno(e, ERR_FAIL, "cannot write the outcome");
	if (!now && mono - w->synced < SYNC_MS)
		return 0;
	w->synced = mono;
	return fdatasync(w->fd) == 0 ? 0 : err_errno(e, ERR_FAIL, "cannot write the outcome");
}

static int write_head(struct outcome_writer *w, const struct outcome_head *head,
	const struct secret *key, const struct secret *from, const unsigned char to[SEAL_KEY_BYTES],
	struct err *e)
{
	BUF_AUTO plain = {.secret = true, .limit = 4096};
	BUF_AUTO box = {0};
	BUF_AUTO all = {0};
	unsigned char mine[SEAL_KEY_BYTES], begin[SEAL_STREAM_HEAD];
	const struct boxed_head boxed = {*head, key->data, key->n};
	if (field_write(&plain, &head_fields, &boxed, e) < 0 ||
		seal_box(from, to, plain.data, plain.len, &box, e) < 0 ||
		seal_stream_begin(&w->stream, (const unsigned char *)key->data, begin, e) < 0)
		return -1;
	seal_public_of(from, mine);
	buf_add(&all, magic, sizeof magic);
	buf_add(&all, mine, sizeof mine);
	add_length(&all, box.len);
	buf_add(&all, box.data, box.len);
	buf_add(&all, begin, sizeof begin);
	return put(w, &all, false, e);
}

int outcome_begin(struct outcome_writer *w, int fd, const struct outcome_head *head,
	const struct secret *from, const unsigned char to[SEAL_KEY_BYTES], struct err *e)
{
	SECRET_AUTO key = {0};
	*w = (struct outcome_writer){.fd = fd, .synced = clock_mono_ms()};
	if (secret_alloc(&key, SEAL_KEY_BYTES, e) < 0)
		return -1;
	seal_random(key.data, key.n);
	return write_head(w, head, &key, from, to, e);
}

int outcome_add(
	struct outcome_writer *w, const struct fields *f, const void *of, bool last, struct err *e)
{
	BUF_AUTO plain = {.limit = OUTCOME_MAX};
	BUF_AUTO all = {.limit = OUTCOME_MAX + 64};
	if (field_write(&plain, f, of, e) < 0)
		return -1;
	add_length(&all, plain.len + SEAL_STREAM_MORE);
	if (seal_stream_add(&w->stream, plain.data, plain.len, last, &all, e) < 0)
		return -1;
	return put(w, &all, last, e);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* 1: n bytes from an offset; 0: they are not there yet. */
static int read_at(const struct outcome_reader *r, int64_t at, void *p, size_t n, struct err *e)
{
	size_t got = 0;
	while (got < n) {
		ssize_t k = pread(r->fd, (char *)p + got, n - got, at + (int64_t)got);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_errno(e, ERR_FAIL, "cannot read an outcome");
		if (k == 0)
			return 0;
		got += (size_t)k;
	}
	return 1;
}

static size_t length_of(const unsigned char le[4])
{
	return le[0] | (size_t)le[1] << 8 | (size_t)le[2] << 16 | (size_t)le[3] << 24;
}

static int open_head(struct outcome_reader *r, const struct secret *home, const void *box, size_t n,
	const unsigned char begin[SEAL_STREAM_HEAD], struct err *e)
{
	SECRET_AUTO plain = {0};
	struct boxed_head boxed = {0};
	if (seal_box_open(home, r->from, box, n, &plain, e) < 0)
		return -1;
	const struct buf b = {.data = plain.data, .len = plain.n};
	if (field_read(&b, &head_fields, &boxed) < 0 || boxed.nkey != SEAL_KEY_BYTES)
		return err_set(e, ERR_STATE, "an outcome's head is none");
	r->head = boxed.head;
	return seal_stream_open(&r->stream, (const unsigned char *)boxed.key, begin, e);
}

int outcome_open(struct outcome_reader *r, const struct secret *home, struct err *e)
{
	struct {
		char magic[4];
		unsigned char from[SEAL_KEY_BYTES], n[4];
	} first;
	unsigned char box[HEAD_MAX], begin[SEAL_STREAM_HEAD];
	_Static_assert(sizeof first == 8 + SEAL_KEY_BYTES, "no holes");
	int got = read_at(r, 0, &first, sizeof first, e);
	if (got <= 0)
		return got;
	size_t n = length_of(first.n);
	if (memcmp(first.magic, magic, sizeof magic) != 0 || n > sizeof box)
		return err_set(e, ERR_STATE, "this is no outcome");
	got = read_at(r, sizeof first, box, n, e);
	if (got > 0)
		got = read_at(r, (int64_t)(sizeof first + n), begin, sizeof begin, e);
	if (got <= 0)
		return got;
	memcpy(r->from, first.from, sizeof r->from);
	if (open_head(r, home, box, n, begin, e) < 0)
		return -1;
	r->at = (int64_t)(sizeof first + n + sizeof begin);
	r->open = true;
	return 1;
}

int outcome_next(struct outcome_reader *r, struct buf *b, struct err *e)
{
	unsigned char le[4];
	BUF_AUTO box = {.limit = OUTCOME_MAX + 64};
	int got = r->last ? 0 : read_at(r, r->at, le, sizeof le, e);
	if (got <= 0)
		return got;
	size_t n = length_of(le);
	if (n > OUTCOME_MAX + SEAL_STREAM_MORE)
		return err_set(e, ERR_STATE, "a stream's message is damaged");
	/* A length that was changed asks for memory only as far as there are bytes. */
	char probe;
	if (n && (got = read_at(r, r->at + 3 + (int64_t)n, &probe, 1, e)) <= 0)
		return got;
	if (buf_reserve(&box, n) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	got = read_at(r, r->at + 4, box.data, n, e);
	if (got <= 0)
		return got;
	b->limit = OUTCOME_MAX + 64;
	if (seal_stream_next(&r->stream, box.data, n, &r->last, b, e) < 0)
		return -1;
	r->at += 4 + (int64_t)n;
	return 1;
}

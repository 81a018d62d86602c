#include "base/field.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_LEN 2
#define FRAME_LEN 4
#define MISSING UINT32_MAX

const struct fields field_texts =
	FIELDS_PART({.kind = FIELD_IS_TEXT, .most = 65536, .size = sizeof(char *)});

static void *member(const struct field *f, const void *of)
{
	return (char *)of + f->at;
}

/* Whatever they point to: pointers to structs are all alike. */
static char *items_of(const struct field *f, const void *of)
{
	char *items;
	memcpy(&items, member(f, of), sizeof items);
	return items;
}

static size_t *count_of(const struct field *f, const void *of)
{
	return (size_t *)((char *)of + f->count_at);
}

static void set_items(const struct field *f, void *of, char *items, size_t n)
{
	memcpy(member(f, of), &items, sizeof items);
	*count_of(f, of) = n;
}

/* ---- writing ------------------------------------------------------------------------------- */

struct field_out {
	struct buf *to; /* NULL: only count */
	size_t n;
	bool bad;
};

static void put(struct field_out *o, const void *p, size_t n)
{
	o->n += n;
	if (o->to)
		buf_add(o->to, p, n);
}

static void put_le(struct field_out *o, uint64_t v, size_t size)
{
	unsigned char le[8];
	for (size_t i = 0; i < size; i++)
		le[i] = (unsigned char)(v >> (8 * i));
	put(o, le, size);
}

static void put_bytes(struct field_out *o, const struct field *f, const char *p, size_t n)
{
	if (n > f->most || n >= MISSING) {
		o->bad = true;
		return;
	}
	put_le(o, n, 4);
	put(o, p, n);
	put(o, "", 1);
}

static void put_text(struct field_out *o, const struct field *f, const char *s)
{
	if (s)
		return put_bytes(o, f, s, strlen(s));
	o->bad |= !f->may_miss;
	put_le(o, MISSING, 4);
}

static uint64_t number_at(const struct field *f, const void *p)
{
	switch (f->size) {
	case 1:
		return f->is_signed ? (uint64_t)(*(const int8_t *)p) : *(const uint8_t *)p;
	case 2:
		return f->is_signed ? (uint64_t)(*(const int16_t *)p) : *(const uint16_t *)p;
	case 4:
		return f->is_signed ? (uint64_t)(*(const int32_t *)p) : *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void put_fields(struct field_out *o, const struct fields *f, const void *of);

static void put_list(struct field_out *o, const struct field *f, const void *of)
{
	const char *items = items_of(f, of);
	size_t n = *count_of(f, of);
	o->bad |= n > f->most || n >= MISSING;
	put_le(o, n, 4);
	for (size_t i = 0; i < n && !o->bad; i++)
		put_fields(o, f->of, items + i * f->size);
}

static void put_field(struct field_out *o, const struct field *f, const void *of)
{
	const void *p = member(f, of);
	switch (f->kind) {
	case FIELD_IS_NUMBER:
		return put_le(o, number_at(f, p), 8);
	case FIELD_IS_FLAG:
		return put_le(o, *(const bool *)p, 1);
	case FIELD_IS_TEXT:
		return put_text(o, f, *(const char *const *)p);
	case FIELD_IS_BYTES:
		return put_bytes(o, f, *(const char *const *)p, *count_of(f, of));
	case FIELD_IS_CHARS:
		return put_bytes(o, f, p, strnlen(p, f->size));
	case FIELD_IS_BUF:
		return put_bytes(o, f, buf_str(p), ((const struct buf *)p)->len);
	case FIELD_IS_LIST:
		return put_list(o, f, of);
	case FIELD_IS_PART:
		return put_fields(o, f->of, p);
	}
}

static void put_fields(struct field_out *o, const struct fields *f, const void *of)
{
	for (size_t i = 0; i < f->n && !o->bad; i++)
		put_field(o, &f->v[i], of);
}

static int write_message(
	struct buf *b, const struct fields *f, const void *of, bool framed, struct err *e)
{
	struct field_out count = {.n = HEAD_LEN}, out = {.to = b};
	size_t limit = b->limit ? b->limit : BUF_DEFAULT_LIMIT, frame = framed ? FRAME_LEN : 0;
	put_fields(&count, f, of);
	if (count.bad || b->len > limit || count.n + frame > limit - b->len)
		return err_set(e, ERR_USAGE, "a message would be too large");
	if (buf_reserve(b, frame + count.n) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (framed)
		put_le(&out, count.n, FRAME_LEN);
	put(&out, (const char[]){f->tag, (char)f->version}, HEAD_LEN);
	put_fields(&out, f, of);
	return 0;
}

int field_write(struct buf *b, const struct fields *f, const void *of, struct err *e)
{
	return write_message(b, f, of, false, e);
}

int field_frame(struct buf *b, const struct fields *f, const void *of, struct err *e)
{
	return write_message(b, f, of, true, e);
}

/* ---- reading ------------------------------------------------------------------------------- */

struct field_in {
	const char *p;
	size_t left;
	bool bad; /* something did not fit: what was read since is nothing */
};

static const char *take(struct field_in *in, size_t n)
{
	if (in->bad || n > in->left) {
		in->bad = true;
		return NULL;
	}
	const char *p = in->p;
	in->p += n;
	in->left -= n;
	return p;
}

static uint64_t get_le(struct field_in *in, size_t size)
{
	const unsigned char *p = (const unsigned char *)take(in, size);
	uint64_t v = 0;
	for (size_t i = 0; p && i < size; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* NULL where it is missing, which is bad unless it may. */
static const char *get_bytes(struct field_in *in, const struct field *f, size_t *n)
{
	*n = get_le(in, 4);
	if (*n == MISSING) {
		in->bad |= !f->may_miss;
		*n = 0;
		return NULL;
	}
	in->bad |= *n > f->most;
	const char *p = in->bad ? NULL : take(in, *n + 1);
	in->bad |= p && p[*n];
	return in->bad ? NULL : p;
}

static const char *get_text(struct field_in *in, const struct field *f, size_t *n)
{
	const char *p = get_bytes(in, f, n);
	in->bad |= p && memchr(p, '\0', *n);
	return in->bad ? NULL : p;
}

static void get_number(struct field_in *in, const struct field *f, void *to)
{
	uint64_t v = get_le(in, 8);
	switch (f->size) {
	case 1:
		*(uint8_t *)to = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)v;
		break;
	default:
		*(uint64_t *)to = v;
	}
	in->bad |= number_at(f, to) != v;
}

/* The fewest bytes that the fields take: so many items there may be in what is left. */
static size_t least(const struct fields *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		switch (f->v[i].kind) {
		case FIELD_IS_NUMBER:
			n += 8;
			break;
		case FIELD_IS_FLAG:
			n += 1;
			break;
		case FIELD_IS_PART:
			n += least(f->v[i].of);
			break;
		default:
			n += 4;
		}
	return n;
}

static void get_fields(struct field_in *in, const struct fields *f, void *to);

static void get_list(struct field_in *in, const struct field *f, void *to)
{
	size_t n = get_le(in, 4);
	if (in->bad || n > f->most || n > in->left / least(f->of)) {
		in->bad = true;
		return;
	}
	char *items = n ? calloc(n, f->size) : NULL;
	set_items(f, to, items, items ? n : 0);
	in->bad |= n && !items;
	for (size_t i = 0; i < n && !in->bad; i++)
		get_fields(in, f->of, items + i * f->size);
}

static void get_buf(struct field_in *in, const struct field *f, struct buf *b)
{
	size_t n;
	const char *p = get_bytes(in, f, &n);
	if (!p)
		return;
	b->limit = n + 1;
	buf_add(b, p, n);
	in->bad |= buf_failed(b);
}

static void get_field(struct field_in *in, const struct field *f, void *to)
{
	void *p = member(f, to);
	const char *chars;
	size_t n;
	switch (f->kind) {
	case FIELD_IS_NUMBER:
		return get_number(in, f, p);
	case FIELD_IS_FLAG:
		n = get_le(in, 1);
		in->bad |= n > 1;
		*(bool *)p = n == 1;
		return;
	case FIELD_IS_TEXT:
		*(const char **)p = get_text(in, f, &n);
		return;
	case FIELD_IS_BYTES:
		*(const char **)p = get_bytes(in, f, count_of(f, to));
		return;
	case FIELD_IS_CHARS:
		chars = get_text(in, f, &n);
		if (chars)
			memcpy(p, chars, n + 1);
		return;
	case FIELD_IS_BUF:
		return get_buf(in, f, p);
	case FIELD_IS_LIST:
		return get_list(in, f, to);
	case FIELD_IS_PART:
		return get_fields(in, f->of, p);
	}
}

static void get_fields(struct field_in *in, const struct fields *f, void *to)
{
	for (size_t i = 0; i < f->n && !in->bad; i++)
		get_field(in, &f->v[i], to);
}

bool field_is(const struct buf *b, const struct fields *f)
{
	return b->len >= HEAD_LEN && b->data[0] == f->tag;
}

int field_read(const struct buf *b, const struct fields *f, void *to)
{
	struct field_in in = {.p = b->data, .left = b->len};
	const char *head = take(&in, HEAD_LEN);
	in.bad |= !head || head[0] != f->tag || (uint8_t)head[1] != f->version;
	get_fields(&in, f, to);
	if (!in.bad && in.left == 0)
		return 0;
	field_free(f, to);
	return -1;
}

static void free_list(const struct field *f, void *of)
{
	char *items = items_of(f, of);
	for (size_t i = 0; i < *count_of(f, of); i++)
		field_free(f->of, items + i * f->size);
	free(items);
	set_items(f, of, NULL, 0);
}

void field_free(const struct fields *f, void *of)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct field *m = &f->v[i];
		if (m->kind == FIELD_IS_LIST)
			free_list(m, of);
		else if (m->kind == FIELD_IS_BUF)
			buf_free(member(m, of));
		else if (m->kind == FIELD_IS_PART)
			field_free(m->of, member(m, of));
	}
}

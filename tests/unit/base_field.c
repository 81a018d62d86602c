/* Structs as bytes: there and back, and every message cut short, made longer, or with a byte
 * changed. */
#include "base/field.h"
#include "../lib/tap.h"

#include <stdlib.h>

struct item {
	const char *name;
	int16_t small;
};

struct inner {
	uint8_t byte;
	int64_t wide;
};

struct all {
	int number;
	uint16_t port;
	size_t size;
	bool flag;
	const char *text, *none, *bytes;
	size_t nbytes;
	char chars[6];
	struct buf buf;
	struct item *items;
	size_t nitems;
	const char **texts;
	size_t ntexts;
	struct inner inner;
};

static const struct fields item_fields =
	FIELDS_PART(FIELD_TEXT(struct item, name, 10), FIELD_NUMBER(struct item, small));
static const struct fields inner_fields =
	FIELDS_PART(FIELD_NUMBER(struct inner, byte), FIELD_NUMBER(struct inner, wide));
static const struct fields all_fields = FIELDS('A', 3, FIELD_NUMBER(struct all, number),
	FIELD_NUMBER(struct all, port), FIELD_NUMBER(struct all, size),
	FIELD_FLAG(struct all, flag), FIELD_TEXT(struct all, text, 8),
	FIELD_TEXT_OR_NULL(struct all, none, 8), FIELD_BYTES(struct all, bytes, nbytes, 8),
	FIELD_CHARS(struct all, chars), FIELD_BUF(struct all, buf, 8),
	FIELD_LIST(struct all, items, nitems, 3, &item_fields),
	FIELD_LIST(struct all, texts, ntexts, 3, &field_texts),
	FIELD_PART(struct all, inner, &inner_fields));
static const struct fields other_fields = FIELDS('B', 3, FIELD_NUMBER(struct inner, wide));

static struct item items[] = {{"one", -2}, {"", 32767}};
static const char *texts[] = {"x", ""};
static const struct all sample = {.number = -5,
	.port = 65535,
	.size = SIZE_MAX,
	.flag = true,
	.text = "text",
	.bytes = "a\0b",
	.nbytes = 3,
	.chars = "chars",
	.items = items,
	.nitems = 2,
	.texts = texts,
	.ntexts = 2,
	.inner = {255, INT64_MIN}};

static const unsigned char bytes[] = "A\3"
				     "\xfb\xff\xff\xff\xff\xff\xff\xff"
				     "\xff\xff\0\0\0\0\0\0"
				     "\xff\xff\xff\xff\xff\xff\xff\xff"
				     "\1"
				     "\4\0\0\0text\0"
				     "\xff\xff\xff\xff"
				     "\3\0\0\0a\0b\0"
				     "\5\0\0\0chars\0"
				     "\3\0\0\0buf\0"
				     "\2\0\0\0"
				     "\3\0\0\0one\0"
				     "\xfe\xff\xff\xff\xff\xff\xff\xff"
				     "\0\0\0\0\0"
				     "\xff\x7f\0\0\0\0\0\0"
				     "\2\0\0\0"
				     "\1\0\0\0x\0"
				     "\0\0\0\0\0"
				     "\xff\0\0\0\0\0\0\0"
				     "\0\0\0\0\0\0\0\x80";

static int write_sample(struct buf *b, struct err *e)
{
	struct all a = sample;
	buf_adds(&a.buf, "buf");
	int r = field_write(b, &all_fields, &a, e);
	buf_free(&a.buf);
	return r;
}

static bool is_sample(const struct all *a)
{
	return a->number == -5 && a->port == 65535 && a->size == SIZE_MAX && a->flag &&
	       strcmp(a->text, "text") == 0 && !a->none && a->nbytes == 3 &&
	       memcmp(a->bytes, "a\0b", 4) == 0 && strcmp(a->chars, "chars") == 0 &&
	       strcmp(buf_str(&a->buf), "buf") == 0 && a->nitems == 2 &&
	       strcmp(a->items[0].name, "one") == 0 && a->items[0].small == -2 &&
	       a->items[1].small == 32767 && a->ntexts == 2 && strcmp(a->texts[0], "x") == 0 &&
	       a->inner.byte == 255 && a->inner.wide == INT64_MIN;
}

static bool holds_nothing(const struct all *a)
{
	return !a->items && !a->nitems && !a->texts && !a->ntexts && !a->buf.data;
}

/* Memory that ends where the message does, so that a sanitizer sees a step too far. */
static int read_copy(const struct buf *b, size_t n, size_t changed, char to, struct all *a)
{
	struct buf copy = {.data = malloc(n ? n : 1), .len = n};
	memcpy(copy.data, b->data, n < b->len ? n : b->len);
	if (n > b->len)
		copy.data[b->len] = to;
	if (changed < n)
		copy.data[changed] = to;
	*a = (struct all){0};
	int r = field_read(&copy, &all_fields, a);
	if (r == 0) {
		BUF_AUTO again = {0};
		struct err e = {0};
		/* What is taken says the same when it is written again: no two ways to say one
		 * thing. */
		if (field_write(&again, &all_fields, a, &e) < 0 || again.len != n ||
			memcmp(again.data, copy.data, n) != 0)
			r = 1;
		field_free(&all_fields, a);
	}
	free(copy.data);
	return r;
}

static void test_back(struct tap *t)
{
	BUF_AUTO b = {.secret = true};
	struct all a = {0};
	struct inner other = {0};
	struct err e = {0};
	ok(t, write_sample(&b, &e) == 0, "written");
	ok(t, b.len == sizeof bytes - 1 && memcmp(b.data, bytes, b.len) == 0, "byte for byte");
	ok(t, field_read(&b, &all_fields, &a) == 0 && is_sample(&a), "and back");
	field_free(&all_fields, &a);
	ok(t, holds_nothing(&a), "freed");
	field_free(&all_fields, &a);
	ok(t, field_is(&b, &all_fields) && !field_is(&b, &other_fields), "the tag tells");
	ok(t, field_read(&b, &other_fields, &other) < 0, "another's message is none");
}

static void test_broken(struct tap *t)
{
	BUF_AUTO b = {0};
	struct all a;
	struct err e = {0};
	size_t taken = 0, held = 0, changed = 0, differ = 0;
	write_sample(&b, &e);
	for (size_t n = 0; n < b.len; n++) {
		taken += read_copy(&b, n, SIZE_MAX, 0, &a) == 0;
		held += !holds_nothing(&a);
	}
	ok(t, taken == 0 && held == 0, "none that is cut short is taken (%zu, %zu)", taken, held);
	ok(t, read_copy(&b, b.len + 1, SIZE_MAX, 0, &a) < 0, "nor one with a byte too many");
	for (size_t i = 0; i < b.len; i++)
		for (int c = 0; c < 256; c++) {
			int r = read_copy(&b, b.len, i, (char)c, &a);
			changed += r == 0;
			differ += r > 0 || !holds_nothing(&a);
		}
	ok(t, differ == 0, "each byte changed to each other: refused, or read as what it says");
	ok(t, changed > 256 && changed < 256 * b.len / 2, "and some of both (%zu)", changed);
	for (char version = 0; version < 10; version++)
		if (version != 3 && read_copy(&b, b.len, 1, version, &a) >= 0)
			differ++;
	ok(t, differ == 0, "no other version is read");
}

/* The message as it is up to a place, then these bytes instead. */
static void refused(struct tap *t, size_t at, const char *with, size_t n, const char *what)
{
	BUF_AUTO b = {0};
	struct all a = {0};
	struct err e = {0};
	write_sample(&b, &e);
	memcpy(b.data + at, with, n);
	ok(t, field_read(&b, &all_fields, &a) < 0 && holds_nothing(&a), "%s", what);
}

static void test_strict(struct tap *t)
{
	refused(t, 2, "\0\0\0\x80\0\0\0", 8, "a number over an int");
	refused(t, 2, "\xff\xff\xff\x7f\xff\xff\xff\xff", 8, "and one under it");
	refused(t, 10, "\0\0\1\0", 4, "a port over 65535");
	refused(t, 26, "\2", 1, "a flag that is neither 0 nor 1");
	refused(t, 27, "\xff\xff\xff\xff", 4, "a text that is missing");
	refused(t, 33, "\0", 1, "one with a NUL in it");
	refused(t, 35, "!", 1, "one without a NUL after it");
	refused(t, 66, "\xff\xff\xff\x7f", 4, "a list of more than there are bytes");
	refused(t, 66, "\4\0\0\0", 4, "a list of more than the table has it");
}

static int try_write(const struct all *a, size_t limit)
{
	BUF_AUTO b = {.limit = limit};
	struct err e = {0};
	return field_write(&b, &all_fields, a, &e) < 0 ? -(int)e.code : 0;
}

static void test_limits(struct tap *t)
{
	struct all a = sample;
	ok(t, try_write(&a, 0) == 0 && try_write(&a, 500) == 0, "with room: written");
	ok(t, try_write(&a, 50) == -ERR_USAGE, "over the buffer's limit: not");
	a.text = "123456789";
	ok(t, try_write(&a, 0) == -ERR_USAGE, "a text over its most");
	a.text = NULL;
	ok(t, try_write(&a, 0) == -ERR_USAGE, "no text where there must be one");
	a = sample;
	a.nbytes = 9;
	a.bytes = "123456789";
	ok(t, try_write(&a, 0) == -ERR_USAGE, "bytes over their most");
	a = sample;
	a.nitems = 4;
	ok(t, try_write(&a, 0) == -ERR_USAGE, "items over their most");
	BUF_AUTO b = {0}, framed = {0};
	struct err e = {0};
	field_write(&b, &all_fields, &sample, &e);
	ok(t,
		field_frame(&framed, &all_fields, &sample, &e) == 0 && framed.len == b.len + 4 &&
			(size_t)(unsigned char)framed.data[0] == b.len && !framed.data[1] &&
			memcmp(framed.data + 4, b.data, b.len) == 0,
		"framed: its length before it");
}

int main(void)
{
	struct tap t = {0};
	test_back(&t);
	test_broken(&t);
	test_strict(&t);
	test_limits(&t);
	return tap_done(&t);
}

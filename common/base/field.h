/*
 * Structs as bytes, for other processes, files and machines. A table says which members go, in
 * which order; writing, reading and freeing all follow it, so that they cannot differ.
 *
 * A message is a tag and a version, a byte each, then the fields: numbers are 8 bytes,
 * little-endian, in two's complement; a flag is a byte, 0 or 1; text and bytes are a length of 4
 * bytes (all ones for a NULL), that many bytes, and a NUL; a list is a count of 4 bytes and its
 * items' fields. A message that another build wrote is read only if its version is the same: who
 * changes a table of what is kept or goes to another machine gives it a new one.
 *
 * What is read may come from anybody. Each length is held against what is left and against the
 * table before memory is taken, numbers against their member's type, and nothing may follow the
 * last field. Text and bytes point into the message, which must outlive them; lists and buffers are
 * memory of their own, which field_free() frees.
 */
#ifndef EVCTL_BASE_FIELD_H
#define EVCTL_BASE_FIELD_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_IS_NUMBER,
	FIELD_IS_FLAG,
	FIELD_IS_TEXT,
	FIELD_IS_BYTES, /* a pointer, and a size_t elsewhere */
	FIELD_IS_CHARS, /* text in an array of the struct's */
	FIELD_IS_BUF,
	FIELD_IS_LIST, /* a pointer to items, and a size_t elsewhere */
	FIELD_IS_PART, /* a struct in the struct */
};

struct field {
	enum field_kind kind;
	bool is_signed, may_miss;
	size_t at, size; /* the member; of a list, one item's size */
	size_t count_at; /* of the size_t that goes with bytes and lists */
	size_t most;	 /* bytes, or items */
	const struct fields *of;
};

struct fields {
	char tag; /* 0: only a part of others */
	uint8_t version;
	const struct field *v;
	size_t n;
};

#define FIELDS(tag, version, ...)                                                          \
	{                                                                                  \
		tag, version, (const struct field[]){__VA_ARGS__},                         \
			sizeof((const struct field[]){__VA_ARGS__}) / sizeof(struct field) \
	}
#define FIELDS_PART(...) FIELDS(0, 0, __VA_ARGS__)
#define FIELDS_NONE(tag, version)     \
	{                             \
		tag, version, NULL, 0 \
	}

#define FIELD_MEMBER(T, m) (((T *)0)->m)
/* The member's place; no other type compiles. */
#define FIELD_AT(T, m, ...) \
	(offsetof(T, m) + 0 * sizeof(char[_Generic(&FIELD_MEMBER(T, m), __VA_ARGS__)]))
#define FIELD_AT_TEXT(T, m) FIELD_AT(T, m, const char ** : 1, char ** : 1)
#define FIELD_AT_SIZE(T, m) FIELD_AT(T, m, size_t * : 1)

#define FIELD_NUMBER(T, m)                                                                        \
	{                                                                                         \
		.kind = FIELD_IS_NUMBER, .at = offsetof(T, m), .size = sizeof FIELD_MEMBER(T, m), \
		.is_signed = !((__typeof__(FIELD_MEMBER(T, m)))-1 > 0)                            \
	}
#define FIELD_FLAG(T, m)                                                \
	{                                                               \
		.kind = FIELD_IS_FLAG, .at = FIELD_AT(T, m, bool * : 1) \
	}
#define FIELD_TEXT(T, m, max)                                                 \
	{                                                                     \
		.kind = FIELD_IS_TEXT, .at = FIELD_AT_TEXT(T, m), .most = max \
	}
#define FIELD_TEXT_OR_NULL(T, m, max)                                                           \
	{                                                                                       \
		.kind = FIELD_IS_TEXT, .at = FIELD_AT_TEXT(T, m), .most = max, .may_miss = true \
	}
/* The items of a list of texts: FIELD_LIST(..., &field_texts). */
extern const struct fields field_texts;
#define FIELD_BYTES(T, m, n, max)                                  \
	{                                                          \
		.kind = FIELD_IS_BYTES, .at = FIELD_AT_TEXT(T, m), \
		.count_at = FIELD_AT_SIZE(T, n), .most = max       \
	}
#define FIELD_CHARS(T, m)                                                                        \
	{                                                                                        \
		.kind = FIELD_IS_CHARS, .at = offsetof(T, m), .size = sizeof FIELD_MEMBER(T, m), \
		.most = sizeof FIELD_MEMBER(T, m) - 1                                            \
	}
#define FIELD_BUF(T, m, max)                                                              \
	{                                                                                 \
		.kind = FIELD_IS_BUF, .at = FIELD_AT(T, m, struct buf * : 1), .most = max \
	}
#define FIELD_LIST(T, m, n, max, fields)                                                         \
	{                                                                                        \
		.kind = FIELD_IS_LIST, .at = offsetof(T, m), .size = sizeof *FIELD_MEMBER(T, m), \
		.count_at = FIELD_AT_SIZE(T, n), .most = max, .of = fields                       \
	}
#define FIELD_PART(T, m, fields)                                          \
	{                                                                 \
		.kind = FIELD_IS_PART, .at = offsetof(T, m), .of = fields \
	}

/*
 * Appends a whole message; its memory is taken at once. -1 with ERR_USAGE where something is longer
 * than the table or the buffer's limit has it, or a text is missing that must be there.
 */
int field_write(struct buf *b, const struct fields *f, const void *of, struct err *e);
/* The same with its length, 4 bytes, before it: as frame_send() would send it. */
int field_frame(struct buf *b, const struct fields *f, const void *of, struct err *e);

/* Whether a message has this tag; what it says may be nonsense all the same. */
bool field_is(const struct buf *b, const struct fields *f);
/*
 * Reads a whole message into a zeroed struct. -1 if it is not one: then the struct holds nothing
 * that needs freeing, and nothing else to be relied on.
 */
int field_read(const struct buf *b, const struct fields *f, void *to);
void field_free(const struct fields *f, void *of);

#endif

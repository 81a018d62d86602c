/*
 * Strict YAML as a tree with places: the one includer of yaml.h. One document of mappings,
 * sequences and scalars; anchors, aliases, tags, duplicate or non-scalar keys, NUL characters, more
 * than DOC_MAX_DEPTH levels, and more than the given size are errors. Messages are ERR_USAGE
 * "WHAT:LINE:COL: cause", counted from 1; columns are characters.
 */
#ifndef EVCTL_MANIFEST_DOC_H
#define EVCTL_MANIFEST_DOC_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

#define DOC_MAX_DEPTH 64

enum doc_kind { DOC_SCALAR, DOC_LIST, DOC_MAP };

struct doc {
	enum doc_kind kind;
	int line, col;
	char *text;	/* scalar: UTF-8 without NUL */
	bool plain;	/* scalar: written without quotes, so its type comes from its looks */
	struct doc **v; /* list: the members; map: key, value, key, value, ... */
	size_t n;	/* how many v has */
	size_t room;
};

/* What readers of a document hand down. */
struct doc_source {
	const char *what;
	struct err *e;
};
int doc_no_memory(const struct doc_source *s);

#define DOC_AUTO __attribute__((cleanup(doc_free_auto))) struct doc *
void doc_free_auto(struct doc **d);

struct doc *doc_parse(
	const char *what, const void *bytes, size_t n, size_t max_bytes, struct err *e);

/* Records "WHAT:LINE:COL: cause" of that place. Returns -1 always. */
int doc_fail(const char *what, const struct doc *at, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The value of a map's key and, in *key if that isn't NULL, the key's own node; or NULL. */
const struct doc *doc_get(const struct doc *map, const char *name, const struct doc **key);

/* "a mapping", "a list", "a number", ... what a reader would call it. */
const char *doc_kind_word(const struct doc *d);

/* Is it null: nothing at all, "null" or "~", without quotes? */
bool doc_is_null(const struct doc *d);

/* Is d a map that holds no other keys than these (NULL-terminated)? A near miss is hinted at. */
int doc_check_fields(const char *what, const struct doc *d, const char *owner,
	const char *const *fields, struct err *e);

/* The node's JSON value by the YAML 1.2 core schema; quoted scalars are strings. */
json_t *doc_to_json(const char *what, const struct doc *d, struct err *e);

/*
 * Reads of one typed value, each an error at the node if it is something else. `field` is for the
 * message. Text is any scalar that reads as a string in YAML 1.2, with no control characters
 * (newline and tab only in multi-line text) and at most max bytes; *out is the caller's to free.
 */
int doc_text(const char *what, const struct doc *d, const char *field, size_t max, bool multiline,
	char **out, struct err *e);
int doc_bool(const char *what, const struct doc *d, const char *field, bool *out, struct err *e);
/* A list of texts without repeats, appended to out; spaces says whether they may hold any. */
int doc_words(const char *what, const struct doc *d, const char *field, size_t max, bool spaces,
	struct strv *out, struct err *e);

#endif

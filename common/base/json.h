/*
 * JSON, through jansson: the one place that includes it, with what jansson lacks. Every json_t made
 * here is owned by the caller unless said otherwise.
 */
#ifndef EVCTL_BASE_JSON_H
#define EVCTL_BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_AUTO __attribute__((cleanup(json_auto_decref))) json_t *
void json_auto_decref(json_t **j);

/* Parses a whole text; trailing bytes are an error. ERR_USAGE "what:LINE:COL: cause". */
json_t *json_parse(const char *what, const void *p, size_t n, struct err *e);
/* Compact text into b. */
void json_to_buf(const json_t *j, struct buf *b);
/* Text from bytes that may not be UTF-8: bad bytes become U+FFFD. */
json_t *json_text(const char *p, size_t n);
/* As json_text() of a C string, or null for NULL. */
json_t *json_text_or_null(const char *s);
/* An array of texts, as json_text() has each. */
json_t *json_texts(const struct strv *texts);
/* A member's text, "" where it has none; owned by the object. */
const char *json_text_of(const json_t *o, const char *key);
/* A member's whole number, 0 where it has none. */
int64_t json_int_of(const json_t *o, const char *key);
/*
 * A copy in which each text, and each member's name, is what change made of it (0, or -1 for
 * failure). NULL on failure. For values of bounded depth, as json_parse() gives.
 */
json_t *json_map_texts(const json_t *v, int (*change)(void *ctx, struct buf *text), void *ctx);
/* The first item of an array, which is taken over; NULL where there is none. */
json_t *json_take_first(json_t *array);
/* {"error": {code, kind, message, hint or null}} */
json_t *json_error(const struct err *e);
/* The same, of a line of a file that was read; 0: of none. */
json_t *json_error_in(const struct err *e, int64_t line);
/* The word that JSON Schema has for a value's type; a static text. */
const char *json_type_name(const json_t *v);
/* Whether one of an array's texts is word. */
bool json_array_has(const json_t *array, const char *word);

#endif

/*
 * Undoes a Content-Encoding (gzip, deflate), as a stream, so that bodies can be counted, searched
 * and replaced for what they are.
 */
#ifndef EVCTL_GATE_DECODE_H
#define EVCTL_GATE_DECODE_H

#include "net/http.h"

#include <stddef.h>

struct decode;

enum decode_kind { DECODE_NONE, DECODE_GZIP, DECODE_DEFLATE, DECODE_UNKNOWN };

/* What a Content-Encoding field's value asks for; "identity" and "" are NONE. */
enum decode_kind decode_kind(struct http_text value);
/* What a head's fields say. Named twice, nobody can say what it is: UNKNOWN. */
enum decode_kind decode_of(const struct http_field *field, size_t n);

struct decode *decode_new(enum decode_kind kind); /* GZIP or DEFLATE */
void decode_free(struct decode **d);
/*
 * Decodes p[0..n), handing the output on in pieces. 0; -1 when it is malformed or take() said -1.
 */
int decode_push(struct decode *d, const void *p, size_t n,
	int (*take)(void *arg, const void *p, size_t n), void *arg);
/* The stream had its proper end. */
bool decode_ended(const struct decode *d);

#endif

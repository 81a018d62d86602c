/*
 * Undoes a Content-Encoding (gzip, deflate), as a stream, so that bodies can be counted, searched
 * and replaced for what they are; and packs what was replaced in gzip again.
 */
#ifndef EVCTL_GATE_CODING_H
#define EVCTL_GATE_CODING_H

#include "net/http.h"

#include <stddef.h>

struct decoding;

enum coding_kind { CODING_NONE, CODING_GZIP, CODING_DEFLATE, CODING_UNKNOWN };

/* What a Content-Encoding field's value asks for; "identity" and "" are NONE. */
enum coding_kind coding_kind(struct http_text value);
/* What a head's fields say. Named twice, nobody can say what it is: UNKNOWN. */
enum coding_kind coding_of(const struct http_field *field, size_t n);

struct decoding *coding_new(enum coding_kind kind); /* GZIP or DEFLATE */
void coding_free(struct decoding **d);
/*
 * Decodes p[0..n), handing the output on in pieces. 0; -1 when it is malformed or take() said -1.
 */
int coding_push(struct decoding *d, const void *p, size_t n,
	int (*take)(void *arg, const void *p, size_t n), void *arg);
/* The stream had its proper end. */
bool coding_ended(const struct decoding *d);

struct packing;

struct packing *packing_new(void); /* gzip */
void packing_free(struct packing **k);
/* Packs p[0..n), handing on all that there is so far; with last also gzip's end. 0/-1 as take(). */
int packing_push(struct packing *k, const void *p, size_t n, bool last,
	int (*take)(void *arg, const void *p, size_t n), void *arg);

#endif

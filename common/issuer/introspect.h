/*
 * Token introspection (RFC 7662): asks an authorization server what a token is, and judges the
 * answer. Fails closed.
 */
#ifndef EVCTL_ISSUER_INTROSPECT_H
#define EVCTL_ISSUER_INTROSPECT_H

#include "base/err.h"
#include "base/json.h"
#include "door/issuer_message.h"
#include "net/cage.h"

/* What evctl-introspect is shut in. */
extern const struct cage introspect_cage;

/* Answers questions on a socket until it ends (0), or says what makes no sense (-1). */
int introspect_run(int control, struct err *e);

/*
 * Judges an answer, at a time in ms: YES fills subject and until. It must be active, of this issuer
 * where it says whose it is, end, and be meant for the origin or the resource. Pure.
 */
enum issuer_word introspect_judge(const json_t *answer, const struct issuer_rules *rules,
	const struct issuer_ask *ask, int64_t now, struct issuer_told *told);

#endif

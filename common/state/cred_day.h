/* The day from which a credential's value is not to be relied on, and what is said of it then. */
#ifndef EVCTL_STATE_CRED_DAY_H
#define EVCTL_STATE_CRED_DAY_H

#include "state/state.h"

#include <jansson.h>

#define CRED_REMIND 14 /* days before that, unless it is said otherwise */

struct cred_day {
	int64_t day; /* its last good day, ms of the epoch at 00:00 UTC; 0: none */
	int remind;  /* days before that; -1: as it was */
	bool given;  /* else day is as it was */
};

/* "2027-01-31", or "none". ERR_USAGE for what is no day. */
int cred_day_parse(const char *text, struct cred_day *out, struct err *e);
/* Keeps what is given. */
int cred_day_set(struct state *st, const char *name, const struct cred_day *d, struct err *e);
/*
 * What is to be said now of the credential with that id (0: of all): appended to out, a string
 * each, "K expires in 5 days (2027-01-31)", "K expired on 2027-01-31". With flags, "! expires K
 * ..." and "! expired K ...".
 */
int cred_day_due(struct state *st, int64_t id, bool flags, json_t *out, struct err *e);

#endif

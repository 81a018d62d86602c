/*
 * Tokens of an authorization server's: what evctl-introspect has said of them, remembered for a
 * minute at most.
 */
#ifndef EVCTL_MONITOR_FOREIGN_H
#define EVCTL_MONITOR_FOREIGN_H

#include "base/child.h"
#include "door/issuer_message.h"

/* Of evctl-serve's options. */
struct foreign_spec {
	struct issuer_rules rules;
	const char *origin; /* the public URL */
};

struct foreign;
struct foreign *foreign_new(const struct foreign_spec *spec, struct err *e);
void foreign_free(struct foreign **f);
/* To be polled; -1: none. */
int foreign_fd(const struct foreign *f);

struct foreign_seen {
	char subject[ISSUER_SUBJECT_MAX + 1];
	int64_t until; /* ms */
	char id[17];   /* "o" and 15 characters of [a-z0-9]: never another token's */
};

enum foreign_word {
	FOREIGN_NO,
	FOREIGN_YES,
	FOREIGN_ASKED, /* the number at *number is told of by foreign_take() */
	FOREIGN_BUSY,  /* too many are asked about */
};
/* expert NULL: for the door as a whole. */
enum foreign_word foreign_look(struct foreign *f, const char *token, const char *expert,
	struct foreign_seen *out, uint64_t *number);
/* Takes an answer that has come; the number that it is of, 0: none. Starts the process anew if it
 * died. */
uint64_t foreign_take(struct foreign *f);
/* Whether the token of that id may still be good: it has not ended, as far as is known. */
bool foreign_lives(const struct foreign *f, const char *id);

/* Fills host, port, tls and target of an https URL (http: of localhost alone), each the caller's
 * to free. */
int foreign_parse_url(const char *url, struct issuer_rules *rules, struct err *e);

#endif

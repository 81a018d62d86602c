/*
 * Buyers' tokens for the door. A token is "evb_", 32 random bytes in base62 (43 characters) and a
 * CRC-32 of those characters (6), so that secret scanners can tell one. The state keeps its hash.
 */
#ifndef EVCTL_STATE_BUYER_TOKEN_H
#define EVCTL_STATE_BUYER_TOKEN_H

#include "state/state.h"

#define TOKEN_TEXT_SIZE 54 /* 4 + 43 + 6, and the NUL */
#define TOKEN_ID_SIZE 17

struct token_spec {
	const char *label;    /* "" for none */
	const char *only;     /* "mcp", "pages", "" for both */
	int64_t expires;      /* ms, 0: never */
	char *const *experts; /* all that the buyer is granted, where there is none */
	size_t nexperts;
};

/* Makes one: its text goes to out, which the caller wipes, and its id. */
int token_add(struct state *st, const char *buyer, const struct token_spec *spec,
	char out[TOKEN_TEXT_SIZE], char id[TOKEN_ID_SIZE], struct err *e);
/* [{token, buyer, label, only, experts, created, expires, last_used, withdrawn}]; buyer NULL: all.
 */
json_t *token_list(struct state *st, const char *buyer, struct err *e);
/* All of the ids, or none. */
int token_withdraw(struct state *st, char *const *ids, size_t n, struct err *e);

/* Whether it could be a token: its form, and its checksum. */
bool token_is(const char *text);

struct token_seen {
	char id[TOKEN_ID_SIZE], buyer[65], only[8];
};
/* 1 a good one, 0 none, or one that is withdrawn or has expired. */
int token_find(struct state *st, const char *text, struct token_seen *out, struct err *e);
/* Is the one of that id still good? 1, 0. */
int token_lives(struct state *st, const char *id, struct err *e);
/* May it be used for this expert, as far as the token goes? 1, 0. */
int token_covers(struct state *st, const char *id, const char *expert, struct err *e);
/* Notes that it was used, at most once a minute. */
int token_note_use(struct state *st, const char *id, struct err *e);

#endif

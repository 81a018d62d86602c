/*
 * Why a request is refused: set once, the first reason stays. Its words go to the code, so nothing
 * of a request is ever in them.
 */
#ifndef EVCTL_GATE_REFUSAL_H
#define EVCTL_GATE_REFUSAL_H

#include "gate/policy.h"

struct refusal {
	int status;			   /* 0: none */
	const char *reason, *why;	   /* X-Evctl-Gate's word, and the sentence; static */
	char hint[2 * HOST_TEXT_MAX + 80]; /* the command that would allow it, or "" */
};

/* -1 always. hint may be NULL. */
int refuse(struct refusal *no, int status, const char *reason, const char *why, const char *hint);
/* The same with "evctl-host set ROW --plain yes" and the like for a hint: before, ROW, after. */
int refuse_row(struct refusal *no, int status, const char *reason, const char *why,
	const char *before, const struct policy_row *row, const char *after);
int refuse_leak(struct refusal *no, const struct policy_row *row);
int refuse_memory(struct refusal *no);
int refuse_standin(struct refusal *no);

#endif

#include "gate/refusal.h"

#include <stdio.h>

int refuse(struct refusal *no, int status, const char *reason, const char *why, const char *hint)
{
	if (no->status)
		return -1;
	no->status = status;
	no->reason = reason;
	no->why = why;
	snprintf(no->hint, sizeof no->hint, "%s", hint ? hint : "");
	return -1;
}

int refuse_row(struct refusal *no, int status, const char *reason, const char *why,
	const char *before, const struct policy_row *row, const char *after)
{
	char text[HOST_TEXT_MAX], hint[sizeof no->hint];
	host_text(&row->host, text);
	snprintf(hint, sizeof hint, "%s %s%s", before, text, after);
	return refuse(no, status, reason, why, hint);
}

int refuse_leak(struct refusal *no, const struct policy_row *row)
{
	return refuse_row(no, 403, "leak",
		"a key of this session is on its way to a host that it is not bound to",
		"evctl-bind set", row, " CRED");
}

int refuse_memory(struct refusal *no)
{
	return refuse(no, 502, "gate", "the gate is out of memory", NULL);
}

int refuse_standin(struct refusal *no)
{
	return refuse(no, 403, "stand-in",
		"a sealed key's stand-in is spelled in a way that the key cannot be put in", NULL);
}

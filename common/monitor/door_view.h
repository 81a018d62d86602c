/*
 * The door's pages as HTML text, from what the state says of an expert and a buyer. Pure but for
 * reading the state.
 */
#ifndef EVCTL_MONITOR_DOOR_VIEW_H
#define EVCTL_MONITOR_DOOR_VIEW_H

#include "state/state.h"

/* Who looks, by the token of which id: buyer NULL, nobody that is signed in. csrf goes into each
 * form. */
struct door_view {
	struct state *st;
	const char *buyer, *token, *csrf, *origin;
	const char *said, *wrong;   /* of what was just done; NULL: nothing */
	const struct strv *experts; /* those that are offered; NULL or none: all */
};

/* All append to out. */
int door_view_home(const struct door_view *v, struct buf *out, struct err *e);
/* ERR_NOTFOUND for one that is neither granted nor listed. */
int door_view_expert(const struct door_view *v, const char *expert, struct buf *out, struct err *e);
/* Of one that is granted. answer NULL: nothing was run yet; else what evctl-run -o json said. */
int door_view_tool(const struct door_view *v, const char *expert, const char *tool,
	const json_t *answer, struct buf *out, struct err *e);
int door_view_usage(const struct door_view *v, struct buf *out, struct err *e);
void door_view_notice(
	const struct door_view *v, const char *title, const char *text, struct buf *out);

/* The tool's input from a form: JSON text into out. ERR_USAGE for what is none. */
struct door_param;
int door_view_input(const struct door_view *v, const char *expert, const char *tool,
	const struct door_param *params, size_t n, struct buf *out, struct err *e);

#endif

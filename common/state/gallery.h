/*
 * What the archive's pages show: runs that left artifacts, as far as whoever looks may see them.
 * What may not be seen is not counted either. All JSON is the caller's, NULL on error.
 */
#ifndef EVCTL_STATE_GALLERY_H
#define EVCTL_STATE_GALLERY_H

#include "state/state.h"

/* NULL members: any. */
struct gallery_filter {
	const char *buyer; /* who looks; NULL: the owner, who sees all */
	const char *expert, *text;
	const char *kind;   /* "image", "video", "audio", "file" */
	const char *before; /* a run: only those older than it */
};

struct gallery_totals {
	int64_t artifacts, runs, bytes;
};

/* [{expert}] of those with anything to show, by name; only f->buyer counts. */
json_t *gallery_experts(struct state *st, const struct gallery_filter *f, struct err *e);
/* Of everything that fits, f->before aside. */
int gallery_totals(struct state *st, const struct gallery_filter *f, struct gallery_totals *out,
	struct err *e);
/*
 * Newest first, `limit` at most: [{run, expert, version (0: a draft), tool, buyer (or null),
 * status, started, ms}].
 */
json_t *gallery_runs(
	struct state *st, const struct gallery_filter *f, int64_t limit, struct err *e);
/* One of them, whether it left artifacts or not. ERR_NOTFOUND. */
json_t *gallery_run(struct state *st, const char *run, const char *buyer, struct err *e);
/*
 * One run's, pictures first, then clips, sound and files: [{name, type, bytes, inline,
 * owner_only}], the last two 0 or 1.
 */
json_t *gallery_artifacts(
	struct state *st, const struct gallery_filter *f, const char *run, struct err *e);
/* Where an artifact stands among them: {before, after (or null), place, total}. ERR_NOTFOUND. */
json_t *gallery_neighbours(
	struct state *st, const char *run, const char *name, const char *buyer, struct err *e);

#endif

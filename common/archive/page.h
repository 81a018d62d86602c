/*
 * The archive's pages, as HTML text. Pure but for reading the state: no sockets, no headers.
 */
#ifndef EVCTL_ARCHIVE_PAGE_H
#define EVCTL_ARCHIVE_PAGE_H

#include "state/gallery.h"

struct view {
	struct state *st;
	const char *buyer; /* NULL: the owner looks */
	const char *base;  /* what all paths begin with: "/.../" */
	const char *up;	   /* where there is more than the archive; NULL: nowhere */
};

/* All append to out. ERR_NOTFOUND where a run or artifact is not there, or not for this viewer. */
/* Whose view it is fills in f->buyer. */
int page_gallery(
	const struct view *v, const struct gallery_filter *f, struct buf *out, struct err *e);
int page_run(const struct view *v, const char *run, struct buf *out, struct err *e);
int page_artifact(
	const struct view *v, const char *run, const char *name, struct buf *out, struct err *e);
/* A page that says one thing. with_links: the reader is let in and can go back. */
void page_message(const struct view *v, bool with_links, const char *title, const char *text,
	struct buf *out);
/* What the one-time link shows: it goes on to the gallery by itself. */
void page_welcome(const struct view *v, struct buf *out);

/* The style sheet and the icon. */
extern const char page_style[], page_icon[];

#endif

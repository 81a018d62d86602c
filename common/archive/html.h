/*
 * Text into HTML. Nothing reaches a page but through these: bytes that are no UTF-8 become U+FFFD,
 * and characters that hide, reorder or break text are shown by number, so that no name can pass for
 * another or leave its place.
 */
#ifndef EVCTL_ARCHIVE_HTML_H
#define EVCTL_ARCHIVE_HTML_H

#include "base/buf.h"

#include <stdint.h>

/* For an element's content. */
void html_text(struct buf *b, const char *s);
/* For a double-quoted attribute, or an element that has none within. */
void html_attr(struct buf *b, const char *s);
/* For one segment of a path or one value of a query: all but letters, digits and -._~ as %XX. */
void html_url(struct buf *b, const char *s);
/* A file name for Content-Disposition: RFC 8187's value, last part of a path, nothing odd. */
void html_filename(struct buf *b, const char *name);
/* "4.2 MB", decimal. */
void html_bytes(struct buf *b, int64_t n);
/* "0.42 s" */
void html_seconds(struct buf *b, int64_t ms);
/* For machines: RFC 3339, UTC. */
void html_instant(struct buf *b, int64_t ms);
/* For people, in local time: "9:05", "1 January 2026, 09:05", "Thursday, 1 January 2026". */
void html_clock(struct buf *b, int64_t ms);
void html_when(struct buf *b, int64_t ms);
void html_day(struct buf *b, int64_t ms);

#endif

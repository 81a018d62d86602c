/*
 * What a strict HTTP/1.1 server accepts. Pure. Everything that two parsers have ever read in two
 * ways is refused: bare CR or LF, folded lines, white space before a colon, a length twice or with
 * a transfer coding, odd codings. The parsed head points into the caller's buffer.
 */
#ifndef EVCTL_NET_HTTP_H
#define EVCTL_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTP_HEAD_MAX 32768 /* bytes, with the empty line */
#define HTTP_FIELDS_MAX 128

struct http_text {
	const char *p;
	size_t n;
};

struct http_field {
	struct http_text name, value; /* value without surrounding white space */
};

struct http_head {
	struct http_text method;
	struct http_text target;    /* origin-form, or "*": absolute-form is taken apart */
	struct http_text host;	    /* the Host field's value */
	struct http_text authority; /* of an absolute-form target; p NULL otherwise */
	bool absolute_https;	    /* its scheme */
	struct http_field field[HTTP_FIELDS_MAX];
	size_t nfields;
	bool http10;
	bool close; /* the client wants no further request on this connection */
	bool expect_continue;
	bool upgrade;
	bool chunked;
	int64_t length; /* of the body; 0 when none was declared */
	bool has_length;
};

/*
 * Where the head in p[0..n) ends (behind its empty line); 0 when more is needed; -1 when what is
 * there can't become a head. *from keeps the place between calls and starts at 0.
 */
ssize_t http_head_end(const char *p, size_t n, size_t *from);
/* Parses a whole head. 0, or the status to refuse with (400, 417, 431, 505) and *why. */
int http_parse(const char *p, size_t n, struct http_head *h, const char **why);

/* The field of that name, the first if there are more; "" without. */
struct http_text http_find(const struct http_field *field, size_t n, const char *name);
/* A Content-Length's value: digits only, at most 18. 0/-1. */
int http_length(struct http_text value, int64_t *n);
/* A cookie of a request; p NULL without. */
struct http_text http_cookie(const struct http_head *h, const char *name);
/* Decoded, for the caller to free: the target's path; a member of its query. NULL: none, no memory.
 */
char *http_path(struct http_text target);
char *http_query(struct http_text target, const char *name);
/*
 * The next NAME=VALUE of a query, or of a form's body, decoded and the caller's to free; *rest
 * moves on. 1 there it is, 0 none is left, -1 no memory.
 */
int http_pair(struct http_text *rest, char **name, char **value);
const char *http_phrase(int status); /* "" for one that is not in common use */

bool http_token_ok(const char *p, size_t n);	    /* fit to be a field's name, or a method */
bool http_is(struct http_text t, const char *word); /* ASCII case ignored */
/* A comma-separated list holds the word, parameters ignored. */
bool http_list_has(struct http_text list, const char *word);
/* Fields that end at each hop, are made anew, or are the gate's own: never passed on. */
bool http_drop_request(const struct http_head *h, struct http_text name);
bool http_drop_response(struct http_text name);
/* No CR, LF, NUL or other control character: fit to be a field's value. */
bool http_value_ok(const char *p, size_t n);

/* A chunked body, as a stream. Valid when zeroed. */
struct http_chunks {
	int state;
	int digits;
	size_t extra; /* bytes of extensions and trailers seen */
	uint64_t left;
};

/*
 * Eats from p[0..n): *used bytes of the wire, of which data[0..*len) (within p) is body. Call again
 * with the rest. 1 the body has ended, 0 go on, -1 malformed.
 */
int http_chunks_feed(struct http_chunks *c, const char *p, size_t n, size_t *used,
	const char **data, size_t *len);

#endif

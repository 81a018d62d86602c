#include "gate/request_body.h"

#include "base/limits.h"
#include "gate/coding.h"

#include <string.h>

#define AHEAD 262144	   /* bytes of a body that are searched before anything is sent */
#define SMALL 65536	   /* of a body that is read before it is sent */
#define PACKED_MAX 1048576 /* of a compressed body, which is searched as a whole */
#define PACKED_RATIO 100   /* and may unfold to this many times as much */

static bool is_done(const struct request_body *b)
{
	return b->head->in.body_done;
}

/* The next piece of body. >0 its length, 0 end, UPSTREAM_WAIT (only when !wait), UPSTREAM_STOP. */
static ssize_t next_piece(struct request_body *b, bool wait, const char **data)
{
	ssize_t n = http_request_body(&b->head->in, MB(LIMIT_REQUEST_MB), wait, data);
	if (n >= 0)
		return n;
	if (n == HTTP_BODY_WAIT)
		return UPSTREAM_WAIT;
	if (n == HTTP_BODY_MALFORMED)
		refuse(b->no, 400, "bad-request", "the body's chunks are malformed", NULL);
	else if (n == HTTP_BODY_LARGE)
		refuse(b->no, 413, "body-too-large",
			"the request's body is over " LIMIT_TEXT(LIMIT_REQUEST_MB) " MB", NULL);
	return UPSTREAM_STOP;
}

/* One piece through guard and swap into ready. At the end (n 0): the rest of both. */
static int search_piece(struct request_body *b, const char *p, size_t n)
{
	struct buf passed = {0};
	int rc = n ? leak_guard(&b->guard, p, n, &passed, NULL)
		   : leak_guard_end(&b->guard, &passed, NULL);
	if (rc == 0)
		rc = leak_push(&b->swap, buf_str(&passed), passed.len, &b->ready);
	if (rc == 0 && !n)
		rc = leak_flush(&b->swap, &b->ready);
	if (passed.data)
		explicit_bzero(passed.data, passed.len);
	buf_free(&passed);
	if (rc < 0)
		return b->swap.stuck ? refuse_standin(b->no) : refuse_memory(b->no);
	return rc > 0 ? refuse_leak(b->no, b->head->v.row) : 0;
}

static void compact_ready(struct request_body *b)
{
	size_t left = b->ready.len - b->ready_at;
	if (!b->ready_at)
		return;
	memmove(b->ready.data, b->ready.data + b->ready_at, left);
	explicit_bzero(b->ready.data + left, b->ready.len - left);
	b->ready.len = left;
	b->ready_at = 0;
}

/* One more piece into ready. 1 there was one, 0 the body is all there, WAIT, STOP. */
static ssize_t make_ready(struct request_body *b, bool wait)
{
	const char *p = "";
	bool was_done = is_done(b);
	ssize_t n = next_piece(b, wait, &p);
	if (n < 0)
		return n;
	if (n > 0 && search_piece(b, p, (size_t)n) < 0)
		return UPSTREAM_STOP;
	if (is_done(b) && !was_done && search_piece(b, "", 0) < 0)
		return UPSTREAM_STOP;
	return n > 0;
}

/* ---- when libcurl asks ---- */

static ssize_t take_ready(struct request_body *b, void *p, size_t n)
{
	size_t have = b->ready.len - b->ready_at;
	size_t len = have < n ? have : n;
	memcpy(p, b->ready.data + b->ready_at, len);
	b->ready_at += len;
	return (ssize_t)len;
}

static ssize_t read_searched(struct request_body *b, void *p, size_t n)
{
	while (b->ready_at == b->ready.len && !is_done(b)) {
		compact_ready(b);
		ssize_t rc = make_ready(b, false);
		if (rc < 0)
			return rc;
	}
	return b->ready_at < b->ready.len ? take_ready(b, p, n) : 0;
}

/* The window may hold more than libcurl has room for: the rest goes back to ready. */
static ssize_t read_straight(struct request_body *b, void *p, size_t n)
{
	const char *piece;
	ssize_t len = next_piece(b, false, &piece);
	if (len <= 0)
		return len;
	size_t fit = (size_t)len < n ? (size_t)len : n;
	memcpy(p, piece, fit);
	if (fit < (size_t)len) {
		compact_ready(b);
		buf_add(&b->ready, piece + fit, (size_t)len - fit);
	}
	return buf_failed(&b->ready) ? UPSTREAM_STOP : (ssize_t)fit;
}

ssize_t request_body_read(struct request_body *b, void *p, size_t n)
{
	if (b->ready_at < b->ready.len)
		return take_ready(b, p, n);
	bool searched = !leak_empty(b->guard.l) || !leak_empty(b->swap.l);
	return searched ? read_searched(b, p, n) : read_straight(b, p, n);
}

/* Possible while all of the body that was ever taken is still there. */
bool request_body_rewind(struct request_body *b)
{
	if (b->head->in.got > b->ready.len)
		return false;
	b->ready_at = 0;
	return true;
}

/* ---- before anything goes out ---- */

struct unpack {
	struct leak_stream search;
	struct buf waste;
	size_t total, limit;
};

static int search_unpacked(void *arg, const void *p, size_t n)
{
	struct unpack *u = arg;
	u->total += n;
	if (u->total > u->limit)
		return -1;
	u->waste.len = 0;
	return leak_guard(&u->search, p, n, &u->waste, NULL) == 0 ? 0 : -1;
}

/* A compressed body: all of it is here; is there one of l in what it unfolds to? */
static int guard_packed(struct request_body *b, enum coding_kind kind, const struct leak *l)
{
	struct unpack u = {.search.l = l, .limit = b->ready.len * PACKED_RATIO + 65536};
	struct decoding *d = coding_new(kind);
	if (!d)
		return refuse_memory(b->no);
	int rc = coding_push(d, buf_str(&b->ready), b->ready.len, search_unpacked, &u);
	if (rc == 0)
		rc = leak_guard_end(&u.search, &u.waste, NULL);
	bool whole = coding_ended(d);
	bool leak = u.search.hits > 0;
	coding_free(&d);
	leak_stream_end(&u.search);
	if (u.waste.data)
		explicit_bzero(u.waste.data, u.waste.cap);
	buf_free(&u.waste);
	if (leak)
		return l == b->swap.l ? refuse_standin(b->no) : refuse_leak(b->no, b->head->v.row);
	if (rc == 0 && whole)
		return 0;
	return refuse(b->no, 403, "encoded-body", "the compressed body cannot be searched for keys",
		NULL);
}

static int read_up_to(struct request_body *b, size_t most)
{
	while (!is_done(b) && b->ready.len < most)
		if (make_ready(b, true) < 0)
			return -1;
	return 0;
}

/*
 * Small bodies wholly, compressed ones too (or they are refused), of large ones the beginning; the
 * rest is searched as it streams. What nobody searches is read first when it is small, so that it
 * can be sent again if a kept connection turns out dead.
 */
int request_body_guard(struct request_body *b, struct request_head *head, struct refusal *no)
{
	const struct http_request *in = &head->in;
	b->head = head;
	b->no = no;
	b->guard.l = head->guard;
	b->swap.l = head->swaps ? head->row->swap : NULL;
	if (is_done(b))
		return 0;
	if (leak_empty(b->guard.l) && leak_empty(b->swap.l))
		return in->head.chunked || in->left > SMALL ? 0 : read_up_to(b, SIZE_MAX);
	enum coding_kind kind = coding_of(in->head.field, in->head.nfields);
	if (kind == CODING_UNKNOWN)
		return refuse(no, 403, "encoded-body",
			"a body with this Content-Encoding cannot be searched for keys", NULL);
	if (read_up_to(b, kind == CODING_NONE ? AHEAD : PACKED_MAX) < 0)
		return -1;
	if (kind == CODING_NONE)
		return 0;
	if (!is_done(b))
		return refuse(no, 403, "encoded-body",
			"a compressed body over 1 MB cannot be searched for keys", NULL);
	if (guard_packed(b, kind, b->guard.l) < 0)
		return -1;
	/* No stand-in goes up as it is: the host would be given one for a key. */
	return leak_empty(b->swap.l) ? 0 : guard_packed(b, kind, b->swap.l);
}

void request_body_free(struct request_body *b)
{
	if (b->ready.data)
		explicit_bzero(b->ready.data, b->ready.cap);
	buf_free(&b->ready);
	leak_stream_end(&b->guard);
	leak_stream_end(&b->swap);
}

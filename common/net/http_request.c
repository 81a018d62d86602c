#include "net/http_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int take_head(struct http_request *r, size_t n)
{
	struct http_conn *c = r->c;
	r->raw = malloc(n + 1);
	if (!r->raw)
		return -1;
	memcpy(r->raw, c->in, n);
	r->raw[n] = '\0';
	r->raw_len = n;
	c->at = n;
	return 0;
}

/* 0, -1 the connection is over, else a status. */
static int wait_for_head(struct http_request *r, const char **why)
{
	struct http_conn *c = r->c;
	size_t from = 0;
	http_conn_compact(c);
	for (;;) {
		ssize_t n = http_head_end(c->in ? c->in : "", c->len, &from);
		if (n > HTTP_HEAD_MAX || (n == 0 && c->len >= HTTP_HEAD_MAX)) {
			*why = "the request's head is over 32 KB";
			return 431;
		}
		if (n < 0) {
			*why = "the head has a bare CR, LF or a NUL";
			return 400;
		}
		if (n > 0)
			return take_head(r, (size_t)n);
		if (http_conn_fill(c, true) != HTTP_GOT)
			return -1;
	}
}

int http_request_read(struct http_request *r, struct http_conn *c, const char **why)
{
	r->c = c;
	r->close = true;
	int status = wait_for_head(r, why);
	if (status == 0)
		status = http_parse(r->raw, r->raw_len, &r->head, why);
	if (status)
		return status;
	r->close = r->head.close;
	r->left = r->head.length;
	r->body_done = !r->head.chunked && r->left == 0;
	r->asked = r->body_done || !r->head.expect_continue;
	return 0;
}

void http_request_end(struct http_request *r)
{
	if (r->raw)
		explicit_bzero(r->raw, r->raw_len);
	free(r->raw);
	*r = (struct http_request){0};
}

bool http_request_is(const struct http_request *r, const char *method)
{
	return r->head.method.n == strlen(method) &&
	       memcmp(r->head.method.p, method, r->head.method.n) == 0;
}

static int ask(struct http_request *r)
{
	r->asked = true;
	http_conn_puts(r->c, "HTTP/1.1 100 Continue\r\n\r\n");
	return http_conn_flush(r->c);
}

/* What is in the window of this body; 0 need more, or at the end. */
static ssize_t eat(struct http_request *r, const char **data)
{
	struct http_conn *c = r->c;
	size_t have = c->len - c->at, used, len = 0;
	if (!r->head.chunked) {
		*data = c->in + c->at;
		len = (int64_t)have < r->left ? have : (size_t)r->left;
		c->at += len;
		r->left -= (int64_t)len;
		r->body_done = r->left == 0;
	} else if (have) {
		int rc = http_chunks_feed(&r->chunks, c->in + c->at, have, &used, data, &len);
		c->at += used;
		r->body_done = rc == 1;
		if (rc < 0)
			return HTTP_BODY_MALFORMED;
	}
	r->got += len;
	return (ssize_t)len;
}

ssize_t http_request_body(struct http_request *r, uint64_t max, bool wait, const char **data)
{
	struct http_conn *c = r->c;
	if (!r->asked && ask(r) < 0)
		return HTTP_BODY_GONE;
	while (!r->body_done) {
		ssize_t n = eat(r, data);
		if (r->got > max)
			return HTTP_BODY_LARGE;
		if (n)
			return n;
		if (r->body_done || c->at < c->len)
			continue;
		enum http_got got = http_conn_fill(c, wait);
		if (got == HTTP_AGAIN)
			return HTTP_BODY_WAIT;
		if (got != HTTP_GOT) {
			c->dead = true; /* it won't hear an answer either */
			return HTTP_BODY_GONE;
		}
	}
	return 0;
}

/* ---- answering ---- */

static void put_date(struct http_conn *c)
{
	char line[48];
	struct tm tm;
	time_t now = time(NULL);
	gmtime_r(&now, &tm);
	strftime(line, sizeof line, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
	http_conn_puts(c, line);
}

static void put_header(struct http_conn *c, const struct http_header *h)
{
	if (!h->value)
		return;
	if (!http_value_ok(h->value, strlen(h->value)))
		c->dead = true;
	http_conn_puts(c, h->name);
	http_conn_puts(c, ": ");
	http_conn_puts(c, h->value);
	http_conn_puts(c, "\r\n");
}

/* Without what frames the body. */
static void put_answer_head(
	struct http_request *r, int status, const struct http_header *h, size_t n)
{
	struct http_conn *c = r->c;
	char line[80];
	r->close = r->close || !r->body_done || (c->ending && *c->ending);
	snprintf(line, sizeof line, "HTTP/1.1 %d %s\r\n", status, http_phrase(status));
	http_conn_puts(c, line);
	put_date(c);
	for (size_t i = 0; i < n; i++)
		put_header(c, &h[i]);
}

int http_request_answer(struct http_request *r, int status, const struct http_header *h, size_t n,
	const void *body, size_t len)
{
	struct http_conn *c = r->c;
	char line[80];
	put_answer_head(r, status, h, n);
	snprintf(line, sizeof line, "Content-Length: %zu\r\n%s\r\n", len,
		r->close ? "Connection: close\r\n" : "");
	http_conn_puts(c, line);
	if (!http_request_is(r, "HEAD"))
		http_conn_put(c, body, len);
	return http_conn_flush(c);
}

int http_request_begin(struct http_request *r, int status, const struct http_header *h, size_t n)
{
	r->close = r->close || r->head.http10;
	put_answer_head(r, status, h, n);
	if (!r->head.http10)
		http_conn_puts(r->c, "Transfer-Encoding: chunked\r\n");
	http_conn_puts(r->c, r->close ? "Connection: close\r\n\r\n" : "\r\n");
	return http_conn_flush(r->c);
}

int http_request_piece(struct http_request *r, const void *p, size_t n)
{
	char line[24];
	if (!n)
		return 0;
	snprintf(line, sizeof line, "%zx\r\n", n);
	if (!r->head.http10)
		http_conn_puts(r->c, line);
	http_conn_put(r->c, p, n);
	if (!r->head.http10)
		http_conn_puts(r->c, "\r\n");
	return http_conn_flush(r->c);
}

int http_request_finish(struct http_request *r)
{
	if (!r->head.http10)
		http_conn_puts(r->c, "0\r\n\r\n");
	return http_conn_flush(r->c);
}

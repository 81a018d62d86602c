/* The strict parser: each malformed head beside the well-formed one that it comes from. */
#include "net/http.h"
#include "../lib/tap.h"

#include <stdlib.h>

#define GET "GET / HTTP/1.1\r\nHost: x\r\n"

static const struct {
	int status; /* 0: accepted; -1: http_head_end() refuses it; -2: it wants more */
	const char *head;
} heads[] = {
	{0, GET "\r\n"},
	{0, "GET /?q=%20a HTTP/1.1\r\nHost: x\r\nA: \t b\t \r\nB:\r\n\r\n"},
	{0, "GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n"},
	{0, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
	{0, "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "CONNECT  HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET * HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET x HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET /#f HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET / HTTP/1.1 \r\nHost: x\r\n\r\n"},
	{400, "GET /\r\nHost: x\r\n\r\n"},
	{505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
	{505, "GET / HTTP/0.9\r\nHost: x\r\n\r\n"},
	{400, "GET / http/1.1\r\nHost: x\r\n\r\n"},
	{400, "G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "G(T / HTTP/1.1\r\nHost: x\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n Host: x\r\n\r\n"},
	{400, GET "A: b\r\n c\r\n\r\n"},
	{400, GET "A: b\r\n\tc\r\n\r\n"},
	{400, GET ": b\r\n\r\n"},
	{400, GET "A\r\n\r\n"},
	{400, GET "A b: c\r\n\r\n"},
	{400, GET "A: b\x01\r\n\r\n"},
	{400, GET "A: b\x7f\r\n\r\n"},
	{0, GET "A: b\xe9\r\n\r\n"},
	{-1, "GET / HTTP/1.1\nHost: x\n\n"},
	{-1, GET "A: b\nC: d\r\n\r\n"},
	{-1, GET "A: b\rC: d\r\n\r\n"},
	{-1, "\r\n" GET "\r\n"},
	{-2, GET},
	{-2, GET "A: b\r"},
	{0, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"},
	{0, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 05\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5 5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551621\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"},
	{0, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{0, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: "
	      "5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
	      "chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked,\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	      "chunked\r\n\r\n"},
	{400, "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{0, "GET / HTTP/1.0\r\nHost: x\r\n\r\n"},
	{400, "GET / HTTP/1.0\r\n\r\n"},
	{400, "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"},
	{0, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"},
	{417, "POST / HTTP/1.1\r\nHost: x\r\nExpect: gold\r\n\r\n"},
};

static int judge(const char *head, struct http_head *h)
{
	size_t from = 0;
	const char *why = "";
	ssize_t end = http_head_end(head, strlen(head), &from);
	if (end < 0)
		return -1;
	if (end == 0)
		return -2;
	return http_parse(head, (size_t)end, h, &why);
}

static void show(const char *s)
{
	printf("#   ");
	for (; *s; s++)
		printf(*s < ' ' ? "\\x%02x" : "%c", (unsigned char)*s);
	printf("\n");
}

static void test_heads(struct tap *t)
{
	struct http_head h;
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		int got = judge(heads[i].head, &h);
		if (!ok(t, got == heads[i].status, "head %zu: %d", i, heads[i].status)) {
			printf("# got %d\n", got);
			show(heads[i].head);
		}
	}
}

static void test_meaning(struct tap *t)
{
	struct http_head h;
	judge("POST https://x/a?b HTTP/1.1\r\nHost: x\r\nConnection: close, foo\r\nFoo: 1\r\n"
	      "Content-Length: 12\r\nUpgrade: h2c\r\nTE: trailers\r\nBar: 2\r\n\r\n",
		&h);
	ok(t, h.target.n == 4 && memcmp(h.target.p, "/a?b", 4) == 0, "absolute form: the path");
	ok(t, h.authority.n == 1 && h.absolute_https, "absolute form: host and scheme");
	ok(t, h.close && h.upgrade && h.length == 12, "close, upgrade and length are noted");
	ok(t,
		http_drop_request(&h, (struct http_text){"foo", 3}) &&
			http_drop_request(&h, (struct http_text){"TE", 2}) &&
			!http_drop_request(&h, (struct http_text){"Bar", 3}),
		"hop-by-hop fields are dropped, those that Connection names too, others not");
	judge("GET / HTTP/1.0\r\nHost: x\r\n\r\n", &h);
	ok(t, h.close && h.http10, "1.0 closes");
	ok(t,
		http_list_has((struct http_text){"br;q=1, gzip;q=0.5", 18}, "gzip") &&
			!http_list_has((struct http_text){"xgzip", 5}, "gzip"),
		"words of a list");
}

static bool text_is(struct http_text t, const char *want)
{
	return t.p ? want && t.n == strlen(want) && memcmp(t.p, want, t.n) == 0 : !want;
}

static bool same_text(char *got, const char *want)
{
	bool same = got ? want && strcmp(got, want) == 0 : !want;
	free(got);
	return same;
}

static void test_targets(struct tap *t)
{
	static const struct {
		const char *target, *name, *value;
	} asked[] = {{"/a?b=c", "b", "c"}, {"/a?b=", "b", ""}, {"/a?b", "b", NULL},
		{"/a?bb=c&b=d", "b", "d"}, {"/a?b=c&b=d", "b", "c"}, {"/a", "b", NULL},
		{"/a?b=c+d%20e%2B", "b", "c d e+"}, {"/a?b=%zz%4", "b", "%zz%4"},
		{"/b=c", "b", NULL}, {"/a?x?b=c", "b", NULL}, {"/a?&&b=c=d&", "b", "c=d"}};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		ok(t,
			same_text(http_query((struct http_text){asked[i].target,
						     strlen(asked[i].target)},
					  asked[i].name),
				asked[i].value),
			"query of %s", asked[i].target);
	ok(t, same_text(http_path((struct http_text){"/a%2fb+c?d/e", 12}), "/a/b+c"),
		"a path is decoded, its plus stays, the query is not in it");
}

static void test_cookies(struct tap *t)
{
	struct http_head h;
	judge(GET "Cookie: xa=1; a=2; a=3;b=\r\nX: c=9\r\nCookie: c=4\r\n\r\n", &h);
	ok(t, text_is(http_cookie(&h, "a"), "2"), "a cookie: the first of its name");
	ok(t, text_is(http_cookie(&h, "b"), ""), "one without a value");
	ok(t, text_is(http_cookie(&h, "c"), "4"), "in a second field, not in another one");
	ok(t, text_is(http_cookie(&h, "d"), NULL) && text_is(http_cookie(&h, "x"), NULL),
		"none of that name");
}

static void test_limits(struct tap *t)
{
	static char head[HTTP_HEAD_MAX];
	struct http_head h;
	size_t n = (size_t)sprintf(head, GET);
	for (int i = 0; i < HTTP_FIELDS_MAX - 1; i++)
		n += (size_t)sprintf(head + n, "A: b\r\n");
	sprintf(head + n, "\r\n");
	ok(t, judge(head, &h) == 0, "%d fields are taken", HTTP_FIELDS_MAX);
	sprintf(head + n, "A: b\r\n\r\n");
	ok(t, judge(head, &h) == 431, "one more is not");
}

static const struct {
	int rc; /* 1: whole, -1: malformed, 0: wants more */
	const char *wire, *body;
} chunks[] = {
	{1, "5\r\nhello\r\n0\r\n\r\n", "hello"},
	{1, "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
	{1, "a\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
	{1, "0A\r\n0123456789\r\n00\r\n\r\n", "0123456789"},
	{1, "5;x=y\r\nhello\r\n0\r\nTrailer: z\r\n\r\n", "hello"},
	{0, "5\r\nhel", "hel"},
	{0, "5\r\nhello\r\n0\r\n", "hello"},
	{-1, "+5\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "-5\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "0x5\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, " 5\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "5 \r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "5\nhello\r\n0\r\n\r\n", NULL},
	{-1, "5\r\nhello0\r\n\r\n", NULL},
	{-1, "5\r\nhello\n0\r\n\r\n", NULL},
	{-1, "\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "g\r\n", NULL},
	{-1, "1000000000000\r\n", NULL},
	{-1, "5;a\nb\r\nhello\r\n0\r\n\r\n", NULL},
	{-1, "0\r\n: z\r\n\r\n", NULL},
	{-1, "0\r\nA: z\n\r\n", NULL},
};

/* Fed in pieces of `step` bytes the answer must be the same. */
static int feed(const char *wire, size_t step, char *body)
{
	struct http_chunks c = {0};
	size_t n = strlen(wire), at = 0, len = 0;
	body[0] = '\0';
	while (at < n) {
		size_t used, got, have = n - at < step ? n - at : step;
		const char *data;
		int rc = http_chunks_feed(&c, wire + at, have, &used, &data, &got);
		memcpy(body + len, data, got);
		len += got;
		at += used;
		body[len] = '\0';
		if (rc)
			return rc;
	}
	return 0;
}

static void test_chunks(struct tap *t)
{
	for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
		for (size_t step = 1; step < 40; step += 6) {
			char body[64] = "";
			int rc = feed(chunks[i].wire, step, body);
			bool good = rc == chunks[i].rc &&
				    (!chunks[i].body || strcmp(body, chunks[i].body) == 0);
			ok(t, good, "chunks %zu by %zu: %d", i, step, chunks[i].rc);
		}
	}
}

int main(void)
{
	struct tap t = {0};
	test_heads(&t);
	test_meaning(&t);
	test_targets(&t);
	test_cookies(&t);
	test_limits(&t);
	test_chunks(&t);
	return tap_done(&t);
}

#include "gate/request_answer.h"

#include "base/limits.h"

#include <stdio.h>
#include <string.h>

static int refuse_echo(struct request_answer *a)
{
	return refuse(a->no, 502, "repeats-key",
		"the host's answer repeats a sealed key, where no stand-in can be put", NULL);
}

static void put_text(struct request_answer *a, struct http_text t)
{
	size_t at = a->head.len;
	buf_add(&a->head, t.p, t.n);
	if (!buf_failed(&a->head) && leak_replace(a->unswap.l, a->head.data + at, t.n) < 0)
		refuse_echo(a);
}

static void put_status_line(struct request_answer *a, const struct upstream_head *h)
{
	buf_addf(&a->head, "HTTP/1.1 %d ", h->status);
	if (h->phrase.n)
		put_text(a, h->phrase);
	else
		buf_adds(&a->head, http_phrase(h->status));
	buf_adds(&a->head, "\r\n");
}

static void send_head(struct request_answer *a)
{
	if (a->head_sent)
		return;
	a->head_sent = true;
	http_conn_put(a->in->c, buf_str(&a->head), a->head.len);
}

/* -1 when the answer does not tell. */
static int64_t length_of(const struct upstream_head *h)
{
	int64_t n;
	bool told = http_length(http_find(h->field, h->nfields, "Content-Length"), &n) == 0 &&
		    !http_find(h->field, h->nfields, "Transfer-Encoding").n;
	return told ? n : -1;
}

/* Sees to it that the body will be counted and searched as what it is. */
static int plan_decoding(struct request_answer *a, const struct upstream_head *h)
{
	enum coding_kind kind = coding_of(h->field, h->nfields);
	if (a->bodyless || kind == CODING_NONE)
		return 0;
	bool sealed = !leak_empty(a->unswap.l);
	if (kind == CODING_UNKNOWN || h->status == 206 || (sealed && kind != CODING_GZIP)) {
		if (!sealed)
			return 0;
		return refuse(a->no, 502, "encoded-answer",
			"the host's answer is encoded in a way that cannot be searched", NULL);
	}
	a->as_it_came = !sealed;
	a->decode = coding_new(kind);
	a->pack = sealed ? packing_new() : NULL;
	return a->decode && (a->pack || !sealed) ? 0 : refuse_memory(a->no);
}

static int too_large(struct request_answer *a)
{
	return refuse(a->no, 502, "answer-too-large",
		a->decode ? "the host's answer is over " LIMIT_TEXT(LIMIT_ANSWER_MB) " MB unpacked"
			  : "the host's answer is over " LIMIT_TEXT(LIMIT_ANSWER_MB) " MB",
		NULL);
}

static int cut_short(struct request_answer *a)
{
	return refuse(a->no, 502, "broken", "the host's answer is cut short", NULL);
}

static int plan_framing(struct request_answer *a, const struct upstream_head *h)
{
	struct http_request *in = a->in;
	int64_t length = length_of(h);
	a->bodyless = http_request_is(in, "HEAD") || h->status == 204 || h->status == 304;
	if (plan_decoding(a, h) < 0)
		return -1;
	if (!a->bodyless && length > (int64_t)MB(LIMIT_ANSWER_MB))
		return too_large(a);
	a->left = a->decode && !a->as_it_came ? -1 : length;
	a->chunked = !a->bodyless && a->left < 0 && !in->head.http10;
	/* Ends by closing: a 1.0 client and no length, or a body of its own that it still sends. */
	in->close = in->close || in->head.http10 || !in->body_done;
	return 0;
}

static void put_framing(struct request_answer *a)
{
	if (a->chunked)
		buf_adds(&a->head, "Transfer-Encoding: chunked\r\n");
	if (a->left >= 0 && a->status != 204 && a->status != 304)
		buf_addf(&a->head, "Content-Length: %lld\r\n", (long long)a->left);
	if (a->in->close)
		buf_adds(&a->head, "Connection: close\r\n");
	buf_adds(&a->head, "\r\n");
}

int request_answer_head(struct request_answer *a, const struct upstream_head *h)
{
	if (plan_framing(a, h) < 0)
		return -1;
	a->status = h->status;
	put_status_line(a, h);
	for (size_t i = 0; i < h->nfields; i++) {
		struct http_text name = h->field[i].name;
		if (http_drop_response(name))
			continue;
		put_text(a, name);
		buf_adds(&a->head, ": ");
		put_text(a, h->field[i].value);
		buf_adds(&a->head, "\r\n");
	}
	put_framing(a);
	if (buf_failed(&a->head))
		return refuse_memory(a->no);
	if (a->no->status)
		return -1;
	/* Where the body may yet be refused for what it repeats, its first bytes bring the head;
	 * where there is none, request_answer_end() does. */
	if (leak_empty(a->unswap.l) && !a->bodyless && a->left != 0)
		send_head(a);
	return a->in->c->dead ? -1 : 0;
}

static int put_body(struct request_answer *a, const void *p, size_t n)
{
	struct http_conn *c = a->in->c;
	char line[24];
	if (!n)
		return 0;
	send_head(a);
	if (a->left >= 0 && (int64_t)n > a->left)
		return refuse(
			a->no, 502, "broken", "the host's answer is longer than it says", NULL);
	if (a->chunked) {
		snprintf(line, sizeof line, "%zx\r\n", n);
		http_conn_puts(c, line);
	}
	/* Nobody has an answer whole before it is written down: a flush may come at any time. */
	a->held = a->left == (int64_t)n;
	if (a->held)
		a->last = ((const char *)p)[n - 1];
	http_conn_put(c, p, n - a->held);
	if (a->chunked)
		http_conn_puts(c, "\r\n");
	if (a->left >= 0)
		a->left -= (int64_t)n;
	return c->dead ? -1 : 0;
}

static int put_packed(void *arg, const void *p, size_t n)
{
	return put_body(arg, p, n);
}

/* What came of the stream's last step goes on, as it is or packed again. */
static int put_swapped(struct request_answer *a, int rc, bool last, struct buf *out)
{
	if (rc < 0)
		rc = a->unswap.stuck ? refuse_echo(a) : refuse_memory(a->no);
	else if (a->pack)
		rc = packing_push(a->pack, buf_str(out), out->len, last, put_packed, a);
	else
		rc = put_body(a, buf_str(out), out->len);
	buf_free(out);
	return rc;
}

/* Of what is decoded. */
static int count_body(void *arg, const void *p, size_t n)
{
	struct request_answer *a = arg;
	(void)p;
	a->got += n;
	return a->got > MB(LIMIT_ANSWER_MB) ? too_large(a) : 0;
}

/* Decoded body: counted, the value put back to the stand-in, passed on. */
static int pass_body(void *arg, const void *p, size_t n)
{
	struct request_answer *a = arg;
	if (count_body(a, p, n) < 0)
		return -1;
	if (leak_empty(a->unswap.l))
		return put_body(a, p, n);
	struct buf out = {0};
	return put_swapped(a, leak_push(&a->unswap, p, n, &out), false, &out);
}

int request_answer_body(struct request_answer *a, const void *p, size_t n)
{
	if (a->bodyless)
		return 0;
	if (!a->decode)
		return pass_body(a, p, n);
	if (coding_push(a->decode, p, n, a->as_it_came ? count_body : pass_body, a) < 0)
		return refuse(a->no, 502, "broken",
			"the host's answer is not in the encoding it names", NULL);
	if (!a->as_it_came)
		return 0;
	/* With its last bytes it would look whole. */
	if (a->left == (int64_t)n && !coding_ended(a->decode))
		return cut_short(a);
	return put_body(a, p, n);
}

void request_answer_probe(struct request_answer *a)
{
	struct http_conn *c = a->in->c;
	if (a->head_sent && a->chunked)
		http_conn_puts(c, "0"); /* the next chunk's length begins with it */
	else if (!a->head_sent && !a->in->head.http10)
		http_conn_puts(c, "HTTP/1.1 100 Continue\r\n\r\n");
	http_conn_flush(c);
}

int request_answer_end(struct request_answer *a)
{
	struct buf out = {0};
	if (a->decode && !coding_ended(a->decode))
		return cut_short(a);
	if (put_swapped(a, leak_flush(&a->unswap, &out), true, &out) < 0)
		return -1;
	send_head(a);
	if (a->held)
		http_conn_put(a->in->c, &a->last, 1);
	if (a->chunked)
		http_conn_puts(a->in->c, "0\r\n\r\n");
	else if (!a->bodyless && a->left > 0)
		return cut_short(a);
	return a->in->c->dead ? -1 : 0;
}

void request_answer_refuse(struct request_answer *a)
{
	struct http_request *in = a->in;
	const struct refusal *no = a->no;
	const struct http_header headers[] = {
		{"X-Evctl-Gate", no->reason}, {"Content-Type", "application/json"}};
	BUF_AUTO body = {0};
	in->close = in->close || no->status == 400;
	buf_addf(&body, "{\"error\":\"%s\",\"reason\":\"%s\"", no->why, no->reason);
	if (no->hint[0])
		buf_addf(&body, ",\"hint\":\"%s\"", no->hint);
	buf_adds(&body, "}\n");
	http_request_answer(in, no->status, headers, 2, buf_str(&body), body.len);
}

void request_answer_free(struct request_answer *a)
{
	leak_stream_end(&a->unswap);
	coding_free(&a->decode);
	packing_free(&a->pack);
	buf_free(&a->head);
}

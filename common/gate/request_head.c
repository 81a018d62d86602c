#include "gate/request_head.h"

#include "base/limits.h"
#include "gate/swap.h"

#include <string.h>

static int judge(struct request_head *h, struct call *call, struct refusal *no)
{
	const struct http_conn *c = h->in.c;
	struct policy_where where = {
		.port = c->port, .tls = c->tls != NULL, .sni = c->tls ? c->sni : NULL};
	policy_judge(call->rows, call->nrows, &h->in.head, &where, &h->v);
	if (!h->v.row)
		return refuse(no, h->v.status, h->v.reason, h->v.why, h->v.hint);
	h->row = call_row(call, (size_t)(h->v.row - call->rows));
	if (!h->row)
		return refuse_memory(no);
	h->guard = c->tls ? h->row->guard : h->row->guard_plain;
	h->swaps = c->tls || h->v.row->host.plain;
	if (h->in.head.length > (int64_t)MB(LIMIT_REQUEST_MB))
		return refuse(no, 413, "body-too-large",
			"the request's body is over " LIMIT_TEXT(LIMIT_REQUEST_MB) " MB", NULL);
	return 0;
}

static int guard(struct request_head *h, struct call *call, struct refusal *no)
{
	const struct policy_row *row = h->v.row;
	const struct http_request *in = &h->in;
	/* A name is looked up and sent in clear, so no key at all belongs in it, nor its own. */
	if (host_is_wildcard(&row->host) &&
		leak_find(call_guarded(call), h->v.host, strlen(h->v.host), NULL))
		return refuse_leak(no, row);
	if (leak_empty(h->guard))
		return 0;
	if (!leak_find(h->guard, in->raw, in->raw_len, NULL))
		return 0;
	bool own = !in->c->tls && !row->host.plain && row->key >= 0;
	if (!own || leak_find(h->row->guard, in->raw, in->raw_len, NULL))
		return refuse_leak(no, row);
	return refuse_row(no, 403, "plain", "a key would go over plain HTTP", "evctl-host set", row,
		" --plain yes");
}

int request_head_read(
	struct request_head *h, struct call *call, struct http_conn *c, struct refusal *no)
{
	const char *why = "";
	int status = http_request_read(&h->in, c, &why);
	if (status < 0)
		return 0;
	if (status)
		return refuse(
			no, status, status == 431 ? "head-too-large" : "bad-request", why, NULL);
	return judge(h, call, no) < 0 || guard(h, call, no) < 0 ? -1 : 1;
}

/* ---- the way out ---- */

static int swap_failed(struct request_head *h, struct refusal *no)
{
	return buf_failed(&h->lines) ? refuse_memory(no) : refuse_standin(no);
}

/* Of a part of an answer nobody can say whether it holds the beginning of a sealed key. */
static bool asks_for_part(struct http_text name)
{
	return http_is(name, "Range") || http_is(name, "If-Range");
}

static int add_swapped(struct request_head *h, const struct leak *swap, struct http_field f)
{
	/* libcurl's way to say "with no value" */
	buf_add(&h->lines, f.name.p, f.name.n);
	buf_adds(&h->lines, f.value.n ? ": " : ";");
	if (f.value.n && swap_text(swap, f.name.p, f.name.n, f.value.p, f.value.n, &h->lines) < 0)
		return -1;
	buf_addc(&h->lines, '\0');
	return 0;
}

/* We decode what comes back (it is counted and searched), so only what we can decode is asked for.
 */
static const char *accept_encoding(const struct http_head *h, bool whole)
{
	struct http_text asked = http_find(h->field, h->nfields, "Accept-Encoding");
	if (!asked.n)
		return NULL;
	bool gzip = http_list_has(asked, "gzip") &&
		    (whole || !http_find(h->field, h->nfields, "Range").n);
	return gzip ? "Accept-Encoding: gzip" : "Accept-Encoding: identity";
}

int request_head_write(struct request_head *h, struct refusal *no)
{
	const struct http_head *in = &h->in.head;
	const struct leak *swap = h->swaps ? h->row->swap : NULL;
	struct buf *b = &h->lines;
	size_t n = 0;
	/* One piece of memory that does not move, so that no copy of a swapped value stays behind.
	 */
	b->limit = (size_t)4 * HTTP_HEAD_MAX;
	if (buf_reserve(b, (size_t)2 * HTTP_HEAD_MAX) < 0)
		return refuse_memory(no);
	buf_add(b, in->method.p, in->method.n);
	buf_addc(b, '\0');
	if (swap_text(swap, "", 0, in->target.p, in->target.n, b) < 0)
		return swap_failed(h, no);
	buf_addc(b, '\0');
	size_t from = b->len;
	for (size_t i = 0; i < in->nfields; i++)
		if (!http_drop_request(in, in->field[i].name) &&
			!(swap && asks_for_part(in->field[i].name)) &&
			add_swapped(h, swap, in->field[i]) < 0)
			return swap_failed(h, no);
	for (size_t at = from; at < b->len; at += strlen(b->data + at) + 1)
		h->fields[n++] = b->data + at;
	const char *accept = accept_encoding(in, swap != NULL);
	if (accept)
		h->fields[n++] = accept;
	h->fields[n] = NULL;
	return buf_failed(b) ? refuse_memory(no) : 0;
}

void request_head_free(struct request_head *h)
{
	http_request_end(&h->in);
	if (h->lines.data)
		explicit_bzero(h->lines.data, h->lines.len);
	buf_free(&h->lines);
}

/*
 * libFuzzer: bytes as a request, head and chunked body, then the policy's verdict. What must hold:
 * whatever is accepted reads in one way only, and only a row's own name gets a row.
 */
#include "net/http.h"
#include "gate/policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct policy_row rows[] = {
	{.host = {.name = "api.x.example", .port = 443}, .key = -1},
	{.host = {.name = "*.x.example", .port = 443}, .key = -1},
	{.host = {.name = "odd.example", .port = 8443}, .key = -1},
};

static void must(int holds)
{
	if (!holds)
		abort();
}

static size_t count(const struct http_head *h, const char *name)
{
	size_t n = 0;
	for (size_t i = 0; i < h->nfields; i++)
		n += http_is(h->field[i].name, name);
	return n;
}

static void check_head(const struct http_head *h)
{
	must(count(h, "Host") == 1 && count(h, "Content-Length") <= 1);
	must(count(h, "Transfer-Encoding") <= 1 && !(h->chunked && h->has_length));
	must(h->length >= 0 && !(h->http10 && h->chunked));
	must(http_token_ok(h->method.p, h->method.n) && h->target.n > 0);
	for (size_t i = 0; i < h->target.n; i++)
		must(h->target.p[i] > 0x20 && h->target.p[i] < 0x7f);
	for (size_t i = 0; i < h->nfields; i++) {
		must(http_token_ok(h->field[i].name.p, h->field[i].name.n));
		must(http_value_ok(h->field[i].value.p, h->field[i].value.n));
		must(!memchr(h->field[i].value.p, 0, h->field[i].value.n));
	}
}

static void check_verdict(const struct http_head *h, const struct policy_where *w)
{
	struct policy_verdict v;
	policy_judge(rows, sizeof rows / sizeof rows[0], h, w, &v);
	if (!v.row) {
		must((v.status == 400 || v.status == 403) && v.reason && v.why);
		return;
	}
	must(!w->tls || strcmp(w->sni, v.host) == 0);
	const char *name = v.row->host.name;
	must(host_is_wildcard(&v.row->host) ? host_below(v.host, name + 2) : !strcmp(v.host, name));
	must(!h->upgrade && !http_is(h->method, "CONNECT") && !http_is(h->method, "TRACE"));
}

/* What is taken out of a head is in it, or shorter where it was decoded. */
static void check_parts(const struct http_head *h)
{
	struct http_text cookie = http_cookie(h, "a");
	char *path = http_path(h->target), *value = http_query(h->target, "a");
	must(path && strlen(path) <= h->target.n);
	must(!value || strlen(value) + 2 <= h->target.n);
	bool inside = !cookie.p;
	for (size_t i = 0; i < h->nfields && !inside; i++)
		inside = cookie.p >= h->field[i].value.p &&
			 cookie.p + cookie.n <= h->field[i].value.p + h->field[i].value.n;
	must(inside);
	free(path);
	free(value);
}

static void check_chunks(const char *p, size_t n)
{
	struct http_chunks whole = {0}, cut = {0};
	size_t used, len, total = 0, total2 = 0, at = 0;
	const char *d;
	int rc = 0, rc2 = 0;
	while (rc == 0 && at < n) {
		rc = http_chunks_feed(&whole, p + at, n - at, &used, &d, &len);
		must(used > 0 && d >= p && d + len <= p + n);
		at += used;
		total += len;
	}
	for (size_t i = 0; rc2 == 0 && i < n; i++) {
		rc2 = http_chunks_feed(&cut, p + i, 1, &used, &d, &len);
		must(used == 1);
		total2 += len;
	}
	must(rc == rc2 && total == total2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct policy_where where[] = {
		{.port = 443, .tls = true, .sni = "api.x.example"},
		{.port = 443, .tls = true, .sni = "a.x.example"},
		{.port = 8443, .tls = true, .sni = "odd.example"}, {.port = 80}};
	size_t from = 0, from2 = 0;
	struct http_head h;
	const char *why = "";
	char *p = malloc(n + 1);
	must(p != NULL);
	memcpy(p, data, n);
	p[n] = '\0';
	ssize_t end = http_head_end(p, n, &from), end2 = 0;
	for (size_t i = 0; i <= n && end2 == 0; i++)
		end2 = http_head_end(p, i, &from2);
	must(end == end2);
	if (end > 0 && http_parse(p, (size_t)end, &h, &why) == 0) {
		check_head(&h);
		check_parts(&h);
		for (size_t i = 0; i < 4; i++)
			check_verdict(&h, &where[i]);
		check_chunks(p + end, n - (size_t)end);
	} else {
		check_chunks(p, n);
	}
	free(p);
	return 0;
}

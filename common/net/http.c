#include "net/http.h"
#include "base/limits.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_token_char(unsigned char c)
{
	if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	return c && strchr("!#$%&'*+-.^_`|~", c);
}

static bool is_token(struct http_text t)
{
	for (size_t i = 0; i < t.n; i++)
		if (!is_token_char((unsigned char)t.p[i]))
			return false;
	return t.n > 0;
}

bool http_token_ok(const char *p, size_t n)
{
	return is_token((struct http_text){p, n});
}

bool http_is(struct http_text t, const char *word)
{
	return t.n == strlen(word) && strncasecmp(t.p, word, t.n) == 0;
}

static struct http_text trim(struct http_text t)
{
	while (t.n && (t.p[0] == ' ' || t.p[0] == '\t'))
		t.p++, t.n--;
	while (t.n && (t.p[t.n - 1] == ' ' || t.p[t.n - 1] == '\t'))
		t.n--;
	return t;
}

/* The next part of a list, up to the mark; the list moves on behind it. */
static struct http_text next_part(struct http_text *list, char mark)
{
	const char *end = memchr(list->p, mark, list->n);
	struct http_text part = {list->p, end ? (size_t)(end - list->p) : list->n};
	size_t eaten = part.n + (end ? 1 : 0);
	list->p += eaten;
	list->n -= eaten;
	return part;
}

bool http_list_has(struct http_text list, const char *word)
{
	while (list.n) {
		struct http_text item = next_part(&list, ',');
		if (http_is(trim(next_part(&item, ';')), word))
			return true;
	}
	return false;
}

bool http_value_ok(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

ssize_t http_head_end(const char *p, size_t n, size_t *from)
{
	size_t i = *from;
	for (; i < n; i++) {
		if (p[i] == '\0')
			return -1;
		if (p[i] == '\n')
			return -1; /* a CR would have taken it along */
		if (p[i] != '\r')
			continue;
		if (i + 1 == n)
			break;
		if (p[i + 1] != '\n' || i == 0)
			return -1; /* bare CR, or an empty line before the request */
		if (i >= 2 && p[i - 1] == '\n')
			return (ssize_t)i + 2;
		i++;
	}
	*from = i;
	return 0;
}

static int bad(const char **why, const char *text)
{
	*why = text;
	return 400;
}

static bool target_char_ok(unsigned char c)
{
	return c > 0x20 && c < 0x7f && c != '#';
}

static int take_absolute(struct http_head *h, const char **why)
{
	struct http_text t = h->target;
	h->absolute_https = t.n > 8 && strncasecmp(t.p, "https://", 8) == 0;
	size_t skip = h->absolute_https ? 8 : 7;
	if (!h->absolute_https && !(t.n > 7 && strncasecmp(t.p, "http://", 7) == 0))
		return bad(why, "the request target is neither a path nor an http URL");
	h->authority.p = t.p + skip;
	while (skip + h->authority.n < t.n && !strchr("/?", t.p[skip + h->authority.n]))
		h->authority.n++;
	h->target.p += skip + h->authority.n;
	h->target.n -= skip + h->authority.n;
	if (!h->authority.n || !h->target.n || h->target.p[0] != '/')
		return bad(why, "the request target has no host or no path");
	return 0;
}

static int parse_request_line(struct http_text line, struct http_head *h, const char **why)
{
	const char *sp = memchr(line.p, ' ', line.n);
	const char *sp2 = sp ? memchr(sp + 1, ' ', line.n - (size_t)(sp + 1 - line.p)) : NULL;
	if (!sp2)
		return bad(why, "the request line is malformed");
	h->method = (struct http_text){line.p, (size_t)(sp - line.p)};
	h->target = (struct http_text){sp + 1, (size_t)(sp2 - sp - 1)};
	struct http_text version = {sp2 + 1, line.n - (size_t)(sp2 + 1 - line.p)};
	if (!is_token(h->method) || h->method.n > 32)
		return bad(why, "the method is malformed");
	if (!h->target.n || version.n != 8 || memcmp(version.p, "HTTP/", 5) != 0)
		return bad(why, "the request line is malformed");
	if (memcmp(version.p + 5, "1.0", 3) == 0)
		h->http10 = h->close = true;
	else if (memcmp(version.p + 5, "1.1", 3) != 0) {
		*why = "the HTTP version is not 1.1";
		return 505;
	}
	for (size_t i = 0; i < h->target.n; i++)
		if (!target_char_ok((unsigned char)h->target.p[i]))
			return bad(
				why, "a character in the request target must be percent-encoded");
	if (h->target.n && h->target.p[0] == '/')
		return 0;
	if (http_is(h->method, "CONNECT"))
		return 0; /* refused by the policy, whatever it names */
	if (h->target.n == 1 && h->target.p[0] == '*' && http_is(h->method, "OPTIONS"))
		return 0;
	return take_absolute(h, why);
}

int http_length(struct http_text v, int64_t *out)
{
	if (v.n == 0 || v.n > 18)
		return -1;
	int64_t n = 0;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return -1;
		n = n * 10 + (v.p[i] - '0');
	}
	*out = n;
	return 0;
}

static int note_field(struct http_head *h, const struct http_field *f, const char **why)
{
	if (http_is(f->name, "Host")) {
		if (h->host.p)
			return bad(why, "Host comes twice");
		h->host = f->value;
	} else if (http_is(f->name, "Content-Length")) {
		if (h->has_length)
			return bad(why, "Content-Length comes twice");
		if (http_length(f->value, &h->length) < 0)
			return bad(why, "Content-Length is not a number");
		h->has_length = true;
	} else if (http_is(f->name, "Transfer-Encoding")) {
		if (h->chunked || !http_is(f->value, "chunked"))
			return bad(why, "Transfer-Encoding is not just 'chunked'");
		h->chunked = true;
	} else if (http_is(f->name, "Connection")) {
		h->close = h->close || http_list_has(f->value, "close");
		h->upgrade = h->upgrade || http_list_has(f->value, "upgrade");
	} else if (http_is(f->name, "Upgrade")) {
		h->upgrade = true;
	} else if (http_is(f->name, "Expect")) {
		if (!http_is(f->value, "100-continue")) {
			*why = "Expect is not '100-continue'";
			return 417;
		}
		h->expect_continue = !h->http10;
	}
	return 0;
}

static int parse_field(struct http_text line, struct http_head *h, const char **why)
{
	if (line.p[0] == ' ' || line.p[0] == '\t')
		return bad(why, "a header is folded over lines");
	const char *colon = memchr(line.p, ':', line.n);
	if (!colon)
		return bad(why, "a header has no colon");
	struct http_field f = {.name = {line.p, (size_t)(colon - line.p)}};
	f.value = trim((struct http_text){colon + 1, line.n - f.name.n - 1});
	if (!is_token(f.name))
		return bad(why, "a header's name is malformed");
	if (!http_value_ok(f.value.p, f.value.n))
		return bad(why, "a control character is in a header");
	if (h->nfields == HTTP_FIELDS_MAX) {
		*why = "the request has over " LIMIT_TEXT(HTTP_FIELDS_MAX) " headers";
		return 431;
	}
	h->field[h->nfields++] = f;
	return note_field(h, &f, why);
}

static int check_whole(const struct http_head *h, const char **why)
{
	if (!h->host.p)
		return bad(why, "Host is missing");
	if (h->chunked && h->has_length)
		return bad(why, "Content-Length and Transfer-Encoding together");
	if (h->chunked && h->http10)
		return bad(why, "Transfer-Encoding in HTTP/1.0");
	if (http_is(h->method, "HEAD") && (h->chunked || h->length))
		return bad(why, "a HEAD request with a body");
	return 0;
}

int http_parse(const char *p, size_t n, struct http_head *h, const char **why)
{
	memset(h, 0, sizeof *h);
	const char *end = p + n;
	for (bool first = true; p < end; first = false) {
		const char *cr = memchr(p, '\r', (size_t)(end - p));
		if (!cr || cr + 1 >= end || cr[1] != '\n')
			return bad(why, "a line does not end in CR LF");
		struct http_text line = {p, (size_t)(cr - p)};
		p = cr + 2;
		if (!line.n)
			return p == end && !first ? check_whole(h, why)
						  : bad(why, "the head is malformed");
		int status = first ? parse_request_line(line, h, why) : parse_field(line, h, why);
		if (status)
			return status;
	}
	return bad(why, "the head has no end");
}

struct http_text http_find(const struct http_field *field, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (http_is(field[i].name, name))
			return field[i].value;
	return (struct http_text){"", 0};
}

/* Whether it is "name=..."; then part becomes the value. */
static bool take_value(struct http_text *part, const char *name)
{
	size_t n = strlen(name);
	if (part->n <= n || memcmp(part->p, name, n) != 0 || part->p[n] != '=')
		return false;
	part->p += n + 1;
	part->n -= n + 1;
	return true;
}

struct http_text http_cookie(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->nfields; i++) {
		struct http_text list = h->field[i].value;
		while (http_is(h->field[i].name, "Cookie") && list.n) {
			struct http_text part = trim(next_part(&list, ';'));
			if (take_value(&part, name))
				return part;
		}
	}
	return (struct http_text){0};
}

static char *decoded(struct http_text t, bool form)
{
	char *s = malloc(t.n + 1);
	if (!s)
		return NULL;
	memcpy(s, t.p, t.n);
	for (size_t i = 0; form && i < t.n; i++)
		if (s[i] == '+')
			s[i] = ' ';
	s[text_unpercent(s, t.n, s)] = '\0';
	return s;
}

char *http_path(struct http_text target)
{
	return decoded(next_part(&target, '?'), false);
}

char *http_query(struct http_text target, const char *name)
{
	next_part(&target, '?');
	while (target.n) {
		struct http_text part = next_part(&target, '&');
		if (take_value(&part, name))
			return decoded(part, true);
	}
	return NULL;
}

int http_pair(struct http_text *rest, char **name, char **value)
{
	struct http_text part = {0};
	while (rest->n && !part.n)
		part = next_part(rest, '&');
	if (!part.n)
		return 0;
	struct http_text before = next_part(&part, '=');
	*name = decoded(before, true);
	*value = decoded(part, true);
	if (*name && *value)
		return 1;
	free(*name);
	free(*value);
	return -1;
}

const char *http_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} known[] = {{200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"},
		{206, "Partial Content"}, {301, "Moved Permanently"}, {302, "Found"},
		{303, "See Other"}, {304, "Not Modified"}, {307, "Temporary Redirect"},
		{308, "Permanent Redirect"}, {400, "Bad Request"}, {401, "Unauthorized"},
		{403, "Forbidden"}, {404, "Not Found"}, {405, "Method Not Allowed"},
		{406, "Not Acceptable"}, {409, "Conflict"}, {410, "Gone"},
		{412, "Precondition Failed"}, {413, "Content Too Large"},
		{415, "Unsupported Media Type"}, {417, "Expectation Failed"},
		{421, "Misdirected Request"}, {422, "Unprocessable Content"},
		{429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"}, {502, "Bad Gateway"}, {503, "Service Unavailable"},
		{504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"}};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].status == status)
			return known[i].phrase;
	return "";
}

static bool is_any(struct http_text name, const char *const *list)
{
	for (; *list; list++)
		if (http_is(name, *list))
			return true;
	return false;
}

static const char *const hop_fields[] = {"Connection", "Keep-Alive", "Proxy-Connection",
	"Proxy-Authenticate", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length", "X-Evctl-Gate", NULL};

bool http_drop_request(const struct http_head *h, struct http_text name)
{
	static const char *const own[] = {
		"Host", "Expect", "Accept-Encoding", "HTTP2-Settings", NULL};
	if (is_any(name, hop_fields) || is_any(name, own))
		return true;
	char word[64];
	if (name.n >= sizeof word)
		return false;
	memcpy(word, name.p, name.n);
	word[name.n] = '\0';
	for (size_t i = 0; i < h->nfields; i++)
		if (http_is(h->field[i].name, "Connection") &&
			http_list_has(h->field[i].value, word))
			return true;
	return false;
}

bool http_drop_response(struct http_text name)
{
	static const char *const own[] = {"Alt-Svc", NULL};
	return is_any(name, hop_fields) || is_any(name, own);
}

enum {
	SIZE,
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,
	TRAILER_LINE,
	TRAILER_LF,
	LAST_LF
};

static int expect(struct http_chunks *c, char got, char want, int next)
{
	c->state = next;
	return got == want ? 0 : -1;
}

static int size_char(struct http_chunks *c, char ch)
{
	int v = text_hex(ch);
	if (v >= 0) {
		c->left = c->left * 16 + (unsigned)v;
		return ++c->digits > 12 ? -1 : 0;
	}
	if (!c->digits)
		return -1;
	if (ch != ';')
		return expect(c, ch, '\r', SIZE_LF);
	c->state = EXTENSION;
	return 0;
}

/* Extensions and trailers are read past, within reason, and never passed on. */
static int skipped_char(struct http_chunks *c, char ch, int at_cr)
{
	if (ch == '\r')
		c->state = at_cr;
	else if (!http_value_ok(&ch, 1) || ++c->extra > 4096)
		return -1;
	return 0;
}

/* One byte that is not body. 1: it was the last of all. */
static int frame_char(struct http_chunks *c, char ch)
{
	switch (c->state) {
	case SIZE:
		return size_char(c, ch);
	case EXTENSION:
		return skipped_char(c, ch, SIZE_LF);
	case SIZE_LF:
		c->digits = 0;
		return expect(c, ch, '\n', c->left ? DATA : TRAILER);
	case DATA_CR:
		return expect(c, ch, '\r', DATA_LF);
	case DATA_LF:
		return expect(c, ch, '\n', SIZE);
	case TRAILER:
		if (ch == '\r')
			return expect(c, ch, '\r', LAST_LF);
		c->state = TRAILER_LINE;
		return is_token_char((unsigned char)ch) ? 0 : -1;
	case TRAILER_LINE:
		return skipped_char(c, ch, TRAILER_LF);
	case TRAILER_LF:
		return expect(c, ch, '\n', TRAILER);
	default:
		return ch == '\n' ? 1 : -1;
	}
}

int http_chunks_feed(struct http_chunks *c, const char *p, size_t n, size_t *used,
	const char **data, size_t *len)
{
	*len = 0;
	*data = p;
	for (*used = 0; *used < n;) {
		if (c->state == DATA) {
			*data = p + *used;
			*len = c->left < n - *used ? (size_t)c->left : n - *used;
			*used += *len;
			c->left -= *len;
			if (!c->left)
				c->state = DATA_CR;
			return 0;
		}
		int rc = frame_char(c, p[(*used)++]);
		if (rc)
			return rc;
	}
	return 0;
}

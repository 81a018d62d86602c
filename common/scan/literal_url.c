#include "scan/sema.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 253

/* Names of vocabularies, which nobody means to ask. */
static bool is_vocabulary(const char *host)
{
	static const char *const names[] = {"www.w3.org", "w3.org", "purl.org", "xmlns.com",
		"json-schema.org", "schema.org", "ns.adobe.com"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], host) == 0)
			return true;
	return strncmp(host, "schemas.", 8) == 0;
}

/* A name with a dot in it whose last label is no number: no address, and not localhost. */
static bool is_name(const char *host)
{
	const char *dot = strrchr(host, '.');
	return dot && dot[1] && host[0] != '.' && !strstr(host, "..") &&
	       strspn(dot + 1, "0123456789") != strlen(dot + 1);
}

static size_t host_length(const char *s, size_t n)
{
	size_t i = 0;
	while (i < n && (s[i] == '.' || s[i] == '-' || (s[i] >= '0' && s[i] <= '9') ||
				(s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z')))
		i++;
	return i;
}

/* ":8443" moves at; -1 where something else follows the colon. */
static int port_of(const char *s, size_t n, size_t *at)
{
	int port = 0;
	size_t i = *at + 1;
	for (; i < n && s[i] >= '0' && s[i] <= '9' && port < 65536; i++)
		port = 10 * port + s[i] - '0';
	bool digits = i > *at + 1;
	*at = i;
	return digits && port && port < 65536 ? port : -1;
}

/* Whether a text that begins with http:// or https:// says which host it is for. */
static bool read_url(struct scan *s, const struct parse_url *u, struct scan_url *out)
{
	const char *p = u->text;
	size_t n = u->n, at = p[4] == 's' ? 8 : 7;
	if (n <= at || memcmp(p + at - 3, "://", 3) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] <= ' ')
			return false;
	size_t len = host_length(p + at, n - at);
	char *host = arena_copy(&s->arena, p + at, len);
	for (size_t i = 0; i < len; i++)
		host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] | 0x20 : host[i]);
	out->host = host;
	out->port = 443;
	at += len;
	if (at < n && p[at] == ':' && (out->port = port_of(p, n, &at)) < 0)
		return false;
	out->port = out->port == 80 ? 443 : out->port;
	/* What a field of an f-string goes on with may belong to the name. */
	bool whole = at == n ? u->whole : strchr("/?#", p[at]) != NULL;
	return whole && len <= LABELS_MAX && is_name(host) && !is_vocabulary(host);
}

void url_note(struct scan *s, const struct scan_file *file, const struct parse_url *list)
{
	for (const struct parse_url *u = list; u; u = u->next) {
		struct scan_url url = {.file = file->name, .line = (int)u->line};
		if (!read_url(s, u, &url))
			continue;
		VEC_GROW(&s->arena, s->urls);
		s->urls.v[s->urls.n++] = url;
	}
}

static int compare(const void *pa, const void *pb)
{
	const struct scan_url *a = pa, *b = pb;
	int order = strcmp(a->host, b->host);
	if (!order)
		order = a->port - b->port;
	if (!order)
		order = strcmp(a->file, b->file);
	return order ? order : a->line - b->line;
}

const struct scan_url *scan_urls(struct scan *s, size_t *n)
{
	*n = s->urls.n;
	if (*n)
		qsort(s->urls.v, *n, sizeof *s->urls.v, compare);
	return s->urls.v;
}

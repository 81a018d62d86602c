#include "gate/policy.h"

#include <stdio.h>
#include <string.h>

static bool serves(const struct host *h, uint16_t port, bool tls)
{
	if (h->port == 443)
		return port == (tls ? 443 : 80);
	return h->port == port && tls == !h->plain;
}

static bool names(const struct host *h, const char *name)
{
	return host_is_wildcard(h) ? host_below(name, h->name + 2) : strcmp(name, h->name) == 0;
}

static bool closer(const struct host *a, const struct host *b)
{
	if (host_is_wildcard(a) != host_is_wildcard(b))
		return !host_is_wildcard(a);
	return strlen(a->name) > strlen(b->name);
}

static const struct policy_row *policy_find(
	const struct policy_row *rows, size_t n, const char *name, uint16_t port, bool tls)
{
	const struct policy_row *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (serves(&rows[i].host, port, tls) && names(&rows[i].host, name) &&
			(!best || closer(&rows[i].host, &best->host)))
			best = &rows[i];
	return best;
}

bool policy_speaks(const struct policy_row *rows, size_t n, uint16_t port, bool tls)
{
	for (size_t i = 0; i < n; i++)
		if (serves(&rows[i].host, port, tls))
			return true;
	return false;
}

static int refuse(struct policy_verdict *v, int status, const char *reason, const char *why)
{
	v->status = status;
	v->reason = reason;
	v->why = why;
	return -1;
}

/* HOST[:PORT] into its canonical name; *port is the scheme's when none is written. */
static int split_authority(
	struct http_text t, bool tls, char name[HOST_MAX], uint16_t *port, const char **why)
{
	const char *colon = t.n && t.p[0] != '[' ? memchr(t.p, ':', t.n) : NULL;
	*port = tls ? 443 : 80;
	if (colon) {
		unsigned v = 0;
		const char *p = colon + 1, *end = t.p + t.n;
		if (p == end || end - p > 5)
			v = 1 << 20;
		for (; p < end && v < 1 << 20; p++)
			v = *p >= '0' && *p <= '9' ? v * 10 + (unsigned)(*p - '0') : 1 << 20;
		if (v == 0 || v > 65535) {
			*why = "the port in Host is malformed";
			return -1;
		}
		*port = (uint16_t)v;
		t.n = (size_t)(colon - t.p);
	}
	return host_normalise(t.p, t.n, name, why);
}

static int judge_method(const struct http_head *h, struct policy_verdict *v)
{
	if (http_is(h->method, "CONNECT") || http_is(h->method, "TRACE"))
		return refuse(v, 403, "method", "CONNECT and TRACE do not go through the gate");
	if (h->upgrade)
		return refuse(
			v, 403, "upgrade", "upgrades (WebSocket, h2c) do not go through the gate");
	return 0;
}

/* All that names the server must name the same one. */
static int judge_agreement(
	const struct http_head *h, const struct policy_where *w, struct policy_verdict *v)
{
	uint16_t port, port2;
	char name[HOST_MAX];
	const char *why;
	if (split_authority(h->host, w->tls, v->host, &port, &why) < 0) {
		v->host[0] = '\0';
		return refuse(v, 400, "bad-request", why);
	}
	if (port != w->port)
		return refuse(v, 403, "port", "the port in Host is not the one connected to");
	if (w->tls && (!w->sni || strcmp(w->sni, v->host) != 0))
		return refuse(
			v, 403, "sni", "Host is not the name that the TLS connection was made for");
	if (!h->authority.p)
		return 0;
	if (h->absolute_https != w->tls ||
		split_authority(h->authority, w->tls, name, &port2, &why) < 0 || port2 != port ||
		strcmp(name, v->host) != 0)
		return refuse(v, 400, "bad-request", "the request target and Host differ");
	return 0;
}

static const struct policy_row *on_any_port(
	const struct policy_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (names(&rows[i].host, name))
			return &rows[i];
	return NULL;
}

static void judge_rows(const struct policy_row *rows, size_t n, const struct policy_where *w,
	struct policy_verdict *v)
{
	v->row = policy_find(rows, n, v->host, w->port, w->tls);
	if (v->row)
		return;
	char spec[HOST_TEXT_MAX];
	bool usual = w->port == (w->tls ? 443 : 80);
	if (usual)
		snprintf(spec, sizeof spec, "%s", v->host);
	else
		snprintf(spec, sizeof spec, "%s:%u", v->host, w->port);
	snprintf(v->hint, sizeof v->hint, "evctl-host add %s%s && evctl-expert attach EXPERT %s",
		spec, usual || w->tls ? "" : " --plain", spec);
	const struct policy_row *other = policy_find(rows, n, v->host, w->port, !w->tls);
	if (other) {
		host_text(&other->host, spec);
		snprintf(v->hint, sizeof v->hint, "evctl-host set %s --plain %s", spec,
			w->tls ? "no" : "yes");
	}
	if (other || on_any_port(rows, n, v->host))
		refuse(v, 403, "port", "the host is attached, but not with this port and scheme");
	else
		refuse(v, 403, "host", "the host is not attached to this expert");
}

void policy_judge(const struct policy_row *rows, size_t n, const struct http_head *head,
	const struct policy_where *where, struct policy_verdict *v)
{
	memset(v, 0, sizeof *v);
	if (judge_agreement(head, where, v) < 0 || judge_method(head, v) < 0)
		return;
	judge_rows(rows, n, where, v);
}

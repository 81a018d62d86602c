#include "broker/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void broker_url_free(struct broker_url *u)
{
	free(u->target);
	u->target = NULL;
}

static int check_bytes(const char *url, struct err *e)
{
	size_t n = strlen(url);
	if (n > BROKER_URL_MAX)
		return err_set(e, ERR_USAGE, "the URL is longer than %d bytes", BROKER_URL_MAX);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)url[i];
		if (c <= 0x20 || c >= 0x7f)
			return err_set(e, ERR_USAGE, "a byte in the URL must be percent-encoded");
		if (c == '\\')
			return err_set(e, ERR_USAGE, "the URL holds a backslash");
	}
	return 0;
}

static int take_scheme(const char **at, struct broker_url *u, struct err *e)
{
	u->https = strncasecmp(*at, "https://", 8) == 0;
	if (!u->https && strncasecmp(*at, "http://", 7) != 0) {
		err_set(e, ERR_USAGE, "not an https URL");
		return err_hint(e, "https://HOST/PATH");
	}
	*at += u->https ? 8 : 7;
	return 0;
}

/* ":8443" at the end of an authority; *n becomes the length before it. */
static int take_port(const char *p, size_t *n, uint16_t *port, struct err *e)
{
	const char *colon = memrchr(p, ':', *n);
	*port = 443;
	if (!colon || memchr(colon, ']', *n - (size_t)(colon - p)))
		return 0;
	const char *digits = colon + 1;
	size_t len = *n - (size_t)(digits - p);
	unsigned long v = 0;
	for (size_t i = 0; i < len; i++) {
		if (digits[i] < '0' || digits[i] > '9' || i >= 5)
			return err_set(e, ERR_USAGE, "the URL's port is not a number");
		v = v * 10 + (unsigned long)(digits[i] - '0');
	}
	if (!len || *digits == '0' || v > 65535)
		return err_set(e, ERR_USAGE, "the URL's port is not a number from 1 to 65535");
	*port = (uint16_t)v;
	*n = (size_t)(colon - p);
	return 0;
}

static int take_authority(const char *p, size_t n, struct broker_url *u, struct err *e)
{
	const char *why;
	if (memchr(p, '@', n))
		return err_set(e, ERR_USAGE, "the URL holds user information before its host");
	if (!n)
		return err_set(e, ERR_USAGE, "the URL has no host");
	snprintf(u->text, sizeof u->text, "%.*s", (int)(n < 200 ? n : 200), p);
	if (take_port(p, &n, &u->port, e) < 0)
		return -1;
	if (host_normalise(p, n, u->host, &why) < 0) {
		u->host[0] = '\0';
		return 0;
	}
	if (u->port == 443)
		snprintf(u->text, sizeof u->text, "%s", u->host);
	else
		snprintf(u->text, sizeof u->text, "%s:%u", u->host, u->port);
	return 0;
}

static int take_target(const char *p, struct broker_url *u, struct err *e)
{
	size_t n = strcspn(p, "#");
	if (n >= 2 && p[0] == '/' && p[1] == '/')
		return err_set(e, ERR_USAGE, "the URL's path begins with '//'");
	if (asprintf(&u->target, "%s%.*s", *p == '/' ? "" : "/", (int)n, p) < 0) {
		u->target = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	return 0;
}

int broker_url_parse(const char *url, struct broker_url *u, struct err *e)
{
	const char *at = url;
	if (check_bytes(url, e) < 0 || take_scheme(&at, u, e) < 0)
		return -1;
	size_t n = strcspn(at, "/?#");
	if (take_authority(at, n, u, e) < 0)
		return -1;
	return take_target(at + n, u, e);
}

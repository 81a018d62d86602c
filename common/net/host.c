#include "net/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void route_free(struct route *r)
{
	free((char *)r->connect_to);
	free((char *)r->ca);
	*r = (struct route){0};
}

void host_free(struct host *h)
{
	free((char *)h->name);
	route_free(&h->route);
	*h = (struct host){0};
}

int route_copy(struct route *to, const struct route *from, struct err *e)
{
	*to = (struct route){.allow_private = from->allow_private,
		.connect_to = from->connect_to ? strdup(from->connect_to) : NULL,
		.ca = from->ca ? strdup(from->ca) : NULL};
	if (!to->connect_to == !from->connect_to && !to->ca == !from->ca)
		return 0;
	route_free(to);
	return err_set(e, ERR_FAIL, "out of memory");
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool route_same(const struct route *a, const struct route *b)
{
	return a->allow_private == b->allow_private && same_text(a->connect_to, b->connect_to) &&
	       same_text(a->ca, b->ca);
}

bool host_is(const struct host *a, const struct host *b)
{
	return a->port == b->port && strcmp(a->name, b->name) == 0;
}

bool host_same(const struct host *a, const struct host *b)
{
	return host_is(a, b) && a->plain == b->plain && route_same(&a->route, &b->route);
}

void host_text(const struct host *h, char out[HOST_TEXT_MAX])
{
	if (h->port == 443)
		snprintf(out, HOST_TEXT_MAX, "%s", h->name);
	else
		snprintf(out, HOST_TEXT_MAX, "%s:%u", h->name, h->port);
}

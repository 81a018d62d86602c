#include "verify/notes.h"

#include "net/hostname.h"

#include <string.h>

struct note_maker {
	struct state *st;
	const struct expert_view *v;
	bool registered;
	json_t *list;
};

static bool covers(const struct host *have, const struct host *want)
{
	if (host_is_wildcard(want) || !host_is_wildcard(have))
		return host_is(have, want);
	return have->port == want->port && host_below(want->name, have->name + 2);
}

static bool is_covered(const struct expert_view *v, const struct host *want)
{
	for (size_t i = 0; i < v->nhosts; i++)
		if (covers(&v->hosts[i].host, want))
			return true;
	return false;
}

static bool is_declared(struct state *st, const char *text)
{
	BOUND_HOST_AUTO h = {0};
	struct err none = {0};
	return st && host_find(st, text, &h, &none) == 0;
}

static bool is_noted(const json_t *list, const char *text)
{
	size_t i;
	json_t *n;
	json_array_foreach (list, i, n) {
		if (strcmp(json_text_of(n, "host"), text) == 0)
			return true;
	}
	return false;
}

/* What mends it; a directory that is no expert yet attaches what its `hosts:` names. */
static json_t *mend(const struct note_maker *x, const char *text)
{
	const char *name = x->v->name;
	if (!x->registered)
		return json_sprintf("evctl-host add %s", text);
	if (is_declared(x->st, text))
		return json_sprintf("evctl-expert attach %s %s", name, text);
	return json_sprintf("evctl-host add %s && evctl-expert attach %s %s", text, name, text);
}

static void note(struct note_maker *x, const char *given, const char *file, int line,
	const char *who, const char *what)
{
	HOST_AUTO h = {0};
	struct err none = {0};
	char text[HOST_TEXT_MAX];
	if (host_parse(given, &h, &none) < 0 || is_covered(x->v, &h))
		return;
	host_text(&h, text);
	if (is_noted(x->list, text) || (!x->registered && is_declared(x->st, text)))
		return;
	json_array_append_new(
		x->list, json_pack("{s:s,s:i,s:s,s:o,s:o}", "file", file, "line", line, "host",
				 text, "message", json_sprintf("%s %s, %s", who, text, what),
				 "hint", mend(x, text)));
}

json_t *notes_make(struct state *st, const struct expert_view *v, bool registered)
{
	struct note_maker x = {st, v, registered, json_array()};
	size_t i;
	json_t *u;
	for (i = 0; i < v->m.hosts.n; i++)
		note(&x, v->m.hosts.v[i], MANIFEST_FILE, 1, "'hosts:' names",
			registered ? "which is not attached" : "which is not declared");
	json_array_foreach (json_object_get(v->reads, "urls"), i, u)
		note(&x, json_text_of(u, "host"), json_text_of(u, "file"),
			(int)json_int_of(u, "line"), "a URL names",
			"which no attached host covers");
	return x.list;
}

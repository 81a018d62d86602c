#include "mcp/shelf.h"
#include "base/b64.h"
#include "base/text.h"
#include "base/grow.h"
#include "state/gallery.h"
#include "state/objects.h"
#include "state/run_record.h"

#include <stdlib.h>
#include <string.h>

void shelf_open(struct shelf *s, const char *expert)
{
	*s = (struct shelf){.expert = expert};
	pthread_mutex_init(&s->lock, NULL);
}

void shelf_close(struct shelf *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		free(s->v[i].type);
		free(s->v[i].uri);
	}
	free(s->v);
	pthread_mutex_destroy(&s->lock);
}

char *shelf_uri(const char *run, const char *name)
{
	struct buf b = {0};
	buf_addf(&b, "evctl://artifact/%s/", run);
	text_add_percent(&b, name, strlen(name), "-._~/");
	return buf_detach(&b);
}

static int append(struct shelf *s, const struct shelf_item *item)
{
	struct shelf_item *grown = grow(s->v, s->n, &s->cap, sizeof *grown);
	if (!grown)
		return -1;
	s->v = grown;
	s->v[s->n++] = *item;
	return 0;
}

int shelf_add(struct shelf *s, const char *run, const char *name, const char *type, size_t bytes)
{
	struct shelf_item item = {.name = strdup(name),
		.type = strdup(type),
		.uri = shelf_uri(run, name),
		.bytes = bytes};
	memccpy(item.run, run, 0, sizeof item.run - 1);
	int r = -1;
	if (item.name && item.type && item.uri) {
		pthread_mutex_lock(&s->lock);
		r = append(s, &item);
		pthread_mutex_unlock(&s->lock);
	}
	if (r == 0)
		return 0;
	free(item.name);
	free(item.type);
	free(item.uri);
	return -1;
}

json_t *shelf_resource(const char *run, const char *name, const char *type, size_t bytes)
{
	char *uri = shelf_uri(run, name);
	json_t *j = json_pack("{s:s,s:s,s:s,s:I}", "uri", uri ? uri : "", "name", name, "mimeType",
		type, "size", (json_int_t)bytes);
	free(uri);
	return j;
}

json_t *shelf_list(struct shelf *s)
{
	json_t *all = json_array();
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(all,
			shelf_resource(s->v[i].run, s->v[i].name, s->v[i].type, s->v[i].bytes));
	pthread_mutex_unlock(&s->lock);
	return all;
}

static bool is_text(const char *type)
{
	return strncmp(type, "text/", 5) == 0 || strcmp(type, "application/json") == 0 ||
	       strcmp(type, "image/svg+xml") == 0;
}

json_t *shelf_contents(const char *uri, const char *type, const void *p, size_t n)
{
	json_t *j = json_pack("{s:s,s:s}", "uri", uri, "mimeType", type);
	json_t *text = is_text(type) ? json_stringn(p, n) : NULL;
	if (text) {
		json_object_set_new(j, "text", text);
		return j;
	}
	BUF_AUTO b = {0};
	b64_encode(p, n, &b);
	json_object_set_new(j, "blob", json_stringn(buf_str(&b), b.len));
	return j;
}

/* Run and name of a URI that is on the shelf. 0, -1 when it is not. */
static int look_up(struct shelf *s, const char *uri, char run[17], char **name)
{
	int r = -1;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && r < 0; i++) {
		if (strcmp(s->v[i].uri, uri) != 0)
			continue;
		memcpy(run, s->v[i].run, 17);
		*name = strdup(s->v[i].name);
		r = *name ? 0 : -1;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Run and name of any URI, in the form that shelf_uri() makes. */
static int take_apart(const char *uri, char run[17], char **name)
{
	static const char before[] = "evctl://artifact/";
	size_t n = sizeof before - 1;
	const char *slash = strncmp(uri, before, n) == 0 ? strchr(uri + n, '/') : NULL;
	if (!slash || slash - (uri + n) != 16 || !slash[1])
		return -1;
	memcpy(run, uri + n, 16);
	run[16] = '\0';
	*name = strdup(slash + 1);
	if (!*name)
		return -1;
	(*name)[text_unpercent(*name, strlen(*name), *name)] = '\0';
	return 0;
}

/* Of a buyer's runs of this expert, and no other. */
static int check_expert(
	struct state *st, const char *run, const char *buyer, const char *expert, struct err *e)
{
	JSON_AUTO row = gallery_run(st, run, buyer, e);
	if (!row)
		return -1;
	return strcmp(json_text_of(row, "expert"), expert) == 0
		       ? 0
		       : err_set(e, ERR_NOTFOUND, "of another expert");
}

static int read_bytes(const struct state_place *place, const char *buyer, const char *expert,
	const char *run, const char *name, struct artifact *a, struct buf *bytes, struct err *e)
{
	STATE_AUTO st = {0};
	if (state_open(&st, place, STATE_WRITE, e) < 0 ||
		(buyer && check_expert(&st, run, buyer, expert, e) < 0) ||
		artifact_find(&st, run, name, buyer, a, e) < 0 ||
		objects_read(&st, a->sha256, (size_t)a->bytes, bytes, e) < 0)
		return -1;
	return buyer ? artifact_mark_fetched(&st, a, e) : 0;
}

json_t *shelf_read(struct shelf *s, const struct state_place *place, const char *buyer,
	enum mcp_rev rev, const char *uri, struct mcp_error *me)
{
	char run[17];
	char *name = NULL;
	ARTIFACT_AUTO a = {0};
	BUF_AUTO bytes = {0};
	struct err e = {0};
	int r = look_up(s, uri, run, &name);
	if (r < 0 && mcp_stateless(rev) && buyer)
		r = take_apart(uri, run, &name);
	if (r == 0)
		r = read_bytes(place, buyer, s->expert, run, name, &a, &bytes, &e);
	free(name);
	if (r == 0)
		return json_pack("{s:[o]}", "contents",
			shelf_contents(uri, a.type, buf_str(&bytes), bytes.len));
	if (e.code && e.code != ERR_NOTFOUND)
		mcp_fail(me, MCP_INTERNAL, NULL, "the resource cannot be read now");
	else
		mcp_fail(me, mcp_stateless(rev) ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE,
			json_pack("{s:s}", "uri", uri), "Resource not found");
	return NULL;
}

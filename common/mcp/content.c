#include "mcp/content.h"
#include "base/b64.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What clients take in one message is bounded; the rest is read as a resource. */
#define MEDIA_MAX ((size_t)1000000)
#define EMBED_MAX ((size_t)100000)

void content_open(struct content *c, enum mcp_rev rev)
{
	*c = (struct content){.rev = rev, .items = json_array()};
}

void content_text(struct content *c, const char *p, size_t n)
{
	json_array_append_new(
		c->items, json_pack("{s:s,s:o}", "type", "text", "text", json_text(p, n)));
}

void content_textf(struct content *c, const char *fmt, ...)
{
	BUF_AUTO b = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	content_text(c, buf_str(&b), b.len);
}

static const char *media_kind(const struct content *c, const struct run_file *f)
{
	if (!f->inline_ok || !f->data || f->n > MEDIA_MAX - c->media)
		return NULL;
	if (strncmp(f->type, "image/", 6) == 0)
		return "image";
	if (strncmp(f->type, "audio/", 6) == 0 && c->rev >= MCP_2025_03_26)
		return "audio";
	return NULL;
}

static void add_media(struct content *c, const char *kind, const struct run_file *f)
{
	BUF_AUTO b = {0};
	b64_encode(f->data, f->n, &b);
	c->media += f->n;
	json_array_append_new(
		c->items, json_pack("{s:s,s:o,s:s}", "type", kind, "data",
				  json_stringn(buf_str(&b), b.len), "mimeType", f->type));
}

/* Before 2025-06-18 there are no links: small files go along, of others the name is said. */
static void add_embedded(struct content *c, const char *run, const struct run_file *f)
{
	char *uri = shelf_uri(run, f->name);
	if (f->data && f->n <= EMBED_MAX)
		json_array_append_new(
			c->items, json_pack("{s:s,s:o}", "type", "resource", "resource",
					  shelf_contents(uri ? uri : "", f->type, f->data, f->n)));
	else
		content_textf(c, "%s available as a run artifact: %s", f->name, uri ? uri : "");
	free(uri);
}

void content_file(struct content *c, const char *run, const struct run_file *f)
{
	const char *kind = media_kind(c, f);
	if (kind)
		add_media(c, kind, f);
	if (c->rev < MCP_2025_06_18) {
		add_embedded(c, run, f);
		return;
	}
	json_t *link = shelf_resource(run, f->name, f->type, f->n);
	json_object_set_new(link, "type", json_string("resource_link"));
	json_object_set_new(link, "description", json_string("available as a run artifact"));
	json_array_append_new(c->items, link);
}

json_t *content_close(struct content *c)
{
	json_t *j = json_pack("{s:o,s:b}", "content", c->items, "isError", (int)c->is_error);
	if (c->structured)
		json_object_set_new(j, "structuredContent", c->structured);
	if (c->run[0] && c->rev >= MCP_2025_06_18)
		json_object_set_new(j, "_meta", json_pack("{s:s}", "evctl/run", c->run));
	*c = (struct content){0};
	return j;
}

static void add_result(struct content *c, const struct run_outcome *o, bool structured)
{
	struct err quiet = {0};
	content_text(c, buf_str(&o->result), o->result.len);
	if (!o->is_json || c->rev < MCP_2025_06_18)
		return;
	json_t *value = json_parse("result", buf_str(&o->result), o->result.len, &quiet);
	/* An object is structured content in any revision that knows it; else a schema must ask. */
	if (value && (json_is_object(value) || (structured && mcp_stateless(c->rev))))
		c->structured = json_incref(value);
	json_decref(value);
}

static void add_failure(struct content *c, const struct run_outcome *o)
{
	STR_AUTO names = strv_join(&o->missing, ", ");
	const char *word = run_status_word(o->status);
	c->is_error = true;
	if (o->missing.n)
		content_textf(c, "run %s: %s: %s must be supplied by the buyer", o->id, word,
			names ? names : "");
	else
		content_textf(c, "run %s: %s", o->id, word);
}

void content_outcome(struct content *c, const struct run_outcome *o, bool structured)
{
	snprintf(c->run, sizeof c->run, "%s", o->id);
	if (o->status != RUN_OK)
		add_failure(c, o);
	if (o->has_result)
		add_result(c, o, structured);
	for (size_t i = 0; i < o->nfiles; i++)
		content_file(c, o->id, &o->files[i]);
	for (size_t i = 0; i < o->nwithheld; i++)
		content_textf(c, "%s withheld: %s", o->withheld[i].name, o->withheld[i].why);
}

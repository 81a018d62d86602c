#include "base/json.h"
#include "base/text.h"

#include <string.h>

void json_auto_decref(json_t **j)
{
	json_decref(*j);
}

json_t *json_parse(const char *what, const void *p, size_t n, struct err *e)
{
	json_error_t je;
	json_t *j = json_loadb(p, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &je);
	if (!j)
		err_set(e, ERR_USAGE, "%s:%d:%d: %s", what, je.line, je.column, je.text);
	return j;
}

static int add_piece(const char *p, size_t n, void *data)
{
	buf_add(data, p, n);
	return 0;
}

void json_to_buf(const json_t *j, struct buf *b)
{
	if (json_dump_callback(j, add_piece, b, JSON_COMPACT | JSON_ENCODE_ANY) < 0)
		b->failed = true;
}

json_t *json_text(const char *p, size_t n)
{
	json_t *plain = json_stringn(p, n);
	if (plain)
		return plain;
	BUF_AUTO b = {.limit = n * 3 + 1};
	for (const char *end = p + n; p < end;) {
		const char *at = p;
		if (text_next(&p, end) < TEXT_BAD_BYTE)
			buf_add(&b, at, (size_t)(p - at));
		else
			buf_adds(&b, "\xef\xbf\xbd");
	}
	return json_stringn(buf_str(&b), b.len);
}

json_t *json_text_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

json_t *json_texts(const struct strv *texts)
{
	json_t *a = json_array();
	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(a, json_text_or_null(texts->v[i]));
	return a;
}

const char *json_text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

int64_t json_int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

json_t *json_take_first(json_t *array)
{
	json_t *first = json_incref(json_array_get(array, 0));
	json_decref(array);
	return first;
}

json_t *json_error(const struct err *e)
{
	return json_pack("{s:{s:i,s:s,s:o,s:o}}", "error", "code", ERR_EXIT_CODE(e->code), "kind",
		err_kind(e->code), "message", json_text_or_null(e->msg), "hint",
		json_text_or_null(e->hint[0] ? e->hint : NULL));
}

json_t *json_error_in(const struct err *e, int64_t line)
{
	json_t *o = json_error(e);
	if (line > 0)
		json_object_set_new(json_object_get(o, "error"), "line", json_integer(line));
	return o;
}

bool json_array_has(const json_t *array, const char *word)
{
	size_t i;
	json_t *v;
	json_array_foreach (array, i, v) {
		const char *s = json_string_value(v);
		if (s && strcmp(s, word) == 0)
			return true;
	}
	return false;
}

/* ---- changing texts ------------------------------------------------------------------------ */

struct change {
	int (*make)(void *ctx, struct buf *text);
	void *ctx;
};

static json_t *changed_text(const struct change *c, const char *p, size_t n)
{
	struct buf b = {0};
	buf_add(&b, p, n);
	bool failed = buf_failed(&b) || c->make(c->ctx, &b) < 0;
	json_t *text = failed ? NULL : json_text(buf_str(&b), b.len);
	buf_free(&b);
	return text;
}

static json_t *changed(const struct change *c, const json_t *v);

static int change_members(const struct change *c, const json_t *v, json_t *out)
{
	const char *key;
	size_t n;
	json_t *member;
	json_object_keylen_foreach ((json_t *)v, key, n, member) {
		JSON_AUTO name = changed_text(c, key, n);
		if (!name || json_object_setn_new(out, json_string_value(name),
				     json_string_length(name), changed(c, member)) < 0)
			return -1;
	}
	return 0;
}

static int change_items(const struct change *c, const json_t *v, json_t *out)
{
	json_t *item;
	size_t i;
	json_array_foreach (v, i, item) {
		if (json_array_append_new(out, changed(c, item)) < 0)
			return -1;
	}
	return 0;
}

static json_t *changed(const struct change *c, const json_t *v)
{
	if (json_is_string(v))
		return changed_text(c, json_string_value(v), json_string_length(v));
	if (!json_is_object(v) && !json_is_array(v))
		return json_copy((json_t *)v);
	json_t *out = json_is_object(v) ? json_object() : json_array();
	if ((json_is_object(v) ? change_members : change_items)(c, v, out) == 0)
		return out;
	json_decref(out);
	return NULL;
}

json_t *json_map_texts(const json_t *v, int (*change)(void *ctx, struct buf *text), void *ctx)
{
	return changed(&(struct change){change, ctx}, v);
}

const char *json_type_name(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_NULL:
		return "null";
	default:
		return "boolean";
	}
}

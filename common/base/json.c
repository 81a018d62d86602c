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

const char *json_text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

int64_t json_int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

bool json_array_has(const json_t *array, const char *word)
{
	size_t i;
	json_t *v;
	json_array_foreach(array, i, v)
	{
		const char *s = json_string_value(v);
		if (s && strcmp(s, word) == 0)
			return true;
	}
	return false;
}

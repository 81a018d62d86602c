#include "base/json.h"

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

/* Length of the valid UTF-8 sequence at p, or 0. RFC 3629: no surrogates, no overlong forms. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	if (p[0] < 0x80)
		return 1;
	size_t len = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
		     : (p[0] & 0xf0) == 0xe0	   ? 3
		     : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						   : 0;
	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

json_t *json_text(const char *p, size_t n)
{
	json_t *plain = json_stringn(p, n);
	if (plain)
		return plain;
	BUF_AUTO b = {.limit = n * 3 + 1};
	for (size_t i = 0; i < n;) {
		size_t len = utf8_len((const unsigned char *)p + i, n - i);
		if (len)
			buf_add(&b, p + i, len);
		else
			buf_adds(&b, "\xef\xbf\xbd");
		i += len ? len : 1;
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

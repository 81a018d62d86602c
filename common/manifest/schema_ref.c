#include "manifest/schema_ref.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* One token up to the next '/', decoded into b. Moves *s on. 0/-1. */
static int token(const char **s, struct buf *b)
{
	buf_clear(b);
	for (; **s && **s != '/'; (*s)++) {
		int c = (unsigned char)**s;
		if (c == '%') {
			int hi = text_hex((*s)[1]), lo = hi < 0 ? -1 : text_hex((*s)[2]);
			if (lo < 0 || hi + lo == 0)
				return -1;
			c = hi * 16 + lo;
			*s += 2;
		}
		buf_addc(b, (char)c);
	}
	return buf_failed(b) ? -1 : 0;
}

/* ~1 is '/', ~0 is '~', any other ~ is an error. In place. */
static int untilde(struct buf *b)
{
	size_t out = 0;
	for (size_t i = 0; i < b->len; i++) {
		char c = b->data[i];
		if (c == '~') {
			c = b->data[++i];
			if (c != '0' && c != '1')
				return -1;
			c = c == '0' ? '~' : '/';
		}
		b->data[out++] = c;
	}
	b->len = out;
	if (b->data)
		b->data[out] = '\0';
	return 0;
}

static json_t *step(const json_t *j, const char *name)
{
	if (json_is_object(j))
		return json_object_get(j, name);
	size_t n = strlen(name);
	if (!json_is_array(j) || !n || n > 9 || name[strspn(name, "0123456789")] ||
		(n > 1 && *name == '0'))
		return NULL;
	return json_array_get(j, strtoul(name, NULL, 10));
}

json_t *schema_ref(const json_t *root, const char *ref)
{
	const json_t *j = root;
	BUF_AUTO name = {0};
	if (*ref++ != '#')
		return NULL;
	while (j && *ref) {
		if (*ref++ != '/' || token(&ref, &name) < 0 || untilde(&name) < 0)
			return NULL;
		j = step(j, buf_str(&name));
	}
	return (json_t *)j;
}

#include "manifest/yaml_text.h"

#include <string.h>
#include <strings.h>

/* Anything that is not plainly a word is quoted as JSON, which YAML 1.2 takes. */
static bool is_plain(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
	static const char rest[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
	static const char *const words[] = {
		"true", "false", "null", "yes", "no", "on", "off", "y", "n", NULL};
	for (const char *const *w = words; *w; w++)
		if (strcasecmp(*w, s) == 0)
			return false;
	return *s && strchr(first, *s) && strspn(s, rest) == strlen(s);
}

void yaml_scalar(const json_t *v, struct buf *out)
{
	const char *s = json_string_value(v);
	if (s && is_plain(s))
		buf_adds(out, s);
	else
		json_to_buf(v, out);
}

void yaml_flow(const json_t *list, struct buf *out)
{
	size_t i;
	json_t *item;
	buf_addc(out, '[');
	json_array_foreach (list, i, item) {
		buf_adds(out, i ? ", " : "");
		yaml_scalar(item, out);
	}
	buf_addc(out, ']');
}

static bool is_flat(const json_t *list)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item)
		if (json_is_object(item) || json_is_array(item))
			return false;
	return true;
}

void yaml_after_key(const json_t *v, int indent, struct buf *out)
{
	const char *key;
	json_t *member;
	if (!json_object_size(v)) {
		buf_addc(out, ' ');
		if (json_is_array(v) && is_flat(v))
			yaml_flow(v, out);
		else
			yaml_scalar(v, out);
		buf_addc(out, '\n');
		return;
	}
	buf_addc(out, '\n');
	json_object_foreach ((json_t *)(uintptr_t)v, key, member) {
		JSON_AUTO name = json_string(key);
		buf_addf(out, "%*s", indent + 2, "");
		yaml_scalar(name, out);
		buf_addc(out, ':');
		yaml_after_key(member, indent + 2, out);
	}
}

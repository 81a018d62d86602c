#include "apply/applying.h"

#include "state/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_DIGITS 12 /* of the hash of certificates: enough to see that they differ */

void plan_note(
	struct applying *ap, const char *op, const char *kind, const char *name, const char *detail)
{
	json_array_append_new(
		ap->r->changes, json_pack("{s:s,s:s,s:s,s:s}", "op", op, "kind", kind, "name", name,
					"detail", detail ? detail : ""));
}

void plan_miss(struct applying *ap, const char *kind, const char *name, int line, const char *hint)
{
	json_array_append_new(ap->r->missing, json_pack("{s:s,s:s,s:i,s:s}", "kind", kind, "name",
						      name, "line", line, "hint", hint));
}

/* ---- fields -------------------------------------------------------------------------------- */

void apply_change_free(struct apply_change *f)
{
	json_decref(f->list);
	*f = (struct apply_change){0};
}

void apply_change_add(struct apply_change *f, const char *field, json_t *from, json_t *to)
{
	bool nothing = json_is_null(to) || json_is_false(to);
	bool same = f->changes ? json_equal(from, to) : nothing;
	json_t *one = json_pack("{s:s,s:o,s:o}", "field", field, "from", from, "to", to);
	if (!f->list)
		f->list = json_array();
	if (same)
		json_decref(one);
	else
		json_array_append_new(f->list, one);
}

/* Certificates are shown by a hash: they are long, and to be told apart. */
static json_t *ca_shown(const char *pem)
{
	char hex[65];
	if (!pem)
		return json_null();
	seal_sha256_hex(hex, pem, strlen(pem));
	return json_sprintf("sha256:%.*s", SHOWN_DIGITS, hex);
}

void apply_change_add_route(
	struct apply_change *f, const struct route *from, const struct route *to)
{
	apply_change_add(f, "allow_private", json_boolean(from->allow_private),
		json_boolean(to->allow_private));
	apply_change_add(f, "connect_to", json_text_or_null(from->connect_to),
		json_text_or_null(to->connect_to));
	apply_change_add(f, "ca", ca_shown(from->ca), ca_shown(to->ca));
}

static void add_value(struct buf *b, const json_t *v)
{
	size_t i;
	json_t *item;
	if (json_is_null(v))
		buf_adds(b, "none");
	else if (json_is_string(v))
		buf_adds(b, json_string_value(v));
	else if (!json_is_array(v))
		json_to_buf(v, b);
	json_array_foreach (v, i, item)
		buf_addf(b, "%s%s", i ? ", " : "", json_string_value(item));
}

/* "field: value", and of a change "field: value -> value". */
static void add_fields(struct buf *b, const struct apply_change *f)
{
	size_t i;
	json_t *one;
	json_array_foreach (f->list, i, one) {
		buf_addf(b, "%s%s: ", i ? ", " : "", json_text_of(one, "field"));
		if (f->changes) {
			add_value(b, json_object_get(one, "from"));
			buf_adds(b, " -> ");
		}
		add_value(b, json_object_get(one, "to"));
	}
}

void plan_note_fields(
	struct applying *ap, const char *kind, const char *name, const struct apply_change *f)
{
	BUF_AUTO detail = {0};
	add_fields(&detail, f);
	plan_note(ap, f->changes ? "~" : "+", kind, name, buf_str(&detail));
	json_t *item = json_array_get(ap->r->changes, json_array_size(ap->r->changes) - 1);
	json_object_set_new(item, "fields", f->list ? json_incref(f->list) : json_array());
}

char *plan_beside_file(const struct applying *ap, const char *path)
{
	const char *slash = strrchr(ap->o->file, '/');
	char *out = NULL;
	if (path[0] == '/' || !slash)
		return strdup(path);
	if (asprintf(&out, "%.*s/%s", (int)(slash - ap->o->file), ap->o->file, path) < 0)
		return NULL;
	return out;
}

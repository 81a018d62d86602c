#include "verify/publish.h"
#include "verify/check.h"
#include "verify/diff.h"
#include "verify/verdict_text.h"

#include <string.h>

static void refuse_red(const struct expert_view *v, const json_t *verdict, struct err *e)
{
	BUF_AUTO why = {0};
	report_summary(verdict, &why);
	err_set(e, ERR_FINDINGS, "expert '%s' is red: %s", v->name, buf_str(&why));
	err_hint(e, "evctl-verify %s; evctl-expert publish %s --force publishes it all the same",
		v->name, v->name);
}

/* Is it what is published now, code, expert.yaml, hosts and bindings? */
static bool is_published(struct state *st, const struct expert_view *draft, int *version)
{
	EXPERT_VIEW_AUTO published = {0};
	struct err none = {0};
	if (expert_load_meta(st, draft->name, EXPERT_PUBLISHED, &published, &none) < 0)
		return false;
	JSON_AUTO diff = diff_make(&published, draft, &none);
	JSON_AUTO was = manifest_to_json(&published.m);
	JSON_AUTO now = manifest_to_json(&draft->m);
	*version = published.version;
	return diff && json_is_true(json_object_get(diff, "same")) && was && now &&
	       json_equal(was, now);
}

json_t *publish(struct state *st, const char *name, bool force, struct expert_view *v, int *version,
	bool *same, struct err *e)
{
	*same = false;
	if (expert_load(st, name, EXPERT_DRAFT, v, e) < 0)
		return NULL;
	JSON_AUTO verdict = verify_view(st, v, true, e);
	if (!verdict)
		return NULL;
	const char *status = verify_status(verdict);
	bool red = strcmp(status, "red") == 0;
	if (red && !force) {
		refuse_red(v, verdict, e);
		return NULL;
	}
	*same = !force && is_published(st, v, version);
	if (*same)
		return json_incref(verdict);
	if (red)
		json_array_insert_new(
			json_object_get(verdict, "flags"), 0, json_string("! forced"));
	if (expert_publish(st, v, v->reads, status, red, version, e) < 0)
		return NULL;
	return json_incref(verdict);
}

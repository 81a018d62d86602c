#include "doctor/health.h"

#include "base/file.h"
#include "base/paths.h"
#include "sandbox/probe.h"

json_t *health_add(json_t *rows, const char *area, const char *check, enum health level,
	const char *is, const char *mend)
{
	static const char *const words[] = {[HEALTH_OK] = "ok",
		[HEALTH_WEAKER] = "weaker",
		[HEALTH_MISSING] = "missing",
		[HEALTH_BROKEN] = "broken",
		[HEALTH_EXPOSED] = "exposed"};
	bool ok = level == HEALTH_OK;
	json_t *row = json_pack("{s:s,s:s,s:b,s:b,s:s,s:o,s:o}", "area", area, "check", check, "ok",
		(int)ok, "required", (int)(level != HEALTH_WEAKER), "level", words[level], "is",
		json_text_or_null(is), "mend", json_text_or_null(ok ? "" : mend));
	json_array_append_new(rows, row);
	return row;
}

json_t *health_wanted(json_t *rows, const char *area, const char *check, bool ok, const char *is,
	const char *mend)
{
	json_t *row = health_add(rows, area, check, ok ? HEALTH_OK : HEALTH_WEAKER, is, mend);
	json_object_set_new(row, "required", json_false());
	return row;
}

static void check_gate(json_t *rows)
{
	struct err none = {0};
	STR_AUTO egress = paths_helper("evctl-egress", &none);
	health_add(rows, "machine", "gate", egress ? HEALTH_OK : HEALTH_MISSING,
		egress ? egress : "not found", "install the whole of evctl: make install");
}

static enum health level_of(const struct probe_item *it)
{
	if (it->ok)
		return HEALTH_OK;
	if (it->need == PROBE_WANTED)
		return HEALTH_WEAKER;
	return it->gone ? HEALTH_MISSING : HEALTH_BROKEN;
}

int health_machine(json_t *rows, struct err *e)
{
	struct err none = {0};
	STR_AUTO share = paths_share(&none);
	struct sandbox_probe p = {0};
	check_gate(rows);
	if (!share) {
		health_add(rows, "machine", "cell", HEALTH_MISSING, "share/evctl is not found",
			"install the whole of evctl: make install");
		return 0;
	}
	if (sandbox_probe(&p, share, e) < 0)
		return -1;
	for (size_t i = 0; i < p.n; i++) {
		const struct probe_item *it = &p.items[i];
		bool required = it->need == PROBE_REQUIRED;
		json_t *row = health_add(rows, "machine", it->name, level_of(it), it->is, it->mend);
		json_object_set_new(row, "required", json_boolean(required));
	}
	return 0;
}

#include "doctor/health.h"

#include "base/file.h"
#include "base/paths.h"
#include "sandbox/probe.h"

void health_add(json_t *rows, const char *area, const char *check, bool ok, bool required,
	const char *is, const char *mend)
{
	json_array_append_new(
		rows, json_pack("{s:s,s:s,s:b,s:b,s:o,s:o}", "area", area, "check", check, "ok",
			      (int)ok, "required", (int)required, "is", json_text_or_null(is),
			      "mend", json_text_or_null(ok ? "" : mend)));
}

static void check_gate(json_t *rows)
{
	struct err none = {0};
	STR_AUTO egress = paths_helper("evctl-egress", &none);
	health_add(rows, "machine", "gate", egress != NULL, true, egress ? egress : "not found",
		"install the whole of evctl: make install");
}

int health_machine(json_t *rows, struct err *e)
{
	struct err none = {0};
	STR_AUTO share = paths_share(&none);
	struct sandbox_probe p = {0};
	check_gate(rows);
	if (!share) {
		health_add(rows, "machine", "cell", false, true, "share/evctl is not found",
			"install the whole of evctl: make install");
		return 0;
	}
	if (sandbox_probe(&p, share, e) < 0)
		return -1;
	for (size_t i = 0; i < p.n; i++)
		health_add(rows, "machine", p.items[i].name, p.items[i].ok,
			p.items[i].need == PROBE_REQUIRED, p.items[i].is, p.items[i].mend);
	return 0;
}

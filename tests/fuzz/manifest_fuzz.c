/*
 * libFuzzer: bytes as expert.yaml, as an apply file, and as a schema with a value. Beside what the
 * sanitizers see, what must hold: a refusal has a message of one line with a place in it and leaves
 * nothing behind; what is taken survives a snapshot unchanged.
 *
 *	clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Icommon tests/fuzz/manifest_fuzz.c
 *\ common/manifest/[*].c common/base/[*].c -lyaml -ljansson -lpcre2-8 -lsodium -lm
 */
#include "base/json.h"
#include "manifest/applyfile.h"
#include "manifest/manifest.h"
#include "manifest/schema.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

/* Whatever went in, a message is one line of text for a terminal. */
static void check_message(const struct err *e, const char *start)
{
	must(e->code != ERR_NONE && strncmp(e->msg, start, strlen(start)) == 0);
	for (const char *s = e->msg; *s; s++)
		must((unsigned char)*s >= 0x20 && *s != 0x7f);
	for (const char *s = e->hint; *s; s++)
		must((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static void try_schema(const json_t *schema, const json_t *value)
{
	struct err ce = {0}, ve = {0};
	if (schema_check_schema(schema, &ce) < 0)
		check_message(&ce, "");
	/* Also where the check failed: the walk must not trust what it walks. */
	if (schema_validate(schema, value, &ve) < 0)
		check_message(&ve, "input");
	else
		must(ve.code == ERR_NONE);
}

static void try_manifest(const uint8_t *data, size_t n)
{
	struct err e = {0}, e2 = {0};
	MANIFEST_AUTO m = {0};
	MANIFEST_AUTO again = {0};
	if (manifest_parse(&m, "expert.yaml", data, n, &e) < 0) {
		check_message(&e, "expert.yaml:");
		must(e.code == ERR_USAGE && !m.name && !m.tools && !m.hosts.v && !m.ignore.v);
		return;
	}
	JSON_AUTO j = manifest_to_json(&m);
	must(manifest_from_json(&again, j, &e2) == 0);
	JSON_AUTO j2 = manifest_to_json(&again);
	must(json_equal(j, j2));
	for (size_t i = 0; i < m.ntools; i++)
		if (m.tools[i].input)
			try_schema(m.tools[i].input, m.tools[i].input);
}

static void try_apply(const uint8_t *data, size_t n)
{
	struct err e = {0};
	APPLYFILE_AUTO a = {0};
	if (applyfile_parse(&a, "f.yaml", data, n, &e) < 0) {
		check_message(&e, "f.yaml:");
		must(e.code == ERR_USAGE && !a.hosts && !a.connections);
	}
}

/* {"schema": ..., "value": ...}, as JSON; a lone document is both. */
static void try_json(const uint8_t *data, size_t n)
{
	struct err me = {0};
	MANIFEST_AUTO m = {0};
	JSON_AUTO j = json_loadb((const char *)data, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!j)
		return;
	const json_t *schema = json_object_get(j, "schema");
	const json_t *value = json_object_get(j, "value");
	try_schema(schema ? schema : j, value ? value : j);
	if (manifest_from_json(&m, j, &me) < 0)
		check_message(&me, "the stored manifest is damaged");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	try_manifest(data, n);
	try_apply(data, n);
	try_json(data, n);
	return 0;
}

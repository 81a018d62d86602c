/*
 * libFuzzer: bytes as a result and as an artifact. What must hold: what counts as a result is one
 * that jansson reads too, and what is shown inline has no other type when it is cut in two.
 */
#include "base/json.h"
#include "base/magic.h"
#include "base/result.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	if (!result_json((const char *)data, n)) {
		JSON_AUTO j = json_parse("result", data, n, &e);
		must(j != NULL);
		must(text_is_utf8((const char *)data, n));
	}
	struct magic m = magic_of(data, n);
	must(m.type != NULL);
	if (m.inline_ok && n > 1) {
		struct magic half = magic_of(data, n / 2);
		must(!half.inline_ok || half.type == m.type);
	}
	return 0;
}

/*
 * libFuzzer: bytes as each kind of message that goes between evctl's processes. What must hold:
 * what is read says the same, byte for byte, when it is written again; what is not leaves nothing
 * held.
 */
#include "gate/message.h"
#include "run/keeper_in.h"
#include "run/wire.h"
#include "field_try.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static union {
	struct gate_opening opening;
	struct gate_policy policy;
	struct gate_word word;
	struct gate_report report;
	struct call_keys keys;
	struct room_call call;
	struct room_reply reply;
	struct err err;
	struct keeper_spec spec;
} any;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct fields *const all[] = {&gate_open_fields, &gate_policy_fields,
		&gate_end_fields, &gate_ready_fields, &gate_ok_fields, &gate_report_fields,
		&gate_error_fields, &wire_turn, &wire_call, &wire_reply, &wire_error, &wire_order,
		&wire_ready, &wire_go};
	const struct buf b = {.data = (char *)data, .len = n};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		field_try(&b, all[i], &any, sizeof any);
	return 0;
}

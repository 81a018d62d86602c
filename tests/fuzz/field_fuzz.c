/*
 * libFuzzer: bytes as each kind of message that goes between evctl's processes. What must hold:
 * what is read says the same, byte for byte, when it is written again; what is not leaves nothing
 * held.
 */
#include "door/door_message.h"
#include "door/issuer_message.h"
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
	struct door_rules door_rules;
	struct door_page door_page;
	struct door_paged door_paged;
	struct door_admitted door_admitted;
	struct issuer_rules issuer_rules;
	struct issuer_told issuer_told;
} any;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct fields *const all[] = {&gate_open_fields, &gate_policy_fields,
		&gate_end_fields, &gate_ready_fields, &gate_ok_fields, &gate_report_fields,
		&gate_error_fields, &wire_turn, &wire_call, &wire_reply, &wire_error, &wire_order,
		&wire_ready, &wire_go, &door_admit_fields, &door_start_fields, &door_end_fields,
		&door_page_fields, &door_fetched_fields, &door_result_fields, &door_sign_fields,
		&door_rules_fields, &door_chain_fields, &door_admitted_fields, &door_started_fields,
		&door_ended_fields, &door_paged_fields, &door_signed_fields, &door_drain_fields,
		&issuer_rules_fields, &issuer_ask_fields, &issuer_told_fields};
	const struct buf b = {.data = (char *)data, .len = n};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		field_try(&b, all[i], &any, sizeof any);
	return 0;
}

#include "run/wire.h"

#include "base/file.h"
#include "gate/message.h"
#include "run/keeper_in.h"

#define TEXT_MAX 4096
#define LIST_MAX 100000 /* earlier keys, hosts, modules: more is nonsense */

const struct fields wire_turn =
	FIELDS('T', 1, FIELD_LIST(struct call_keys, v, n, LIST_MAX, &call_key_fields));

const struct fields wire_call =
	FIELDS('C', 1, FIELD_TEXT(struct room_call, call.entry_file, TEXT_MAX),
		FIELD_TEXT_OR_NULL(struct room_call, call.entry_func, TEXT_MAX),
		FIELD_BYTES(struct room_call, call.inputs, call.ninputs, WIRE_MAX),
		FIELD_NUMBER(struct room_call, call.timeout_ms),
		FIELD_NUMBER(struct room_call, call.memory),
		FIELD_PART(struct room_call, policy, &gate_policy_fields));

const struct fields wire_reply = FIELDS('R', 1, FIELD_NUMBER(struct room_reply, result.status),
	FIELD_TEXT_OR_NULL(struct room_reply, result.limit, TEXT_MAX),
	FIELD_TEXT_OR_NULL(struct room_reply, result.why, TEXT_MAX),
	FIELD_NUMBER(struct room_reply, result.too_long),
	FIELD_BUF(struct room_reply, result.result, WIRE_MAX),
	FIELD_BUF(struct room_reply, result.log, WIRE_MAX),
	FIELD_FLAG(struct room_reply, result.log_truncated),
	FIELD_NUMBER(struct room_reply, result.ms),
	FIELD_NUMBER(struct room_reply, result.start_ms),
	FIELD_NUMBER(struct room_reply, result.scratch),
	FIELD_BUF(struct room_reply, result.strays, TEXT_MAX),
	FIELD_FLAG(struct room_reply, gate_lost), FIELD_CHARS(struct room_reply, bounds),
	FIELD_NUMBER(struct room_reply, ready_ms),
	FIELD_PART(struct room_reply, report, &gate_report_fields));

const struct fields wire_error = FIELDS('E', 1, FIELD_NUMBER(struct err, code),
	FIELD_CHARS(struct err, msg), FIELD_CHARS(struct err, hint));

static const struct fields host_fields =
	FIELDS_PART(FIELD_TEXT(struct bound_host, host.name, TEXT_MAX),
		FIELD_NUMBER(struct bound_host, host.port));
const struct fields wire_order = FIELDS('O', 1, FIELD_CHARS(struct keeper_spec, id),
	FIELD_NUMBER(struct keeper_spec, idle_s), FIELD_NUMBER(struct keeper_spec, room.memory),
	FIELD_TEXT(struct keeper_spec, room.share, TEXT_MAX),
	FIELD_TEXT(struct keeper_spec, room.egress, TEXT_MAX),
	FIELD_LIST(struct keeper_spec, room.hosts, room.nhosts, LIST_MAX, &host_fields),
	FIELD_LIST(struct keeper_spec, room.preload, room.npreload, LIST_MAX, &field_texts));

const struct fields wire_ready = FIELDS_NONE('Y', 1), wire_go = FIELDS_NONE('G', 1);

int wire_send(int sock, const struct fields *f, const void *what, const int *fds, size_t nfds,
	struct err *e)
{
	BUF_AUTO b = {.limit = WIRE_MAX, .secret = true};
	if (field_write(&b, f, what, e) < 0)
		return -1;
	return frame_send(sock, b.data, b.len, fds, nfds, e);
}

int wire_read(const struct buf *b, const struct fields *f, void *to, struct err *e)
{
	if (field_read(b, f, to) == 0)
		return 0;
	return err_set(e, ERR_FAIL, "the session's keeper sent a malformed message");
}

int wire_error_read(const struct buf *b, struct err *e)
{
	struct err said = {0};
	if (wire_read(b, &wire_error, &said, e) < 0)
		return -1;
	if (said.code < ERR_FAIL || said.code > ERR_DENIED)
		said.code = ERR_FAIL;
	err_set(e, said.code, "%s", said.msg);
	return said.hint[0] ? err_hint(e, "%s", said.hint) : -1;
}

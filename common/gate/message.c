#include "gate/message.h"

#include "base/file.h"
#include "base/limits.h"
#include "gate/events.h"
#include "net/hostname.h"

#define WORD_MAX 100 /* verdicts; methods are cut before */

static const struct fields port_fields =
	FIELDS_PART({.kind = FIELD_IS_NUMBER, .size = sizeof(uint16_t)});
const struct fields gate_open_fields =
	FIELDS('O', 1, FIELD_LIST(struct gate_opening, ports, n, FRAME_MAX_FDS, &port_fields));

static const struct fields row_fields =
	FIELDS_PART(FIELD_TEXT(struct gate_row, host.name, HOST_TEXT_MAX),
		FIELD_NUMBER(struct gate_row, host.port), FIELD_FLAG(struct gate_row, host.plain),
		FIELD_FLAG(struct gate_row, host.route.allow_private),
		FIELD_TEXT_OR_NULL(struct gate_row, host.route.connect_to, HOST_TEXT_MAX),
		FIELD_TEXT_OR_NULL(struct gate_row, host.route.ca, MIB(LIMIT_CA_MIB)),
		FIELD_TEXT_OR_NULL(struct gate_row, key, 64));
const struct fields gate_policy_fields = FIELDS('C', 1, FIELD_TEXT(struct gate_policy, id, 64),
	FIELD_NUMBER(struct gate_policy, deadline_ms),
	FIELD_LIST(struct gate_policy, rows, nrows, LIMIT_HOSTS, &row_fields),
	FIELD_LIST(struct gate_policy, keys.v, keys.n, LIMIT_KEYS, &call_key_fields));
const struct fields gate_end_fields = FIELDS_NONE('E', 1);

const struct fields gate_ready_fields =
	FIELDS('Y', 1, FIELD_TEXT(struct gate_word, text, MIB(LIMIT_CA_MIB)));
const struct fields gate_ok_fields = FIELDS_NONE('K', 1);
const struct fields gate_error_fields = FIELDS('X', 1, FIELD_TEXT(struct gate_word, text, 4096));

const struct fields gate_request_fields = FIELDS_PART(FIELD_NUMBER(struct net_event, at),
	FIELD_TEXT(struct net_event, method, WORD_MAX),
	FIELD_TEXT(struct net_event, host, HOST_TEXT_MAX),
	FIELD_TEXT(struct net_event, path, EVENT_PATH_MAX), FIELD_NUMBER(struct net_event, port),
	FIELD_NUMBER(struct net_event, status), FIELD_NUMBER(struct net_event, up),
	FIELD_NUMBER(struct net_event, down), FIELD_NUMBER(struct net_event, ms),
	FIELD_TEXT(struct net_event, verdict, WORD_MAX), FIELD_NUMBER(struct net_event, counted));
const struct fields gate_event_fields =
	FIELDS('J', 1, FIELD_PART(struct gate_event, event, &gate_request_fields));
static const struct fields summary_fields = FIELDS_PART(FIELD_NUMBER(struct gate_summary, requests),
	FIELD_NUMBER(struct gate_summary, refused), FIELD_NUMBER(struct gate_summary, failed),
	FIELD_NUMBER(struct gate_summary, up), FIELD_NUMBER(struct gate_summary, down),
	FIELD_NUMBER(struct gate_summary, truncated));
const struct fields gate_report_fields =
	FIELDS('V', 1, FIELD_PART(struct gate_report, summary, &summary_fields),
		FIELD_LIST(struct gate_report, events, n, LIMIT_EVENTS + LIMIT_SHAPES + 1,
			&gate_request_fields));
